"""The page on the architecture names files that exist, and its walks are short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
WALKS = re.findall(r"(?ms)^## (Walk \d.*?)(?=^## |\Z)", PAGE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"`([a-z_]+(?:/[a-z_]+)*(?:\.py|/))`", PAGE))))
def test_every_file_on_the_page_exists(path):
    assert (ROOT / "src" / "directrix" / path).exists()


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk[:6])
def test_a_walk_has_at_most_ten_stops_and_each_names_its_file(walk):
    stops = re.findall(r"(?m)^(\d+)\. (.*)", walk)
    assert [int(number) for number, _ in stops] == list(range(1, len(stops) + 1))
    assert 8 <= len(stops) <= 10
    assert all(re.match(r"`[a-z_/]+\.py`: ", text) for _, text in stops)


@pytest.mark.parametrize("walk", WALKS, ids=lambda walk: walk[:6])
def test_a_function_of_a_stop_is_defined_in_its_file(walk):
    for path, name in re.findall(r"(?m)^\d+\. `([a-z_/]+\.py)`: `(\w+)", walk):
        source = (ROOT / "src" / "directrix" / path).read_text("utf-8")
        assert re.search(rf"(?m)^\s*(def|class) {name}\b", source), f"{path}: {name}"


def test_there_are_two_walks():
    assert len(WALKS) == 2
