"""What comes in a request's body: rows as JSON, NDJSON or CSV, read into lists of inputs, targets and ids.

Only the form is checked here; whether the numbers suit the model is the model's to say. Reading the same
bytes in the same way gives the same rows for ever: the log keeps bodies as they came.
"""

from __future__ import annotations

import csv
import io
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import orjson

from elman.serve.problems import Problem
from elman.serve.rows import Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from elman.serve.limits import Limits

Format: TypeAlias = Literal["json", "ndjson", "csv"]

MEDIA_TYPES: dict[Format, str] = {
    "json": "application/json",
    "ndjson": "application/x-ndjson",
    "csv": "text/csv; charset=utf-8",
}
_FORMATS: dict[str, Format] = {
    "application/json": "json",
    "application/x-ndjson": "ndjson",
    "application/ndjson": "ndjson",
    "application/jsonl": "ndjson",
    "text/csv": "csv",
}
# What curl and others say when they were told nothing: the body itself has to show what it is.
_UNKNOWN = ("", "application/x-www-form-urlencoded", "application/octet-stream", "text/plain")
_ROW_KEYS = {"x", "y", "id"}
_COLUMN_KEYS = {"X", "y", "ids"}


class How(NamedTuple):
    """How a body is read."""

    format: Format
    target: str | None = None
    """The column, or the key of a flat object, that holds the target; None if rows are ``{"x": …}``."""
    id: str | None = None
    """Likewise of the id."""


def how(content_type: str, body: bytes, target: str | None, id_: str | None, usual_target: str) -> How:
    """Say how a body is to be read, by its type or, where that says nothing, by its first letter.

    Examples
    --------
    >>> how("", b" {}", None, None, "y"), how("text/csv", b"a,y", None, None, "y")
    (How(format='json', target=None, id=None), How(format='csv', target='y', id=None))
    """
    media, _, parameters = content_type.partition(";")
    media = media.strip().lower()
    charset = parameters.partition("charset=")[2].strip().strip('"').lower()
    if charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise Problem(415, "a body must be encoded in UTF-8")
    if media in _FORMATS:
        form = _FORMATS[media]
    elif media in _UNKNOWN:
        form = _recognised(body)
    else:
        raise Problem(415, f"send {', '.join(sorted(_FORMATS))}, not {media[:100]!r}")
    if form == "csv" and target is None:
        target = usual_target
    return How(form, target, id_)


def _recognised(body: bytes) -> Format:
    start = body[:1000].lstrip()
    if start[:1] not in (b"{", b"["):
        return "csv"
    first, _, rest = body.strip().partition(b"\n")
    one_a_line = first.rstrip().endswith(b"}") and rest.lstrip()[:1] == b"{"
    return "ndjson" if one_a_line else "json"


def read_rows(body: bytes, way: How, limits: Limits) -> Rows:
    """Return the rows of a body, or raise the problem that it has."""
    text = text_of(body)
    if way.format != "json" and text.count("\n") > limits.rows + 1:  # before each of them becomes an object
        raise _too_many(text.count("\n"), limits)
    if way.format == "csv":
        rows = _csv(text, way)
    elif way.format == "ndjson":
        lines = [json_of(line) for line in text.split("\n") if line.strip()]
        rows = _json(lines, way)
    else:
        rows = _json(json_of(text), way)
    if len(rows) > limits.rows:
        raise _too_many(len(rows), limits)
    if not len(rows):
        raise Problem(422, "there is no row in the body")
    _check(rows, limits)
    return rows


def _too_many(count: int, limits: Limits) -> Problem:
    return Problem(413, f"{count:,} rows in a request, the limit is {limits.rows:,}: send them in parts")


