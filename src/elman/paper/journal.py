"""A file that remembers finished trials, so that an interrupted reproduction loses none of them.

One line of JSON for each result, only ever appended, and on the disk before it counts. A process that is
killed while writing leaves at most a torn last line, which the next one cuts off.
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

from elman.paper.trials import Result, Trial, key

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path


class Journal:
    """Results of trials, by what determines them.

    Parameters
    ----------
    path
        The file; it is made at the first result.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._results: dict[str, Result] = {}
        if path.exists():
            self._read()

    def _read(self) -> None:
        whole = self.path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]
        for number, line in enumerate(kept.splitlines(), start=1):
            try:
                entry = json.loads(line)
                self._results[entry["key"]] = entry["result"]
            except (ValueError, KeyError, TypeError):
                raise ValueError(
                    f"line {number} of {self.path} is not a result of elman: delete the line, or the file to "
                    "begin anew"
                ) from None
        if kept != whole:
            os.truncate(self.path, len(kept))

    def __len__(self) -> int:
        return len(self._results)

    def __contains__(self, trial: Trial) -> bool:
        return key(trial) in self._results

    def __getitem__(self, trial: Trial) -> Result:
        return self._results[key(trial)]

    def add(self, results: Iterable[tuple[Trial, Result]]) -> None:
        """Write results down; when this returns they are on the disk."""
        entries = {key(trial): result for trial, result in results}
        lines = [json.dumps({"key": name, "result": result}) + "\n" for name, result in entries.items()]
        with self.path.open("a", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        self._results |= entries

    def forget(self, trials: Iterable[Trial]) -> None:
        """Strike results out, so that they are made again; the file is replaced as a whole or not at all."""
        struck = {key(trial) for trial in trials} & self._results.keys()
        if not struck:
            return
        kept = {name: result for name, result in self._results.items() if name not in struck}
        lines = [json.dumps({"key": name, "result": result}) + "\n" for name, result in kept.items()]
        beside = self.path.with_suffix(".new")
        with beside.open("w", encoding="utf-8") as file:
            file.writelines(lines)
            file.flush()
            os.fsync(file.fileno())
        beside.replace(self.path)
        self._results = kept
