"""Streams to learn from: generated without end, read from files, or datasets by name.

Every one gives samples `(x, y)` from its beginning whenever it is iterated, `take(n)` gives the first n as
arrays, and `names`, `n_inputs`, `target`, `name` and `source` say what they are.
"""

from elman.streams.addition import binary_addition
from elman.streams.csv_stream import CsvStream, read_csv
from elman.streams.datasets import DATASETS, Dataset, load
from elman.streams.drift import Drift
from elman.streams.fetch_error import FetchError
from elman.streams.folders import cache_folder, data_folders
from elman.streams.kin8 import kinematics
from elman.streams.openml import fetch
from elman.streams.puma import puma8, puma32
from elman.streams.stream import Stream

__all__ = [
    "DATASETS",
    "CsvStream",
    "Dataset",
    "Drift",
    "FetchError",
    "Stream",
    "binary_addition",
    "cache_folder",
    "data_folders",
    "fetch",
    "kinematics",
    "load",
    "puma8",
    "puma32",
    "read_csv",
]
