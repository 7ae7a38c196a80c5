"""The index of the decisions lists each of them once, by its title, under a topic."""

import re
from collections import Counter
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
INDEX = (FOLDER / "README.md").read_text("utf-8")
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))


def title(path: Path) -> str:
    """Title of a page, without the number."""
    return path.read_text("utf-8").splitlines()[0].removeprefix(f"# {path.name[:4]}").lstrip(": ").rstrip(".")


def test_the_index_lists_every_decision_once():
    rows = Counter(line for line in INDEX.splitlines() if re.match(r"\| \d", line))
    assert rows == Counter(f"| {path.name[:4]} | [{title(path)}]({path.name}) |" for path in RECORDS)


def test_every_decision_is_under_a_topic_and_topics_are_in_the_order_of_numbers():
    before, *topics = re.split(r"(?m)^## ", INDEX)
    assert not re.search(r"(?m)^\| \d", before)
    for topic in topics:
        numbers = re.findall(r"(?m)^\| (\d{4}) \|", topic)
        assert numbers == sorted(numbers) != [], topic.splitlines()[0]


def test_every_decision_has_a_number_of_its_own_and_begins_with_it():
    numbers = [path.name[:4] for path in RECORDS]
    assert len(set(numbers)) == len(numbers) > 0
    assert [p.name for p in RECORDS if not p.read_text("utf-8").startswith(f"# {p.name[:4]}")] == []
