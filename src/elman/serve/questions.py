"""Questions whose truth comes later: what was answered, for the record, until it is told."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from elman.serve.replies import Answers

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from elman.arrays import Float64


class Question(NamedTuple):
    """A row that was asked, by its number in the record, with its answer, each of shape (outputs,)."""

    row: int
    answers: Answers


class Questions:
    """The open questions of a stream by the ids that the model gave them, as many as it keeps.

    Examples
    --------
    >>> questions = Questions()
    >>> questions.open(7, Question(1, Answers(*np.zeros((3, 1)))), most=10)
    >>> again = Questions.of(questions.arrays())
    >>> 7 in again, again.close(7).row, 7 in again
    (True, 1, False)
    """

    def __init__(self) -> None:
        self._open: dict[int, Question] = {}

    def __contains__(self, number: int) -> bool:
        return number in self._open

    def __len__(self) -> int:
        return len(self._open)

    def open(self, number: int, question: Question, most: int) -> None:
        """Keep a question; beyond `most` the oldest is given up, as the model does."""
        self._open[number] = question
        if len(self._open) > most:
            del self._open[next(iter(self._open))]

    def close(self, number: int) -> Question:
        """Return a question and keep it no longer."""
        return self._open.pop(number)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return all of them as arrays."""
        answers = [np.ravel(question.answers) for question in self._open.values()]
        return {
            "open": np.array(
                [(i, q.row, q.answers.prediction.size) for i, q in self._open.items()], np.int64
            ),
            "open_answers": np.concatenate([np.empty(0), *answers]),
        }

    @classmethod
    def of(cls, arrays: dict[str, NDArray[Any]]) -> Self:
        """Return the questions that `arrays` gave."""
        questions, at = cls(), 0
        numbers: Float64 = arrays["open_answers"]
        for number, row, size in arrays["open"].reshape(-1, 3).tolist():
            answers = Answers(*numbers[at : at + 3 * size].reshape(3, size))
            questions._open[number] = Question(row, answers)
            at += 3 * size
        return questions
