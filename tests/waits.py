"""Targets that come late: how many rows later each comes, and models that are told them then."""

import heapq

import numpy as np

KINDS = ("fixed", "geometric", "shuffled")


def waits(kind, delay, n, *, lost=0.05, seed=0):
    """How many rows after its row each of n targets comes; -1: never."""
    rng = np.random.default_rng(seed)
    drawn = {
        "fixed": np.full(n, delay),
        "geometric": rng.geometric(1 / (delay + 1), n) - 1,
        "shuffled": rng.integers(0, 2 * delay + 1, n),
    }[kind]
    return np.where(rng.random(n) < lost, -1, drawn)


def told(ask, tell, X, y, late):
    """What ask(x) gives for each row, where tell(question, target) follows as many rows later as `late` says.

    A question is what `ask` gives first; what it gives second is returned.
    """
    due, questions, answers = [], [], []
    for row, x in enumerate(X):
        question, answer = ask(x)
        questions.append(question)
        answers.append(answer)
        if late[row] >= 0:
            heapq.heappush(due, (row + int(late[row]), row))
        while due and due[0][0] <= row:
            row_told = heapq.heappop(due)[1]
            tell(questions[row_told], y[row_told])
    return np.array(answers)


def answered_late(model, X, y, late):
    """The predictions and both ends of intervals, (n, 3, ...), of a model that is told so."""

    def ask(x):
        ticket = model.ask(x)
        return ticket, (ticket.prediction, ticket.low, ticket.high)

    return told(ask, model.tell, X, y, late)
