"""Errors of the library as values."""

import pickle

from directrix.errors import MissingExtra


def test_a_missing_extra_comes_back_from_a_worker_process():
    error = MissingExtra("qp", "CuttingPlane")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert '"directrix[qp]"' in str(error)
