"""Getting the paper's datasets from OpenML, the public repository that holds them."""

from __future__ import annotations

import gzip
import io
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.streams._arff import arff_to_csv
from elman.streams._text import read_lines
from elman.streams.datasets import dataset
from elman.streams.fetch_error import FetchError
from elman.streams.folders import cache_folder

if TYPE_CHECKING:
    import os

    from elman.streams._download import Progress

OPENML = "https://www.openml.org/api/v1/json/data"


def fetch(
    name: str,
    *,
    base_url: str = OPENML,
    folder: str | os.PathLike[str] | None = None,
    progress: Progress | None = None,
) -> Path:
    """Download a dataset from OpenML, for `load` to read.

    OpenML's description of the dataset names the file, its checksum and its target. The file is verified,
    turned into CSV with the target last, and put in its place in one step: there is either the whole file
    or none. Its digest is written down in `digests.json` beside it: if the file is another one at the next
    fetch that is an error. No more than `elman.limits.DOWNLOAD_BYTES` are fetched, and nothing but https,
    unless `base_url` itself is http.

    Parameters
    ----------
    name
        One of `DATASETS` that has an `openml_id`.
    base_url
        Address to which `/` and the dataset's number are added to get the description.
    folder
        Where to put the file; the user's cache if not said.
    progress
        Called as `progress(bytes_done, bytes_total)` during the download; the total is `None` if the server
        does not say it.

    Returns
    -------
    Path of the file, `NAME.csv.gz`.

    Raises
    ------
    FetchError
        If the server cannot be reached, or what it sends is refused, broken off or damaged.
    ValueError
        If there is no such dataset at OpenML.
    """
    from elman.streams._digests import check_digest, remember_digest  # noqa: PLC0415  only to fetch
    from elman.streams._download import download, get_json  # noqa: PLC0415  urllib would double the import time of the package

    wanted = dataset(name)
    if wanted.openml_id is None:
        raise ValueError(f"{wanted.name} is not at OpenML and cannot be fetched")
    address = f"{base_url.rstrip('/')}/{wanted.openml_id}"
    plain = base_url.startswith("http://")
    description = _description(address, get_json(address, plain=plain))
    destination = Path(folder) if folder is not None else cache_folder()
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination, prefix=".fetch-") as workshop:
        arff, table = Path(workshop, "data.arff"), Path(workshop, "data.csv.gz")
        md5 = description["md5_checksum"]
        digest = download(description["url"], arff, md5=md5, plain=plain, progress=progress)
        check_digest(wanted.name, digest, destination)
        found = _convert(arff, description["default_target_attribute"], table)
        if wanted.shape is not None and found != wanted.shape:
            raise FetchError(
                f"{description['url']} has {found[0]:,} rows of {found[1]} inputs, but {wanted.name} has "
                f"{wanted.shape[0]:,} of {wanted.shape[1]}: it is another data set"
            )
        remember_digest(wanted.name, digest, destination)
        return table.replace(destination / f"{wanted.name}.csv.gz")


def _description(address: str, answer: Any) -> dict[str, str]:
    try:
        description = answer["data_set_description"]
        return {key: str(description[key]) for key in ("url", "md5_checksum", "default_target_attribute")}
    except (KeyError, TypeError) as error:
        raise FetchError(f"{address} did not answer with the description of a dataset") from error


def _convert(arff: Path, target: str, table: Path) -> tuple[int, int]:
    """Write the table and return its number of rows and of inputs."""
    with (
        arff.open(encoding="utf-8") as lines,
        gzip.GzipFile(table, "wb", mtime=0) as packed,  # no time inside: same data, same file
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as out,
    ):
        try:
            rows, inputs = arff_to_csv(read_lines(lines, "the ARFF file"), target, out)
        except UnicodeDecodeError as error:
            raise FetchError("the ARFF file is not UTF-8 text") from error
    if rows == 0:
        raise FetchError("the ARFF file holds no rows")
    return rows, inputs
