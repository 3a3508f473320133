"""The compiled core, in the build for the best instruction set of this machine.

The environment variable ``ELMAN_SIMD`` (``baseline``, ``avx2`` or ``avx512``) forces one of the builds; an
unknown or unsupported name is an error.
"""

import importlib
import os
from typing import Any, Protocol, Self, cast

from numpy.typing import NDArray

from elman.arrays import Float64


class Model(Protocol):
    """A model of the core: arrays in, arrays out, no checks beyond type and shape."""

    def initialise(self, seed: list[int], /) -> None: ...
    def grow_from(self, former: Self, /) -> None: ...
    def expect(self, names: tuple[str, ...] | None, scalar: bool) -> None: ...
    def try_predict(self, x: Any, /) -> float | None: ...
    def try_learn(self, x: Any, y: Any, /) -> bool: ...
    def predict(self, x: Float64, coverage: float, out: Float64, /) -> None: ...
    def run(self, X: Float64, Y: Float64, coverage: float, threads: int, out: Float64, /) -> None: ...
    def learn_measured(self, x: Float64, y: Float64, /) -> float: ...
    def meters(self) -> tuple[int, int, float]: ...
    def weights(self) -> dict[str, NDArray[Any]]: ...
    def gradient(self) -> dict[str, NDArray[Any]]: ...
    def standing(self) -> tuple[Float64, Float64, Float64, int, int]: ...
    def state(self) -> tuple[list[Any], bytes]: ...
    def restore(self, table: list[Any], body: bytes, /) -> None: ...


class Core(Protocol):
    """The compiled module."""

    LANE_BYTES: int
    CELLS: list[str]
    TRAININGS: list[str]
    READOUTS: list[str]

    def Model(self, **options: Any) -> Model: ...  # noqa: N802 - a class, seen as the function that makes one
    def supported(self) -> list[str]: ...
    def tanh(self, x: NDArray[Any], /) -> NDArray[Any]: ...
    def clip_singular_values(self, columns: Float64, limit: float, /) -> Float64: ...
    def normal(self, entropy: list[int], n: int, /) -> Float64: ...
    def peak_gflops(self, double_precision: bool, /) -> float: ...


def build(name: str) -> Core:
    """Return the build called `name`; it must be one of `supported`."""
    return cast("Core", importlib.import_module(f"elman._core.{name}"))


def supported() -> list[str]:
    """Return the names of the builds that this machine can run, best first."""
    return build("baseline").supported()


def _choose() -> str:
    names = supported()
    forced = os.environ.get("ELMAN_SIMD")
    if forced is None:
        return names[0]
    if forced not in names:
        raise ImportError(f"ELMAN_SIMD={forced!r}: this machine can run {', '.join(names)}")
    return forced


SIMD = _choose()
core = build(SIMD)
