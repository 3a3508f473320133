"""What every model promises where targets come late: checks like those of contract.py."""

import itertools

import numpy as np
import pytest

import elman
from contract_maker import NAN, bits, named, only
from elman import Committee, state
from elman.state import Arrays
from waits import answered_late, told, waits


def asked(model, X, y, delay):
    """The predictions of a loop in which each target is told so many rows later."""
    return answered_late(model, X, y, np.full(len(X), delay))[:, 0]


def check_told_at_once_is_learn_one_to_the_bit(make):
    X, y = make.stream()
    learned, told_at_once = make.trained(), make.trained()

    for x, target in zip(X, y, strict=True):
        expected = learned.predict_one(x), *learned.interval_one(x)
        ticket = told_at_once.ask(x)
        assert bits(expected) == bits([ticket.prediction, ticket.low, ticket.high])
        learned.learn_one(x, target)
        told_at_once.tell(ticket, target)

    assert learned.to_bytes() == told_at_once.to_bytes()


def check_a_question_advances_the_state_as_an_unknown_target_does(make):
    X, _ = make.stream()
    asked_only, unknown = make.trained(), make.trained()
    for x in X[:20]:
        asked_only.ask(x)
        unknown.learn_one(x, None)

    assert bits(asked_only.predict_one(X[20])) == bits(unknown.predict_one(X[20]))
    assert asked_only.n_samples == unknown.n_samples
    assert asked_only.pending == 20


def check_a_run_with_a_delay_is_the_loop_in_any_pieces(make):
    X, y = make.stream(600)
    for delay in (1, 7, 40):
        whole, looped, chunked = make.trained(), make.trained(), make.trained()
        cuts, parts = [0, 0, 1, 2, 30, 31, 532, 600], []

        expected = whole.run(X, y, delay=delay)
        for begin, end in itertools.pairwise(cuts):
            parts.append(chunked.run(X[begin:end], y[begin:end], delay=delay))
            chunked = elman.load(chunked.to_bytes())

        assert bits(expected) == bits(np.concatenate(parts))
        assert whole.to_bytes() == chunked.to_bytes()
        assert bits(expected) == bits(asked(looped, X, y, delay))
        assert whole.pending == looped.pending == delay


def check_targets_in_any_order_saved_anywhere_give_the_same_bits(make):
    X, y = make.stream(80)
    late = waits("shuffled", 9, len(X), lost=0.1)
    straight = make.trained()
    saved = [make.trained()]

    def ask(x):
        saved[0] = elman.load(saved[0].to_bytes())
        ticket = saved[0].ask(x)
        return ticket.id, ticket.prediction

    def tell(question, target):
        saved[0] = elman.load(saved[0].to_bytes())
        saved[0].tell(question, target)

    expected = answered_late(straight, X, y, late)[:, 0]
    assert bits(expected) == bits(told(ask, tell, X, y, late))
    assert straight.to_bytes() == saved[0].to_bytes()


def check_the_truth_of_a_row_that_is_long_gone_is_still_learned(make):
    X, y = make.stream(300)
    model = make.trained()
    ticket, steps = model.ask(X[0]), model.steps
    model.run(X[1:], y[1:])
    steps += int(np.sum(~np.isnan(y[1:].reshape(299, -1)).all(axis=1)))

    again = elman.load(model.to_bytes())
    for each in (model, again):
        each.tell(ticket.id, make.target(0.5))

    assert model.steps == steps + 1
    assert model.to_bytes() == again.to_bytes()


