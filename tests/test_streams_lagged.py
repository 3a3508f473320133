from io import StringIO

import numpy as np
import pytest

from elman.streams import Lagged, kinematics, read_csv


def test_lags_follow_the_inputs_latest_first():
    X, y = kinematics().take(2000)
    lagged_X, lagged_y = Lagged(kinematics(), 3).take(2000)
    np.testing.assert_array_equal(lagged_y, y)
    np.testing.assert_array_equal(lagged_X[:, :8], X)
    for lag in (1, 2, 3):
        np.testing.assert_array_equal(lagged_X[lag:, 7 + lag], y[:-lag])
        assert np.isnan(lagged_X[:lag, 7 + lag]).all()


def test_it_is_called_what_its_stream_is_called():
    stream = Lagged(kinematics(), 2)
    assert repr(stream) == "<stream kinematics: 10 inputs -> y, simulated, endless>"
    assert stream.names[-2:] == ("y.lag1", "y.lag2")


def test_a_missing_target_is_a_missing_lag():
    X, _ = Lagged(read_csv(StringIO("a,y\n0,1\n0,\n0,3\n")), 1).take()
    np.testing.assert_array_equal(X[:, 1], [np.nan, 1, np.nan])


def test_no_row_is_read_before_it_is_asked_for():
    source = StringIO("y\n1\n2\nbroken\n")
    rows = iter(Lagged(read_csv(source), 1))
    assert [next(rows)[1], next(rows)[1]] == [1.0, 2.0]
    with pytest.raises(ValueError, match="line 4"):
        next(rows)


def test_lags_of_lags_would_share_their_names_and_are_refused():
    with pytest.raises(ValueError, match=r"own name, but y\.lag1 came more than once"):
        Lagged(Lagged(kinematics(), 1), 1)


def test_k_starts_at_one():
    with pytest.raises(ValueError, match="k must be 1 or more past targets, got 0"):
        Lagged(kinematics(), 0)
