"""Errors of the library as values."""

import pickle
import tomllib
from pathlib import Path

from directrix.errors import EXTRAS, InputError, MissingExtra


def test_a_missing_extra_comes_back_from_a_worker_process():
    error = MissingExtra("arrow", "reading Parquet files")
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert 'pip install "directrix[arrow]"' in str(error)


def test_a_package_of_the_core_is_installed_by_its_own_name():
    assert str(MissingExtra("piqp", "CuttingPlane")).endswith("; type: pip install piqp")


def test_the_extras_are_those_of_the_project():
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    optional = project["optional-dependencies"]
    assert {*EXTRAS, "all", "test", "lint", "docs", "release"} == set(optional)
    assert optional["all"] == [f"directrix[{','.join(extra for extra in EXTRAS if extra != 'torch')}]"]


def test_an_error_with_its_place_keeps_what_to_type():
    error = InputError("row 3 is nan.", python="Type missing='zero'.", shell="Add --missing zero.").at(
        "Fold1"
    )
    assert str(error) == "Fold1: row 3 is nan. Type missing='zero'."
    assert error.in_shell == "Fold1: row 3 is nan. Add --missing zero."
    assert pickle.loads(pickle.dumps(error)).in_shell == error.in_shell
