"""Tables and JSON of results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table

from elman.cli.console import plain
from elman.models.committee import Committee

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.text import Text

    from elman.evaluate import Prequential
    from elman.runs import Run, Session


def shown(value: Any) -> str:
    """Write a number, or that of each target, for a table: four figures, thousands apart, - for NaN."""
    if isinstance(value, np.ndarray):
        return ", ".join(map(shown, value.tolist()))
    if math.isnan(value):
        return "-"
    size = abs(value)
    if size >= 1000:
        return f"{value:,.0f}"
    decimals = 3 - math.floor(math.log10(size)) if size >= 1e-4 else 0
    return f"{value:.{min(decimals, 5)}f}" if decimals else f"{value:.3g}"


def errors_table(sessions: Sequence[Session]) -> Table:
    """Return a table of errors: each session's model, the best first, then the naive forecasts."""
    rows = f"{sessions[0].run.rows:,} rows"
    table = Table("forecast", box=box.SIMPLE_HEAD, pad_edge=False, caption=rows, caption_justify="left")
    for heading in ("MSE", "MAE", "R²", "of last value's MSE", "in 90 %", "rows/s"):
        table.add_column(heading, justify="right")
    ranked = sorted(sessions, key=lambda each: each.run.score.mse)
    for rank, session in enumerate(ranked):
        score = session.run.score
        style = (
            "bold green" if rank == 0 and score.mse < min(score.mse_of_last, score.mse_of_mean) else "bold"
        )
        speed = _unless_nan(session.rows_per_second, ",.0f")
        name = str(session.run.setup["model"])
        covered = _unless_nan(float(np.mean(session.run.coverage.share)), ".1%")
        table.add_row(*_cells(name, score.mse, score.mae, score), covered, speed, style=style)
    score, seasonal = ranked[0].run.score, ranked[0].run.seasonal.best()
    if seasonal is not None:
        name, mse, mae = seasonal
        table.add_row(*_cells(f"as {name}", _one(mse), _one(mae), score), "", "", style="dim")
    table.add_row(*_cells("last value", score.mse_of_last, score.mae_of_last, score), "", "", style="dim")
    table.add_row(*_cells("mean so far", score.mse_of_mean, score.mae_of_mean, score), "", "", style="dim")
    return table


def _one(values: Any) -> Any:
    """Return the value of one target as a number, and those of several as they are."""
    return float(values[0]) if len(values) == 1 else values


def _cells(name: str, mse: float, mae: float, score: Prequential) -> tuple[str | Text, ...]:
    r2 = 1 - mse / score.mse_of_mean if score.mse_of_mean else math.nan
    share = mse / score.mse_of_last if score.mse_of_last else math.nan
    return plain(name), shown(mse), shown(mae), _unless_nan(r2, ".3f"), _unless_nan(share, ".1%")


def _unless_nan(value: float, style: str) -> str:
    return "-" if math.isnan(value) else format(value, style)


def facts(run: Run) -> list[str]:
    """Say in a line or two what the run's model has to tell of itself."""
    model = run.model
    said = [_named(str(model.explain()), run)] if hasattr(model, "explain") else []
    if getattr(model, "local_regret", 0):
        per_step = model.local_regret / max(model.steps, 1)
        said.append(f"local regret {model.local_regret:,.4g}, {per_step:.2e} per step")
    unknown = run.rows - run.score.rows
    if unknown:
        said.append(f"{unknown:,} rows came without a target and count in no error")
    at_the_end = _without_target_at_the_end(run)
    if at_the_end > 1:
        said.append(
            f"the last {at_the_end:,} rows have no target: `elman forecast` forecasts several rows ahead"
        )
    said += _about_time(run)
    if len(run.open) == 1:
        said.append("a row has been answered and waits for its target")
    elif run.open:
        said.append(f"{len(run.open):,} rows have been answered and wait for their targets")
    if run.unasked:
        said.append(f"{run.unasked:,} truths came that nobody had asked for")
    if run.repeated:
        said.append(f"{run.repeated:,} truths came twice")
    return said


def _without_target_at_the_end(run: Run) -> int:
    """Return how many of the last rows came without a target, of those that are remembered."""
    unknown = np.atleast_1d(np.isnan(run.recent[:, :, -1]).all(axis=1))
    return int(np.argmin(unknown[::-1])) if not unknown.all() else len(unknown)


def _named(text: str, run: Run) -> str:
    """Return what a model says of itself with the names of inputs that it knows by their places only."""
    lines = text.split("\n")
    names = {f"x{place}": name for place, name in enumerate(run.names)}
    begin = next((i for i, line in enumerate(lines) if line.startswith("input ")), len(lines))
    pairs = [line.rsplit(maxsplit=1) for line in lines[begin:]]
    pairs = [[names.get(name.strip(), name.strip()), size] for name, size in pairs]
    width = max((len(name) for name, _ in pairs), default=0)
    return "\n".join([*lines[:begin], *(f"{name:{width}}  {size:>10}" for name, size in pairs)])


def _about_time(run: Run) -> list[str]:
    """Say what is odd about the time stamps."""
    clock = run.clock
    odd = {"repeated": clock.repeated, "missing": clock.missing, "backward": clock.backward}
    told = [f"{count:,} {what}" for what, count in odd.items() if count]
    if not told:
        return []
    step = "" if clock.step is None else f" (the usual step is {_span(clock.step)})"
    return [f"time stamps: {', '.join(told)}{step}"]


def _span(seconds: float) -> str:
    for size, name in ((86_400, "day"), (3600, "hour"), (60, "minute")):
        if seconds >= size and seconds % size == 0:
            count = round(seconds / size)
            return f"{count} {name}{'s' if count > 1 else ''}"
    return f"{seconds:g} s"


def as_json(session: Session) -> dict[str, Any]:
    """Return the results as JSON values, null for what is not known."""
    run, score = session.run, session.run.score
    values = {
        "targets": run.targets,
        "inputs": run.names,
        "setup": run.setup,
        "rows": run.rows,
        "rows_with_target": score.rows,
        "rows_per_second": session.rows_per_second,
        "mse": score.mse,
        "mae": score.mae,
        "r2": score.r2,
        "mse_of_last_value": score.mse_of_last,
        "mse_of_mean": score.mse_of_mean,
        "coverage": run.coverage.share,
    }
    seasonal = run.seasonal.best()
    if seasonal is not None:
        name, mse, mae = seasonal
        values |= {"seasonal": name, "mse_of_seasonal": _one(mse), "mae_of_seasonal": _one(mae)}
    return {name: _json(value) for name, value in values.items()} | _members(run)


def _members(run: Run) -> dict[str, Any]:
    """Return who is trusted and how far off everybody was, in the units of the errors above."""
    standing = run.model.standing() if isinstance(run.model, Committee) else None
    if standing is None:
        return {}
    names = ("mse", "recent_mse") if standing.unit == "error" else ("of_variance", "recent_of_variance")
    return {
        "members": [
            {"name": member.name, "weight": member.weight}
            | dict(zip(names, (member.error, member.recent), strict=True))
            for member in standing.members
        ]
    }


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_json(each) for each in value.tolist()]
    return None if isinstance(value, float) and not math.isfinite(value) else value
