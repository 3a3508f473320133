"""`elman serve`: streams that learn over HTTP, durable in one SQLite file, with a page that shows them live.

How a row goes: its request is read and checked (`bodies`), waits in the queue of its stream (`live`), is
learned by the stream's own thread outside the event loop, goes to the log by the one thread that writes to
the store (`writer`: everything that is waiting becomes one transaction), and only after that transaction is
on the disk is it answered. States are snapshots, now and then; after a crash the log behind the last
snapshot is learned again, which gives the same bits.
"""

from elman.serve.limits import Limits
from elman.serve.service import Service
from elman.serve.store import Store

__all__ = ["Limits", "Service", "Store"]
