"""What DuckDB reads: a relation whose columns are called c0, c1, …, made of files or of a query."""

from __future__ import annotations

import re
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import chain, islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from elman.limits import LINE_CHARACTERS
from elman.tables import _plain, _sql
from elman.tables._dialect import SEPARATORS, Dialect, header_names, records, with_preamble

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from elman.tables.options import ReadingOptions

MORE = "more"
"""Name of a column behind all others, where a line that is too long goes on."""
_NOTHING = "\x02"  # a cell that stands for null: none does, an empty one is an empty text
_QUERY = re.compile(r"\s*(from|select|with)\b.*\s", re.IGNORECASE | re.DOTALL)
_PEEKED_LINES = 300
_CSV_MEGABYTES = 100
_SIZES = f"max_line_size={LINE_CHARACTERS}, buffer_size={4 * LINE_CHARACTERS}"


@dataclass
class Relation:
    """Something to select from, its columns by name and type, and what its lines are if it has any."""

    connection: Any
    sql: str
    names: list[str]
    types: dict[int, str]
    label: str
    paths: list[Path] = field(default_factory=list)
    compression: str = "none"
    dialect: Dialect | None = None
    """Of a CSV file, whose lines may be of any length: of too few cells, the last is null."""
    notes: list[str] = field(default_factory=list)
    has_header: bool = True

    @property
    def separator(self) -> str:
        return "" if self.dialect is None else self.dialect.separator

    @property
    def has_lines(self) -> bool:
        return self.dialect is not None


def is_query(source: str) -> bool:
    """Whether a source is a query and not the name of a file.

    Examples
    --------
    >>> is_query("from 'load/*.parquet' order by time"), is_query("selection.csv")
    (True, False)
    """
    return _QUERY.match(source) is not None and not Path(source).exists()


def connect(*, memory: str) -> Any:
    """Return a connection to an empty database in memory."""
    try:
        import duckdb  # noqa: PLC0415 - an extra, and slow to import
    except ModuleNotFoundError as error:
        message = "reading a file needs duckdb: pip install 'elman[cli]', or only duckdb"
        raise ModuleNotFoundError(message, name="duckdb") from error
    # One thread keeps rows in their order at no cost; nothing is fetched from anywhere.
    return duckdb.connect(
        config={
            "threads": 1,
            "memory_limit": memory,
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "enable_external_file_cache": "false",
        }
    )


def relation(source: str, options: ReadingOptions, stack: ExitStack) -> Relation:
    """Return what a source holds: a path, a pattern of paths, or a query."""
    if is_query(source):
        connection = stack.enter_context(connect(memory="1GB"))
        return _typed(connection, _one_question(connection, source), source)
    paths = _paths(source)
    looked = _plain.look(paths[0])
    connection = stack.enter_context(
        connect(memory=f"{_CSV_MEGABYTES}MB" if looked.format == "csv" else "256MB")
    )
    if looked.format == "parquet":
        return _typed(connection, f"read_parquet({_list(paths)})", source)
    if looked.format == "json":
        compressed = f", compression={_sql.quoted(looked.compression)}"
        return _typed(connection, f"read_json({_list(paths)}, ignore_errors=true{compressed})", source)
    return _csv(connection, source, paths, options, stack)


def _one_question(connection: Any, query: str) -> str:
    """Return a query as something to select from; a ValueError if it is anything but one question.

    A query reads. What would write a file (``COPY``), open a database (``ATTACH``) or fetch something
    (``INSTALL``) is not run, not even behind a bracket that ends the question early.
    """
    with database_errors(query):
        statements = connection.extract_statements(query)
    if [statement.type.name for statement in statements] != ["SELECT"]:
        raise ValueError(
            f"{query}: a query must be one question, beginning with select, from or with; "
            "it may not write, attach or install anything"
        )
    return f"({statements[0].query.strip().rstrip(';')}\n)"  # a comment may end it


def _paths(source: str) -> list[Path]:
    path = Path(source)
    if path.exists() or not any(sign in source for sign in "*?["):
        if path.is_dir():
            raise ValueError(f"{source} is a folder: name its files by a pattern such as '{source}/*.csv'")
        return [path]
    anchor = Path(path.anchor) if path.is_absolute() else Path()
    found = sorted(anchor.glob(str(path.relative_to(path.anchor) if path.is_absolute() else path)))
    if not found:
        raise FileNotFoundError(f"no file fits the pattern {source}")
    return found


