"""Settings that must be made before NumPy is imported."""

import os

# The oracles multiply tiny matrices: the threads of a BLAS only get into each other's way, and the workers'.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
