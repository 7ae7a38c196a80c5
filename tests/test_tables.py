"""One table, four forms."""

import json
from dataclasses import replace

import pytest

from directrix import InputError
from directrix.tables import PValue, Table, notes_once

TABLE = Table(
    "Figures of 50 % & more",
    ("model", "MAP", "W/L", "MAP"),
    (("SVM_map", 0.25, None, 0.5), ("best", 0.125, "39/11 **", 1.0)),
    groups=(("", 1), ("all", 2), ("published", 1)),
    notes=("a < b.",),
)


def test_text_is_aligned_under_its_groups():
    assert TABLE.text().splitlines() == [
        "Figures of 50 % & more",
        "",
        "         all              published",
        "model      MAP  W/L             MAP",
        "-------  -----  --------  ---------",
        "SVM_map  0.250  -             0.500",
        "best     0.125  39/11 **      1.000",
        "",
        "a < b.",
    ]


def test_what_is_rounded_to_zero_has_no_sign():
    table = Table("t", ("a", "b"), (("x", -1e-9), ("y", -0.0006)))
    assert [line.split()[1] for line in table.text().splitlines()[4:]] == ["0.000", "-0.001"]


def test_p_is_never_shown_as_zero():
    table = Table("Tests", ("pair", "p"), (("a - b", PValue(2e-9)), ("a - c", PValue(0.0114))))
    assert [row.split("  ")[-1].strip() for row in table.text().splitlines()[-2:]] == ["< .001", "0.011"]
    assert replace(table, digits=4).text().splitlines()[-2].endswith("< .0001")
    assert table.csv() == "pair,p\na - b,2e-09\na - c,0.0114\n"
    assert table.numeric() == [False, True]


def test_no_text_of_a_csv_is_run_by_a_spreadsheet():
    table = Table("t", ["=cmd|' /C calc'!A0", "p"], [["@SUM(1)", -0.5], ["+1", "-"], ["\tx", "a-b"]])
    assert table.csv() == "'=cmd|' /C calc'!A0,p\n'@SUM(1),-0.5\n'+1,-\n'\tx,a-b\n"


def test_json_has_every_digit_and_null():
    wide = Table("t", ("a", "b"), (("x", 1 / 3), ("y", None)))
    assert json.loads(json.dumps(wide.json()))["rows"] == [["x", 1 / 3], ["y", None]]
    assert TABLE.json()["groups"][1] == {"name": "all", "columns": 2}


def test_markdown_escapes_what_would_be_markup():
    lines = TABLE.markdown().splitlines()
    assert lines[2:] == [
        "| model | all MAP | all W/L | published MAP |",
        "| --- | ---: | --- | ---: |",
        r"| SVM\_map | 0.250 | - | 0.500 |",
        r"| best | 0.125 | 39/11 \*\* | 1.000 |",
        "",
        r"a \< b.",
    ]


def test_notes_and_titles_are_no_markup_either():
    table = Table("best * of", ("a",), (("x",),), notes=("**: p < .05", "a_b"))
    lines = table.markdown().splitlines()
    assert (lines[0], lines[-1]) == (r"**best \* of**", r"\*\*: p \< .05 a\_b")


def test_a_note_stands_under_the_first_table_that_has_it():
    tables = [Table(t, ("a",), (), notes=notes) for t, notes in (("1", ("x", "y")), ("2", ("y", "z", "x")))]
    assert [table.notes for table in notes_once(tables)] == [("x", "y"), ("z",)]
    assert tables[1].notes == ("y", "z", "x")


def test_latex_is_a_whole_escaped_table():
    lines = TABLE.latex().splitlines()
    assert lines[:2] == [r"\begin{table}", r"\centering"]
    assert lines[-1] == r"\end{table}"
    assert r"\caption{Figures of 50 \% \& more}" in lines
    assert r"\begin{tabular}{lrlr}" in lines
    assert r"\multicolumn{1}{c}{} & \multicolumn{2}{c}{all} & \multicolumn{1}{c}{published} \\" in lines
    assert r"\cmidrule(lr){2-3}\cmidrule(lr){4-4}" in lines
    assert r"SVM\_map & 0.250 & - & 0.500 \\" in lines
    assert r"\par\smallskip\footnotesize a \textless{} b." in lines
    assert r"\caption" not in Table("", ("a",), ((1,),)).latex()
    rows = lines[lines.index(r"\midrule") + 1 : lines.index(r"\bottomrule")]
    assert [row.count(" & ") for row in rows] == [3, 3]
    assert all(lines.count(rf"\{rule}rule") == 1 for rule in ("top", "mid", "bottom"))


@pytest.mark.parametrize(
    ("text", "escaped"),
    [
        ("a_b", r"a\_b"),
        ("50%", r"50\%"),
        ("$x^2$", r"\$x\textasciicircum{}2\$"),
        ("\\{}", r"\textbackslash{}\{\}"),
        ("[0, 1]", r"{[}0, 1]"),
        ("~#&|", r"\textasciitilde{}\#\&\textbar{}"),
    ],
)
def test_every_letter_with_a_meaning_in_latex_is_escaped(text, escaped):
    assert f"{escaped} \\\\" in Table("t", ("a",), ((text,),)).latex().splitlines()


def test_a_wide_group_makes_room_for_its_name():
    text = Table("t", ("a", "b"), (("x", 1),), groups=(("", 1), ("a long name", 1))).text()
    assert text.splitlines()[2:4] == ["   a long name", "a            b"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"rows": (("a", 1), ("b",))}, r"row 1 has 1 columns, the table has 2"),
        ({"rows": (), "groups": (("x", 3),)}, "groups has 3 columns"),
    ],
)
def test_a_table_that_is_not_a_rectangle_is_refused(settings, message):
    with pytest.raises(InputError, match=message):
        Table("t", ("a", "b"), **settings)
