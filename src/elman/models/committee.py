"""The committee: several learners on one stream, each trusted as far as it has earned it. Nothing to tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman import state
from elman._core import Committee as CoreCommittee
from elman._core import core
from elman.arguments import instance, number, one_of, whole_number
from elman.configuration.cells import Cell
from elman.configuration.members import Member, default_members
from elman.configuration.readouts import Readout
from elman.configuration.training import Training
from elman.models._growth import grown
from elman.models._model import (
    Model,
    checked_seed,
    chunks,
    configured,
    described,
    matrix,
    part,
    set_initial_weights,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elman.arrays import Float64
    from elman.models._model import State
    from elman.models._rows import Columns, Outputs


_MOST_LAGS = 1000
_OF_INPUTS = ("input_moments", "input_surprises")  # arrays with a row for each input


class Committee(Model[CoreCommittee]):
    """Accurate on any stream, with nothing to tune: the first model to try.

    Linear models, Kalman-trained networks and WOGD learn the stream side by side. Their forecasts are
    averaged with weights that follow their successes (ML-Poly, whose regret is bounded whatever the data),
    and the errors of that average are followed by quantiles that keep their coverage under drift: every
    prediction has an interval.

    Parameters
    ----------
    members
        The learners, a sequence of `Member`; by default a selection that suits the number of features.
    lags
        How many past targets some of the members see besides the features, so that a bare series needs no
        features (rows of length 0). Members that do not see them keep a stream without memory accurate. 0 for
        none.
    threads
        Threads that `run` uses. The result does not depend on it, to the bit.
    dtype
        ``"float32"`` or ``"float64"``, the arithmetic of the members.
    seed
        Seed of the initial weights.

    Notes
    -----
    Rows, targets, missing features and unknown targets are as for `OnlineRNN`. Where a target is not known,
    the last known one stands for it among the past targets. Scaling is done once for all members;
    multiplying a column or the target by a constant changes predictions by rounding only.

    Examples
    --------
    >>> import numpy as np
    >>> series = np.sin(np.arange(1500) / 9) * np.sin(np.arange(1500) / 50)
    >>> model = Committee()
    >>> forecasts = model.run(np.empty((1400, 0)), series[:1400])     # a bare series
    >>> bool(np.mean((forecasts - series[:1400])[500:] ** 2) < 1e-3)
    True
    >>> low, high = model.interval_one([], coverage=0.9)
    >>> bool(low < model.predict_one([]) < high)
    True
    """

    def __init__(
        self,
        members: Sequence[Member] | None = None,
        *,
        lags: int = 6,
        threads: int = 1,
        dtype: str = "float32",
        seed: int | None = 0,
    ) -> None:
        whole_number("lags", lags, at_least=0)
        if lags > _MOST_LAGS:
            raise ValueError(f"lags must be at most {_MOST_LAGS}, got {lags!r}")
        whole_number("threads", threads, at_least=1)
        self.lags = int(lags)
        self.threads = int(threads)
        self.dtype = one_of("dtype", dtype, ("float32", "float64"))
        self.seed = checked_seed(seed)
        self._members = None if members is None else _checked_members(members)
        super().__init__()

    def __repr__(self) -> str:
        usual = default_members(self._columns.count or 0, self.lags * (self._outputs.count or 1))
        members = "" if self._members in (None, usual) else f"{list(self.members)!r}, "
        return (
            f"Committee({members}lags={self.lags}, threads={self.threads}, dtype={self.dtype!r}, "
            f"seed={self.seed!r})"
        )

    # Predicting and learning

    def interval_one(self, x: Any, coverage: float = 0.9) -> tuple[Any, Any]:
        """Return the interval that will hold the target of row `x` with probability `coverage`: (low, high).

        Floats, or arrays (n_outputs,) if targets are arrays. Infinite until a few targets have been seen that
        were not all the same. The model does not change.
        """
        _check_coverage(coverage)
        with self._lock:
            columns, row = self._columns.take(x)
            low, high = np.empty((2, self._outputs.count or 1))
            self._fitting(columns, self._outputs).interval(row, coverage, low, high)
            return (float(low[0]), float(high[0])) if self._outputs.scalar else (low, high)

    def run_intervals(self, X: Any, y: Any, coverage: float = 0.9) -> tuple[Float64, Float64, Float64]:
        """Like `run`; return predictions and the lower and upper ends of their intervals."""
        _check_coverage(coverage)
        with self._lock:
            groups, targets = self._checked(X, y)
            answers, low, high = (np.empty(targets.shape) for _ in range(3))
            for learner, rows, at in groups:
                for chunk in chunks(len(rows)):
                    place = slice(at.start + chunk.start, at.start + chunk.stop)
                    arrays = (matrix(array[place]) for array in (answers, low, high))
                    learner.run_intervals(
                        rows[chunk], matrix(targets[place]), coverage, self.threads, *arrays
                    )
            return answers, low, high

    def _run_chunk(self, learner: CoreCommittee, rows: Float64, targets: Float64, answers: Float64) -> None:
        learner.run_threads(rows, targets, self.threads, answers)

    # What the model knows of itself

    @property
    def members(self) -> tuple[Member, ...]:
        """The members; empty before the first row if they depend on the number of features."""
        return self._members or ()

    @property
    def weights(self) -> dict[str, Any]:
        """Who is trusted now: the share of each member in the prediction, by name, the largest first.

        Floats, or arrays (n_outputs,) if targets are arrays; empty before the first row.
        """
        with self._lock:
            if self._learner is None:
                return {}
            shares = self._learner.standing()[0]
            named = sorted(zip(self.members, shares, strict=True), key=lambda pair: -pair[1].mean())
            return {
                member.name: float(share[0]) if self._outputs.scalar else share for member, share in named
            }

    def explain(self) -> str:
        """Return a small table: how well the stream is forecast, by whom, and whether it has changed.

        Errors are mean squared errors in units of the target's variance, 'recent' those of the last thousand
        targets or so.
        """
        samples, steps, _ = self._meters()
        with self._lock:
            if self._learner is None or steps == 0:
                return f"Committee after {samples:,} samples, none with a target"
            shares, recent, mean, alarms, last = self._learner.standing()
        changes = f"{alarms:,} noticed, the last at sample {last:,}" if alarms else "none noticed"
        names = [member.name for member in self.members]
        width = max(len(name) for name in names)
        lines = [
            f"Committee after {samples:,} samples, {steps:,} with a target",
            f"changes of the stream: {changes}",
            "",
            f"{'':{width}}  weight   error  recent",
            f"{'committee':{width}}  {'':6}  {mean[0, -1]:6.4f}  {recent[0, -1]:6.4f}",
        ]
        for i in np.argsort(-shares.mean(axis=1), kind="stable"):
            share = shares[i].mean()
            lines.append(f"{names[i]:{width}}  {share:6.3f}  {mean[0, i]:6.4f}  {recent[0, i]:6.4f}")
        return "\n".join(lines)

    # What the base class asks for

    def _adopt(self, columns: Columns, outputs: Outputs) -> CoreCommittee:
        self._members = self._members_for(columns.count or 0, outputs.count or 1)
        return super()._adopt(columns, outputs)

    def _members_for(self, n_inputs: int, n_outputs: int) -> tuple[Member, ...]:
        return self._members or default_members(n_inputs, self.lags * n_outputs)

    def _new_learner(self, n_inputs: int, n_outputs: int) -> CoreCommittee:
        members = [
            (
                member.training.window,
                part(member.cell),
                part(member.training),
                part(member.readout),
                member.lagged,
            )
            for member in self._members_for(n_inputs, n_outputs)
        ]
        return core.Committee(
            n_inputs=n_inputs,
            n_outputs=n_outputs,
            lags=self.lags,
            double_precision=self.dtype == "float64",
            members=members,
        )

    def _with_initial_weights(self, arrays: State) -> State:
        for i, own in _by_member(arrays).items():
            set_initial_weights(own, [self.seed, i])
        return arrays

    def _grown(self, old: State, new: State) -> State:
        if len(old["target_moments"]) != len(new["target_moments"]):
            return _with_several_outputs(old, new)
        state = old | {name: np.concatenate([old[name], new[name][len(old[name]) :]]) for name in _OF_INPUTS}
        new_members = _by_member(new)
        for i, own in _by_member(old).items():
            state |= {f"member{i}.{name}": array for name, array in grown(own, new_members[i]).items()}
        return state

    def _configuration(self) -> dict[str, Any]:
        return {
            "members": None if self._members is None else [_described(member) for member in self._members],
            "lags": self.lags,
            "threads": self.threads,
            "dtype": self.dtype,
            "seed": self.seed,
        }

    @classmethod
    def _configured(cls, header: dict[str, Any]) -> Self:
        listed = header["members"]
        return cls(
            None if listed is None else [_member(description) for description in listed],
            **{name: header[name] for name in ("lags", "threads", "dtype", "seed")},
        )

    def _check_sizes(self, arrays: State, n_inputs: int, n_outputs: int) -> None:
        n_lagged = self.lags * n_outputs
        if len(arrays["input_moments"]) != n_lagged + n_inputs or arrays["history"].size != n_lagged:
            raise ValueError("the sizes in the header are not those of the arrays")
        own = _by_member(arrays)
        for i, member in enumerate(self.members):
            columns = n_inputs + n_lagged * member.lagged
            state.check(own[i], columns, n_outputs, member.cell.n_hidden)
        state.check_finite({name: a for name, a in arrays.items() if not name.startswith("member")})


def _with_several_outputs(old: State, new: State) -> State:
    """Return the state `new` of a committee whose first target shows several outputs, as long as it has seen.

    Nobody has learned anything yet, so the members start anew; the features keep their scales.
    """
    first = new["history"].size
    state = new | {"samples": old["samples"]}
    for name in _OF_INPUTS:
        features = old[name][old["history"].size :]
        state[name] = state[name].copy()
        state[name][first : first + len(features)] = features
    return state


def _by_member(arrays: State) -> dict[int, State]:
    """Return the state of each member from the state of the committee: views, by the member's number."""
    members: dict[int, State] = {}
    for name, array in arrays.items():
        if name.startswith("member"):
            member, own_name = name.removeprefix("member").split(".", 1)
            members.setdefault(int(member), {})[own_name] = array
    return members


def _described(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "cell": described(member.cell),
        "training": described(member.training),
        "readout": described(member.readout),
        "lagged": member.lagged,
    }


def _member(description: dict[str, Any]) -> Member:
    return Member(
        description["name"],
        configured(Cell.by_name, description["cell"]),
        configured(Training.by_name, description["training"]),
        configured(Readout.by_name, description["readout"]),
        description["lagged"],
    )


def _checked_members(members: Sequence[Member]) -> tuple[Member, ...]:
    checked = tuple(instance("each of members", member, Member) for member in members)
    if not checked:
        raise ValueError("members must hold at least one Member, got none")
    names = [member.name for member in checked]
    if len(set(names)) < len(names):
        raise ValueError(f"members must have different names, got {names}")
    return checked


def _check_coverage(coverage: float) -> None:
    number("coverage", coverage)
    if not 0 < coverage < 1:
        raise ValueError(f"coverage must be above 0 and below 1, got {coverage!r}")
