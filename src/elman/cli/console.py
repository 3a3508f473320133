"""Where people read: results on standard output, everything that passes on standard error."""

from rich.console import Console
from rich.text import Text

out = Console()
err = Console(stderr=True)


def tell(where: Console, text: str, style: str = "") -> None:
    """Print a line as it is: no name in it is taken for markup."""
    where.print(Text(text, style=style))


def headline(where: Console, title: str, rest: str) -> None:
    """Print a line that begins with a title."""
    where.print(Text.assemble((title, "bold"), f": {rest}"))
