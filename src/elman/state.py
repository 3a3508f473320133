"""The bytes of a saved model.

``magic, format version (u16), header length (u32), header (JSON), arrays, checksum``, everything
little-endian. The header holds the configuration and a table of the arrays: of each its name, its type, its
shape and what its axes run over. Reading runs no code, and anything that is not exactly what was written is a
ValueError that says what is wrong. Every version ever released stays readable.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elman import limits

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MAGIC = b"elman\x00"
_VERSION = 2
_PREFIX = struct.Struct("<6sHI")
_DIGEST_SIZE = 16
_TYPES: dict[str, np.dtype[Any]] = {
    "f2": np.dtype("<f2"),
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "i8": np.dtype("<i8"),
    "u1": np.dtype("u1"),
}


class Arrays(NamedTuple):
    """The arrays of a state: a table with a row for each, and the bytes of all of them."""

    table: list[tuple[str, str, list[int], list[str]]]
    """Name, type, shape, what the axes run over."""
    body: bytes

    @classmethod
    def of(cls, named: dict[str, NDArray[Any]]) -> Arrays:
        """Return NumPy arrays (float32, float64, int64 or uint8) as the arrays of a state."""
        little = {name: array.astype(array.dtype.newbyteorder("<")) for name, array in named.items()}
        return cls(
            [(name, array.dtype.str[1:], list(array.shape), []) for name, array in little.items()],
            b"".join(array.tobytes() for array in little.values()),
        )

    def named(self) -> dict[str, NDArray[Any]]:
        """Return copies of the arrays by name."""
        arrays, offset = {}, 0
        for name, kind, shape, _ in self.table:
            array = np.frombuffer(self.body, _TYPES[kind], math.prod(shape), offset).reshape(shape)
            arrays[name] = array.astype(array.dtype.newbyteorder("="))
            offset += array.nbytes
        return arrays


def dump(header: dict[str, Any], arrays: Arrays) -> bytes:
    """Return `header` (JSON values) and `arrays` as bytes."""
    text = json.dumps(header | {"arrays": arrays.table}, allow_nan=False).encode()
    _refuse_beyond_limit(_PREFIX.size + len(text) + len(arrays.body) + _DIGEST_SIZE)
    content = b"".join([_PREFIX.pack(_MAGIC, _VERSION, len(text)), text, arrays.body])
    return content + _digest(content)


def parse(blob: bytes) -> tuple[dict[str, Any], Arrays]:
    """Return what `dump` was given; a ValueError for anything else."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"a saved model is bytes, got {type(blob).__name__}")
    _refuse_beyond_limit(memoryview(blob).nbytes)
    blob = bytes(blob)
    if blob[: len(_MAGIC)] != _MAGIC[: len(blob)] or not blob:
        raise ValueError("not a saved elman model: it does not begin as one")
    if len(blob) < _PREFIX.size + _DIGEST_SIZE:
        raise ValueError(
            f"the saved model is truncated: {len(blob)} bytes are fewer than the shortest one has"
        )
    _, version, header_size = _PREFIX.unpack_from(blob)
    if version != _VERSION:
        raise ValueError(f"the saved model has format version {version}; this elman reads version {_VERSION}")
    if _digest(blob[:-_DIGEST_SIZE]) != blob[-_DIGEST_SIZE:]:
        raise ValueError("the saved model is damaged or truncated: its checksum does not match")
    with damaged_if_rejected():
        body = _PREFIX.size + header_size
        header = json.loads(blob[_PREFIX.size : body], parse_constant=_refuse_constant)
        arrays = Arrays(_checked_table(header.pop("arrays")), blob[body:-_DIGEST_SIZE])
        expected = sum(math.prod(shape) * _TYPES[kind].itemsize for _, kind, shape, _ in arrays.table)
        if expected != len(arrays.body):
            raise ValueError(f"its arrays need {expected} bytes, and there are {len(arrays.body)}")
        return header, arrays


def _refuse_constant(name: str) -> None:
    """Raise for NaN and infinities: they are no JSON, and no header has them."""
    raise ValueError(f"its header holds {name}")


def _refuse_beyond_limit(size: int) -> None:
    if size > limits.STATE_BYTES:
        raise ValueError(f"a saved model may have at most {limits.STATE_BYTES:,} bytes, got {size:,}")


def _checked_table(listed: list[Any]) -> list[tuple[str, str, list[int], list[str]]]:
    table = []
    for name, kind, shape, axes in listed:
        if not (isinstance(name, str) and kind in _TYPES and all(type(n) is int and n >= 0 for n in shape)):
            raise ValueError(f"array {name!r} has the type {kind!r} and the shape {shape!r}")
        table.append((name, kind, list(shape), list(axes)))
    return table


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_SIZE).digest()


@contextmanager
def damaged_if_rejected() -> Iterator[None]:
    """Turn any objection to a saved model's content into one kind of error."""
    try:
        yield
    except RecursionError:
        raise ValueError("the saved model contradicts itself: its header is nested too deeply") from None
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise ValueError(f"the saved model contradicts itself: {error}") from error
