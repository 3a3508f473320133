"""The fleet: a model for every key, each made from one pattern when its key first comes."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman import limits, state
from elman.arguments import number, whole_number
from elman.fleets import _batches, _patterns
from elman.fleets._backtests import Series
from elman.fleets._batches import Keys
from elman.fleets._memory import InMemory
from elman.fleets._work import Work
from elman.fleets.refused import Refused
from elman.models.catalogue import load_any
from elman.models.forecaster import Forecaster
from elman.models.together import Batch, Model, Share

if TYPE_CHECKING:
    from collections.abc import Iterator

    from elman.arrays import Float64
    from elman.fleets._disk import OnDisk
    from elman.fleets._patterns import Pattern
    from elman.models.forecasts import Backtest, Forecast
    from elman.models.tickets import Ticket


class Fleet:
    """A model for every key: sensors, meters, shops, users, each with a stream of its own.

    Every key gets a model of its own, made from the pattern, when its first row is learned. Answers and
    states are the same to the bit as those of one model per key, whatever the number of threads and however
    the rows of different keys are mixed.

    Parameters
    ----------
    pattern
        A model that has learned nothing, such as ``Committee(size="small")`` or ``Forecaster(24)``. All
        models share its configuration, its seed too.
    threads
        Threads that `run` uses; keys are learned in parallel.

    Notes
    -----
    A key is a str or an int. A fleet of forecasters has `learn_one`, `forecast` and `backtest`, a fleet of
    other models everything else. Rows, targets, missing features and unknown targets are as for the pattern;
    features that appear later are added to the models of the keys they come with. Calls from several threads
    are taken one at a time.

    Examples
    --------
    >>> import numpy as np
    >>> from elman import OnlineRNN
    >>> fleet = Fleet(OnlineRNN(seed=1), threads=2)
    >>> keys = ["north", "south"] * 50
    >>> X = np.sin(np.arange(100) / 7)[:, None]
    >>> answers = fleet.run(keys, X, 2 * X[:, 0])
    >>> len(fleet), fleet["north"].n_samples
    (2, 50)
    """

    def __init__(self, pattern: Pattern, *, threads: int = 1) -> None:
        self.pattern: Any = _patterns.checked(pattern)
        whole_number("threads", threads, at_least=1, at_most=limits.THREADS)
        self.threads = int(threads)
        self._home: InMemory | OnDisk = InMemory()
        self._lock = threading.RLock()
        self._templates: dict[Any, Model] = {}
        self._replayed: dict[Any, int] = {}  # rows of keys that were learned before and come again

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        pattern: Pattern | None = None,
        *,
        threads: int = 1,
        max_in_memory: int = 1000,
        every: int | None = None,
        replay: bool = False,
    ) -> Self:
        """Return the fleet that is kept in a file; a file that is not there yet is made.

        The file is a SQLite database that belongs to one process at a time. It is saved now and then, by
        `save` and at the end of the ``with`` block; whatever happens, also ``kill -9``, it holds the fleet as
        it was at the last of these moments, whole.

        Parameters
        ----------
        path
            The file.
        pattern
            As for `Fleet`; not needed for a file that is there. It must then be the same as before.
        threads
            As for `Fleet`.
        max_in_memory
            Models to keep in memory: the ones used last. Others are written to the file and read again when
            their key comes. Predictions do not depend on it.
        every
            Rows between two saves. Where not said it is saved every five seconds, or less often if saving
            takes long.
        replay
            The stream is sent again from its beginning, after a crash for instance: rows that a key has
            learned are passed over, and answered by NaN.
        """
        whole_number("max_in_memory", max_in_memory, at_least=1)
        if every is not None:
            whole_number("every", every, at_least=1)
        if pattern is not None:
            cls(pattern)  # which checks it
        from elman.fleets._disk import OnDisk  # noqa: PLC0415 - SQLite is loaded for those who need it

        home = OnDisk(path, pattern, int(max_in_memory), every)
        try:
            fleet = cls(_same_pattern(path, pattern, home.pattern()), threads=threads)
        except BaseException:
            home.close(save=False)
            raise
        fleet._home = home
        if replay:
            fleet._replayed = {key: rows for key, rows in home.rows().items() if rows}
        return fleet

    def save(self) -> None:
        """Write all that has changed to the file, so that it lasts; nothing for a fleet in memory."""
        with self._lock:
            self._home.save()

    def note(self, name: str, content: bytes) -> None:
        """Keep something beside the models in the file, to last from the next save; not in memory."""
        with self._lock:
            self._home.note(name, content)

    def noted(self, name: str) -> bytes | None:
        """Return what was noted under a name, as of the last save or later."""
        with self._lock:
            return self._home.noted(name)

    def close(self) -> None:
        """Save the fleet and let go of its file."""
        with self._lock:
            home, self._home = self._home, InMemory()
            home.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Fleet({self.pattern!r}, threads={self.threads})"

    # Who is there

    def __len__(self) -> int:
        with self._lock:
            return len(self._home)

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the keys."""
        with self._lock:
            return iter(self._home.keys())

    def __contains__(self, key: Any) -> bool:
        with self._lock:
            key = _batches.plain_key(key)
            return _batches.wrong_key(key) is None and key in self._home

    def __getitem__(self, key: Any) -> Any:
        """Return the model of a key; what is done to it is done to the fleet."""
        with self._lock:
            model = self._home.hand_out(_batches.plain_key(key)) if key in self else None
        if model is None:
            raise KeyError(key)
        return model

    def __delitem__(self, key: Any) -> None:
        """Forget a key and all that its model has learned."""
        with self._lock:
            if key not in self:
                raise KeyError(key)
            self._home.remove(_batches.plain_key(key))

    # One row of one key

    def predict_one(self, key: Any, x: Any) -> Any:
        """Return the prediction for row `x` of a key; a key without a model is answered as a new one."""
        with self._lock:
            return self._asked(key, Model).predict_one(x)

    def interval_one(self, key: Any, x: Any, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return the interval that will hold the target of row `x` of a key with probability `coverage`."""
        with self._lock:
            interval: tuple[Any, Any] = self._asked(key, Model).interval_one(x, coverage)
            return interval

    def forecast(self, key: Any, xs: Any = None, times: Any = None, coverage: float = 0.9) -> Forecast:
        """Return the forecast of the next rows of a key, as the forecaster's own `forecast` does."""
        with self._lock:
            ahead: Forecast = self._asked(key, Forecaster).forecast(xs, times, coverage)
            return ahead

    def _asked(self, key: Any, kind: type) -> Any:
        """Return the model of a key, or one that has learned nothing."""
        self._must_be(kind)
        return self._home.get(_batches.check_key(key)) or _patterns.twin(self.pattern)

    def _must_be(self, kind: type) -> None:
        if not isinstance(self.pattern, kind):
            what = "forecast and backtest" if kind is Model else "predict_one, ask and run"
            raise TypeError(f"this is a fleet of {self.pattern!r}: it has {what}")

    def learn_one(self, key: Any, *sample: Any, **named: Any) -> None:
        """Learn one sample of a key, as the pattern's `learn_one` does.

        That is ``learn_one(key, x, y)``, where `y` None or NaN advances its state without learning; for a
        forecaster ``learn_one(key, y, x, time)``.
        """
        with self._lock:
            key = _batches.check_key(key)
            if self._pass_over(key, 1):
                return
            known = self._home.changing(key)
            model = known or _patterns.twin(self.pattern)
            model.learn_one(*sample, **named)
            if known is None:
                self._home.add(key, model)
            self._home.learned(1)

    def ask(self, key: Any, x: Any, coverage: float = 0.9) -> Ticket:
        """Answer row `x` of a key, whose target comes later or never; `tell` it by the ticket or its id."""
        with self._lock:
            self._must_be(Model)
            key = _batches.check_key(key)
            known = self._home.changing(key)
            model = known or self.pattern.twin()
            ticket: Ticket = model.ask(x, coverage)
            if known is None:
                self._home.add(key, model)
            self._home.learned(1)
            return ticket

    def tell(self, key: Any, ticket: Ticket | int, y: Any) -> None:
        """Learn the target of a question of a key. KeyError, as by the model's `tell`, if it is not open."""
        with self._lock:
            self._questioned(key).tell(ticket, y)
            self._home.learned(0)

    def forget(self, key: Any, ticket: Ticket | int) -> None:
        """Close a question of a key whose target will never come."""
        with self._lock:
            self._questioned(key).forget(ticket)
            self._home.learned(0)

    def _questioned(self, key: Any) -> Any:
        model = self._home.changing(_batches.check_key(key))
        if model is None:
            raise KeyError(f"no row of key {key!r} was asked")
        return model

    def _pass_over(self, key: Any, rows: int) -> int:
        """Return how many of the next rows of a key were learned before and come again."""
        left = self._replayed.get(key, 0)
        passed = min(left, rows)
        if passed == left:
            self._replayed.pop(key, None)
        else:
            self._replayed[key] = left - passed
        return passed

    # Rows of many keys

    def run(self, keys: Any, X: Any, y: Any) -> Float64:
        """Predict every row by the model of its key, then learn from it.

        Parameters
        ----------
        keys
            The key of each row, a sequence of str or int; or the name of the column of X that holds them.
        X
            Rows in the order of the stream, as for the pattern's `run`: an array, a sequence of dicts, or a
            table of pandas, polars or pyarrow.
        y
            Targets, as for the pattern's `run`; or the name of the column of X that holds them.

        Returns
        -------
        array of shape (n,) or (n, n_outputs)
            The prediction made for each row before its target was seen.

        Raises
        ------
        Refused
            If a row is wrong: it says which, of what key, and why. Nothing of that key was learned, all
            other keys were.
        """
        return self._run(keys, X, y, 1, 0)[0]

    def run_intervals(
        self, keys: Any, X: Any, y: Any, coverage: float = 0.9
    ) -> tuple[Float64, Float64, Float64]:
        """Like `run`; return predictions and the lower and upper ends of their intervals."""
        number("coverage", coverage, above=0, below=1)
        predictions, low, high = self._run(keys, X, y, 3, coverage)
        return predictions, low, high

    def _run(self, keys: Any, X: Any, y: Any, n_answers: int, coverage: float) -> list[Float64]:
        self._must_be(Model)
        listed, X, y = _batches.split(keys, X, y)
        rows = _batches.count_rows(X)
        if rows != len(listed):
            raise ValueError(f"there must be a key for each row: got {len(listed)} keys and {rows} rows")
        targets = _batches.target_numbers(y, rows)
        work = Work(Keys.of(listed), targets, n_answers, coverage, rows, self.pattern)
        plain = _batches.numbers(X)
        with self._lock:
            if plain is None:
                self._run_any(work, X)
            else:
                self._run_numbers(work, plain)
        return work.result()

    def _run_numbers(self, work: Work, rows: _batches.Numbers) -> None:
        """Learn rows of plain numbers, many keys in one compiled call."""
        work.refuse_wrong_numbers(rows)
        self._pass_over_learned(work)
        batch = _batches.sorted_batch(work.keys, rows, work.targets)
        for places in work.slices(self._home.most):
            shares, learned, new = [], [], []
            for i in places:
                key = work.keys.unique[i]
                try:
                    model = self._home.changing(key)
                    if model is not None:
                        batch.check(model)
                    else:
                        model = self._begun(batch).twin()
                        new.append((key, model))
                except (TypeError, ValueError) as error:
                    work.refuse(i, int(work.rows_of(i)[0]), str(error))
                    continue
                learned.append(i)
                shares.append(Share(model, work.begin(i), int(work.keys.starts[i + 1])))
            if shares:
                answers = batch.run(shares, work.n_answers, work.coverage, self.threads)
                work.answer(np.concatenate([work.rows_of(i) for i in learned]), answers)
            for key, model in new:
                self._home.add(key, model)
            self._home.learned(sum(share.end - share.begin for share in shares))

    def _begun(self, batch: Batch) -> Model:
        """Return a model for such rows that has learned nothing, of which all new keys have a twin."""
        targets = None if batch.y is None else batch.y.shape[1:]
        kind = batch.names, batch.X.shape[1], batch.kinds, targets
        if kind not in self._templates:
            self._templates.clear()  # rows that change their kind all the time must not fill the memory
            self._templates[kind] = batch.begun(self.pattern)
        return self._templates[kind]

    def _run_any(self, work: Work, X: Any) -> None:
        """Learn rows of any kind, each key by the `run` of its model."""
        work.refuse_wrong_keys()
        if self._replayed:
            work.refuse_wrong_rows(X, self._replayed)
        self._pass_over_learned(work)
        for places in work.slices(self._home.most):
            found = [(i, self._home.changing(work.keys.unique[i])) for i in places]
            models = [model or self.pattern.twin() for _, model in found]
            with ThreadPoolExecutor(self.threads) as pool:
                results = list(pool.map(lambda i, model: work.run_alone(i, model, X), places, models))
            learned = 0
            for (i, known), model, result in zip(found, models, results, strict=True):
                if isinstance(result, str):
                    work.refuse_first_wrong_row(i, X, result)
                    continue
                work.answer(work.rows_of(i), result)
                learned += len(work.rows_of(i))
                if known is None:
                    self._home.add(work.keys.unique[i], model)
            self._home.learned(learned)

    def backtest(
        self, keys: Any, y: Any, X: Any = None, times: Any = None, **options: Any
    ) -> dict[Any, Backtest]:
        """Learn the rows of many series and return, by key, what was forecast after them.

        Parameters
        ----------
        keys
            The key of each row, a sequence of str or int; or the name of the column of X that holds them.
        y
            Values, shape (n,), NaN where not known; or the name of the column of X that holds them.
        X, times
            Covariates and time stamps of the rows, as for the forecaster's `run`.
        options
            Further options of the forecaster's `run`: `every`, `known`, `coverage`.

        Raises
        ------
        Refused
            If a row is wrong: it says which, of what key, and why. Nothing of that key was learned, all
            other keys were; ``answers[0]`` is what would have been returned for these.
        """
        self._must_be(Forecaster)
        listed, X, y = _batches.split(keys, X, y)
        series = Series.of(len(listed), y, X, times, options)
        work = Work(Keys.of(listed), None, 1, 0, len(listed), self.pattern)
        made: dict[Any, Backtest] = {}
        with self._lock:
            work.refuse_wrong_keys()
            self._pass_over_learned(work)
            for places in work.slices(self._home.most):
                found = [(work.keys.unique[i], self._home.changing(work.keys.unique[i])) for i in places]
                models: list[Any] = [model or _patterns.twin(self.pattern) for _, model in found]
                rows = [work.rows_of(i) for i in places]
                results = series.run_all(models, rows, self.threads)
                for i, (key, known), model, result in zip(places, found, models, results, strict=True):
                    if isinstance(result, str):
                        work.refused[i] = series.refused(key, model, work.rows_of(i), result)
                        continue
                    made[key] = result
                    if known is None:
                        self._home.add(key, model)
                self._home.learned(sum(map(len, rows)))
        if work.refused:
            raise Refused([work.refused[i] for i in sorted(work.refused)], [made])
        return made

    def _pass_over_learned(self, work: Work) -> None:
        """Pass over rows that were learned before and come again."""
        if self._replayed:
            for i, key in enumerate(work.keys.unique):
                if i not in work.refused:
                    work.passed[i] = self._pass_over(key, len(work.keys.rows(i)))


def _same_pattern(path: str | os.PathLike[str], given: Pattern | None, saved: bytes) -> Pattern:
    """Return the pattern of a file; a ValueError if another one is given, whatever its seed and threads."""
    pattern = load_any(saved)
    if given is not None and _essence(given.to_bytes()) != _essence(saved):
        raise ValueError(
            f"{os.fspath(path)} holds a fleet of {pattern!r}, not of {given!r}: models stay what they are"
        )
    return pattern


def _essence(blob: bytes) -> dict[str, Any]:
    header = state.parse(blob)[0]
    different = {
        name: value for name, value in header["configuration"].items() if name not in ("seed", "threads")
    }
    return {"kind": header["kind"]} | different
