"""Has the stream changed? Page and Hinkley's test on squared errors."""


class DriftMeter:
    """Raises an alarm when errors exceed their mean by more than chance explains, then starts anew."""

    def __init__(self):
        self.alarms = 0
        self.last_alarm = 0
        self.restart()

    def restart(self):
        """Forget all errors, not the alarms."""
        self.count = 0
        self.mean = 0.0
        self.excess = 0.0

    def learn(self, squared_error, sample):
        """Take the squared error of the sample of this number, at most 20 times the mean so far.

        From 500 errors on: excess <- max(0, excess + error / mean - 1.25), an alarm at 100.
        """
        self.count += 1
        if self.count > 1:
            squared_error = min(squared_error, 20 * self.mean)
        self.mean += (squared_error - self.mean) / self.count
        if self.count < 500 or self.mean <= 0:
            return
        self.excess = max(0.0, self.excess + squared_error / self.mean - 1.25)
        if self.excess >= 100:
            self.alarms += 1
            self.last_alarm = sample
            self.restart()
