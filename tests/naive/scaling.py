"""Running statistics of one column, in Python floats, one number at a time."""

import copy
import math

LARGEST_OBSERVED = 1e125
LARGEST_STANDARDISED = 10.0
LARGEST_STEP = 20.0
LARGEST_STEP_OF_FEATURE = 12.0
SURPRISING = 50.0
LARGEST_BELIEVED = 1000.0
UNBELIEVABLE = 1e6
DOUBTFUL = 1e4
MEMORY = 10_000


def clamp(value, low, high):
    """Nearest number to `value` in [low, high]."""
    return min(max(value, low), high)


class Scaler:
    """Mean and variance of one column, forgetting with a memory of 10,000 values."""

    def __init__(self):
        self.n = 0
        self.mean = 0.0
        self.var = 0.0

    @property
    def sd(self):
        """Square root of the variance."""
        return math.sqrt(max(0.0, self.var))

    @property
    def varies(self):
        """Whether the column has varied by more than rounding."""
        return self.n >= 2 and self.sd > 1e-15 * abs(self.mean)

    def observe(self, value, largest_step=LARGEST_STEP):
        """Take one value in; NaN is ignored and outliers are pulled to 20 standard deviations,
        faults to 10.

        n += 1, m = min(n, 10000), d = v - mean, mean += d / m, var += (d (v - mean) - var) / m.
        """
        value = float(value)
        if math.isnan(value):
            return
        value = clamp(value, -LARGEST_OBSERVED, LARGEST_OBSERVED)
        if self.n >= 2 and self.var > 0:
            faulty = abs(value - self.mean) > LARGEST_BELIEVED * self.sd
            reach = (LARGEST_STANDARDISED if faulty else largest_step) * self.sd
            value = clamp(value, self.mean - reach, self.mean + reach)
        self.n += 1
        memory = min(self.n, MEMORY)
        difference = value - self.mean
        self.mean += difference / memory
        self.var += (difference * (value - self.mean) - self.var) / memory

    def standardise(self, value):
        """(v - mean) / sd within +-10; 0 for NaN, before two values are known and for a constant column."""
        value = float(value)
        if math.isnan(value) or not self.varies:
            return 0.0
        return clamp((value - self.mean) / self.sd, -LARGEST_STANDARDISED, LARGEST_STANDARDISED)

    def standardise_far(self, value):
        """(v - mean) / sd without a limit; 0 for a constant column."""
        return clamp((value - self.mean) / self.sd, -1e30, 1e30) if self.varies else 0.0

    def standardise_feature(self, value):
        """Give `standardise`, but 0 for a value more than 1,000 standard deviations away: a fault."""
        return 0.0 if abs(value - self.mean) > LARGEST_BELIEVED * self.sd else self.standardise(value)

    def unstandardise(self, z):
        """Give mean + sd z: 0 before the first value."""
        return self.mean + self.sd * float(z)