def read_told(body: bytes, way: How, limits: Limits) -> list[tuple[int | str, Any]]:
    """Return the ids and targets of a body that tells what questions came to."""
    text = text_of(body)
    if way.format == "csv":
        rows = _csv(text, How("csv", way.target, way.id or "id"))
        told = [
            (int(id_) if id_.isdecimal() else id_, rows.target(i)) for i, id_ in enumerate(rows.ids or ())
        ]
    elif way.format == "ndjson":
        told = [_told(json_of(line)) for line in text.split("\n") if line.strip()]
    else:
        content = json_of(text)
        told = [_told(each) for each in (content if isinstance(content, list) else [content])]
    if not told:
        raise Problem(422, "nothing is told in the body")
    for id_, y in told:
        if isinstance(id_, str) and len(id_) > limits.name_length:
            raise Problem(422, f"an id is longer than {limits.name_length} characters")
        if isinstance(y, list) and not 0 < len(y) <= limits.outputs:
            raise Problem(422, f"there are {len(y):,} targets, the limit is {limits.outputs}")
    return told


def _told(content: Any) -> tuple[int | str, Any]:
    if not isinstance(content, dict) or content.keys() != {"id", "y"}:
        raise Problem(422, 'a truth must be told as {"id": …, "y": …}')
    id_ = content["id"]
    if isinstance(id_, bool) or not isinstance(id_, int | str) or id_ == "":
        raise Problem(422, "an id must be text or a whole number")
    return id_, content["y"]


def text_of(body: bytes) -> str:
    """Return a body as text."""
    try:
        return body.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Problem(400, f"the body is not UTF-8: byte {error.start} is wrong") from None