def _list(paths: Sequence[Path | str]) -> str:
    return "[" + ", ".join(_sql.quoted(str(path)) for path in paths) + "]"


# Typed: Parquet, JSON, queries


def _typed(connection: Any, source: str, label: str) -> Relation:
    with database_errors(label):
        described = connection.execute(f"describe select * from {source}").fetchall()
    fields = list(
        chain.from_iterable(_fields(name, f'"{_doubled(name)}"', kind) for name, kind, *_ in described)
    )
    selected = ", ".join(f"{path} as c{i}" for i, (_, path, _) in enumerate(fields))
    return Relation(
        connection,
        f"(select {selected} from {source})",
        [name for name, _, _ in fields],
        {i: kind for i, (_, _, kind) in enumerate(fields)},
        label,
    )


def _doubled(name: str) -> str:
    return name.replace('"', '""')


def _fields(name: str, path: str, kind: str) -> Iterator[tuple[str, str, str]]:
    """Yield a column, or those within it if it is nested: its name, its path and its type."""
    if not (kind.startswith("STRUCT(") and kind.endswith(")")):
        yield name, path, kind
        return
    for inner, inner_kind in _members(kind[len("STRUCT(") : -1]):
        yield from _fields(f"{name}.{inner}", f'{path}."{_doubled(inner)}"', inner_kind)


def _members(text: str) -> Iterator[tuple[str, str]]:
    r"""Yield the names and the types of the members of a struct.

    Examples
    --------
    >>> list(_members('a BIGINT, "b c" STRUCT(d DECIMAL(3,1), e VARCHAR)'))
    [('a', 'BIGINT'), ('b c', 'STRUCT(d DECIMAL(3,1), e VARCHAR)')]
    """
    depth, quoted, begin = 0, False, 0
    for i, sign in enumerate(f"{text},"):
        quoted ^= sign == '"'
        depth += 0 if quoted else (sign == "(") - (sign == ")")
        if sign == "," and depth == 0 and not quoted:
            part = text[begin:i].strip()
            begin = i + 1
            if part.startswith('"'):
                end = re.match(r'"(?:[^"]|"")*"', part)
                assert end is not None
                yield end[0][1:-1].replace('""', '"'), part[end.end() :].strip()
            else:
                name, _, kind = part.partition(" ")
                yield name, kind


# CSV


def _csv(
    connection: Any, source: str, paths: list[Path], options: ReadingOptions, stack: ExitStack
) -> Relation:
    notes = list[str]()
    readable = [_as_utf8(connection, path, options, stack, notes) for path in paths]
    names, dialect = _looked(connection, readable[0], source, options, notes)
    for path, compression in readable[1:]:
        other, _ = _looked(connection, (path, compression), str(path), options, [])
        if other != names:
            raise ValueError(
                f"{path} has the columns {', '.join(other)}, but {paths[0]} has {', '.join(names)}: say by a "
                "query how they belong together, such as \"from read_csv('*.csv', union_by_name=true)\""
            )
    quote = _sql.quoted(dialect.quote)
    cells = ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(names)))
    arguments = [
        _list([path for path, _ in readable]),
        f"columns={{{cells}, '{MORE}': 'VARCHAR'}}, auto_detect=false, header=false, null_padding=true",
        f"delim={_sql.quoted(dialect.separator)}, quote={quote}, escape={quote}",
        f"skip={dialect.preamble + options.header}, nullstr={_sql.quoted(_NOTHING)}, strict_mode=false",
        "ignore_errors=true, store_rejects=true, parallel=false",
        _SIZES,
        f"compression={_sql.quoted(readable[0][1])}",
    ]
    types = dict.fromkeys(range(len(names)), "VARCHAR")
    return Relation(
        connection, f"read_csv({', '.join(arguments)})", names, types, source,
        [path for path, _ in readable], readable[0][1], dialect, notes, options.header,
    )  # fmt: skip


def _as_utf8(
    connection: Any, path: Path, options: ReadingOptions, stack: ExitStack, notes: list[str]
) -> tuple[Path, str]:
    """Return where the text of a file can be read as UTF-8, and with which compression."""
    looked = _plain.look(path)
    if looked.compression == "zstd":
        return Path(_unpacked(connection, path, stack)), "none"
    encoding = options.encoding or _plain.encoding_of(looked.text)
    if encoding.lower().replace("_", "-") in ("utf-8", "utf8", "utf-8-sig", "ascii"):
        return path, looked.compression
    if options.encoding is None:
        notes.append(f"read as {encoding}; --encoding says another")
    copy = stack.enter_context(_plain.transcoded(path, looked.compression, encoding))
    return Path(copy.name), "none"


