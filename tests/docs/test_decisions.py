"""The index of the decisions names each of them, once, by its title."""

from pathlib import Path

FOLDER = Path(__file__).parents[2] / "docs" / "decisions"
RECORDS = sorted(FOLDER.glob("[0-9]*.md"))


def title(path: Path) -> str:
    """Title of a page, without the number."""
    return path.read_text("utf-8").splitlines()[0].removeprefix(f"# {path.name[:4]}").lstrip(": ").rstrip(".")


def test_the_index_lists_every_decision():
    rows = [line for line in (FOLDER / "README.md").read_text("utf-8").splitlines() if line.startswith("| 0")]
    assert rows == [f"| {path.name[:4]} | [{title(path)}]({path.name}) |" for path in RECORDS]


def test_every_decision_has_a_number_of_its_own_and_begins_with_it():
    numbers = [path.name[:4] for path in RECORDS]
    assert len(set(numbers)) == len(numbers) > 0
    assert [p.name for p in RECORDS if not p.read_text("utf-8").startswith(f"# {p.name[:4]}")] == []
