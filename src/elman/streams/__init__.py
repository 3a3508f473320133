"""Streams to learn from: generated without end, read from files, or datasets by name.

Every one gives samples `(x, y)` from its beginning whenever it is iterated, `take(n)` gives the first n as
arrays, and `names`, `n_inputs`, `target`, `name` and `source` say what they are.
"""

from .addition import binary_addition
from .csv_stream import CsvStream, read_csv
from .datasets import DATASETS, Dataset, load
from .drift import Drift
from .fetch_error import FetchError
from .folders import cache_folder, data_folders
from .kin8 import kinematics
from .lagged import Lagged
from .openml import fetch
from .puma import puma8, puma32
from .stream import Stream

__all__ = [
    "DATASETS",
    "CsvStream",
    "Dataset",
    "Drift",
    "FetchError",
    "Lagged",
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
