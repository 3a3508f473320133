"""Makes docs/benchmarks.md and the table of the README from the raw results in benchmarks/results.

python benchmarks/page.py
"""

from __future__ import annotations

import json
import math
from pathlib import Path
from statistics import median
from typing import Any

HERE = Path(__file__).parent
PAGE = HERE.parent / "docs" / "benchmarks.md"
README = HERE.parent / "README.md"
BEGIN, END = "<!-- accuracy: made by benchmarks/page.py -->\n", "<!-- end of accuracy -->"


RIVER = ["ARF", "AMF", "KNN", "Bayesian linear"]
ACCURACY_MODELS = [
    "Committee",
    "linear RLS",
    "SRNN-WOGD",
    "LSTM-Adam",
    "SRNN-EKF",
    *RIVER,
]


SETTLED = 100  # as in accuracy.py
SIMPLE = ["last value", "mean", "linear RLS"]


def load(name: str) -> Any:
    return json.loads((HERE / "results" / f"{name}.json").read_text())


def table(header: list[str], rows: list[list[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines) + "\n"


def kernel(results: Any) -> str:
    rows = [
        [
            f"{row['n_x']}, {row['n_hidden']}, {row['window']}",
            row["dtype"],
            f"{row['rows_per_second']:,.0f}",
            f"{row['gflops']:.1f}",
            f"{row['share_of_peak']:.0%}",
        ]
        for row in results["kernel"]
    ]
    return table(
        ["inputs with constant, hidden, window", "type", "rows/s", "GFLOP/s", "share of FMA peak"], rows
    )


def peers(results: Any) -> str:
    names = ["numpy", "torch", "jax"]
    rows = [
        [row["size"], f"{row['elman']:,.0f}"]
        + [f"{row[name]:,.0f} (elman is {row['elman'] / row[name]:,.0f} x faster)" for name in names]
        for row in results["peers"]
    ]
    return table(["size", "elman", "NumPy oracle", "PyTorch nn.RNN + autograd", "JAX, one jitted scan"], rows)


def cells(results: Any) -> str:
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for row in results["cells"]:
        found.setdefault((row["cell"], row["n_hidden"], row["lookback"]), {})[row["dtype"]] = row
    rows = [
        [cell, str(n_hidden), str(lookback)]
        + [f"{by[dtype]['rows_per_second']:,.0f}" for dtype in ("float32", "float64")]
        + [f"{by[dtype]['share_of_peak']:.0%}" for dtype in ("float32", "float64")]
        for (cell, n_hidden, lookback), by in sorted(found.items(), key=lambda item: item[0][1:])
    ]
    header = ["cell", "hidden", "lookback", "rows/s float32", "float64", "share of peak float32", "float64"]
    return table(header, rows)


def clockwork(results: Any) -> str:
    rows = [
        [str(row["n_hidden"]), row["periods"], f"{row['counted']:.2f}", f"{row['measured']:.2f}"]
        for row in results["clockwork"]
    ]
    return table(["hidden", "periods", "operations counted / SRNN", "time measured / SRNN"], rows)


def windows(results: Any) -> str:
    rows = [
        [str(r["window"]), f"{r['us_per_row']:.2f}", f"{r['ns_per_row_and_sample']:.1f}"]
        for r in results["windows"]
    ]
    return table(["window", "µs per row", "ns per row and sample"], rows)


def listed(results: Any) -> list[dict[str, Any]]:
    """The rows of the streams on which members were run alone: all but those of monitoring."""
    streams = {row["stream"] for row in results["rows"] if row["model"] == "member"}
    return [row for row in results["rows"] if row["stream"] in streams]


def lowest_errors(rows: list[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """By stream and model; the best of several settings counts."""
    found: dict[str, dict[str, float]] = {}
    for row in rows:
        errors = found.setdefault(row["stream"], {})
        errors[row["model"]] = min(row["mse"], errors.get(row["model"], math.inf))
    return found


def monitored(results: Any) -> str:
    """The Committee beside simple models and the best of River's, and its share of the best simple error."""
    streams = {row["stream"] for row in listed(results)}
    found = lowest_errors([row for row in results["rows"] if row["stream"] not in streams])
    lines, shares, of_plain = [], [], []
    for stream, errors in found.items():
        river = min((errors[model] for model in RIVER if model in errors), default=math.nan)
        shares.append(errors["Committee"] / min(errors[model] for model in SIMPLE))
        of_plain.append(
            errors["Committee"] / min(errors[model] for model in ("last value", "mean", "plain RLS"))
        )
        numbers = [errors["Committee"], *(errors[model] for model in (*SIMPLE, "plain RLS")), river]
        cells = [f"**{value:.4f}**" if value == min(numbers) else f"{value:.4f}" for value in numbers]
        lines.append([stream, *cells, f"{shares[-1]:.3f}"])
    header = ["stream", "Committee", *SIMPLE, "plain RLS", "River, best of four", "Committee / best simple"]
    said = (
        "Of the best of last value, mean and linear RLS, in hindsight: "
        f"{max(shares):.3f} at worst, {median(shares):.3f} in the median; "
        f"with the plain RLS in place of elman's {max(of_plain):.3f} and {median(of_plain):.3f}."
    )
    return table(header, lines) + "\n" + said + "\n"


def accuracy(results: Any) -> str:
    """One line a stream, one column a model; the lowest error of a line in bold."""
    found = lowest_errors(listed(results))
    models = [model for model in ACCURACY_MODELS if any(model in errors for errors in found.values())]
    lines = []
    for stream, errors in found.items():
        lowest = min(errors[model] for model in models if model in errors)
        cells = [f"{errors[model]:.4f}" if model in errors else "" for model in models]
        bold = [
            f"**{cell}**" if errors.get(model) == lowest else cell
            for model, cell in zip(models, cells, strict=True)
        ]
        lines.append([stream, *bold, f"{errors['Committee'] / errors['member']:.3f}"])
    return table(["stream", *models, "Committee / its best member"], lines)


def accuracy_in_short(results: Any) -> str:
    """The best of the other models beside the Committee, on the real streams."""
    names = {"linear RLS": "linear RLS", "LSTM-Adam": "LSTM-Adam, best of five rates"}
    best: dict[str, dict[str, float]] = {}
    for row in listed(results):
        model = "River, best of four" if row["model"] in RIVER else row["model"]
        errors = best.setdefault(row["stream"], {})
        errors[model] = min(row["mse"], errors.get(model, math.inf))
    real = [stream for stream in best if "," not in stream]
    columns = [
        "Committee",
        *names,
        *(["River, best of four"] if "River, best of four" in best[real[0]] else []),
    ]
    lines = [
        [names.get(column, column)]
        + [f"{best[s][column]:.3f}" if best[s][column] >= 0.1 else f"{best[s][column]:.4f}" for s in real]
        for column in columns
    ]
    return table(["", *real], lines)


def coverage(results: Any) -> str:
    rows = [
        [
            row["stream"],
            f"{row['rows']:,}",
            f"{row['coverage']:.1%}",
            *(f"{b:.1%}" for b in row["coverage_of_blocks"]),
        ]
        for row in results["rows"]
        if row["model"] == "Committee"
    ]
    return table(["stream", "rows", "inside the 90 % interval", "worst block of 2,000", "best block"], rows)


def shares(results: Any) -> str:
    rows = [[name, f"{share:.0%}"] for name, share in results["speed"]["share"].items()]
    return table(["member", "share of the time"], rows)


def libraries(results: Any) -> str:
    rows = []
    for row in results["peers"]:
        versions = ", ".join(f"{name} {version}" for name, version in row.get("versions", {}).items())
        if "absent" in row:
            rows.append(
                [row["label"], versions, f"absent: {row['absent']}", "", *("" for _ in results["streams"])]
            )
            continue
        ratio = row["elman_rows_per_second"] / row["rows_per_second"]
        errors = [f"{row['errors'][name]:.3f}" if row["errors"] else "same" for name in results["streams"]]
        rows.append([row["label"], versions, f"{row['rows_per_second']:,.0f}", f"{ratio:,.1f}", *errors])
    header = [
        "",
        "version",
        "rows/s",
        "SRNN-WOGD is faster by",
        *(f"error, {name}" for name in results["streams"]),
    ]
    return table(header, rows)


def forecasts(results: Any, horizon: int) -> str:
    """Errors of a forecaster a line, those of the best in bold; of models with intervals what these cover."""
    streams = list(dict.fromkeys(row["stream"] for row in results))
    naive = "seasonal naive, the better of two"
    errors: dict[str, dict[str, float]] = {}
    for row in results:
        if row["horizon"] == horizon and "failed" not in row:
            model = naive if row["model"].endswith("rows before") else row["model"]
            of_model, error = errors.setdefault(model, {}), row["every 24th row"]
            of_model[row["stream"]] = min(error, of_model.get(row["stream"], math.inf))
    best = {stream: min(each.get(stream, math.inf) for each in errors.values()) for stream in streams}
    lines = []
    for model, own in errors.items():
        rows = [row for row in results if row["model"] == model and row["horizon"] == horizon]
        covered = [row["coverage"] for row in rows if "coverage" in row]
        cost = [row["us a forecast"] for row in rows if "us a forecast" in row]
        cells = [f"{own[s]:.3f}" if s in own else "" for s in streams]
        lines.append(
            [
                model,
                *(f"**{c}**" if own.get(s) == best[s] else c for s, c in zip(streams, cells, strict=True)),
                f"{min(covered):.0%} to {max(covered):.0%}" if covered else "",
                f"{median(cost) / 1000:,.1f}" if cost else "",
            ]
        )
    return table(["", *streams, "90 % intervals cover", "ms a forecast"], lines)


def who_loses(results: Any) -> str:
    """Where another one is better than elman, in words."""
    own = {(row["stream"], row["horizon"]): row for row in results if row["model"] == "elman"}
    better = [
        f"{row['model']} on {row['stream']} at {row['horizon']} steps"
        for row in results
        if "failed" not in row
        and row["every 24th row"] < own[row["stream"], row["horizon"]]["every 24th row"]
    ]
    if better:
        return f"elman loses to {', '.join(better)}."
    narrow = min(
        (
            row["every 24th row"] / own[row["stream"], row["horizon"]]["every 24th row"],
            row["model"],
            row["stream"],
        )
        for row in results
        if row["model"] != "elman" and "failed" not in row
    )
    return (
        f"Nobody listed is better than elman on any of these streams; closest is {narrow[1]} on {narrow[2]}, "
        f"{narrow[0]:.2f} times its error."
    )


def bursty(results: Any) -> str:
    """Errors of the Forecaster in those of simple forecasts, the worst series first."""
    simple = list(results[0]["ratio to"])
    worst = sorted(results, key=lambda row: -max(row["ratio to"].values()))
    lines = [
        [
            row["stream"],
            *(f"{row['ratio to'][name]:.2f}" for name in simple),
            f"{row['coverage']:.0%}",
        ]
        for row in worst
    ]
    return table(["", *(f"error / {name}" for name in simple), "90 % intervals cover"], lines)


def page() -> str:
    speed, others, accurate = load("kernel"), load("peers"), load("accuracy")
    ahead = load("forecast")
    rates = accurate["speed"]["rows_per_second"]
    first, last = speed["growth"][0], speed["growth"][-1]
    loop = speed["loop"]
    return f"""# Benchmarks

Made by `python benchmarks/page.py` from the raw results in `benchmarks/results/`. Speeds are the best of several short runs on one
core of a 2-core virtual machine ({speed["simd"].upper()} build, FMA peak {speed["kernel"][0]["peak_gflops"]:.0f} GFLOP/s in float32, measured in the same
run): compare them as ratios.

## Accuracy

`ELMAN_DATA=folder python benchmarks/accuracy.py --json benchmarks/results/accuracy.json`

Mean squared error in units of the target's variance. Every row is predicted one step ahead before it is learned. Inputs are the file's
columns (a date as sines and cosines of hour, weekday and day of year), raw and unscaled, and for the first five streams, which are
ordered in time, the last six targets. All models scale online, none looks ahead. The Committee, RLS and WOGD have one setting for all
streams; LSTM-Adam and SRNN-EKF are given the best of five settings of each stream in hindsight, which no user could know. ARF, AMF, KNN and
Bayesian linear are River's, with its defaults and a scaler where they need one; their errors are of an earlier run. The Committee's members were chosen on these streams and
those below together.

{accuracy(accurate)}
### Monitoring streams, most of which burst

Sixteen series of the Numenta anomaly benchmark, by the same command: bare series, one step ahead, errors from row {SETTLED} on. The Committee sees nothing but its own lags; the
others see the last six targets. Linear RLS is elman's own, whose scaling and surprises are limited; the plain one is a textbook's, on running z-scores, forgetting .9995, too. River's errors were measured once and kept when the Committee changed (`--models`).

{monitored(accurate)}
### Intervals

{coverage(accurate)}
### Many steps ahead

`ELMAN_DATA=folder python benchmarks/forecast.py --json benchmarks/results/forecast.json --peers build/forecast-peers`

The first 10,000 rows of each stream, with its time stamps and nothing else; a forecast after every 24th row from 4,000 on, squared errors over all steps
in units of the variance. The Forecaster has one setting for all; it was developed on these streams. 'bike, weather known' is told the weather of the rows ahead, as is
LightGBM there: trees on lags and the clock, rolled out on their own answers and fitted anew every two weeks. MSTL and AutoTheta are statsforecast's, fitted anew to the last rows for
every forecast (AutoETS, fitted so, did not end within ten minutes on the first stream and is left out; `--models AutoETS` runs it); Holt-Winters and SNARIMAX are River's. {who_loses(ahead)} A time is that of a forecast with all that was learned
or fitted since the one before (elman's: of every row), on a machine that had other work to do.

24 steps:

{forecasts(ahead, 24)}
48 steps:

{forecasts(ahead, 48)}
On monitoring data, `python benchmarks/forecast.py --bursty benchmarks/results/forecast_nab.json`: up to 5,000 rows of each of the sixteen series above, 24 steps after every row, from
a quarter of the series on. Above 1 a simple forecast is better, as after bursts that never come again; which one that would be is known only afterwards.

{bursty(load("forecast_nab"))}
### What the Committee costs

At 10 features {rates["1"]:,.0f} rows/s with one thread and {rates["2"]:,.0f} with two.

{shares(accurate)}
## One exact stream

`python benchmarks/kernel.py --peers --json benchmarks/results/kernel.json`

`OnlineRNN(SRNN(n_h), WOGD(w)).run`, running standardisation included. Useful arithmetic is counted as 6 w n_h (n_h + n_x) operations a
row; that is slightly more than is computed, as the backward pass needs no gradient of the inputs.

{kernel(speed)}
A Python loop of `predict_one` and `learn_one` over NumPy rows at (9, 10, 200) reaches {loop["loop"]:,.0f} rows/s, {loop["ratio"]:.0%} of `run`.

### The same update elsewhere

Rows per second in float32 (NumPy: float64) on one core. Each was checked to give elman's predictions.

{peers(speed)}
### Time and window, time and stream length

{windows(speed)}
Over a million rows (10 hidden units, window 20) the time per row goes from {first["us_per_row"]:.2f} µs in the first hundred thousand to
{last["us_per_row"]:.2f} µs in the last, and the process's largest memory from {first["max_memory_kb"]:,} to {last["max_memory_kb"]:,} kB.

## Every cell

Adam, truncated back-propagation through the last `lookback` samples, 9 inputs with the constant. Useful operations of a sample are
those of the forward pass, the backward pass and the gradient; activations do not count. Clockwork's are those of the modules that are
due; 3 delays for NARX.

{cells(speed)}
### Clockwork: cost falls with the periods

Operations counted as in the publication and time measured (SGD, lookback 200), both against an SRNN of the same size.

{clockwork(speed)}
## Other libraries

`ELMAN_DATA=folder python benchmarks/peers.py --json benchmarks/results/peers.json`

The first {others["rows"]:,} rows of three streams, standardised beforehand: a simulated Puma arm, a robot arm whose target moves away half-way, and
bicycles rented by the hour with the last three counts among the inputs. Each row is predicted, then learned; the error is the mean
squared one over the target's variance, all rows counted. Speeds are medians over the first {others["timed_rows"]} rows of the first stream ({others["size"][0]} inputs with the
constant) on one core; elman's SRNN-WOGD was timed beside each, and the ratio is to that. elman {others["elman"]}, Python {others["python"]}; the
machine's load average was {others["load"]:.1f} at the time (its cores are 2), so trust ratios of ten, not of 1.2.

Networks have {others["size"][1]} hidden units and reach back {others["size"][2]} rows. WOGD by hand is the update of elman's first line without the projection,
which does not fire here; its predictions were checked to be the same. deep-river's networks learn by Adam at .005, the forest and the linear
model have River's defaults, the reservoir has 100 units and, like the RLS filter, a forgetting of .999. Nothing was tuned on these streams.

{libraries(others)}
"""


if __name__ == "__main__":
    PAGE.write_text(page())
    before, rest = README.read_text().split(BEGIN)
    README.write_text(before + BEGIN + "\n" + accuracy_in_short(load("accuracy")) + END + rest.split(END)[1])
