"""The changelog fragments of this checkout can be read, and mistakes in fragments are named."""

import datetime
import importlib.util
from pathlib import Path

import pytest

import directrix

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("fragments", ROOT / "changes" / "fragments.py")
fragments = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(fragments)


def write(folder, **files):
    (folder / "changes").mkdir()
    for name, before in fragments._PLACES.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(f"{before}0.1.0 and more\n")
    (folder / "CHANGELOG.md").write_text("# Changelog\n\n<!-- newest release below -->\n\n## 0.1.0\n")
    for name, text in files.items():
        (folder / "changes" / (name.replace("__", "-").replace("_", ".") + ".md")).write_text(text)
    return folder


def test_the_fragments_of_this_checkout_can_be_read():
    assert fragments.section(ROOT / "changes", "next").startswith("## next\n")


def test_changed_numbers_come_first(tmp_path):
    root = write(tmp_path, **{"7_added": "New.\n", "8__ties_numbers": "Ties\nmove.", "9_numbers": "More."})
    expected = (
        "## next\n\n### Numbers changed\n\n- Ties move. (#8)\n- More. (#9)\n\n### Added\n\n- New. (#7)\n"
    )
    assert fragments.section(root / "changes", "next") == expected


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [("seven_added", "x", "name must be"), ("7_news", "x", "kind one of"), ("7_added", " \n", "is empty")],
)
def test_a_bad_fragment_is_named(tmp_path, name, text, message):
    root = write(tmp_path, **{name: text})
    with pytest.raises(ValueError, match=message):
        fragments.section(root / "changes", "next")


def test_a_release_moves_the_fragments_into_the_changelog(tmp_path):
    root = write(tmp_path, **{"7_fixed": "Right now."})
    fragments.release(root, "0.2.0", datetime.date(2030, 1, 2))
    assert (root / "CHANGELOG.md").read_text() == (
        "# Changelog\n\n<!-- newest release below -->\n\n## 0.2.0 (2030-01-02)\n\n### Fixed\n\n"
        "- Right now. (#7)\n\n## 0.1.0\n"
    )
    assert not list((root / "changes").glob("*.md"))
    for name, before in fragments._PLACES.items():
        assert (root / name).read_text() == f"{before}0.2.0 and more\n"


def test_the_version_is_written_where_this_checkout_has_it():
    for name, before in fragments._PLACES.items():
        assert (ROOT / name).read_text("utf-8").count(f"{before}{directrix.__version__}") == 1, name


@pytest.mark.parametrize(
    ("version", "place", "message"),
    [("0.2", "README.md", "MAJOR.MINOR.PATCH"), ("0.2.0", "CITATION.cff", "CITATION.cff: no version")],
)
def test_a_release_that_cannot_be_finished_writes_nothing(tmp_path, version, place, message):
    root = write(tmp_path, **{"7_fixed": "Right now."})
    (root / place).write_text("nothing here\n")
    before = {path: path.read_text() for path in root.rglob("*") if path.is_file()}
    with pytest.raises(ValueError, match=message):
        fragments.release(root, version, datetime.date(2030, 1, 2))
    assert {path: path.read_text() for path in root.rglob("*") if path.is_file()} == before
