"""A page as a list of blocks, written as HTML for the report and as Markdown for the documentation.

Text may have `code` and **bold** in it. Nothing more is needed, so nothing more is understood.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


@dataclass(frozen=True)
class Heading:
    """A heading of level 1, 2 or 3."""

    level: int
    text: str


@dataclass(frozen=True)
class Text:
    """A paragraph."""

    text: str


@dataclass(frozen=True)
class Table:
    """A table: its head, its rows of cells, and a line under it. The first `words` columns are text."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    words: int = 1


@dataclass(frozen=True)
class Figure:
    """A drawing: the name of its file without `.svg`, and what it shows."""

    name: str
    caption: str


Block: TypeAlias = Heading | Text | Table | Figure


@dataclass
class Document:
    """A page."""

    title: str
    blocks: list[Block] = field(default_factory=list)

    def add(self, *blocks: Block) -> None:
        """Append blocks."""
        self.blocks.extend(blocks)


def to_markdown(document: Document, figures: str) -> str:
    """Return the page as Markdown, its drawings in the folder `figures`.

    >>> page = Document("A", [Text("**b**"), Table(["x", "y"], [["a", "1"]])])
    >>> print(to_markdown(page, "results"))
    # A
    <BLANKLINE>
    **b**
    <BLANKLINE>
    | x | y |
    | --- | ---: |
    | a | 1 |
    <BLANKLINE>
    """
    parts = [f"# {document.title}", *(_markdown(block, figures) for block in document.blocks)]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block, figures: str) -> str:
    match block:
        case Heading(level, text):
            return f"{'#' * level} {text}"
        case Text(text):
            return text
        case Figure(name, caption):
            return f"![{caption}]({figures}/{name}.svg)\n\n{caption}"
        case Table(head, rows, caption, words):
            rule = ["---" if i < words else "---:" for i in range(len(head))]
            lines = ["| " + " | ".join(cells) + " |" for cells in (head, rule, *rows)]
            return "\n".join(lines) + (f"\n\n{caption}" if caption else "")


def to_html(document: Document, folder: Path) -> str:
    r"""Return the page's body as HTML, with the drawings of `folder` inside it.

    >>> from pathlib import Path
    >>> to_html(Document("A & B", [Text("`c` **d**")]), Path())
    '<h1>A &amp; B</h1>\n<p><code>c</code> <strong>d</strong></p>'
    """
    parts = [f"<h1>{_inline(document.title)}</h1>", *(_html(block, folder) for block in document.blocks)]
    return "\n".join(parts)


def _inline(text: str) -> str:
    escaped = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text, quote=False))
    return re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", escaped)


def _html(block: Block, folder: Path) -> str:
    match block:
        case Heading(level, text):
            return f"<h{level}>{_inline(text)}</h{level}>"
        case Text(text):
            return f"<p>{_inline(text)}</p>"
        case Figure(name, caption):
            drawing = (folder / f"{name}.svg").read_text(encoding="utf-8")
            note = f"<figcaption>{_inline(caption)}</figcaption>"
            return f'<figure id="{name}">{_svg(drawing, name)}{note}</figure>'
        case Table(head, rows, caption, words):
            return _html_table(head, rows, caption, words)


def _html_table(head: Sequence[str], rows: Sequence[Sequence[str]], caption: str, words: int) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = [' class="words"' if i < words else "" for i in range(len(cells))]
        return "".join(
            f"<{tag}{kind}>{_inline(cell)}</{tag}>" for kind, cell in zip(kinds, cells, strict=True)
        )

    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in rows)
    note = f"<figcaption>{_inline(caption)}</figcaption>" if caption else ""
    return (
        f'<figure class="table"><div><table><thead><tr>{line("th", head)}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>{note}</figure>"
    )


def _svg(drawing: str, name: str) -> str:
    """Return an SVG element that scales with the page, its ids distinct from other drawings'."""
    element = drawing[drawing.index("<svg") :]
    element = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", element, count=1, flags=re.DOTALL)
    element = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", element, count=1, flags=re.DOTALL)
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'href="#', f'href="#{name}-', element)
    return re.sub(r"url\(#", f"url(#{name}-", element)
