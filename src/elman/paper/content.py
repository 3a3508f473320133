"""What the report says: the tables and figures with the words around them, from the rows alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from elman.paper import content_more as more
from elman.paper.checks import find
from elman.paper.content_table1 import table_1
from elman.paper.document import Block, Document, Figure, Heading, Table, Text
from elman.paper.systems import ADDENDS, ADDITION_MODELS, PAPER_MACHINE, STREAMS, WOGD

if TYPE_CHECKING:
    from elman.paper.about import Facts
    from elman.paper.tune import Record

TITLE = "Achieving Online Regression Performance of LSTMs with Simple RNNs, reproduced"


def document(tables: dict[str, list[Record]], facts: Facts) -> Document:
    """Return the page. `tables` has the rows of each table and figure, of `checks` and of `tune`."""
    page = Document(TITLE)
    page.add(*_introduction(facts), *_verdicts(tables["checks"]))
    if "table1" in tables:
        page.add(*table_1(tables["table1"], tables["tune"], facts))
    if "figure1" in tables:
        page.add(*_figure_1(tables["figure1"]))
    if "figure2" in tables:
        page.add(*_figure_2(tables["figure2"]))
    if "table2" in tables:
        page.add(*_table_2(tables["table2"]))
    if "figure3" in tables:
        page.add(*more.figure_3(tables["figure3"]))
    if tables.get("rows"):
        page.add(*more.other_rows(tables["rows"]))
    if tables.get("clockwork"):
        page.add(*more.clockwork(tables["clockwork"]))
    if tables.get("adam"):
        page.add(*more.adam(tables["adam"]))
    if tables.get("beyond"):
        page.add(*more.beyond(tables["beyond"]))
    loads = [row["load"] for row in tables.get("table1", []) if row["load"] is not None]
    page.add(*_making(facts, loads))
    return page


def _introduction(facts: Facts) -> list[Block]:
    return [
        Text(
            "N. M. Vural, F. Ilhan, S. F. Yilmaz, S. Ergüt and S. S. Kozat train a simple recurrent network (SRNN) by "
            "Windowed Online Gradient Descent (WOGD): at every row one exact gradient step on the mean loss of the "
            "last w rows. They report the errors of LSTMs in two to three times shorter time. This page repeats "
            f"their experiments with {facts['runs']} seeded runs of every system, beside the numbers they print."
        ),
        Text(
            "Errors are prequential: every row is predicted before it is learned, and the mean squared error is over "
            "all rows, the first ones included. Inputs and target are standardised over the rows used, so 1 is the "
            "error of always predicting the mean. A set is **real** where its published rows were used and "
            "**simulated** where only a generator with the published law could be had."
        ),
    ]


def _verdicts(checks: list[Record]) -> list[Block]:
    names = list(dict.fromkeys(row["dataset"] for row in checks if row["dataset"]))
    blocks: list[Block] = [Heading(2, "What holds")]
    if names:
        claims = dict.fromkeys(row["claim"] for row in checks if row["dataset"])
        lines = [
            [claim, *(_verdict(find(checks, claim=claim, dataset=name)[0]) for name in names)]
            for claim in claims
        ]
        blocks.append(Table(["on a set", *names], lines, words=1 + len(names)))
    others = [[row["claim"], _verdict(row)] for row in find(checks, dataset=None)]
    return [*blocks, Table(["in general", "here"], others, words=2)] if others else blocks


def _verdict(check: Record) -> str:
    return f"**{'yes' if check['holds'] else 'no'}**, {check['evidence']}"


def _figure_1(rows: list[Record]) -> list[Block]:
    runs = rows[0]["runs"]
    return [
        Heading(2, "Figure 1: learning curves"),
        Figure(
            "figure1",
            f"Mean squared error over the rows so far, mean of {runs} runs with the range from the best run to the "
            "worst. For each cell the training with the smallest error at the paper's rates (lookback 25), and "
            "SRNN-WOGD with window 200. The last point of a curve is the error in Table I.",
        ),
    ]


def _figure_2(rows: list[Record]) -> list[Block]:
    certified = find(rows, panel="certified")
    rates = sorted({row["rate"] for row in certified})
    return [
        Heading(2, "Figure 2: what the theorems say"),
        Figure(
            "figure2",
            f"(a) Smoothness of the windowed loss along the steps of SRNN-WOGD(200), {rows[0]['runs']} runs: means, and "
            "bars from the smallest to the largest value of any run, with the bound β of Theorem 1. (b) Normalised local "
            "regret of SRNN-WOGD at the paper's rates, mean and range. (c) Local regret and the bound of Theorem 2 "
            "in the setting that the theorem proves.",
        ),
        Text(
            "In (a) and (b) the networks are those of Table I. Their readout may grow to a norm of 2.5 and their inputs "
            "are not confined to [-1, 1], so Theorem 1 does not strictly speak of them; as in the paper, the surface is "
            "far smoother than the worst case. The rates used are below 1 / smoothness where the points lie below the "
            "dotted line, which is what the analysis needs, and far above 1 / β, which is what it can prove."
        ),
        Text(
            "Panel (c) is Algorithm 1 as printed, with rate 1 / β (between "
            f"{rates[0]:.1e} and {rates[-1]:.1e}), projection at every step, inputs in [-1, 1] and targets as large as the "
            "theorem allows, in double precision. The bound is checked at every step of every run; the regret reaches at most "
            f"{max(row['largest_share'] for row in certified):.1e} of it. A rate this small hardly moves the weights, and the "
            "constants are made for the worst case."
        ),
    ]


def _table_2(rows: list[Record]) -> list[Block]:
    blocks: list[Block] = [
        Heading(2, "Table II: adding binary numbers"),
        Text(
            "Steps until 1,000 predictions in a row were right, those 1,000 included, and the seconds for so many steps; "
            "'failed' after 50,000. The paper shows one run for each of five streams. Here each stream is learned from "
            f"{rows[0]['runs']} initial weights, and the table shows the median run with, in brackets, the number of runs that "
            "failed."
        ),
    ]
    for addends in ADDENDS:
        mine = find(rows, addends=addends)
        blocks += [Heading(3, f"{'Two' if addends == 2 else 'Three'} numbers"), _addition_table(mine)]
    blocks.append(Text(_addition_settings(rows)))
    return blocks


def _addition_table(rows: list[Record]) -> Table:
    head = ["stream", *["steps", "s", "paper", "s"] * len(ADDITION_MODELS)]
    lines = []
    for stream in STREAMS:
        line = [str(stream)]
        for model in ADDITION_MODELS:
            row = find(rows, stream=stream, model=model)[0]
            failed = f" ({row['failed']})" if row["failed"] and row["steps"] is not None else ""
            line += [
                _steps(row["steps"]) + failed,
                "" if row["seconds"] is None else f"{row['seconds']:.3f}",
                _steps(row["paper_steps"]),
                "" if row["paper_seconds"] is None else f"{row['paper_seconds']:.2f}",
            ]
        lines.append(line)
    return Table(head, lines, groups=[("", 1), *((model, 4) for model in ADDITION_MODELS)])


def _steps(steps: int | None) -> str:
    return "failed" if steps is None else f"{steps:,}"


def _addition_settings(rows: list[Record]) -> str:
    parts = []
    for addends in ADDENDS:
        for model in ADDITION_MODELS:
            row = find(rows, addends=addends, model=model)[0]
            readout = f", readout rate {row['readout_rate']:g}" if row["readout_rate"] else ""
            edge = "*" if row["at_edge"] else ""
            parts.append(f"{model} {row['n_hidden']} units, rate {row['rate']:g}{readout}{edge}")
        parts[-1] += f" ({'two' if addends == 2 else 'three'} numbers)"
    projected = [find(rows, addends=addends, model=WOGD) for addends in ADDENDS]
    failed, runs = (
        [sum(row[name] for row in each) for each in projected]
        for name in ("projected_failed", "projected_runs")
    )
    return (
        "The paper gives neither sizes nor rates for this task, so both were tuned, on other "
        f"streams, over {_tried(rows, WOGD)} settings for SRNN-WOGD (size, rate, rate of the readout) and {_tried(rows, 'LSTM-RMSprop')} for each of "
        f"the others (size, rate): {'; '.join(parts)}. A star marks a rate at the edge of its grid. Other trainings than WOGD look back "
        "25 steps. **One departure from the paper:** SRNN-WOGD is not projected here. With the paper's threshold α = 7.5, above which the "
        f"weights are projected, {failed[1]} of {runs[1]} runs of the same setting fail with three numbers ({failed[0]} of {runs[0]} with "
        "two). The grid was not repeated with that threshold."
    )


def _tried(rows: list[Record], model: str) -> int:
    tried: int = find(rows, model=model)[0]["tried"]
    return tried


def _making(facts: Facts, loads: list[float]) -> list[Block]:
    busy = f" The load average meanwhile was up to {max(loads):.1f}, of this and other work." if loads else ""
    shown = [
        ("command", f"`{facts['command']}`"),
        ("seeds", f"{facts['seeds']}; those of the tuning are 100 to 109"),
        ("elman", f"{facts['elman']}, {facts['build']} build"),
        ("Python, NumPy", f"{facts['python']}, {facts['numpy']}"),
        (
            "machine",
            f"{facts['cpu']}, {facts['cores']} cores, {facts['system']}; the paper's: {PAPER_MACHINE}",
        ),
    ]
    return [
        Heading(2, "How it was made"),
        Table(["", ""], [list(pair) for pair in shown], words=2),
        Text(
            "Equal seeds give equal errors on the same build; other builds differ by rounding. Seconds are measured apart, "
            "after all else is finished: one run at a time on one core, the shortest of "
            f"{facts['repetitions']}. They are the processor's, which on an idle machine are the clock's. A killed command goes on where it was when it is started again."
            f"{busy}"
        ),
    ]
