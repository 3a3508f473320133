"""Training rules: what one update does to the weights. A rule is a description; it holds no state."""

from dataclasses import dataclass
from typing import ClassVar

from elman import theory
from elman._check import number, whole_number


class Training:
    """What every training rule is. `OnlineRNN`, saved models and the core know a subclass by its name.

    Its attribute `window` is the number of samples that one update looks at.
    """

    by_name: ClassVar[dict[str, type["Training"]]] = {}
    window: int

    def __init_subclass__(cls) -> None:
        Training.by_name[cls.__name__] = cls


@dataclass(frozen=True)
class WOGD(Training):
    """Windowed Online Gradient Descent, the paper's training (Algorithm 1).

    At every step the gradient of the mean loss over the last `window` samples is computed exactly, with the
    current weights and through the whole window, and one projected gradient step is taken. The defaults are
    those of the paper's experiments (section IV); `algorithm1` gives the algorithm as printed and `certified`
    the setting that Theorem 2 proves.

    Parameters
    ----------
    window
        Number of samples whose mean loss is descended. Time per row is linear in it, and the error falls with
        it.
    rate
        Learning rate of the recurrent and input weights. The paper uses .03 to .08 on its data sets.
    spectral_limit
        lambda: the largest singular value that a projected weight matrix may have; below 1.
    projection_threshold
        alpha: a weight matrix is projected when its Frobenius norm exceeds this (equation 20), and 0 means at
        every step. It acts as if it were at least ``sqrt(min(rows, columns))``, the norm up to which a
        projected matrix can reach.
    readout_rate
        The readout's step at the t-th labelled sample is this over ``sqrt(t)``.
    readout_limit
        The largest Euclidean norm of the readout weights (of each output).

    Examples
    --------
    >>> WOGD(window=100, rate=0.05)
    WOGD(window=100, rate=0.05, spectral_limit=0.95, projection_threshold=7.5, readout_rate=8.0,
    readout_limit=2.5)
    """

    window: int = 200
    rate: float = 0.03
    spectral_limit: float = 0.95
    projection_threshold: float = 7.5
    readout_rate: float = 8.0
    readout_limit: float = 2.5

    def __post_init__(self) -> None:
        whole_number("window", self.window, at_least=1)
        number("rate", self.rate, above=0)
        number("spectral_limit", self.spectral_limit, above=0)
        number("projection_threshold", self.projection_threshold, at_least=0)
        number("readout_rate", self.readout_rate, at_least=0)
        number("readout_limit", self.readout_limit, above=0)
        if self.spectral_limit >= 1:
            raise ValueError(
                f"spectral_limit must be below 1 (Remark 1 of the paper), got {self.spectral_limit!r}"
            )

    @classmethod
    def algorithm1(cls, window: int = 200, rate: float = 0.03, spectral_limit: float = 0.95) -> "WOGD":
        """Algorithm 1 as printed: readout step ``1/sqrt(t)`` and norm at most 1, projection at every step.

        >>> WOGD.algorithm1(window=50).projection_threshold
        0.0
        """
        return cls(
            window, rate, spectral_limit, projection_threshold=0.0, readout_rate=1.0, readout_limit=1.0
        )

    @classmethod
    def certified(
        cls, n_hidden: int, n_inputs: int, window: int = 200, spectral_limit: float = 0.95
    ) -> "WOGD":
        """Algorithm 1 with the largest rate for which Theorem 2 bounds the local regret, ``1/beta``.

        The theorem asks for features in [-1, 1] and targets in [-sqrt(n_hidden), sqrt(n_hidden)] (use
        ``scale=False`` and bring them there beforehand). The rate is safe and very small: the constants cover
        the worst case.

        Parameters
        ----------
        n_hidden
            Hidden units of the cell.
        n_inputs
            Features of a row, without the constant that the learner appends.
        window, spectral_limit
            As for `WOGD`. A smaller spectral limit certifies a larger rate.

        Examples
        --------
        >>> WOGD.certified(n_hidden=10, n_inputs=8, spectral_limit=0.5).rate
        0.0009882117688026185
        """
        return cls.algorithm1(
            window, theory.certified_rate(n_hidden, n_inputs, spectral_limit), spectral_limit
        )
