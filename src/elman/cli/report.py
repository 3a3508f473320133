"""Tables and JSON of results."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from rich import box
from rich.table import Table

from elman.cli.console import plain

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
    for heading in ("MSE", "MAE", "R²", "of last value's MSE", "rows/s"):
        table.add_column(heading, justify="right")
    ranked = sorted(sessions, key=lambda each: each.run.score.mse)
    for rank, session in enumerate(ranked):
        score = session.run.score
        style = (
            "bold green" if rank == 0 and score.mse < min(score.mse_of_last, score.mse_of_mean) else "bold"
        )
        speed = f"{session.rows / session.seconds:,.0f}" if session.seconds else "-"
        name = str(session.run.setup["model"])
        table.add_row(*_cells(name, score.mse, score.mae, score), speed, style=style)
    score = ranked[0].run.score
    table.add_row(*_cells("last value", score.mse_of_last, score.mae_of_last, score), "", style="dim")
    table.add_row(*_cells("mean so far", score.mse_of_mean, score.mae_of_mean, score), "", style="dim")
    return table


def _cells(name: str, mse: float, mae: float, score: Prequential) -> tuple[str | Text, ...]:
    r2 = 1 - mse / score.mse_of_mean if score.mse_of_mean else math.nan
    share = mse / score.mse_of_last if score.mse_of_last else math.nan
    return plain(name), shown(mse), shown(mae), _unless_nan(r2, ".3f"), _unless_nan(share, ".1%")


def _unless_nan(value: float, style: str) -> str:
    return "-" if math.isnan(value) else format(value, style)


def facts(run: Run) -> list[str]:
    """Say in a line or two what the run's model has to tell of itself."""
    model = run.model
    said = [str(model.explain())] if hasattr(model, "explain") else []
    if getattr(model, "local_regret", 0):
        per_step = model.local_regret / max(model.steps, 1)
        said.append(f"local regret {model.local_regret:,.4g}, {per_step:.2e} per step")
    unknown = run.rows - run.score.rows
    if unknown:
        said.append(f"{unknown:,} rows came without a target and count in no error")
    if run.open:
        said.append("the last row has been answered and waits for its target")
    return said


def as_json(session: Session) -> dict[str, Any]:
    """Return the results as JSON values, null for what is not known."""
    run, score = session.run, session.run.score
    values = {
        "targets": run.targets,
        "inputs": run.names,
        "setup": run.setup,
        "rows": run.rows,
        "rows_with_target": score.rows,
        "rows_per_second": session.rows / session.seconds if session.seconds else math.nan,
        "mse": score.mse,
        "mae": score.mae,
        "r2": score.r2,
        "mse_of_last_value": score.mse_of_last,
        "mse_of_mean": score.mse_of_mean,
    }
    return {name: _json(value) for name, value in values.items()}


def _json(value: Any) -> Any:
    if isinstance(value, np.ndarray):
        return [_json(each) for each in value.tolist()]
    return None if isinstance(value, float) and not math.isfinite(value) else value
