"""Tables that people have: files of any dialect, Parquet, JSON, queries and live pipes, read in blocks.

A table knows its columns (`Column`) and yields `Block` after `Block` of numbers: a date as seconds, a text as
the code of its level. Lines that cannot be read are passed over and told as `Bad`, or end the reading.
"""

from elman.tables.block import Bad, Block, Report, UnreadableError
from elman.tables.column import Column
from elman.tables.options import AS_FOUND, ReadingOptions
from elman.tables.pipe import PipeTable, open_pipe
from elman.tables.table import Table, open_table

__all__ = [
    "AS_FOUND",
    "Bad",
    "Block",
    "Column",
    "PipeTable",
    "ReadingOptions",
    "Report",
    "Table",
    "UnreadableError",
    "open_pipe",
    "open_table",
]
