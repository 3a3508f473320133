"""The committee: several learners on one stream, each trusted as far as it has earned it. Nothing to tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman import limits
from elman.arguments import instance, one_of, whole_number
from elman.configuration.cells import Cell
from elman.configuration.members import Member, fitting_members
from elman.configuration.readouts import Readout
from elman.configuration.sizes import SIZES, members_of, names
from elman.configuration.training import Training
from elman.models._model import Model
from elman.models._rows import Bounds
from elman.models.tickets import MAX_PENDING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elman._core import Model as CoreModel
    from elman.models._rows import Columns, Outputs


_EXPLAINED_INPUTS = 10
_WIDTH = 9  # of an error that is shown


class Judged(NamedTuple):
    """A member, its share in the answers, and its mean squared errors: of all targets and of recent ones."""

    name: str
    weight: float
    error: float
    recent: float


class Standing(NamedTuple):
    """What a committee knows of itself."""

    unit: str
    committee: Judged
    members: tuple[Judged, ...]
    alarms: int
    last_alarm: int


class Committee(Model):
    """Accurate on any stream, with nothing to tune: the first model to try.

    Linear models, Kalman-trained networks and WOGD learn the stream side by side. Their forecasts are
    averaged with weights that follow their successes (ML-Poly, whose regret is bounded whatever the data),
    and the errors of that average are followed by quantiles that keep their coverage under drift: every
    prediction has an interval.

    Parameters
    ----------
    members
        The learners, a sequence of `Member`; by default a selection that suits the number of features.
    size
        ``"large"``, the most accurate; ``"small"`` for fleets of many models and for small machines; or
        ``"medium"``. What each costs in memory, time and accuracy is on the page of fleets.
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
    lowest, highest
        Between which values every target lies, if that is known: 0 for counts and concentrations, 0 and 1 for
        shares. No answer and no interval reaches beyond, and a target beyond is an error.
    max_pending
        How many questions of `ask` may be open at a time; beyond that the oldest are dropped and counted.

    Notes
    -----
    Rows, targets, missing features and unknown targets are as for `OnlineRNN`. Every output has members of
    its own, who see its own past, and all share the features: time and state grow in proportion to the number
    of outputs, and each is answered as a committee of its own would. Scaling is done once for all members;
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
        size: str = "large",
        lags: int = 6,
        threads: int = 1,
        dtype: str = "float32",
        seed: int | None = 0,
        lowest: float | None = None,
        highest: float | None = None,
        max_pending: int = MAX_PENDING,
    ) -> None:
        whole_number("threads", threads, at_least=1, at_most=limits.THREADS)
        self.threads = int(threads)
        self.dtype = one_of("dtype", dtype, ("float32", "float64"))
        self._members = None if members is None else _checked_members(members)
        self._given = members is not None
        self.size = one_of("size", size, SIZES)
        if self._given and size != "large":
            raise ValueError(f"size={size!r} chooses the members: pass either members or a size")
        self.lowest, self.highest = lowest, highest
        bounds = Bounds.checked(lowest, highest)
        super().__init__(lags=lags, seed=seed, max_pending=max_pending, bounds=bounds)

    def __repr__(self) -> str:
        usual = members_of(self.size, self._columns.n_coded(self._outputs.count or 1), self.lags)
        members = "" if self._members in (None, usual) else f"{list(self.members)!r}, "
        members += "" if self.size == "large" else f"size={self.size!r}, "
        return (
            f"Committee({members}lags={self.lags}, threads={self.threads}, dtype={self.dtype!r}, "
            f"seed={self.seed!r}{self._shown_bounds()}{self._shown_limit()})"
        )

    def _shown_bounds(self) -> str:
        given = {"lowest": self.lowest, "highest": self.highest}
        return "".join(f", {name}={value!r}" for name, value in given.items() if value is not None)

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
            if self._native is None:
                return {}
            shares = self._native.standing()[0]
            named = sorted(zip(self.members, shares, strict=True), key=lambda pair: -pair[1].mean())
            return {
                member.name: float(share[0]) if self._outputs.scalar else share for member, share in named
            }

    def explain(self) -> str:
        """Return a small table: how well the stream is forecast, by whom, and whether it has changed.

        Errors are mean squared errors in the units of the target, 'recent' those of the last thousand targets
        or so. Of several outputs it is their mean, each over the variance of its target.
        """
        samples, steps, _ = self._meters()
        standing = self.standing()
        if standing is None:
            return f"Committee after {samples:,} samples, none with a target"
        alarms = standing.alarms
        changes = (
            f"{alarms:,} noticed, the last at sample {standing.last_alarm:,}" if alarms else "none noticed"
        )
        names = [member.name for member in standing.members]
        width = max(len(name) for name in names)
        lines = [
            f"Committee after {samples:,} samples, {steps:,} with a target",
            f"changes of the stream: {changes}",
            "",
            f"{'':{width}}  weight  {standing.unit:>{_WIDTH}}  {'recent':>{_WIDTH}}",
        ]
        for name, member in zip(["committee", *names], [standing.committee, *standing.members], strict=True):
            weight = "" if member is standing.committee else f"{member.weight:6.3f}"
            lines.append(f"{name:{width}}  {weight:6}  {_shown(member.error)}  {_shown(member.recent)}")
        return "\n".join([*lines, *self._explained_inputs()])

    def _explained_inputs(self) -> list[str]:
        """Return lines on the inputs that matter most."""
        found = {name: float(np.mean(size)) for name, size in self.importance().items()}
        width = max(map(len, [*found, "input"]))
        most = list(found.items())[:_EXPLAINED_INPUTS]
        if not most:
            return []
        shown = [f"{name:{width}}  {size:10.4g}" for name, size in most]
        return ["", f"{'input':{width}}  importance", *shown]

    def standing(self) -> Standing | None:
        """Return what `explain` shows, as numbers: the members, the most trusted first, and their errors.

        None before the first target.
        """
        with self._lock:
            if self._native is None or self._native.meters()[1] == 0:
                return None
            shares, recent, mean, variances, alarms, last = self._native.standing()
        if not self._outputs.scalar:
            safe = np.where(variances[0] > 0, variances[0], 1.0)[:, np.newaxis]
            recent, mean = (recent / safe, mean / safe)
        recent, mean = recent.mean(axis=0), mean.mean(axis=0)
        listed = [
            Judged(member.name, float(share.mean()), float(error), float(late))
            for member, share, error, late in zip(self.members, shares, mean[:-1], recent[:-1], strict=True)
        ]
        return Standing(
            "error" if self._outputs.scalar else "of var",
            Judged("committee", 1.0, float(mean[-1]), float(recent[-1])),
            tuple(sorted(listed, key=lambda member: -member.weight)),
            alarms,
            last,
        )

    # What the base class asks for

    kind = "Committee"

    def _keep(self, native: CoreModel, columns: Columns, outputs: Outputs) -> None:
        if native is self._native:
            return
        members = self._members_for(columns.n_coded(outputs.count or 1))
        super()._keep(native, columns, outputs)
        self._members = members  # after all that can fail

    def _members_for(self, n_inputs: int) -> tuple[Member, ...]:
        if self._members is None:
            return members_of(self.size, n_inputs, self.lags)
        return self._members if self._given else fitting_members(self._members, n_inputs, self.lags)

    def _numbered(self, members: tuple[Member, ...]) -> list[tuple[int, Member]]:
        if self._given:
            return super()._numbered(members)
        places = names(self.size)
        return [(places.index(member.name), member) for member in members]

    def _options(self) -> dict[str, Any]:
        return {
            "joint": False,
            "scale": True,
            "logistic": False,
            "double_precision": self.dtype == "float64",
        }

    def _configuration(self) -> dict[str, Any]:
        return {
            "members": None if self._members is None else [_described(member) for member in self._members],
            "given": self._given,
            "size": self.size,
            "lags": self.lags,
            "threads": self.threads,
            "dtype": self.dtype,
            "seed": self.seed,
            "lowest": self.lowest,
            "highest": self.highest,
        }

    @classmethod
    def _configured(cls, configuration: dict[str, Any]) -> Self:
        listed = configuration["members"]
        model = cls(
            None if listed is None else [_member(description) for description in listed],
            **{name: configuration[name] for name in ("lags", "threads", "dtype", "seed")},
            lowest=configuration.get("lowest"),
            highest=configuration.get("highest"),
        )
        model._given = instance("given", configuration["given"], bool)
        model.size = one_of("size", configuration.get("size", "large"), SIZES)
        return model


def _shown(error: float) -> str:
    return f"{error:{_WIDTH}.4g}"


def _described(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "cell": member.cell.described(),
        "training": member.training.described(),
        "readout": member.readout.described(),
        "lagged": member.lagged,
        "features": member.features,
        "absolute": member.absolute,
    }


def _member(description: dict[str, Any]) -> Member:
    return Member(
        description["name"],
        Cell.configured(description["cell"]),
        Training.configured(description["training"]),
        Readout.configured(description["readout"]),
        description["lagged"],
        description["features"],
        description.get("absolute", False),  # versions before knew no other
    )


def _checked_members(members: Sequence[Member]) -> tuple[Member, ...]:
    checked = tuple(instance("each of members", member, Member) for member in members)
    if not checked:
        raise ValueError("members must hold at least one Member, got none")
    names = [member.name for member in checked]
    if len(set(names)) < len(names):
        raise ValueError(f"members must have different names, got {names}")
    return checked
