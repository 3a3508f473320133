"""Where people read: results on standard output, everything that passes on standard error."""

from rich.console import Console

out = Console()
err = Console(stderr=True)
