"""Errors of the library as values."""

import ast
import inspect
import pickle
import re
import tomllib
from pathlib import Path
from string import Formatter

import pytest

import directrix
from directrix.advice import PYTHON
from directrix.cli.advice import SHELL, message_of
from directrix.errors import EXTRAS, Advice, InputError, MissingExtra, warn
from directrix.registry import COMMANDS

SOURCE = Path(directrix.__file__).parent


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
    error = InputError("row 3 is nan.", Advice("missing-values")).at("Fold1")
    assert str(error) == f"Fold1: row 3 is nan. {PYTHON['missing-values']}"
    assert [advice.key for advice in error.advice] == ["missing-values"]
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), message_of(again)) == (str(error), message_of(error))


def test_a_warning_is_said_in_the_words_of_the_command_line():
    with pytest.warns(UserWarning, match=r"^too extreme\. Type ranker\.calibrate\(queries\)") as caught:
        warn("too extreme.", advice=Advice("calibrate"))
    assert message_of(caught[0].message).startswith("too extreme. Type `directrix calibrate MODEL")
    with pytest.warns(UserWarning, match="plain") as caught:
        warn("plain")
    assert message_of(caught[0].message) == "plain"


def uses_of_advice():
    """Every ``Advice(key, name=value)`` in the library: its place, its keys, and the names of its values."""
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Advice" and node.args:
                keys = [leaf.value for leaf in ast.walk(node.args[0]) if isinstance(leaf, ast.Constant)]
                yield f"{path.name}:{node.lineno}", keys, {value.arg for value in node.keywords}


def names_in(template):
    """The values that a template, or a function that makes the text, takes."""
    if callable(template):
        return set(inspect.signature(template).parameters)
    return {name for _, name, _, _ in Formatter().parse(template) if name is not None}


def test_both_tables_hold_every_key_that_the_library_uses_and_no_other():
    used = {key for _, keys, _ in uses_of_advice() for key in keys}
    assert set(PYTHON) == set(SHELL) == used


def test_templates_take_the_values_that_are_given():
    for place, keys, values in uses_of_advice():
        for key in keys:
            assert names_in(PYTHON[key]) | names_in(SHELL[key]) == values, f"{place}: {key}"


def test_commands_that_a_shell_is_told_to_type_exist():
    for key, template in SHELL.items():
        for command in re.findall(r"directrix ([a-z]+(?: [a-z]+)?)", "" if callable(template) else template):
            assert {command, command.split()[0]} & set(COMMANDS), f"{key}: {command}"


def test_no_module_below_the_command_line_says_what_to_type_in_a_shell():
    for path in sorted(SOURCE.rglob("*.py")):
        if "cli" not in path.relative_to(SOURCE).parts:
            assert not re.search(r"`directrix ([a-z]|\"$)", path.read_text(), re.M), path
