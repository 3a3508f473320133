"""The bytes of a saved model.

``magic, format version (u16), header length (u32), header (JSON), arrays, checksum``, everything
little-endian. The header holds the configuration and the list of arrays with their types and shapes. Reading
runs no code, and anything that is not exactly what was written is a ValueError that says what is wrong. Every
version ever released stays readable.
"""

from __future__ import annotations

import hashlib
import json
import math
import struct
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

_MAGIC = b"elman\x00"
_VERSION = 1
_PREFIX = struct.Struct("<6sHI")
_DIGEST_SIZE = 16
_TYPES: dict[str, np.dtype[Any]] = {
    "f4": np.dtype("<f4"),
    "f8": np.dtype("<f8"),
    "i8": np.dtype("<i8"),
    "u1": np.dtype("u1"),
}


def dump(header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> bytes:
    """Return `header` (JSON values) and `arrays` (float32, float64, int64 or uint8) as bytes."""
    listed = [[name, array.dtype.str[1:], list(array.shape)] for name, array in arrays.items()]
    text = json.dumps(header | {"arrays": listed}, allow_nan=False).encode()
    body = b"".join(
        np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<")).tobytes()
        for array in arrays.values()
    )
    content = _PREFIX.pack(_MAGIC, _VERSION, len(text)) + text + body
    return content + _digest(content)


def parse(blob: bytes) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Return what `dump` was given; a ValueError for anything else."""
    if not isinstance(blob, (bytes, bytearray, memoryview)):
        raise TypeError(f"a saved model is bytes, got {type(blob).__name__}")
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
        header = json.loads(blob[_PREFIX.size : body])
        return header, _arrays(header.pop("arrays"), blob[body:-_DIGEST_SIZE])


def _arrays(listed: list[tuple[str, str, list[int]]], body: bytes) -> dict[str, NDArray[Any]]:
    arrays, offset = {}, 0
    for name, kind, shape in listed:
        dtype, size = _TYPES[kind], math.prod(shape)
        array = np.frombuffer(body, dtype, size, offset).reshape(shape)
        arrays[name] = array.astype(dtype.newbyteorder("="))
        offset += array.nbytes
    if offset != len(body):
        raise ValueError(f"{len(body) - offset} bytes are left over")
    return arrays


def _digest(content: bytes) -> bytes:
    return hashlib.blake2b(content, digest_size=_DIGEST_SIZE).digest()


def upgraded(arrays: dict[str, NDArray[Any]]) -> dict[str, NDArray[Any]]:
    """Return the arrays of a learner with those that states of the first days lack, as they would be."""
    surprises = {
        f"{kind}_surprises": np.zeros((len(arrays[f"{kind}_moments"]), 4)) for kind in ("input", "target")
    }
    return surprises | arrays


def check(arrays: dict[str, NDArray[Any]], n_inputs: int, n_outputs: int, n_hidden: int) -> None:
    """Raise ValueError unless the arrays have the header's sizes, before memory is taken for those."""
    if arrays["C"].shape != (n_outputs, n_hidden) or arrays["input_moments"].shape != (n_inputs, 3):
        raise ValueError("the sizes in the header are not those of the arrays")
    check_finite(arrays)


def check_finite(arrays: dict[str, NDArray[Any]]) -> None:
    """Raise ValueError if a number is not finite, except targets that may be unknown."""
    for name, array in arrays.items():
        may_be_unknown = name in {"window_targets", "history"}
        if not np.all(np.isfinite(array) | (np.isnan(array) & may_be_unknown)):
            raise ValueError(f"array '{name}' holds values that are not finite")


@contextmanager
def damaged_if_rejected() -> Iterator[None]:
    """Turn any objection to a saved model's content into one kind of error."""
    try:
        yield
    except (ArithmeticError, AttributeError, LookupError, MemoryError, TypeError, ValueError) as error:
        raise ValueError(f"the saved model contradicts itself: {error}") from error
