"""How much wider an interval must be where answers are older than those that were judged."""

import math


class Caution:
    """Knows how alike successive targets are, and how old the knowledge was whose errors are known."""

    def __init__(self):
        self.pairs = self.count = self.judged = 0
        self.difference = self.age = 0.0

    def see_succession(self, squared_difference):
        """Take the squared difference of a target and the one before it, over the target's variance."""
        self.pairs += 1
        half = min(squared_difference / 2, 10.0)
        self.difference += (half - self.difference) / min(self.pairs + 10, 1000)

    def learn(self, age, *, was_given):
        """Note how old the newest known target was when an answer was made whose error is known now."""
        self.count += 1
        self.judged += was_given
        self.age += (age - self.age) * max(1 / self.count, 0.03)

    def widening(self, age, size, deviation):
        """Give by what the size of errors is multiplied: between it and sqrt(2) deviations, by ratios.

        The deviations are those of targets that wander until the age is over.
        """
        worst = math.sqrt(2 * (1 + age / (1 + self.count))) * deviation
        if age <= 1 or self.pairs == 0 or worst <= size:
            return 1.0
        older = 1 - min(1.0, (self.age + 10) / (age + 10))
        untried = 1 / (1 + self.judged / (3 * age))
        follows = min(max(1 - self.difference, 0.0), 1.0)
        return (worst / size) ** (follows * max(older, untried))
