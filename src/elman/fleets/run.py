"""A fleet on its way through one stream, with all that is needed to stop anywhere and go on from there."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from elman import state
from elman.arguments import instance, whole_number
from elman.evaluate import Prequential
from elman.fleets.refused import Refused
from elman.models.coded import Coded
from elman.runs.samples import Position

if TYPE_CHECKING:
    from collections.abc import Sequence

    from elman.arrays import Float64
    from elman.fleets.fleet import Fleet
    from elman.fleets.refused import RefusedRow
    from elman.models.coded import Kind
    from elman.tables import Block

_FORMAT = 1
_MOST = 2**52
_NOTE = "run"


class Answered(NamedTuple):
    """What rows of several keys were answered, and what came; each of shape (n,)."""

    keys: list[str]
    prediction: Float64
    low: Float64
    high: Float64
    truth: Float64
    refused: list[RefusedRow]


class FleetRun:
    """A fleet, how well each key has done, and where it is in its stream.

    Parameters
    ----------
    fleet
        What learns. If it is in a file, the run is noted there.
    setup, names, target, columns, kinds
        As for `elman.runs.Run`.
    """

    def __init__(  # noqa: PLR0917 - what a run is made from
        self,
        fleet: Fleet,
        setup: dict[str, Any],
        names: Sequence[str],
        target: str,
        columns: dict[str, Any],
        kinds: Sequence[Kind] = (),
    ) -> None:
        self.fleet, self.setup, self.columns, self.kinds = fleet, setup, columns, tuple(kinds)
        self.names = tuple(names)
        self.targets: tuple[str, ...] = (target,)
        self.rows = 0
        self.answered = 0  # some of these rows may wait for their target
        self.position = Position()
        self.output_size = 0
        self.open: dict[str, Float64] = {}  # rows that were answered and wait for their target, by key
        self.scores: dict[str, Prequential] = {}

    @classmethod
    def noted(cls, fleet: Fleet) -> FleetRun | None:
        """Return the run that is noted in the file of a fleet; None if the fleet was made without one."""
        content = fleet.noted(_NOTE)
        if content is None:
            return None
        with state.damaged_if_rejected():
            found = json.loads(content)
            if found["format"] != _FORMAT:
                raise ValueError(f"the run has format {found['format']}, this elman reads {_FORMAT}")
            return cls._read(fleet, found)

    @classmethod
    def _read(cls, fleet: Fleet, found: dict[str, Any]) -> FleetRun:
        run = cls(fleet, found["setup"], found["names"], found["target"], found["columns"], found["kinds"])
        run.rows, run.answered, run.output_size = (
            found[name] for name in ("rows", "answered", "output_size")
        )
        run.position = Position(found["samples"], found["checksum"])
        run.open = {key: _unknown(row) for key, row in found["open"].items()}
        run.scores = {key: Prequential([totals]) for key, totals in found["scores"].items()}
        run._check_meaning()
        return run

    def _check_meaning(self) -> None:
        """Raise unless what was read can have been saved."""
        for name in (*self.names, *self.targets):
            instance("a name", name, str)
        if len(set(self.names)) < len(self.names):
            raise ValueError("two of its inputs have the same name")
        for name, value in (
            ("rows", self.rows),
            ("answered", self.answered),
            ("output_size", self.output_size),
            ("samples", self.position.samples),
            ("checksum", self.position.checksum),
        ):
            whole_number(name, value, at_least=0, at_most=_MOST)
        instance("setup", self.setup, dict)
        instance("columns", self.columns, dict)
        if any(row.shape != (len(self.names),) or np.isinf(row).any() for row in self.open.values()):
            raise ValueError("an open question is none of its rows")
        if sum(score.totals[0, 0] for score in self.scores.values()) > self.rows:
            raise ValueError("more errors were counted than there are rows")
        if any(self.kinds) and len(self.kinds) != len(self.names):
            raise ValueError("its inputs are of other kinds")

    def save(self) -> None:
        """Write everything to the file, as of this moment."""
        noted = {
            "format": _FORMAT,
            "setup": self.setup,
            "names": self.names,
            "target": self.targets[0],
            "columns": self.columns,
            "kinds": self.kinds,
            "rows": self.rows,
            "answered": self.answered,
            "output_size": self.output_size,
            "samples": self.position.samples,
            "checksum": self.position.checksum,
            "open": {key: _known(row) for key, row in self.open.items()},
            "scores": {key: score.totals[0].tolist() for key, score in self.scores.items()},
        }
        self.fleet.note(_NOTE, json.dumps(noted).encode())  # errors of giants may be infinite
        self.fleet.save()

    def learn(self, block: Block) -> Answered:
        """Answer and learn the rows of a block."""
        keys, y = block.key or [], block.y[:, 0]
        refused: list[RefusedRow] = []
        try:
            answers = list(self.fleet.run_intervals(keys, self._coded(block.X), y))
        except Refused as error:
            answers, refused = error.answers, error.rows
        self._evaluate(keys, y, answers[0])
        self.rows += len(keys)
        self.answered += len(keys)
        self.position = self.position.after(block)
        prediction, low, high = answers
        return Answered(keys, prediction, low, high, y, refused)

    def converse(self, block: Block) -> Answered | None:
        """Answer one row at once; None if it is the target of the row of its key that waits for one.

        A row without a target waits for it. If another row of its key comes first it counts as never known.
        """
        (key,), x, y = block.key or [""], block.X[0], float(block.y[0, 0])
        waiting = self.open.get(key)
        truth = len(x) > 0 and bool(np.isnan(x).all()) and not math.isnan(y) and waiting is not None
        self.position = self.position.after(block)
        if waiting is not None:
            self._learn_one(key, waiting, y if truth else math.nan)
            del self.open[key]
        if truth:
            return None
        row = self._coded(x)
        prediction, (low, high) = self.fleet.predict_one(key, row), self.fleet.interval_one(key, row)
        self.answered += 1
        if math.isnan(y):
            self.open[key] = x
        else:
            self._learn_one(key, x, y)
        prediction, low, high, truth_ = (np.array([each]) for each in (prediction, low, high, y))
        return Answered([key], prediction, low, high, truth_, [])

    def _coded(self, x: Float64) -> Any:
        return Coded(x, self.kinds) if any(kind != "number" for kind in self.kinds) else x

    def _learn_one(self, key: str, x: Float64, y: float) -> None:
        row = self._coded(x)
        self._evaluate([key], np.array([y]), np.array([self.fleet.predict_one(key, row)]))
        self.fleet.learn_one(key, row, y)
        self.rows += 1

    def _evaluate(self, keys: list[str], y: Float64, prediction: Float64) -> None:
        known = ~np.isnan(prediction)
        places: dict[str, list[int]] = {}
        for i in np.flatnonzero(known).tolist():
            places.setdefault(keys[i], []).append(i)
        for key, rows in places.items():
            self.scores.setdefault(key, Prequential()).update(y[rows], prediction[rows])

    def total(self) -> Prequential:
        """Return the errors of all keys together; naive forecasts are those of each key's own past."""
        score = Prequential()
        if self.scores:
            score = Prequential(np.sum([each.totals for each in self.scores.values()], axis=0))
        return score


def _known(row: Float64) -> list[float | None]:
    return [None if math.isnan(value) else value for value in row.tolist()]


def _unknown(row: list[float | None]) -> Float64:
    return np.array([math.nan if value is None else value for value in row], dtype=np.float64)
