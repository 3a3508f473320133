"""A file as UTF-8 text that can be read by its path, plain or with gzip, whatever it was."""

from __future__ import annotations

import codecs
import gzip
import io
import shutil
import tempfile
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_LOOKED_AT = 1 << 20
_GZIP, _ZSTANDARD, _PARQUET = b"\x1f\x8b", b"\x28\xb5\x2f\xfd", b"PAR1"
_OTHERS = {
    b"BZh": ("compressed by bzip2", "unpack it first, by bunzip2"),
    b"\xfd7zXZ": ("compressed by xz", "unpack it first, by unxz"),
    b"7z\xbc\xaf": ("a 7-Zip archive", "unpack it first"),
    b"\xd0\xcf\x11\xe0": ("an old spreadsheet", "save its table as CSV"),
    b"<!doctype": ("a web page", "get the file that it links to"),
    b"<html": ("a web page", "get the file that it links to"),
}
_MARKS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


@dataclass(frozen=True)
class Looked:
    """What the first bytes of a file say: its format, its compression, and the first bytes of its text."""

    format: str
    compression: str
    text: bytes


def look(path: Path) -> Looked:
    """Find out by its content what a file is: ``"parquet"``, ``"json"`` or ``"csv"``.

    Raises
    ------
    ValueError
        If it is compressed and damaged within its first bytes, or no table.
    """
    with path.open("rb") as file:
        first = file.read(_LOOKED_AT)
    if first[:4] == _PARQUET:
        return Looked("parquet", "none", b"")
    compression = "none"
    if first[:4] == _ZSTANDARD:
        return Looked("csv", "zstd", b"")
    if first[:2] == _GZIP:
        compression = "gzip"
        with named_damage(path), gzip.open(path) as unpacked:
            first = unpacked.read(_LOOKED_AT)
    if first[:2] == b"PK":
        raise ValueError(f"{path} is a zip archive or a spreadsheet: save its table as CSV or Parquet")
    for mark, (what, advice) in _OTHERS.items():
        if first.lstrip()[: len(mark)].lower() == mark.lower():
            raise ValueError(f"{path} is {what}: {advice}")
    form = "json" if first.lstrip()[:1] in (b"{", b"[") else "csv"
    if form == "csv" and b"\0" in first and _marked(first) is None and not _is_utf16(first):
        raise ValueError(f"{path} is no table that can be read: CSV, Parquet and JSON are")
    return Looked(form, compression, first)


def encoding_of(text: bytes) -> str:
    """Return the encoding of text by its first bytes."""
    marked = _marked(text)
    if marked is not None:
        return marked
    if b"\0" in text:
        return "utf-16-le" if text[1::2].count(0) > text[::2].count(0) else "utf-16-be"
    try:
        codecs.getincrementaldecoder("utf-8")().decode(text)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def _marked(text: bytes) -> str | None:
    return next((name for mark, name in _MARKS.items() if text.startswith(mark)), None)


def _is_utf16(text: bytes) -> bool:
    """Whether every second byte is mostly zero, as in the UTF-16 of European languages."""
    half = max(1, len(text) // 2)
    return max(text[::2].count(0), text[1::2].count(0)) > 0.5 * half and text.count(0) < 0.8 * len(text)


@contextmanager
def opened(path: Path, compression: str, encoding: str) -> Iterator[IO[str]]:
    """Open a file as text, with every line end as it is."""
    with gzip.open(path) if compression == "gzip" else path.open("rb") as raw:
        yield io.TextIOWrapper(raw, encoding=encoding, errors="replace", newline="")


@contextmanager
def named_damage(path: Path | str) -> Iterator[None]:
    """Say of damage in a compressed file which file it is."""
    try:
        yield
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise ValueError(f"{path}: the gzip file is damaged or cut off: get it again") from error


def transcoded(path: Path, compression: str, encoding: str) -> IO[bytes]:
    """Return a temporary file with the same text in UTF-8; it goes when it is closed."""
    copy = tempfile.NamedTemporaryFile(prefix="elman-", suffix=".csv")  # noqa: SIM115 - its caller closes it
    try:
        with named_damage(path), opened(path, compression, encoding) as text:
            writer = codecs.getwriter("utf-8")(copy)
            shutil.copyfileobj(text, writer, 1 << 16)
        copy.flush()
    except BaseException:
        copy.close()
        raise
    return copy