class Regime(Scaler):
    """A column that may jump for good: after five values in a row out of reach, their mean and spread count.

    The spread does not fall below that before the surprises. A value a million deviations away is a fault
    and teaches nothing, unless there were 200 already, or a fifth of the values; that number fades. Of a
    target one is that is ten thousand away, and then surprises among the next five, unless five in a row vary
    as is usual.

    After 500 values without one, a surprise begins a stretch; what counted before it is usual. It is over
    after 30 values without a surprise if the spread is not far larger, and after 200 in any case. If usual
    values cannot be a coincidence any more, what was usual counts again, unless the stretch had less than 30.
    """

    def __init__(self):
        super().__init__()
        self.surprises = Scaler()
        self.usual_var = 0.0
        self.faults = self.evidence = 0.0
        self.usual = Scaler()
        self.stretch = self.calm = self.wary = 0

    def is_beyond(self, deviations, value):
        """Whether a value is further away than so many deviations."""
        return self.varies and abs(value - self.mean) > deviations * self.sd

    def is_fault(self, value, role):
        """Whether a value teaches nothing."""
        if self.faults + 1 > min(self.n / 5, 200) or (self.stretch and self.is_usual(value)):
            return False
        if self.is_beyond(UNBELIEVABLE, value) or role != "target":
            return self.is_beyond(UNBELIEVABLE, value)
        return self.is_beyond(SURPRISING if self.wary else DOUBTFUL, value) and not self.shows_level(value)

    def shows_level(self, value):
        """Whether five surprises in a row vary, and no more than is usual."""
        surprises = copy.copy(self.surprises)
        surprises.observe(value)
        return (
            surprises.n == 5 and surprises.varies and surprises.sd <= SURPRISING * math.sqrt(self.usual_var)
        )

    @property
    def is_young(self):
        """Whether a new regime was adopted less than 500 values ago, and there was no surprise since."""
        return self.n == self.calm + 5 and self.calm < 500

    @property
    def is_larger(self):
        """Whether the spread is far larger than the usual one."""
        return self.sd > 5 * self.usual.sd

    @property
    def may_return(self):
        """Whether there is a stretch long enough, and it has another spread or level than is usual."""
        elsewhere = abs(self.mean - self.usual.mean) > SURPRISING * self.usual.sd
        return self.stretch >= 30 and (self.is_larger or elsewhere)

    def is_usual(self, value):
        """Whether a value is one as before the stretch."""
        return abs(self.usual.standardise_far(value)) <= 8

    def evidence_with(self, value):
        """Sum up the logs of the likelihood ratio of usual values, as normal ones, since it was negative.

        The variance of the stretch alone is what makes that of all what it is.
        """
        if not self.is_usual(value) or not (self.is_larger or self.is_beyond(SURPRISING, value)):
            return 0.0
        stretch = Scaler()
        stretch.n, stretch.mean = self.n, self.mean
        usual_rows = max(min(self.n, MEMORY) - self.stretch, 0)
        stretch.var = self.var + max(self.var - self.usual.var, 0) * usual_rows / self.stretch
        now, then = stretch.standardise_far(value), self.usual.standardise_far(value)
        return max(self.evidence + math.log(stretch.sd / self.usual.sd) + now**2 / 2 - then**2 / 2, 0.0)

    @property
    def has_left(self):
        """Whether the newest value was one of a stretch with a larger spread."""
        return self.stretch > 0 and self.is_larger and self.evidence == 0

    def observe(self, value, role="target", *, others_left=False):
        """Take one value in; whether a new regime is adopted, or the former one again.

        Not the former one where other columns say that it is not back.
        """
        if math.isnan(value):
            return False
        surprising = self.is_beyond(SURPRISING, value)
        if self.stretch == 200:
            self.forget_stretch()
        if surprising and self.stretch == 0 and self.calm >= 500:
            self.usual.n, self.usual.mean, self.usual.var = self.n, self.mean, self.var
            self.stretch = 1
        elif self.stretch > 0:
            self.stretch += 1
        if self.is_fault(value, role):
            self.faults += 1
            self.evidence = 0.0
            if role == "target":
                self.wary = 5 if self.is_beyond(DOUBTFUL, value) else self.wary - 1
                self.note_surprise(value, self.var)
                if self.surprises.n == 5:
                    self.surprises = Scaler()
            return False
        self.wary = 0
        self.faults -= self.faults / MEMORY
        self.calm = 0 if surprising else self.calm + 1
        self.evidence = self.evidence_with(value) if self.stretch and not others_left else 0.0
        renewed = self.adopt_surprises(value, surprising=surprising, of_feature=role == "feature")
        return (self.stretch > 0 and self.is_back_to_usual(value)) or renewed

    def is_back_to_usual(self, value):
        """Look at a stretch; whether what was usual before it counts again."""
        sure = self.evidence > 7
        if sure and self.may_return:
            self.return_to_usual()
            return True
        if sure or (self.calm >= 30 and not self.is_larger and self.is_usual(value)):
            self.forget_stretch()
        return False

    def return_to_usual(self):
        """Let what was usual count again."""
        self.n, self.mean, self.var = self.usual.n, self.usual.mean, self.usual.var
        self.calm = 0
        self.surprises = Scaler()
        self.forget_stretch()

    def forget_stretch(self):
        """There is none any more."""
        self.usual = Scaler()
        self.stretch = 0
        self.evidence = 0.0

    def note_surprise(self, value, before):
        """Count one; of the first the variance before it is usual."""
        if self.surprises.n == 0:
            self.usual_var = before
        self.surprises.observe(value)

    def adopt_surprises(self, value, *, surprising, of_feature):
        """Let a value count; whether a new regime is adopted."""
        before = self.var
        super().observe(value, LARGEST_STEP_OF_FEATURE if of_feature and self.n >= 500 else LARGEST_STEP)
        if not surprising:
            self.surprises = Scaler()
            return False
        self.note_surprise(value, before)
        if self.surprises.n < 5:
            return False
        self.n, self.mean = 5, self.surprises.mean
        self.var = max(self.surprises.var, self.usual_var)
        self.surprises = Scaler()
        self.faults = 0.0
        return True