def _unpacked(connection: Any, path: Path, stack: ExitStack) -> str:
    """Return the name of a temporary copy of a file without its zstd compression."""
    import tempfile  # noqa: PLC0415 - rarely needed

    copy = tempfile.NamedTemporaryFile(prefix="elman-", suffix=".csv")  # noqa: SIM115 - the stack closes it
    stack.enter_context(copy)
    lines = (
        "columns={'line': 'VARCHAR'}, auto_detect=false, header=false, delim='\x02', quote='', escape='', "
    )
    lines += "compression='zstd', nullstr='\x03'"
    with database_errors(str(path)):
        connection.execute(
            f"copy (select line from read_csv({_sql.quoted(str(path))}, {lines})) "
            f"to {_sql.quoted(copy.name)} (format csv, header false, delimiter '\x02', quote '', escape '')"
        )
    return copy.name


def _looked(
    connection: Any, readable: tuple[Path, str], label: str, options: ReadingOptions, notes: list[str]
) -> tuple[list[str], Dialect]:
    """Return the names of a file's columns and how its text is cut into cells."""
    path, compression = readable
    with _plain.named_damage(label), _plain.opened(path, compression, "utf-8-sig") as text:
        lines = list(islice(_universal(text), _PEEKED_LINES))
    if not any(line.strip() for line in lines):
        raise ValueError(f"{label} is empty: expected a line of names and rows")
    # Of every column a vector of 2,048 texts is held at several places.
    widest = max(max(line.count(sign) for sign in SEPARATORS) for line in lines)
    connection.execute(f"set memory_limit = '{_CSV_MEGABYTES + widest // 2}MB'")
    separator, quote = options.separator or "", '"'
    if not separator:
        separator, quote = _sniffed(connection, path, compression, label)
    dialect = with_preamble(lines, separator, quote, header=options.header)
    listed = [cells for _, cells in records(lines, dialect)]
    names = header_names(listed[dialect.preamble], label, options)
    if len(listed) <= dialect.preamble + options.header:
        raise ValueError(f"{label} has a header but no rows")
    if dialect.preamble:
        notes.append(f"{dialect.preamble} lines before the header passed over")
        blank = sum(not line.strip() for line in lines[: _first_line(lines, dialect)])
        dialect = Dialect(separator, quote, dialect.preamble + blank)
    return names, dialect


def _first_line(lines: list[str], dialect: Dialect) -> int:
    """Return the number of the header's line."""
    numbers = [number for number, _ in records(lines, dialect)]
    return numbers[dialect.preamble]


def _universal(text: Any) -> Iterator[str]:
    """Yield the lines of a text whatever ends them."""
    for piece in text:
        yield from piece.replace("\r\n", "\n").replace("\r", "\n").splitlines(keepends=True)


def _sniffed(connection: Any, path: Path, compression: str, label: str) -> tuple[str, str]:
    """Return the separator and the quote that DuckDB finds."""
    options = f"all_varchar=true, null_padding=true, strict_mode=false, ignore_errors=true, {_SIZES}"
    with database_errors(label):
        separator, quote = connection.execute(
            f"select Delimiter, Quote from sniff_csv({_sql.quoted(str(path))}, {options}, "
            f"compression={_sql.quoted(compression)})"
        ).fetchone()
    return separator, "'" if quote == "'" else '"'


@contextmanager
def database_errors(label: str) -> Iterator[None]:
    """Say what DuckDB objects to in words for people."""
    import duckdb  # noqa: PLC0415 - an extra, and slow to import

    try:
        yield
    except (duckdb.Error, UnicodeDecodeError) as error:
        first = str(error).split("\n\n")[0].split("\n  file =")[0]
        told = " ".join(first.split())
        if "GZIP" in told.upper() or "zstd" in told.lower():
            raise ValueError(f"{label}: the compressed file is damaged or cut off: get it again") from error
        if isinstance(error, duckdb.IOException) and "No files found" in told:
            raise FileNotFoundError(f"{label}: no such file") from error
        raise ValueError(f"{label}: {told}") from error
