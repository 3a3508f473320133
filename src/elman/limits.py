"""How large things may be: each is refused beyond its limit, by an error that names it."""

LINE_CHARACTERS = 1_000_000
"""Of a line of CSV, or of the lines that quotation marks make one row of."""

DOWNLOAD_BYTES = 100_000_000
"""Of a data set that is fetched."""

DESCRIPTION_BYTES = 1_000_000
"""Of what a server says about a data set."""
