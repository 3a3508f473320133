"""Being asked to stop."""

import signal


class Stopped(Exception):  # noqa: N818 - it is no error
    """Whoever sends the samples was asked to stop, or nobody reads the answers any more.

    A source of samples may raise it instead of the next one; `signal` says by what, SIGTERM if not said.
    """

    def __init__(self, number: int = signal.SIGTERM) -> None:
        super().__init__(f"stopped by {signal.Signals(number).name}")
        self.signal = number