def json_of(text: str) -> Any:
    """Return what a JSON text says: numbers are finite, texts are Unicode, and nesting is within reason."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError as error:
        raise Problem(400, f"the JSON cannot be read: {str(error)[:200]}") from None


def _json(content: Any, way: How) -> Rows:
    take = _flat(way) if way.target is not None else _structured
    if isinstance(content, list):
        return _of_each(take(each, f"row {i}") for i, each in enumerate(content, start=1))
    if isinstance(content, dict) and "X" in content and way.target is None:
        return _columns(content)
    x, y, id_ = take(content, "the row")
    return Rows.of([x], [y], None if id_ is None else [id_], many=False)


def _of_each(taken: Iterator[tuple[Any, Any, str | None]]) -> Rows:
    listed = list(taken)
    if not listed:
        return Rows.of([], [])
    xs, ys, ids = map(list, zip(*listed, strict=True))
    if all(id_ is None for id_ in ids):
        return Rows.of(xs, ys)
    if None in ids:
        raise Problem(422, f"row {ids.index(None) + 1} has no id, others have one")
    return Rows.of(xs, ys, ids)


def _structured(row: Any, where: str) -> tuple[Any, Any, str | None]:
    if not isinstance(row, dict) or "x" not in row:
        raise Problem(422, f'{where} must be {{"x": inputs, "y": target}}, or say ?target= of flat objects')
    if not row.keys() <= _ROW_KEYS:
        raise Problem(422, f"{where} may have x, y and id, not {_name(min(row.keys() - _ROW_KEYS))}")
    return row["x"], row.get("y"), _id(row.get("id"), where)


def _flat(way: How) -> Callable[[Any, str], tuple[Any, Any, str | None]]:
    def take(row: Any, where: str) -> tuple[Any, Any, str | None]:
        if not isinstance(row, dict):
            raise Problem(422, f"{where} must be an object of named numbers")
        x = dict(row)
        y = x.pop(way.target, None)
        return x, y, _id(x.pop(way.id, None), where) if way.id is not None else None

    return take


def _columns(content: dict[str, Any]) -> Rows:
    if not content.keys() <= _COLUMN_KEYS:
        raise Problem(422, f"there may be X, y and ids, not {_name(min(content.keys() - _COLUMN_KEYS))}")
    X, y, ids = content["X"], content.get("y"), content.get("ids")
    if not isinstance(X, list):
        raise Problem(422, "X must be a list of rows")
    y = [None] * len(X) if y is None else y
    for name, values in (("y", y), ("ids", ids)):
        if values is not None and not (isinstance(values, list) and len(values) == len(X)):
            raise Problem(422, f"{name} must be a list of {len(X)}, one for each row of X")
    checked = None if ids is None else [_id(each, f"row {i}") for i, each in enumerate(ids, start=1)]
    if checked is not None and None in checked:
        raise Problem(422, "every row needs an id, or none has one")
    return Rows.of(X, y, checked)  # type: ignore[arg-type] # None was refused


def _id(value: Any, where: str) -> str | None:
    if value is None or (isinstance(value, str) and value):
        return value or None
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    raise Problem(422, f"the id of {where} must be text or a whole number")


def _csv(text: str, way: How) -> Rows:
    lines = csv.reader(io.StringIO(text, newline=""), strict=True)
    try:
        header = [name.strip() for name in next(lines, [])]
        cells = [line for line in lines if line]
    except csv.Error as error:
        raise Problem(400, f"the CSV cannot be read: {error} in line {lines.line_num}") from None
    if len(set(header)) < len(header):
        raise Problem(422, "every column of the CSV needs its own name in the first line")
    for column, option in ((way.target, "target"), (way.id, "id")):
        if column and column not in header:
            raise Problem(
                422, f"no column is called {_name(column)}: say ?{option}=COLUMN, or ?{option}= for none"
            )
    for number, line in enumerate(cells, start=2):
        if len(line) != len(header):
            raise Problem(422, f"row {number - 1} of the CSV has {len(line)} cells, the header {len(header)}")
    return _of_cells(header, cells, way)


def _of_cells(header: list[str], cells: list[list[str]], way: How) -> Rows:
    target = header.index(way.target) if way.target else None
    id_ = header.index(way.id) if way.id else None
    inputs = [(i, name) for i, name in enumerate(header) if i not in (target, id_)]
    xs = [{name: _cell(line[i]) for i, name in inputs} for line in cells]
    ys = [None if target is None else _cell(line[target]) for line in cells]
    ids = None if id_ is None else [line[id_] for line in cells]
    if ids is not None and "" in ids:
        raise Problem(422, f"row {ids.index('') + 1} of the CSV has no id")
    return Rows.of(xs, ys, ids)


def _cell(text: str) -> Any:
    """Return a cell as a number, None if it is empty, and other text as it is."""
    try:
        return float(text) if text.isascii() and "_" not in text else text
    except ValueError:
        return text.strip() or None


def _check(rows: Rows, limits: Limits) -> None:
    """Refuse what is too wide or of mixed form, before a model sees it."""
    if isinstance(rows.x, list):
        _check_listed(rows.x, limits)
    elif rows.x.shape[1] > limits.features:
        raise Problem(422, f"a row has {rows.x.shape[1]:,} inputs, the limit is {limits.features:,}")
    for id_ in rows.ids or ():
        if len(id_) > limits.name_length:
            raise Problem(422, f"an id is longer than {limits.name_length} characters")
    widths = {len(y) for y in rows.y if isinstance(y, list)} if isinstance(rows.y, list) else {rows.outputs}
    for width in widths:
        if not 0 < width <= limits.outputs:
            raise Problem(422, f"a row has {width:,} targets, the limit is {limits.outputs}")


def _check_listed(xs: list[Any], limits: Limits) -> None:
    kind = type(xs[0])
    for i, x in enumerate(xs, start=1):
        if type(x) is not kind or kind not in (list, dict):
            raise Problem(422, f"the inputs of row {i} must be a list, or an object, as those of all rows")
        if len(x) > limits.features:
            raise Problem(422, f"row {i} has {len(x):,} inputs, the limit is {limits.features:,}")
        if kind is list and len(x) != len(xs[0]):
            raise Problem(422, f"row {i} has {len(x)} inputs, the first {len(xs[0])}")
    if kind is dict:
        check_names({name for x in xs for name in x}, limits)


def check_names(names: set[str], limits: Limits) -> None:
    """Refuse names of features that are too many or too long."""
    if len(names) > limits.features:
        raise Problem(422, f"the rows have {len(names):,} inputs, the limit is {limits.features:,}")
    for name in names:
        if len(name) > limits.name_length:
            raise Problem(422, f"the name of an input is longer than {limits.name_length} characters")


def _name(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
