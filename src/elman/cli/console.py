"""Where people read: results on standard output, everything that passes on standard error.

Names of columns, files and what is in a state come from elsewhere. They are shown as they are: nothing in
them is taken for markup, and no character of theirs reaches the terminal that would do something there.
"""

import os
import sys

from rich.console import Console
from rich.text import Text


class _Patient(Console):
    """Goes on when nobody reads any more, as behind `| head -1`: a plot may still have to be drawn."""

    def on_broken_pipe(self) -> None:
        self.quiet = True
        forget_output()


def forget_output() -> None:
    """Send what is in the buffer nowhere: without this Python would complain about it at exit."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


out = _Patient()
err = Console(stderr=True)


def printable(text: str) -> str:
    r"""Return a text in which characters that do something to a terminal are written out.

    Examples
    --------
    >>> printable("a\x1b[31mb\u202e \u2192")
    'a\\x1b[31mb\\u202e \u2192'
    """
    if text.isprintable():
        return text
    return "".join(
        each
        if each.isprintable() or each in "\n\u00a0"
        else each.encode("unicode_escape", "surrogatepass").decode()
        for each in text
    )


def plain(text: str, style: str = "") -> Text:
    """Return a text for a table or a line, with nothing in it taken for markup."""
    return Text(printable(text), style=style)


def tell(where: Console, text: str, style: str = "") -> None:
    """Print a line as it is."""
    where.print(plain(text, style))


def headline(where: Console, title: str, rest: str) -> None:
    """Print a line that begins with a title."""
    where.print(Text.assemble((printable(title), "bold"), f": {printable(rest)}"))
