"""The committee: several learners on one stream, each trusted as far as it has earned it. Nothing to tune."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Self

import numpy as np

from elman.arguments import instance, one_of, whole_number
from elman.configuration.cells import Cell
from elman.configuration.members import DEFAULT_NAMES, Member, default_members, fitting_members
from elman.configuration.readouts import Readout
from elman.configuration.training import Training
from elman.models._model import Model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elman._core import Model as CoreModel
    from elman.models._rows import Columns, Outputs


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
        lags: int = 6,
        threads: int = 1,
        dtype: str = "float32",
        seed: int | None = 0,
    ) -> None:
        whole_number("threads", threads, at_least=1)
        self.threads = int(threads)
        self.dtype = one_of("dtype", dtype, ("float32", "float64"))
        self._members = None if members is None else _checked_members(members)
        self._given = members is not None
        super().__init__(lags=lags, seed=seed)

    def __repr__(self) -> str:
        usual = default_members(self._columns.count or 0, self.lags)
        members = "" if self._members in (None, usual) else f"{list(self.members)!r}, "
        return (
            f"Committee({members}lags={self.lags}, threads={self.threads}, dtype={self.dtype!r}, "
            f"seed={self.seed!r})"
        )

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

        Errors are mean squared errors in units of the target's variance, 'recent' those of the last thousand
        targets or so.
        """
        samples, steps, _ = self._meters()
        with self._lock:
            if self._native is None or steps == 0:
                return f"Committee after {samples:,} samples, none with a target"
            shares, recent, mean, alarms, last = self._native.standing()
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

    kind = "Committee"

    def _keep(self, native: CoreModel, columns: Columns, outputs: Outputs) -> None:
        self._members = self._members_for(columns.count or 0)
        super()._keep(native, columns, outputs)

    def _members_for(self, n_inputs: int) -> tuple[Member, ...]:
        if self._members is None:
            return default_members(n_inputs, self.lags)
        return self._members if self._given else fitting_members(self._members, n_inputs, self.lags)

    def _numbered(self, members: tuple[Member, ...]) -> list[tuple[int, Member]]:
        if self._given:
            return super()._numbered(members)
        return [(DEFAULT_NAMES.index(member.name), member) for member in members]

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
            "lags": self.lags,
            "threads": self.threads,
            "dtype": self.dtype,
            "seed": self.seed,
        }

    @classmethod
    def _configured(cls, configuration: dict[str, Any]) -> Self:
        listed = configuration["members"]
        model = cls(
            None if listed is None else [_member(description) for description in listed],
            **{name: configuration[name] for name in ("lags", "threads", "dtype", "seed")},
        )
        model._given = instance("given", configuration["given"], bool)
        return model


def _described(member: Member) -> dict[str, Any]:
    return {
        "name": member.name,
        "cell": member.cell.described(),
        "training": member.training.described(),
        "readout": member.readout.described(),
        "lagged": member.lagged,
        "features": member.features,
    }


def _member(description: dict[str, Any]) -> Member:
    return Member(
        description["name"],
        Cell.configured(description["cell"]),
        Training.configured(description["training"]),
        Readout.configured(description["readout"]),
        description["lagged"],
        description["features"],
    )


def _checked_members(members: Sequence[Member]) -> tuple[Member, ...]:
    checked = tuple(instance("each of members", member, Member) for member in members)
    if not checked:
        raise ValueError("members must hold at least one Member, got none")
    names = [member.name for member in checked]
    if len(set(names)) < len(names):
        raise ValueError(f"members must have different names, got {names}")
    return checked
