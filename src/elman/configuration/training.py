"""Training rules: what one update does to the weights. A rule is a description; it holds no state."""

from dataclasses import dataclass, replace
from typing import ClassVar

from elman import limits, theory
from elman.arguments import instance, number, one_of, whole_number
from elman.configuration.part import Part, registered


class Training(Part):
    """What every training rule is.

    It has either a field `window` or a field `lookback`.
    """

    by_name: ClassVar[dict[str, type["Training"]]] = {}
    lookback: int

    @property
    def window(self) -> int:
        """The number of samples that one update looks at."""
        return self.lookback


AUTO_RATES = (0.003, 0.01, 0.03, 0.1, 0.3)
"""Of the networks that learn side by side at ``WOGD(rate="auto")``."""


@registered
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
        Learning rate of the recurrent and input weights. The paper uses .03 to .08 on its data sets. With
        ``"auto"`` there is none to choose: a network for each of the rates in `AUTO_RATES` learns the stream,
        and the answer is their mean, weighted by how well each has done lately. That takes the time of all of
        them. Only an `OnlineRNN` can do this; the members of a committee are weighed by the committee.
    spectral_limit
        lambda: the largest singular value that a projected weight matrix may have; below 1.
    projection_threshold
        alpha: a weight matrix is projected when its Frobenius norm exceeds this (equation 20), and 0 means at
        every step. It acts as if it were at least ``sqrt(min(rows, columns))``, the norm up to which a
        projected matrix can reach.
        A projection makes every memory fade: where a stream needs one that does not, such as the carry of
        an addition, take 100, which weights hardly reach. With 7.5 a network that has learned to add unlearns
        it as its weights grow (Figure 3 of the page on the paper).
    readout_rate
        The readout's step at the t-th labelled sample is this over ``sqrt(t)``.
    readout_limit
        The largest Euclidean norm of the readout weights (of each output).
    momentum
        Share of the last direction that stays in the next one (heavy ball): ``m <- momentum m + g`` and a
        step of ``rate m``, where ``g`` is the gradient of the window's mean loss. So the steps are up to
        ``1 / (1 - momentum)`` times as long.
    nesterov
        Look ahead: a step of ``rate (g + momentum m)``.
    adaptive
        Rates of each weight's own: the direction is divided by the root of the sum of all ``g²``
        (``"adagrad"``) or of their running mean (``"adam"``, decay .999).

    Notes
    -----
    Momentum and adaptive rates change the step of the recurrent and input weights; the readout's stays.
    Every step is projected as before. Theorem 2 bounds the local regret of plain steps only; with the others
    the regret is still measured at every step, as the norm of the plain projected gradient there.

    Examples
    --------
    >>> WOGD(window=100, rate=0.05).projection_threshold
    7.5
    >>> WOGD(window=0)
    Traceback (most recent call last):
    ValueError: window must be a whole number of at least 1, got 0
    """

    words: ClassVar[dict[str, tuple[str | None, ...]]] = {"adaptive": (None, "adagrad", "adam")}

    window: int = 200
    rate: float | str = 0.03
    spectral_limit: float = 0.95
    projection_threshold: float = 7.5
    readout_rate: float = 8.0
    readout_limit: float = 2.5
    momentum: float = 0.0
    nesterov: bool = False
    adaptive: str | None = None

    def __post_init__(self) -> None:
        whole_number("window", self.window, at_least=1, at_most=limits.WINDOW)
        if isinstance(self.rate, str):
            if self.rate != "auto":
                raise ValueError(f"rate must be a number or 'auto', got {self.rate!r}")
        else:
            number("rate", self.rate, above=0)
        number("spectral_limit", self.spectral_limit, above=0, below=1)  # Remark 1 of the paper
        number("projection_threshold", self.projection_threshold, at_least=0)
        number("readout_rate", self.readout_rate, at_least=0)
        number("readout_limit", self.readout_limit, above=0)
        number("momentum", self.momentum, at_least=0, below=1)
        instance("nesterov", self.nesterov, bool)
        if self.adaptive is not None:
            one_of("adaptive", self.adaptive, ("adagrad", "adam"))
        if self.nesterov and self.momentum == 0:
            raise ValueError("nesterov=True needs a momentum above 0")

    @property
    def at_each_rate(self) -> tuple["WOGD", ...]:
        """What learns side by side: this training, or for the rate ``"auto"`` one at each of `AUTO_RATES`."""
        if self.rate != "auto":
            return (self,)
        return tuple(replace(self, rate=rate) for rate in AUTO_RATES)

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


@registered
@dataclass(frozen=True)
class SGD(Training):
    """Stochastic gradient descent, ``torch.optim.SGD``: ``p <- p - rate g``, the readout's weights included.

    As for `RMSprop` and `Adam`, ``g`` is the gradient of the newest sample's loss, back-propagated through
    the last `lookback` samples with the current weights (truncated back-propagation through time). A
    step that would, to first order, make the newest error larger is cut to what brings it to 0.

    Parameters
    ----------
    rate
        Learning rate. The default is the paper's for a simple network on puma8nh; on its other data sets it
        uses .01 to .035, and up to .15 for gated cells.
    lookback
        Samples that the gradient reaches back. Time per row is linear in it. The paper does not tell its own:
        25 is what fits its run-times.

    Examples
    --------
    >>> SGD(rate=0.02)
    SGD(rate=0.02, lookback=25)
    """

    rate: float = 0.03
    lookback: int = 25

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0)
        whole_number("lookback", self.lookback, at_least=1, at_most=limits.WINDOW)


@registered
@dataclass(frozen=True)
class RMSprop(Training):
    """RMSprop, ``torch.optim.RMSprop``: descent along the gradient over the root of its running mean square.

    ``v <- decay v + (1 - decay) g²`` and ``p <- p - rate g / (sqrt(v) + epsilon)``, with ``g`` as for `SGD`.

    Parameters
    ----------
    rate
        Learning rate. The default is the paper's for a simple network on puma8nh; on its other data sets it
        uses .001 to .01.
    lookback
        Samples that the gradient reaches back, as for `SGD`.
    decay, epsilon
        PyTorch's ``alpha`` and ``eps``, with its defaults.

    Examples
    --------
    >>> RMSprop()
    RMSprop(rate=0.007, lookback=25, decay=0.99, epsilon=1e-08)
    """

    rate: float = 0.007
    lookback: int = 25
    decay: float = 0.99
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0)
        whole_number("lookback", self.lookback, at_least=1, at_most=limits.WINDOW)
        number("decay", self.decay, at_least=0, below=1)
        number("epsilon", self.epsilon, above=0)


@registered
@dataclass(frozen=True)
class Adam(Training):
    """Adam, ``torch.optim.Adam``: descent along the gradient's running mean over the root of its mean square.

    ``m <- decays[0] m + (1 - decays[0]) g``, ``v <- decays[1] v + (1 - decays[1]) g²`` and, at the t-th
    labelled sample, ``p <- p - rate m / (1 - decays[0]^t) / (sqrt(v / (1 - decays[1]^t)) + epsilon)``, with
    ``g`` as for `SGD`.

    Parameters
    ----------
    rate
        Learning rate. The default is the paper's for a simple network on puma8nh; on its other data sets it
        uses .001 to .01.
    lookback
        Samples that the gradient reaches back, as for `SGD`.
    decays, epsilon
        PyTorch's ``betas`` and ``eps``, with its defaults.

    Examples
    --------
    >>> Adam(rate=0.01)
    Adam(rate=0.01, lookback=25, decays=(0.9, 0.999), epsilon=1e-08)
    """

    rate: float = 0.005
    lookback: int = 25
    decays: tuple[float, float] = (0.9, 0.999)
    epsilon: float = 1e-8

    def __post_init__(self) -> None:
        number("rate", self.rate, above=0)
        whole_number("lookback", self.lookback, at_least=1, at_most=limits.WINDOW)
        if not isinstance(self.decays, tuple) or len(self.decays) != 2:
            raise TypeError(f"decays must be a tuple of two numbers, got {self.decays!r}")
        for i, decay in enumerate(self.decays):
            number(f"decays[{i}]", decay, at_least=0, below=1)
        number("epsilon", self.epsilon, above=0)


@registered
@dataclass(frozen=True)
class EKF(Training):
    """Extended Kalman filter: the weights are a filter's state, and each target is a measurement of them.

    The filter keeps the covariance of all n weights, so time per row and size of the model grow with n². For
    an `SRNN` n is n_hidden (n_inputs + 1 + n_hidden + n_outputs): with 8 inputs and one output 200 weights
    for 10 hidden units, 375 for 15 and 1,344 for 32; gated cells have three or four times as many. It learns
    from far fewer rows than a gradient rule does and is meant for small networks.

    Only the ratios of the three variances matter. The defaults come from a coarse grid over standardised
    data with 15 hidden units: puma8nh, kinematics, elevators and five hourly or half-hourly time series. The
    geometric mean of the errors is flat there: twice or half of any of them changes it by some 3 percent at
    most, time series liking more initial variance and independent rows less.

    Parameters
    ----------
    lookback
        Samples that the derivative of the newest answer reaches back. On the data above 2 and 10 gave errors
        within 7 percent of those of 5.
    initial_variance
        Variance of each weight before the first sample. More learns faster and settles in worse optima.
    process_noise
        Variance that each weight gains per sample, which lets the filter follow a stream that changes. It
        acts as if it were at least the rounding error of `initial_variance`, and raises no variance above
        twice the initial one.
    measurement_noise
        Variance of the error that the best weights would leave, in the units of the target as the network
        sees it. The logistic loss does not use it: there a probability p has the variance p (1 - p).
    surprise
        How many standard deviations of what the filter expects an error may be before it is taken for noise
        rather than news: a larger one moves the weights no further, and the filter remains as unsure as that
        makes it. 0 for no such limit. The logistic loss, whose errors are bounded, does not use it.

    Examples
    --------
    >>> EKF(process_noise=1e-4)
    EKF(lookback=5, initial_variance=0.2, process_noise=0.0001, measurement_noise=0.3, surprise=4.0)
    """

    lookback: int = 5
    initial_variance: float = 0.2
    process_noise: float = 1e-5
    measurement_noise: float = 0.3
    surprise: float = 4.0

    former: ClassVar[dict[str, float]] = {"surprise": 0.0}

    def __post_init__(self) -> None:
        whole_number("lookback", self.lookback, at_least=1, at_most=limits.WINDOW)
        number("initial_variance", self.initial_variance, above=0, at_most=limits.VARIANCE)
        number("process_noise", self.process_noise, at_least=0, at_most=limits.VARIANCE)
        number("measurement_noise", self.measurement_noise, above=0, at_most=limits.VARIANCE)
        number("surprise", self.surprise, at_least=0, at_most=limits.VARIANCE)


@registered
@dataclass(frozen=True)
class HalfEKF(EKF):
    """`EKF` whose covariance is kept in half precision: half the memory, and half the bytes of a saved model.

    Arithmetic is that of the model; only what is kept from row to row is rounded, to 11 bits. Errors are as
    those of `EKF` on the streams of the accuracy benchmark. A variance that falls by less than one part in
    4,000 at a row stays where it is, so the filter remembers some thousand rows at most.

    Examples
    --------
    >>> HalfEKF(measurement_noise=0.03).initial_variance
    0.2
    """


@registered
@dataclass(frozen=True)
class HessianFree(Training):
    """Hessian-free optimisation of the window's mean loss (Martens 2010; Martens and Sutskever 2011).

    At every labelled sample (or every `every`-th) a few iterations of conjugate gradients look for the step
    that minimises a quadratic model of the mean loss over the last `window` samples: its Gauss-Newton matrix,
    which is never built, plus damping. The step is taken if it lowers that loss. The damping follows
    Levenberg and Marquardt: less where the model foresees the loss well, more where it does not. It has no
    rate to choose, and it fits the window it sees.

    Parameters
    ----------
    window
        Number of samples whose mean loss is minimised. Time per row is linear in it. A short one is fitted
        too well: the error on the next row falls with the window far more than `WOGD`'s does.
    iterations
        Products with the matrix per step, besides one for where the search begins. Each takes somewhat more
        than one of `WOGD`'s updates.
    rate
        Share of the step that is taken. The whole step, and less damping, fit the window so well that the
        next row suffers.
    every
        Take a step at every so many labelled samples.
    damping, least_damping
        The damping at first, in the units of the loss's curvature, and what it never falls below.
    structural
        Damping of changes of the hidden states, relative to `damping`.
    persistence
        Share of the last step that the next search begins with.

    Examples
    --------
    >>> HessianFree(window=400).iterations
    5
    """

    window: int = 200
    iterations: int = 5
    rate: float = 0.1
    every: int = 1
    damping: float = 1.0
    least_damping: float = 1.0
    structural: float = 0.1
    persistence: float = 0.5

    def __post_init__(self) -> None:
        whole_number("window", self.window, at_least=1, at_most=limits.WINDOW)
        whole_number("iterations", self.iterations, at_least=1, at_most=1000)
        number("rate", self.rate, above=0, at_most=1)
        whole_number("every", self.every, at_least=1, at_most=limits.WINDOW)
        number("damping", self.damping, above=0, at_most=1e6)
        number("least_damping", self.least_damping, above=0, at_most=1e6)
        number("structural", self.structural, at_least=0, at_most=1e6)
        number("persistence", self.persistence, at_least=0, at_most=1)
