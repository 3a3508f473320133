"""How large things may be: each is refused beyond its limit, by an error that names it."""

COLUMNS = 100_000
"""Of a row as the networks see it: features and past targets."""

OUTPUTS = 10_000
"""Values of a target."""

THREADS = 1_000
"""That a model or a fleet uses."""

PENDING = 10_000_000
"""Open questions that a model keeps."""

LAGS = 1_000
"""Past targets of each output that a model sees."""

HORIZON = 1_000
"""Rows ahead that a `Forecaster` says."""

SEASON = 2_100
"""Rows of a season's period."""

STAMP_SECONDS = 1_000_000_000_000
"""Between a row's time and 1970, before or after: some 31,700 years."""

WINDOW = 1_000_000
"""Samples that an update looks at: `window` or `lookback` of a training."""

HIDDEN_UNITS = 10_000
"""Of a cell."""

DELAYS = 1_000
"""Past hidden vectors that a `NARX` sees."""

VARIANCE = 1e12
"""Of weights and of noise, where one is set: in units of what the network sees, whose size is about 1."""

FORGETTING = 1e-6
"""The least weight that least squares may give a sample relative to the next one."""

KEY_CHARACTERS = 1_000
"""Of a fleet's key that is a text."""

STATE_BYTES = 2**31
"""Of a saved model or run."""

LINE_CHARACTERS = 1_000_000
"""Of a line of CSV, or of the lines that quotation marks make one row of."""

DOWNLOAD_BYTES = 100_000_000
"""Of a data set that is fetched."""

DESCRIPTION_BYTES = 1_000_000
"""Of what a server says about a data set."""
