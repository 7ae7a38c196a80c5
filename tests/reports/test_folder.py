"""The folder of a run: what it depends on is there before the first result."""

import json

import pytest

from directrix import InputError
from directrix.reports.folder import open_folder
from tests.messages import rejects

SETTINGS = {"name": "x", "fixed": {"seed": 0, "grid": {"c": (1.0, 2.0)}}, "trials": 2}


def test_settings_are_there_before_the_work(tmp_path):
    assert open_folder(tmp_path / "a" / "b", SETTINGS) == tmp_path / "a" / "b" / "cells.jsonl"
    assert json.loads((tmp_path / "a" / "b" / "settings.json").read_text())["fixed"]["grid"] == {
        "c": [1.0, 2.0]
    }


def test_the_same_run_may_go_on_and_be_made_longer(tmp_path):
    open_folder(tmp_path, SETTINGS)
    open_folder(tmp_path, {**SETTINGS, "trials": 50})
    assert json.loads((tmp_path / "settings.json").read_text())["trials"] == 50


@pytest.mark.parametrize(
    ("fixed", "message"),
    [
        (
            {"seed": 1, "grid": {"c": (1.0, 2.0)}},
            r"run with seed 0, which cannot be resumed with seed 1: .*-o .*-2",
        ),
        ({"seed": 0, "grid": {"c": (1.0,)}}, r'grid \{"c": \[1\.0, 2\.0\]\}, .* grid \{"c": \[1\.0\]\}'),
        ({"seed": 0}, r"with grid null"),
    ],
)
def test_another_run_is_rejected_and_nothing_is_changed(tmp_path, fixed, message):
    open_folder(tmp_path, SETTINGS)
    before = (tmp_path / "settings.json").read_bytes()
    with pytest.raises(InputError, match=message):
        open_folder(tmp_path, {**SETTINGS, "fixed": fixed})
    assert (tmp_path / "settings.json").read_bytes() == before


@pytest.mark.parametrize("text", ["no JSON", "[]", "{}", '{"fixed": 3}'])
def test_a_file_that_is_none_of_ours_is_rejected(tmp_path, text):
    (tmp_path / "settings.json").write_text(text)
    with rejects(InputError):
        open_folder(tmp_path, SETTINGS)


def test_cells_of_unknown_settings_are_rejected(tmp_path):
    (tmp_path / "cells.jsonl").write_text('{"key": ["a", 0], "seconds": 1.0, "result": 1}\n')
    with rejects(InputError):
        open_folder(tmp_path, SETTINGS)
    assert not (tmp_path / "settings.json").exists()
