"""The forecaster: the next rows of a series, at every row, with intervals for each step. Nothing to tune."""

from __future__ import annotations

import math
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman import limits, state
from elman._core import core
from elman.arguments import instance, number, one_of, whole_number
from elman.configuration.sizes import members_of, names
from elman.models import _stamps
from elman.models._compiled import check_shape, checked_seed, described, seed_words
from elman.models._locked import Locked
from elman.models._model import check_coverage
from elman.models._rows import Columns, Outputs
from elman.models.forecasts import LEVELS, SUM_COVERAGE, Backtest, Forecast
from elman.models.standing import Standing

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from elman._core import Forecaster as CoreForecaster
    from elman.arrays import Float64
    from elman.models._values import Kind

_LAGS = 6  # past values that the committee for the next row sees
_CHUNK = 512  # rows between two looks at Ctrl-C


class Forecaster(Locked):
    """Forecasts the next `horizon` rows of a series at every row, each with an interval. Nothing to tune.

    Naive forecasts, regressions for each step ahead and networks that are rolled out on their own answers
    learn the series side by side; for every step ahead they are mixed as far as each has earned it there, and
    the errors at that step are followed by quantiles. What a row teaches is learned when it comes, never
    before.

    Parameters
    ----------
    horizon
        How many rows ahead.
    season
        Periods of the seasons in rows, one or two, such as ``(24, 168)``; ``()`` for none. By default they
        come from the time stamps (day and week, week and year, ...) and, without stamps, are found.
    size
        ``"large"``, or ``"small"``: fewer and smaller members, a tenth of the state.
    lowest, highest
        No forecast and no end of an interval lies beyond.
    seed
        Seed of the networks' initial weights.

    Notes
    -----
    The value ``y`` of a row is a number, or None or NaN where it is not known: its place in the past is taken
    by what was expected. Covariates ``x`` are a dict, an array or a sequence, as for other models: numbers,
    dates or words, a missing one stands for its mean, new names may appear later. A ``time`` is a datetime, a
    `numpy.datetime64`, an ISO text or a number of seconds; with a time zone the clock on the wall there
    counts. Steps that the stamps leave out are rows that are not known; a stamp that is repeated, as when
    clocks are set back, is the next row; a value whose stamp lies before, of a row that came without one, is
    put in its place.

    Covariates of the rows ahead, where they are known (weather forecasts, holidays, prices), are passed to
    `forecast` as `xs`. Which columns those are is learned from what `xs` holds; the others count up to now.

    Examples
    --------
    >>> import numpy as np
    >>> hours = np.arange(24 * 60)
    >>> load = 100 + 30 * np.sin(hours / 24 * 2 * np.pi) + np.random.default_rng(0).normal(size=len(hours))
    >>> model = Forecaster(horizon=24)
    >>> backtest = model.run(load[:-24])
    >>> ahead = model.forecast()
    >>> bool(np.abs(ahead.mean - load[-24:]).mean() < 2)
    True
    >>> bool((ahead.low < ahead.mean).all() and (ahead.mean < ahead.high).all())
    True
    """

    kind = "Forecaster"
    """What a saved model of this class is called in its bytes."""

    def __init__(
        self,
        horizon: int = 24,
        *,
        season: Sequence[int] | int | None = None,
        size: str = "large",
        lowest: float | None = None,
        highest: float | None = None,
        seed: int | None = 0,
    ) -> None:
        super().__init__()
        whole_number("horizon", horizon, at_least=1, at_most=limits.HORIZON)
        self.horizon = int(horizon)
        self.season = _checked_season(season)
        self.size = one_of("size", size, ("large", "small"))
        self.lowest, self.highest = _bound("lowest", lowest), _bound("highest", highest)
        if lowest is not None and highest is not None and lowest > highest:
            raise ValueError(f"lowest must not be above highest, got {lowest!r} and {highest!r}")
        self.seed = checked_seed(seed)
        self._columns = Columns()
        self._native = self._new_native(self._columns)
        self._native.initialise(seed_words(self.seed))
        self._dates: bool | None = None  # whether stamps are dates

    def __repr__(self) -> str:
        said = [f"{name}={value!r}" for name, value in self._configuration().items() if value is not None]
        return f"Forecaster({', '.join(said)})"

    # Learning and forecasting

    def learn_one(self, y: Any, x: Any = None, time: Any = None) -> None:
        """Learn the value `y` of the next row; `x` are its covariates, `time` its stamp."""
        stamp = _stamps.seconds(time)
        _, value = Outputs(1).take(y)
        with self._lock:
            columns, row = self._row(x)
            native = self._fitting(columns)
            native.learn(float(value[0]), row, stamp)
            self._keep(native, columns)
            if not math.isnan(stamp):
                self._dates = _stamps.are_dates(time)

    def forecast(self, xs: Any = None, times: Any = None, coverage: float = 0.9) -> Forecast:
        """Return what the next rows will be.

        Parameters
        ----------
        xs
            Covariates of the next rows where they are known: rows as for `run`, at most `horizon` of them.
        times
            Stamps of the next rows where they are not simply the next ones, at most `horizon` of them.
        coverage
            With which probability each row lies in its interval.
        """
        check_coverage(coverage)
        with self._lock:
            rows, held = self._rows_ahead(xs)
            stamps = None if times is None else self._stamps_ahead(times)
            if held is not None:
                self._native.set_known_ahead(held)
            return self._forecast(rows, stamps, coverage)

    def sample(self, n: int = 100, xs: Any = None, times: Any = None, *, seed: int | None = None) -> Float64:
        """Return `n` paths that the next rows may take, shape (n, horizon).

        At each step they are distributed as the forecast says, and over the steps they go together as the
        errors of past forecasts did: the ranks of these are drawn anew. So sums, maxima and other things that
        depend on several steps can be read off them. The model does not change.
        """
        whole_number("n", n, at_least=1)
        ahead = self.forecast(xs, times)
        with self._lock:
            known = xs is not None and bool(self._columns.count)
            width = self._native.width_of_sum(known, SUM_COVERAGE)
            return ahead.paths(n, self._native.past_errors(known), width, seed)

    def run(
        self,
        y: Any,
        X: Any = None,
        times: Any = None,
        every: int = 1,
        *,
        known: Sequence[str | int] | None = None,
        coverage: float = 0.9,
    ) -> Backtest:
        """Learn many rows and return what was forecast after them, in one compiled loop.

        Forecast ``i`` was made before any value after row ``rows[i]`` was seen, the same to the bit as
        `learn_one` and `forecast` row by row.

        Parameters
        ----------
        y
            Values, shape (n,), NaN where not known.
        X
            Covariates: an array (n, n_covariates), a sequence of dicts, or a table.
        times
            Stamps, shape (n,). Those of the rows ahead are taken as known.
        every
            Forecast only after every so many rows, counted from the first that the model has seen.
        known
            Names, or numbers, of the columns of X that are known ahead, as `xs` of `forecast` would hold
            them; all if not said. Those that are only measured must be left out of it, or the backtest
            is better than what will be.
        coverage
            Of the intervals.
        """
        whole_number("every", every, at_least=1)
        check_coverage(coverage)
        levels = np.array([(1 - coverage) / 2, (1 + coverage) / 2])
        with self._lock:
            values, groups, stamps = self._checked(y, X, times)
            before = int(self._native.meters()[0])
            rows = np.flatnonzero((before + 1 + np.arange(len(values))) % every == 0)
            means = np.empty((len(rows), self.horizon))
            ends = np.empty((len(rows), self.horizon * 2))
            made = begin = 0
            with self._unchanged_without_memory(len(groups)):
                for columns, table, stop in groups:
                    native = self._fitting(columns)
                    mask = _mask(known, columns)
                    native.set_known_ahead(mask)
                    self._keep(native, columns)
                    while begin < stop:
                        end = min(begin + _CHUNK, stop)
                        places = means[made:], ends[made:]
                        made += native.run(
                            values, table, stamps, begin, end, every, any(mask), levels, *places
                        )
                        begin = end
            if times is not None and len(values):
                self._dates = _stamps.are_dates(times)
            intervals = ends.reshape(len(rows), self.horizon, 2)
            return Backtest(means, intervals[..., 0], intervals[..., 1], coverage, rows)

    # What the model knows of itself

    @property
    def n_samples(self) -> int:
        """Rows seen, with or without a value."""
        with self._lock:
            return int(self._native.meters()[0])

    @property
    def steps(self) -> int:
        """Rows whose value was known."""
        with self._lock:
            return int(self._native.meters()[1])

    @property
    def seasons(self) -> tuple[int, ...]:
        """Periods of the seasons, given, found or of the calendar, in rows."""
        with self._lock:
            return tuple(period for _, period in self._native.calendar()[2])

    @property
    def newest_time(self) -> float | None:
        """The stamp of the newest row in seconds of the wall clock since 1970, None without stamps."""
        with self._lock:
            now = self._native.calendar()[1]
            return None if math.isnan(now) else float(now)

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the covariates, or None if they come without names."""
        with self._lock:
            return None if self._columns.names is None else list(self._columns.names)

    @property
    def feature_kinds(self) -> tuple[Kind, ...]:
        """What each covariate holds: ``"number"``, ``"date"``, ``"datetime"`` or ``"category"``."""
        with self._lock:
            return tuple(self._columns.all_kinds)

    def standing(self) -> Standing:
        """Return who is trusted at which step ahead, and the recent errors of everybody."""
        with self._lock:
            ahead = any(self._native.known_ahead())
            return Standing(*self._native.standing(ahead), tuple(self._native.calendar()[2]))

    def explain(self) -> str:
        """Return a small table: the seasons, errors by step against the naive forecasts, who is trusted."""
        return self.standing().table(self.n_samples, self.steps)

    # Saving and loading

    def to_bytes(self) -> bytes:
        """Return the whole model as bytes; `from_bytes` continues bit for bit."""
        with self._lock:
            header = {
                "kind": self.kind,
                "configuration": self._configuration(),
                "shape": {
                    "n_inputs": self._columns.count,
                    "names": self._columns.names,
                    **({"kinds": self._columns.kinds} if self._columns.kinds else {}),
                    "dates": self._dates,
                },
            }
            return state.dump(header, state.Arrays(*self._native.state()))

    @classmethod
    def from_bytes(cls, blob: bytes) -> Self:
        """Return the model that `to_bytes` wrote; anything else is a ValueError. No code is run."""
        header, arrays = state.parse(blob)
        with state.damaged_if_rejected():
            if header["kind"] != cls.kind:
                raise ValueError(f"it is a saved {header['kind']}, not a saved {cls.kind}")
            configuration, shape = header["configuration"], header["shape"]
            horizon, count = configuration["horizon"], shape["n_inputs"] or 0
            fewest = 4 * horizon * (10 * horizon + count**2)
            if fewest > len(arrays.body):
                raise ValueError("the sizes in the header are not those of the arrays")
            model = cls(**configuration)
            model._restore(shape, arrays)
        return model

    def _restore(self, shape: dict[str, Any], arrays: state.Arrays) -> None:
        dates = shape["dates"]
        check_shape(**{key: shape[key] for key in shape if key != "dates"}, n_outputs=1, scalar=True)
        if dates is not None:
            instance("dates", dates, bool)
        names = shape["names"]
        columns = Columns(
            shape["n_inputs"], None if names is None else tuple(names), tuple(shape.get("kinds", ()))
        )
        native = self._new_native(columns)
        native.restore(arrays.table, arrays.body)
        self._native, self._columns, self._dates = native, columns, dates

    def _configuration(self) -> dict[str, Any]:
        return {
            "horizon": self.horizon,
            "season": None if self.season is None else list(self.season),
            "size": self.size,
            "lowest": self.lowest,
            "highest": self.highest,
            "seed": self.seed,
        }

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).from_bytes, (self.to_bytes(),)

    def __deepcopy__(self, memo: dict[int, Any]) -> Self:
        return type(self).from_bytes(self.to_bytes())

    # The compiled model behind it

    def _new_native(self, columns: Columns) -> CoreForecaster:
        small = self.size == "small"
        numbers = columns.n_coded(1)
        # Of each regression at least half a covariance of doubles, for each step and panel.
        fewest = 4 * self.horizon * (10 * self.horizon + (1 if small else 5) * numbers**2)
        if fewest > limits.STATE_BYTES:
            raise ValueError(
                f"a Forecaster of {numbers:,} covariates and horizon {self.horizon:,} would have more than "
                f"the {limits.STATE_BYTES:,} bytes that a saved model may have"
            )
        places = names("large")
        members = () if small else members_of("large", numbers, _LAGS)
        return core.Forecaster(
            horizon=self.horizon,
            features=columns.all_kinds,
            small=small,
            members=[described(places.index(member.name), member) for member in members],
            find_seasons=self.season is None,
            periods=list(self.season or ()),
            lowest=-math.inf if self.lowest is None else self.lowest,
            highest=math.inf if self.highest is None else self.highest,
        )

    def _fitting(self, columns: Columns) -> CoreForecaster:
        """Return the compiled model for these columns: the present one or a grown copy of it."""
        if columns.all_kinds == self._columns.all_kinds:
            return self._native
        native = self._new_native(columns)
        native.initialise(seed_words(self.seed))
        native.grow_from(self._native)
        return native

    @contextmanager
    def _unchanged_without_memory(self, groups: int) -> Iterator[None]:
        """Go back where there is no memory to grow, with the rows before that learned by a copy."""
        native, columns = self._native, self._columns
        if groups > 1:
            copy = self._new_native(columns)
            copy.restore(*native.state())
            self._native = copy
        try:
            yield
        except MemoryError:
            self._native, self._columns = native, columns
            raise

    def _keep(self, native: CoreForecaster, columns: Columns) -> None:
        self._native, self._columns = native, columns

    def _row(self, x: Any) -> tuple[Columns, Float64]:
        if x is None:
            return self._columns, np.full(self._columns.count or 0, math.nan)
        return self._columns.take(x)

    def _checked(
        self, y: Any, X: Any, times: Any
    ) -> tuple[Float64, list[tuple[Columns, Float64, int]], Float64]:
        """Return the values, groups of rows (columns, the whole table so far, where they end), and stamps."""
        _, values = Outputs(1).take_all(y, len(y) if hasattr(y, "__len__") else 0)
        n = len(values)
        stamps = _stamps.all_seconds(times, n)
        if X is None:
            count = self._columns.count or 0
            return values, [(self._columns, np.full((n, count), math.nan), n)], stamps
        parts = list(self._columns.take_all(X))
        if sum(len(rows) for _, rows in parts) != n:
            raise ValueError(f"X must have a row for each of the {n} values of y")
        whole = np.full((n, parts[-1][0].count or 0), math.nan)
        groups, stop = [], 0
        for columns, rows in parts:
            whole[stop : stop + len(rows), : rows.shape[1]] = rows
            stop += len(rows)
            groups.append((columns, stop))
        return (
            values,
            [(columns, np.ascontiguousarray(whole[:, : columns.count or 0]), end) for columns, end in groups],
            stamps,
        )

    def _rows_ahead(self, xs: Any) -> tuple[Float64 | None, list[bool] | None]:
        """Return the covariates ahead, shape (horizon, count), and which columns are known at all."""
        if xs is None:
            return None, None
        count = self._columns.count or 0
        parts = list(self._columns.take_all(xs))
        rows = np.concatenate([self._known_columns(part) for part in parts])
        if len(rows) > self.horizon:
            raise ValueError(f"xs must have at most {self.horizon} rows, the horizon; got {len(rows)}")
        if count == 0 or len(rows) == 0:
            return None, None
        padded = np.full((self.horizon, count), math.nan)
        padded[: len(rows)] = rows
        held = [bool(known) for known in ~np.isnan(rows).all(axis=0)]
        return (padded, held) if any(held) else (None, None)

    def _known_columns(self, part: tuple[Columns, Float64]) -> Float64:
        """Return rows with the columns that the model knows; what it has never seen says nothing to it."""
        return part[1][:, : self._columns.count or 0]

    def _stamps_ahead(self, times: Any) -> Float64:
        stamps = _stamps.all_seconds(times, len(times))
        if len(stamps) > self.horizon:
            raise ValueError(f"times must have at most {self.horizon} stamps, got {len(stamps)}")
        return np.concatenate([stamps, np.full(self.horizon - len(stamps), math.nan)])

    def _forecast(self, rows: Float64 | None, stamps: Float64 | None, coverage: float) -> Forecast:
        levels = np.concatenate([[(1 - coverage) / 2, (1 + coverage) / 2], LEVELS])
        means, quantiles = np.empty(self.horizon), np.empty((self.horizon, len(levels)))
        self._native.forecast(rows, stamps, levels, means, quantiles)
        return Forecast(
            means,
            quantiles[:, 0].copy(),
            quantiles[:, 1].copy(),
            coverage,
            self._times_ahead(stamps),
            quantiles[:, 2:].copy(),
            (
                -math.inf if self.lowest is None else self.lowest,
                math.inf if self.highest is None else self.highest,
            ),
        )

    def _times_ahead(self, given: Float64 | None) -> Any:
        step, now, _ = self._native.calendar()
        if math.isnan(now) or step <= 0:
            return None
        if given is None:
            stamps = _stamps.ahead(now, step, self.horizon)
        else:
            known = int((~np.isnan(given)).sum())
            last = given[known - 1] if known else now
            stamps = np.where(np.isnan(given), last + step * (np.arange(1, self.horizon + 1) - known), given)
        return _stamps.dates(stamps) if self._dates else stamps


def _checked_season(season: Any) -> tuple[int, ...] | None:
    if season is None:
        return None
    periods = (season,) if hasattr(season, "__index__") else tuple(season)
    if len(periods) > 2:
        raise ValueError(f"season must be at most two periods, got {season!r}")
    for period in periods:
        whole_number("a season's period", period, at_least=2, at_most=limits.SEASON)
    if len(set(periods)) < len(periods):
        raise ValueError(f"the periods of season must differ, got {season!r}")
    return tuple(sorted(int(period) for period in periods))


def _bound(name: str, value: float | None) -> float | None:
    if value is None:
        return None
    number(name, value)
    return float(value)


def _mask(known: Sequence[str | int] | None, columns: Columns) -> list[bool]:
    """Return of each column whether it is known ahead."""
    count = columns.count or 0
    if known is None:
        return [True] * count
    for each in known:
        if each not in (columns.names or ()) and not (
            columns.names is None and isinstance(each, int) and 0 <= each < count
        ):
            raise ValueError(f"known holds {each!r}, which is no column of X")
    names: Sequence[str | int] = columns.names if columns.names is not None else range(count)
    return [name in known for name in names]
