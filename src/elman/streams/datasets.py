"""The named datasets: the paper's, and series that a forecaster meets in practice."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from elman.streams.csv_stream import read_csv
from elman.streams.folders import ENVIRONMENT_VARIABLE, cache_folder, data_folders, find_file
from elman.streams.puma import puma32

if TYPE_CHECKING:
    from pathlib import Path

    from elman.streams.stream import Stream


@dataclass(frozen=True)
class Dataset:
    """A dataset that can be loaded by its name.

    Parameters
    ----------
    name
        Of the dataset and, with `.csv.gz` or `.csv`, of its file.
    about
        What it is, in a few words.
    openml_id
        Its number at OpenML, where `fetch` gets it; `None` if it has to be brought by hand.
    shape
        How many rows and how many inputs it has there.
    """

    name: str
    about: str
    openml_id: int | None = None
    shape: tuple[int, int] | None = None


DATASETS = {
    each.name: each
    for each in (
        Dataset(
            "kin8nm", "distance of a robot arm's tip from a target, the paper's kinematics", 189, (8192, 8)
        ),
        Dataset("puma8nh", "acceleration of a Puma arm's joint 3", 225, (8192, 8)),
        Dataset(
            "puma32h",
            "acceleration of a Puma arm's joint 6, a sibling of the paper's puma32fm",
            308,
            (8192, 32),
        ),
        Dataset("puma32fm_1024", "the 1,024 rows of puma32fm that are public"),
        Dataset("elevators", "control of an F-16's elevators", 216, (16599, 18)),
        Dataset("etth1", "oil temperature of a power transformer, hourly"),
        Dataset("aep_hourly", "power load of a region, hourly"),
        Dataset("nab_nyc_taxi", "taxi passengers of a city, half-hourly"),
        Dataset("bike_sharing_hourly", "bicycles rented in a city, hourly"),
        Dataset("gas_turbine_nox", "NOx emitted by a gas turbine, hourly"),
    )
}
"""Every dataset that is read from a file, by name."""

_ALIASES = {"kinematics": "kin8nm"}


def dataset(name: str) -> Dataset:
    """Look a dataset up; capitals do not matter.

    Examples
    --------
    >>> dataset("kinematics").name
    'kin8nm'
    """
    known = name.lower()
    known = _ALIASES.get(known, known)
    if known not in DATASETS:
        raise ValueError(
            f"no dataset is called {name!r}; there are {', '.join([*_ALIASES, *DATASETS, 'puma32fm'])}"
        )
    return DATASETS[known]


def load(name: str) -> Stream:
    """Return a dataset by its name, as a finite stream of real rows.

    The file is looked for in the folder that the environment variable `ELMAN_DATA` names, then in the
    user's cache. One name is an exception: of `puma32fm` too few rows are public, so it gives the endless
    simulated stream `puma32()`, whose `source` says so.

    Parameters
    ----------
    name
        One of `DATASETS`, `"kinematics"` for `kin8nm`, or `"puma32fm"`.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says how to get it.
    ValueError
        If there is no dataset of that name.

    Examples
    --------
    >>> load("puma32fm").source
    'simulated'
    """
    if name.lower() == "puma32fm":
        return puma32()
    wanted = dataset(name)
    path = dataset_file(wanted.name)
    assert path is not None
    return read_csv(path, name=wanted.name)


def dataset_file(name: str) -> Path | None:
    """Return the file of a dataset by its name; None if no dataset is called so.

    Raises
    ------
    FileNotFoundError
        If the file is not there; the message says how to get it.
    """
    if name.lower() not in {*DATASETS, *_ALIASES}:
        return None
    wanted = dataset(name)
    path = find_file(wanted.name)
    if path is None:
        raise FileNotFoundError(_how_to_get(wanted))
    return path


def _how_to_get(wanted: Dataset) -> str:
    looked = f"{wanted.name}.csv.gz is in none of {', '.join(map(str, data_folders()))}"
    if wanted.openml_id is not None:
        return f"{looked}. To download it: elman data fetch {wanted.name}"
    return (
        f"{looked}. It cannot be downloaded from OpenML: put the file, its target in the last column, into "
        f"{cache_folder()} or into a folder that {ENVIRONMENT_VARIABLE} names"
    )
