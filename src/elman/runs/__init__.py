"""Runs that survive: a model and its place in a stream, saved and continued exactly.

How no row is lost or repeated: a state holds the model, the lags, the errors, how many samples have been
read with a checksum over them, and the length of the file of predictions at that moment. It is written to a
temporary file, forced to the disk and renamed, after the predictions were forced to the disk. So the last
saved state is whole whatever happens. To go on, `skip` reads the stream again up to where the state was and
checks that it is the same stream, `Output` cuts off the predictions made after the save, and all that
follows comes out as it would have without the crash, to the bit. A stream that cannot be read again has to
be sent on from the sample after the last one in the state.
"""

from elman.runs.atomic import write_atomically
from elman.runs.contents import Contents, contents
from elman.runs.load import check_fits, load
from elman.runs.output import Output, cell
from elman.runs.run import Answer, Position, Run, begin
from elman.runs.samples import skip
from elman.runs.session import Session
from elman.runs.stop import Stopped, StopSignals

__all__ = [
    "Answer",
    "Contents",
    "Output",
    "Position",
    "Run",
    "Session",
    "StopSignals",
    "Stopped",
    "begin",
    "cell",
    "check_fits",
    "contents",
    "load",
    "skip",
    "write_atomically",
]
