"""The folder of a report: every form, the same values in all, whole files or none."""

import csv
import io
import json
import re

import numpy as np
import pytest

from directrix import MissingExtra
from directrix.reports import write
from directrix.reports.figures import data_of
from directrix.reports.page import csv_files
from directrix.reports.report import Claim, Section
from directrix.reports.write import publish, text_of, write_report
from directrix.tables import Table
from tests.docs.blocks import blocks

from .hand_made import HOSTILE, report

NAMES = ["01-table-2-test-measures.csv", "02-table-3-chosen.csv"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    write_report(folder, report())
    return folder


def test_every_form_is_there(folder):
    assert sorted(str(path.relative_to(folder)) for path in folder.rglob("*.*")) == sorted(
        ["page.md", "report.html", "settings.json", "tables.json", "tables.tex", "tables.txt"]
        + [f"tables/{name}" for name in (*NAMES, "claims.csv")]
        + [f"figures/accuracy.{form}" for form in ("csv", "pdf", "png", "svg")]
    )
    assert (folder / "figures/accuracy.csv").read_text() == data_of(report().figures[0]).csv()
    assert (folder / "tables.txt").read_text() == text_of(report()) + "\n"
    assert (folder / "tables.tex").read_text().startswith("% needs \\usepackage{booktabs}\n\n\\begin{table}")
    assert json.loads((folder / "settings.json").read_text())["fixed"] == {"seed": 0}


def test_csv_comes_back_as_it_was(folder):
    for name, table in zip(NAMES, report().tables, strict=True):
        with (folder / "tables" / name).open(newline="") as file:
            heads, *rows = csv.reader(file)
        assert heads == table.heads()
        assert len(rows) == len(table.rows)
        for read, row in zip(rows, table.rows, strict=True):
            assert [
                None if cell == "" else type(value)(cell) for cell, value in zip(read, row, strict=True)
            ] == [*row]


def test_csv_quotes_what_would_part_cells():
    table = Table("t", ("a,b", 'say "x"'), (("two\nlines", 1 / 3),))
    assert list(csv.reader(io.StringIO(table.csv()))) == [["a,b", 'say "x"'], ["two\nlines", repr(1 / 3)]]


def test_json_has_every_digit_and_no_rankings(folder):
    text = (folder / "tables.json").read_text()
    document = json.loads(text)
    assert document["tables"][0]["rows"][0][1] == 0.4512345
    assert document["per_query"][0]["values"]["ListNet"] == report().per_query[0].values["ListNet"].tolist()
    assert "D003" not in text


def test_an_undefined_value_is_null():
    (part,) = report().per_query[:1]
    part.values["ListNet"][3] = np.nan
    assert write.document(report(per_query=(part,)))["per_query"][0]["values"]["ListNet"][3] is None


def test_numbers_of_numpy_are_numbers_in_every_form(tmp_path):
    row = ("x", np.float64(0.1234567), np.int64(3), np.float64("nan"))
    value = report(sections=(Section("", (Table("t", ("a", "b", "c", "d"), (row,)),)),))
    write_report(tmp_path, value)
    document = json.loads((tmp_path / "tables.json").read_text())
    assert document["tables"][0]["rows"] == [["x", 0.1234567, 3, None]]
    assert (tmp_path / "tables" / "01-t.csv").read_text() == "a,b,c,d\nx,0.1234567,3,nan\n"
    assert 'data-value="0.1234567" title="0.1234567">0.123<' in (tmp_path / "report.html").read_text()
    assert (
        '<td class="number" data-value="" title="">nan<' in (tmp_path / "report.html").read_text()
    )  # sorts last
    assert "np." not in "".join(path.read_text() for path in tmp_path.glob("*.*"))


def test_the_page_says_all_in_order(folder):
    page = (folder / "page.md").read_text()
    heads = [line[3:] for line in page.splitlines() if line.startswith("## ")]
    assert heads == [
        *("In short", "Claims of the paper", "Test", "Choices", "Figures", "What was done"),
        *("What differs from the paper", "What could not be done"),
    ]
    assert "0.451, better than ListNet 0.447.\n- **MQ2008**: no clear difference.\n\nBetter is" in page
    assert "**✗ does not hold**\n\n- LambdaRank is best (Sect. 6)\n" in page
    assert "[Our figures for each claim](tables/claims.csv)." in page
    assert 'LambdaRank is best,Sect. 6,✗ does not hold,"0.42, p = 1e-05"\n' in (
        folder / "tables" / "claims.csv"
    ).read_text("utf-8")
    assert "| method | here: nDCG@10 | AP | published: nDCG@10 | difference |" in page
    assert "**Table 3: Chosen**: [2 rows](tables/02-table-3-chosen.csv). By AP." in page
    assert "Fold1" not in page
    assert "![Errors fall as alpha grows; the bound is four times as high.](figures/accuracy.png)" in page
    assert "- TD2003: the data are not there." in page
    assert "This page is what `directrix lab reproduce some2010 --data DIR` writes; the same" in page
    assert blocks(page) == []


def test_for_a_site_pictures_and_linked_tables_stand_in_a_folder_of_the_name(folder, tmp_path):
    publish(tmp_path, report())
    assert (tmp_path / "some2010" / "accuracy.png").read_bytes() == (
        folder / "figures" / "accuracy.png"
    ).read_bytes()
    names = [NAMES[1], "claims.csv"]
    assert sorted(path.name for path in (tmp_path / "some2010").iterdir()) == sorted(["accuracy.png", *names])
    for name in names:
        assert (tmp_path / "some2010" / name).read_bytes() == (folder / "tables" / name).read_bytes()
    assert (tmp_path / "some2010.md").read_text() == re.sub(
        r"\]\((?:figures|tables)/", "](some2010/", (folder / "page.md").read_text()
    )


def test_names_of_tables_become_names_of_files():
    tables = tuple(Table(title, ("a",), ()) for title in ("Ä/../b: C", "***", "x" * 99))
    named = report(claims=(), sections=(Section("All", tables),))
    assert list(csv_files(named)) == ["01-b-c.csv", "02-table.csv", f"03-{'x' * 48}.csv"]


def test_a_group_of_columns_is_named_in_each_where_a_reader_could_mistake_it():
    table = Table("t", ("a", "b", "c"), ((1, 2, 3),), groups=(("x", 2), ("", 1)))
    assert "| x a | x b | c |" in write.page(report(sections=(Section("", (table,)),)))


def test_the_same_report_is_written_with_the_same_bytes(folder, tmp_path):
    write_report(tmp_path, report())
    for path in folder.rglob("*.*"):
        assert (tmp_path / path.relative_to(folder)).read_bytes() == path.read_bytes(), path.name


def test_nothing_is_written_where_a_figure_fails(tmp_path, monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(write, "draw", fail)
    with pytest.raises(RuntimeError):
        write_report(tmp_path, report())
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("work", [write_report, publish])
def test_without_matplotlib_the_install_line_is_said(tmp_path, monkeypatch, work):
    monkeypatch.setattr("directrix.reports.figures.importlib.util.find_spec", lambda _: None)
    with pytest.raises(MissingExtra, match=r'pip install "directrix\[plot\]"'):
        work(tmp_path, report())
    assert not list(tmp_path.iterdir())


def test_a_claim_on_several_data_sets_is_one_item_of_each_verdict():
    judged = {"A": "holds", "B": "not significant", "C": "holds"}
    claims = [
        Claim(f"{name}: x is above y", f"Table {i}", verdict, "", f"{i} queries")
        for i, (name, verdict) in enumerate(judged.items())
    ]
    claims.append(Claim("A: z is best", "Sect. 1", "holds", "", "3 queries"))
    made = write.page(report(claims=tuple(claims)))
    assert (
        "**✓ holds**\n\n- x is above y (Table 0; Table 2): A, C\n- A: z is best (Sect. 1)\n\n"
        "**≈ not significant**\n\n- x is above y (Table 1): B\n\n"
    ) in made


def test_hostile_text_is_text_in_markdown():
    claim = report().claims[0].__class__(HOSTILE, "a | b", "holds", "`x`\ny")
    page = write.page(report(claims=(claim,)))
    (line,) = [line for line in page.splitlines() if line.startswith(r"- \</script")]
    assert line.endswith(r"(a \| b)")
    assert "<b>" not in page.replace(r"\<b>", "")
