"""Running statistics of one column, in Python floats, one number at a time."""

import math

LARGEST_OBSERVED = 1e125
LARGEST_STANDARDISED = 10.0
LARGEST_STEP = 20.0
SURPRISING = 50.0
LARGEST_BELIEVED = 1000.0
UNBELIEVABLE = 1e6
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

    def observe(self, value):
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
            reach = (LARGEST_STANDARDISED if faulty else LARGEST_STEP) * self.sd
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

    The spread does not fall below that before the surprises. A value a million deviations away is a fault and
    teaches nothing, unless there were 200 already, or a fifth of the values; that number fades.

    After 500 values without one, a surprise begins a stretch; what counted before it is usual. It ends
    with five usual values in a row: if it had 30 and the spread is more than five times the usual one, what
    was usual counts again. After 200 values it is no stretch but a new regime.
    """

    def __init__(self):
        super().__init__()
        self.surprises = Scaler()
        self.usual_var = 0.0
        self.faults = 0.0
        self.usual = Scaler()
        self.stretch = self.fitting = self.calm = 0

    def is_fault(self, value):
        """Whether a value teaches nothing."""
        beyond_reason = self.varies and abs(value - self.mean) > UNBELIEVABLE * self.sd
        return beyond_reason and self.faults + 1 <= min(self.n / 5, 200)

    @property
    def is_young(self):
        """Whether a new regime was adopted less than 500 values ago, and there was no surprise since."""
        return self.n == self.calm + 5 and self.calm < 500

    def observe(self, value):
        """Take one value in; whether a new regime is adopted."""
        if math.isnan(value):
            return False
        if self.is_fault(value):
            self.faults += 1
            return False
        self.faults -= self.faults / MEMORY
        surprising = self.varies and abs(value - self.mean) > SURPRISING * self.sd
        if surprising and self.stretch == 0 and self.calm >= 500:
            self.usual.n, self.usual.mean, self.usual.var = self.n, self.mean, self.var
            self.stretch = 1
        elif self.stretch > 0:
            self.stretch += 1
        self.calm = 0 if surprising else self.calm + 1
        renewed = self.adopt_surprises(value, surprising=surprising)
        return (self.stretch > 0 and self.is_back_to_usual(value)) or renewed

    def is_back_to_usual(self, value):
        """Follow a stretch; whether what was usual before it counts again."""
        usual = self.usual
        self.fitting = self.fitting + 1 if abs(value - usual.mean) <= 8 * usual.sd else 0
        ratio = self.sd / usual.sd
        back = self.stretch >= 30 and ratio > 5 and self.fitting * math.log(ratio) > 8
        if back:
            self.n, self.mean, self.var = usual.n, usual.mean, usual.var
            self.surprises = Scaler()
        if back or self.fitting == 5 or self.stretch == 200:
            self.usual = Scaler()
            self.stretch = self.fitting = self.calm = 0
        return back

    def adopt_surprises(self, value, *, surprising):
        """Let a value count; whether a new regime is adopted."""
        before = self.var
        super().observe(value)
        if not surprising:
            self.surprises = Scaler()
            return False
        if self.surprises.n == 0:
            self.usual_var = before
        self.surprises.observe(value)
        if self.surprises.n < 5:
            return False
        self.n, self.mean = 5, self.surprises.mean
        self.var = max(self.surprises.var, self.usual_var)
        self.surprises = Scaler()
        self.faults = 0.0
        return True
