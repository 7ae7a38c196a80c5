"""Files of scores: one number per line, whatever else looks like a line or a number."""

import numpy as np
import pytest
from tests.messages import rejects

from directrix import InputError
from directrix.cli.rankings import read_scores


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("start", ["", "\ufeff"])
def test_lines_may_end_as_on_windows(start, end, tmp_path):
    path = tmp_path / "scores.txt"
    path.write_bytes(f"{start}0.5{end} -1e3 {end}2{end}".encode())
    np.testing.assert_array_equal(read_scores(path, 3, path), [0.5, -1000.0, 2.0])


@pytest.mark.parametrize("text", ["1\x1e2", "1\x852", "1\u20282", "1\x0c2", "\u0663", "1_0", "nan"])
def test_other_separators_and_digits_are_no_numbers(text, tmp_path):
    path = tmp_path / "scores.txt"
    path.write_text(f"1\n{text}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"scores\.txt:2: .* is not one finite number"):
        read_scores(path, 2, path)


def test_a_file_of_scores_is_text(tmp_path):
    path = tmp_path / "scores.txt"
    path.write_bytes(b"1\n\xff\n")
    with rejects(InputError):
        read_scores(path, 2, path)
