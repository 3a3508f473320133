"""The compiled core, in the build for the best instruction set of this machine.

The environment variable ``ELMAN_SIMD`` (``baseline``, ``avx2`` or ``avx512``) forces one of the builds; an
unknown or unsupported name is an error.
"""

import importlib
import os
from typing import Any, Protocol, cast

from numpy.typing import NDArray

from elman.arrays import Float64


class Model(Protocol):
    """One model of the core: arrays in, arrays out, no checks beyond type and shape."""

    def try_predict(self, x: Float64, /) -> float | None: ...
    def predict(self, x: Float64, answer: Float64, /) -> None: ...
    def try_learn(self, x: Float64, y: float, /) -> bool: ...
    def learn(self, x: Float64, y: Float64, /) -> None: ...
    def run(self, X: Float64, Y: Float64, answers: Float64, /) -> None: ...
    def meters(self) -> tuple[int, int, float]: ...
    def state(self) -> dict[str, NDArray[Any]]: ...
    def restore(self, arrays: dict[str, NDArray[Any]], /) -> None: ...


class Learner(Model, Protocol):
    """A network with its training."""

    def learn_measured(self, x: Float64, y: Float64, /) -> float: ...
    def gradient(self) -> dict[str, NDArray[Any]]: ...


class Committee(Model, Protocol):
    """Several learners, weighted."""

    def interval(self, x: Float64, coverage: float, low: Float64, high: Float64, /) -> None: ...
    def run_threads(self, X: Float64, Y: Float64, threads: int, answers: Float64, /) -> None: ...
    def run_intervals(  # noqa: PLR0917 - the core takes no keywords
        self,
        X: Float64,
        Y: Float64,
        coverage: float,
        threads: int,
        answers: Float64,
        low: Float64,
        high: Float64,
        /,
    ) -> None: ...
    def standing(self) -> tuple[Float64, Float64, Float64, int, int]: ...


class Core(Protocol):
    """The compiled module."""

    LANE_BYTES: int

    def Learner(self, **options: Any) -> Learner: ...  # noqa: N802 - a class, seen as the function that makes one
    def Committee(self, **options: Any) -> Committee: ...  # noqa: N802 - as Learner
    def supported(self) -> list[str]: ...
    def tanh(self, x: NDArray[Any], /) -> NDArray[Any]: ...
    def clip_singular_values(self, columns: Float64, limit: float, /) -> Float64: ...
    def peak_gflops(self, double_precision: bool, /) -> float: ...


def load(name: str) -> Core:
    """Return the build called `name`; it must be one of `supported`."""
    return cast("Core", importlib.import_module(f"elman._core.{name}"))


def supported() -> list[str]:
    """Return the names of the builds that this machine can run, best first."""
    return load("baseline").supported()


def _choose() -> str:
    names = supported()
    forced = os.environ.get("ELMAN_SIMD")
    if forced is None:
        return names[0]
    if forced not in names:
        raise ImportError(f"ELMAN_SIMD={forced!r}: this machine can run {', '.join(names)}")
    return forced


SIMD = _choose()
core = load(SIMD)
