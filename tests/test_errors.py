"""Errors of the library as values."""

import pickle

from directrix.errors import InputError, MissingExtra


def test_a_missing_extra_comes_back_from_a_worker_process():
    error = MissingExtra("qp", "CuttingPlane")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert '"directrix[qp]"' in str(error)


def test_an_error_with_its_place_keeps_what_to_type():
    error = InputError("row 3 is nan.", python="Type missing='zero'.", shell="Add --missing zero.").at(
        "Fold1"
    )
    assert str(error) == "Fold1: row 3 is nan. Type missing='zero'."
    assert error.in_shell == "Fold1: row 3 is nan. Add --missing zero."
    assert pickle.loads(pickle.dumps(error)).in_shell == error.in_shell
