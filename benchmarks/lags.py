"""Who should see the past targets: nobody, some members or all of them.

    ELMAN_DATA=... python benchmarks/lags.py

Mean squared error over the target's variance, rows as they are in the files: no lagged column is added.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from rich.console import Console
from rich.table import Table

from elman import Committee, streams
from elman.configuration.members import DEFAULT_MEMBERS

ROWS = {"kin8nm": 7500, "puma8nh": 7000, "bike_sharing_hourly": 8000, "gas_turbine_nox": 8000}


def main() -> None:
    table = Table("stream", "nobody", "some (default)", "everybody")
    everybody = [replace(member, lagged=True) for member in DEFAULT_MEMBERS]
    for name, rows in ROWS.items():
        X, y = streams.load(name).take(rows)
        models = Committee(lags=0), Committee(), Committee(everybody)
        table.add_row(name, *(f"{np.mean((model.run(X, y) - y) ** 2) / y.var():.4f}" for model in models))
    Console().print(table)


if __name__ == "__main__":
    main()
