"""What is raised when a dataset cannot be had from the network."""


class FetchError(OSError):
    """A dataset could not be fetched; the message says why."""
