"""The table of formats: what it names exists, and every file is taken for what it is."""

from pathlib import Path

import pytest
from tables import assert_same, random_queries

import directrix as dx
from directrix.data import formats
from directrix.data.formats import ARROW, FORMATS, LETOR, QRELS, format_of, named

WRITTEN = [(f, suffix) for f in FORMATS if f.reader and f.is_written for suffix in f.suffixes]


@pytest.mark.parametrize("form", FORMATS, ids=lambda form: form.name)
def test_every_function_of_the_table_exists(form):
    references = [form.reader, form.lines, form.recogniser, form.opener, form.parts, form.writer]
    assert all(callable(formats._load(reference)) for reference in references if reference)
    assert not (form.lines and form.writer)


@pytest.mark.parametrize(("form", "suffix"), WRITTEN)
def test_what_is_written_is_recognised_and_reads_back_the_same(form, suffix, tmp_path):
    q, path = random_queries(seed=3), tmp_path / f"data{suffix}"
    with form.writing(path) as add:
        add(q)
    assert named(path) is form
    assert format_of(path) is form
    assert_same(form.read(path), q)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("a.txt.gz", LETOR),
        ("a", LETOR),
        ("a.gz", LETOR),
        ("a.qrels.xz", QRELS),
        ("a.feather", ARROW),
        ("a.parquet.gz", None),
        ("a.csv", None),
    ],
)
def test_names(name, form):
    assert named(Path(name)) is form


def test_content_counts_where_the_name_says_another_format(tmp_path):
    q = random_queries(seed=3)
    dx.data.write_parquet(q, tmp_path / "a.parquet")
    (tmp_path / "a.parquet").rename(tmp_path / "a.txt")
    assert format_of(tmp_path / "a.txt") is ARROW
    assert_same(formats.read_file(tmp_path / "a.txt"), q)


def test_every_format_is_listed():
    assert [form.name in formats.outputs() for form in FORMATS] == [form.is_written for form in FORMATS]
    assert [form.name in formats.inputs() for form in FORMATS] == [bool(form.reader) for form in FORMATS]
