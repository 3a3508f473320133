"""A page as a list of blocks, written as HTML for the report and as Markdown for the documentation.

Text may have `code` and **bold** in it. Nothing more is needed, so nothing more is understood.
"""

from __future__ import annotations

import html
import re
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path


_WIDE = 10  # columns from which on a table is set smaller
_WIDEST_MARKDOWN = 10  # columns that a page of the documentation has room for


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
    """A table: its head, its rows of cells, and a line under it.

    The first `words` columns are text, the others numbers. `groups` are titles over several columns each: the
    title and how many. Together they span the head.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    words: int = 1
    groups: Sequence[tuple[str, int]] = ()


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
        case Table():
            return _markdown_table(block)


def _markdown_table(table: Table) -> str:
    """Write a table, or several with the same first column if it is too wide for the page."""
    parts = [_markdown_lines(part) for part in _narrow(table)]
    return "\n\n".join([*parts, table.caption] if table.caption else parts)


def _markdown_lines(table: Table) -> str:
    """Write one table; Markdown has no cells over several columns, so a group's title stands in its first."""
    titles = [title if i == 0 else "" for title, span in table.groups for i in range(span)]
    named = zip(titles or [""] * len(table.head), table.head, strict=True)
    head = [f"{title}: {name}" if title and name else title + name for title, name in named]
    rule = ["---" if i < table.words else "---:" for i in range(len(head))]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *table.rows))


def _narrow(table: Table) -> list[Table]:
    """Return the groups of columns in as few tables as are narrow enough, about as many in each."""
    n_parts = -(-(len(table.head) - 1) // (_WIDEST_MARKDOWN - 1))
    if n_parts == 1 or len(table.groups) <= n_parts:
        return [table]
    first, *groups = table.groups
    ends = list(accumulate((span for _, span in groups), initial=first[1]))
    cuts = [len(groups) * i // n_parts for i in range(n_parts + 1)]
    parts = []
    for begin, end in pairwise(cuts):
        kept = [*range(first[1]), *range(ends[begin], ends[end])]
        rows = [[row[i] for i in kept] for row in table.rows]
        head = [table.head[i] for i in kept]
        parts.append(replace(table, head=head, rows=rows, groups=[first, *groups[begin:end]]))
    return parts


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
        case Table():
            return _html_table(block)


def _html_table(table: Table) -> str:
    def line(tag: str, cells: Sequence[str]) -> str:
        kinds = [' class="words"' if i < table.words else "" for i in range(len(cells))]
        pairs = zip(kinds, cells, strict=True)
        return "".join(f"<{tag}{kind}>{_inline(cell)}</{tag}>" for kind, cell in pairs)

    over = "".join(
        f'<th colspan="{span}" class="group">{_inline(title)}</th>' for title, span in table.groups
    )
    head = (f"<tr>{over}</tr>" if over else "") + f"<tr>{line('th', table.head)}</tr>"
    body = "".join(f"<tr>{line('td', cells)}</tr>" for cells in table.rows)
    note = f"<figcaption>{_inline(table.caption)}</figcaption>" if table.caption else ""
    kind = "table prose" if table.words > 1 else "table wide" if len(table.head) > _WIDE else "table"
    return (
        f'<figure class="{kind}"><div><table><thead>{head}</thead><tbody>{body}</tbody></table></div>{note}'
        "</figure>"
    )


def _svg(drawing: str, name: str) -> str:
    """Return an SVG element that scales with the page, its ids distinct from other drawings'."""
    element = drawing[drawing.index("<svg") :]
    element = re.sub(r'^<svg([^>]*?) width="[^"]*"', r"<svg\1", element, count=1, flags=re.DOTALL)
    element = re.sub(r'^<svg([^>]*?) height="[^"]*"', r"<svg\1", element, count=1, flags=re.DOTALL)
    element = re.sub(r'\bid="', f'id="{name}-', element)
    element = re.sub(r'href="#', f'href="#{name}-', element)
    return re.sub(r"url\(#", f"url(#{name}-", element)
