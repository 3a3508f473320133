"""Runs that survive: a model and its place in a stream, saved and continued exactly.

How no row is lost or repeated: a state holds the model, the errors, the questions that are open, how many
samples have been read with a checksum over them, and the length of the file of predictions at that moment. A
`StateFile` belongs to one process at a time; it is written to a temporary file, forced to the disk and
renamed, after the predictions were forced to the disk. So the last saved state is whole whatever happens. To
go on, `skip` reads the stream again up to where the state was and checks that it is the same stream, `Output`
cuts off the predictions made after the save, and all that follows comes out as it would have without the
crash, to the bit. A stream that cannot be read again has to be sent on from the sample after the last one in
the state.
"""

from elman.runs.contents import Contents, contents
from elman.runs.output import Output, cell, column_names
from elman.runs.run import Answer, Outcome, Run, begin, check_fits
from elman.runs.samples import Position, as_blocks, pieces, skip, skip_lines
from elman.runs.session import Session
from elman.runs.state_file import StateFile
from elman.runs.stop import Stopped

__all__ = [
    "Answer",
    "Contents",
    "Outcome",
    "Output",
    "Position",
    "Run",
    "Session",
    "StateFile",
    "Stopped",
    "as_blocks",
    "begin",
    "cell",
    "check_fits",
    "column_names",
    "contents",
    "pieces",
    "skip",
    "skip_lines",
]