def check_a_question_that_is_not_open_is_named_and_nothing_changes(make):
    model = make.trained()
    X, _ = make.stream()
    with pytest.raises(KeyError, match="question 1 is unknown"):
        make().tell(1, make.target(0.5))
    model.max_pending = 3
    tickets = [model.ask(x) for x in X[:6]]
    model.tell(tickets[4], make.target(0.5))
    model.forget(tickets[5])
    before = model.to_bytes()

    for question, why in (
        (tickets[0], "dropped"),
        (tickets[2].id, "dropped"),
        (tickets[5], "dropped"),
        (tickets[4], "settled"),
        (3, "settled"),
        (tickets[5].id + 1, "unknown"),
        (0, "unknown"),
        (-7, "unknown"),
        (10**30, "unknown"),
    ):
        for call in (lambda question=question: model.tell(question, make.target(0.5)), None):
            with pytest.raises(KeyError, match=f"is {why}"):
                model.forget(question) if call is None else call()
    for wrong in (make.target(np.inf), "high", [[1.0]]):
        with pytest.raises((TypeError, ValueError)):
            model.tell(tickets[3], wrong)
    with pytest.raises(TypeError, match="a question is a Ticket or its id"):
        model.tell("first", make.target(0.5))

    assert before == model.to_bytes()
    assert (model.pending, model.dropped) == (1, 3)
    loaded = elman.load(before)
    assert (loaded.pending, loaded.dropped, loaded.max_pending) == (1, 3, 3)


def check_an_unknown_target_settles_a_question(make):
    X, _ = make.stream()
    model = make.trained()
    steps = model.steps
    for target in (None, make.target(NAN)):
        model.tell(model.ask(X[0]), target)

    assert (model.pending, model.steps) == (0, steps)


def check_features_may_be_new_while_questions_are_open(make):
    X, y = make.stream()
    rows = named(X[:20], "ab") + named(X[20:])
    model, late = make(), waits("geometric", 12, len(rows), lost=0.1)
    model.learn_one(rows[0], make.target(0.5))

    answers = answered_late(model, rows, y, late)

    assert np.isfinite(answers[:, 0]).all()
    assert model.feature_names == ["a", "b", "c"]
    assert model.pending > 0
    assert elman.load(model.to_bytes()).to_bytes() == model.to_bytes()


def check_the_first_target_may_come_after_many_questions(make):
    X, y = make.stream()
    model, y = make(), np.nan_to_num(y)
    tickets = [model.ask(x) for x in X[:30]]
    for ticket, target in zip(tickets, y[:30], strict=True):
        model.tell(ticket, target)

    assert (model.pending, model.steps) == (0, 30)
    assert np.shape(model.ask(X[30]).prediction) == np.shape(make.target(0.0))


@only(lambda make: isinstance(make(), Committee))
def check_a_run_with_a_delay_gives_the_same_bits_whatever_the_number_of_threads(make):
    X, y = make.stream(200)
    answers = []
    for threads in (1, 3):
        model = make()
        model.threads = threads
        answers.append(bits(model.run_intervals(X, y, delay=15)))

    assert len(set(answers)) == 1


def check_questions_in_a_state_that_cannot_be_are_refused(make):
    X, y = make.stream()
    model = make()
    model.max_pending = 12
    model.run(X, y, delay=5)
    for x in X[:20]:
        model.ask(x)
    model.forget(model.n_samples - 1)
    header, whole = state.parse(model.to_bytes())
    values, rows = whole.named(), {row[0]: row for row in whole.table}

    def refused(changed):
        body = b"".join(array.tobytes() for array in (values | changed).values())
        with pytest.raises(ValueError, match="contradicts itself"):
            type(model).from_bytes(state.dump(header, Arrays(list(rows.values()), body)))

    for name in ("open_rows", "past_numbers_of_rows", "dropped_rows"):
        refused({name: np.zeros_like(values[name])})
        refused({name: values[name].ravel()[::-1].reshape(values[name].shape)})
        refused({name: values[name] + 10**6})
    refused({"open_due": np.ones_like(values["open_due"])})
    for count in ("open_questions", "past_rows", "dropped_ranges"):
        for wrong in (0, 1, 10**12):
            refused({count: np.full_like(values[count], wrong)})
    refused({"output0.open_fine_answers": -values["output0.open_fine_answers"]})


def check_delays_beyond_the_limit_are_refused(make):
    X, y = make.stream()
    model = make.trained()
    model.max_pending = 5
    before = model.to_bytes()
    for delay, error in ((6, ValueError), (-1, ValueError), (1.5, TypeError), ("1", TypeError)):
        with pytest.raises(error, match="delay"):
            model.run(X, y, delay=delay)
    assert before == model.to_bytes()
