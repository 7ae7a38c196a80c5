"""``directrix --help``: few commands at the top, few options before a heading, and names without groups."""

import re

import pytest
import typer
from tests.commands import refused, run, succeed

from directrix.cli.headings import heading_of
from directrix.cli.main import app
from directrix.registry import COMMANDS

GROUPS = typer.main.get_command(app).commands
OLD = {
    "crossval": "lab crossval",
    "certify": "lab certify",
    "tendency": "lab tendency",
    "reproduce": "lab reproduce",
    "interactions": "events interactions",
    "shard": "cluster shard",
    "features": "runs features",
    "fuse": "runs fuse",
    "reconcile": "runs reconcile",
    "index": "text index",
    "candidates": "text candidates",
    "text-features": "text features",
    "rerank": "text rerank",
}


def command_of(name):
    group, _, word = name.rpartition(" ")
    return (GROUPS[group].commands if group else GROUPS)[word]


def test_the_top_has_twelve_commands_and_then_the_groups():
    listed = re.findall(r"^│ ([a-z]+) ", succeed("--help").stdout, re.MULTILINE)
    assert listed == list(GROUPS)
    assert listed[:12] == [name for name in COMMANDS if " " not in name]
    assert listed[12:] == ["text", "runs", "clicks", "events", "lab", "cluster"]


@pytest.mark.parametrize(("old", "new"), OLD.items())
def test_a_command_without_its_group_answers_with_the_line_to_type(old, new):
    message = refused(old, "a file", "-o", "out", status=2)
    assert message == f"error: {old} is now directrix {new}; type `directrix {new} 'a file' -o out`."
    assert old not in GROUPS


def test_options_before_the_command_stay_in_the_line_to_type():
    assert "type `directrix --threads 2 lab crossval x`" in refused("--threads", 2, "crossval", "x", status=2)
    assert "No such command 'crosval'" in run("crosval").stderr


@pytest.mark.parametrize("name", COMMANDS)
def test_at_most_ten_options_come_before_the_first_heading(name):
    options = [param for param in command_of(name).params if param.param_type_name == "option"]
    first = [param.name for param in options if param.rich_help_panel is None]
    assert len(first) <= 10, first
    assert all(param.rich_help_panel == heading_of(param.name) for param in options)
    text = succeed(*name.split(), "--help").stdout
    assert text.index("─ Options ") < text.index("─ Machine and seed ")


def test_every_option_with_a_heading_is_one_of_a_command():
    from directrix.cli.headings import _BY_OPTION

    assert set(_BY_OPTION) <= {param.name for name in COMMANDS for param in command_of(name).params}
