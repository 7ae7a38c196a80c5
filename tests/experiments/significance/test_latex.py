"""The table for a paper: best values, marks of the corrected test, and a caption that says all of it."""

import shutil
import subprocess

import numpy as np
import pytest

import directrix as dx
from directrix.experiments.significance.comparisons import paper_table
from tests.latex import read_table

RNG = np.random.default_rng(4)
BASE = RNG.random(30)
VALUES = {
    "50%_base & co": BASE,
    "{a}^2~#1": BASE + 0.02 + 0.01 * RNG.standard_normal(30),
    "same [b]": BASE + 0.002 * RNG.standard_normal(30),
}


def test_stars_are_those_of_the_corrected_tests():
    result = dx.compare(VALUES, against="50%_base & co", test="wilcoxon")
    caption, heads, rows = read_table(result.latex("nDCG@10"))
    assert heads == ["", "nDCG@10"]
    assert [row[0][0] for row in rows] == list(VALUES)
    means = [f"{values.mean():.4f}" for values in VALUES.values()]
    assert [row[1] for row in rows] == [(means[0], "", False), (means[1], "***", True), (means[2], "", False)]
    assert caption == (
        "nDCG@10 of 30 queries. The best values are bold; * p < .05, ** p < .01, *** p < .001 for the "
        "difference from 50%_base & co: two-tailed Wilcoxon signed-rank test, p adjusted by Holm (2 pairs), "
        "over 30 queries."
    )


def test_letters_are_those_of_all_pairs():
    result = dx.compare(VALUES)
    caption, _, rows = read_table(result.latex("AP"))
    assert [row[1][1] for row in rows] == [result.letters[name] for name in VALUES] == ["b", "a", "b"]
    assert "systems that share a letter do not differ at 0.05" in caption
    assert "p adjusted by Holm (3 pairs), over 30 queries." in caption


def test_several_measures_share_the_rows():
    undefined = {name: np.where(np.arange(30) < 2, np.nan, values) for name, values in VALUES.items()}
    results = {"AP": dx.compare(VALUES, correction=None), "ROCArea": dx.compare(undefined, correction=None)}
    caption, heads, rows = read_table(paper_table(results))
    assert heads == ["", "AP", "ROCArea"]
    assert [row[2][0] for row in rows] == [f"{np.nanmean(values):.4f}" for values in undefined.values()]
    assert caption.startswith("AP and ROCArea of 30 queries.")
    assert "p not adjusted (3 pairs for each measure), over 28 to 30 queries." in caption


def test_values_that_print_alike_are_all_bold():
    result = dx.compare({"a": [0.5, 0.5], "b": [0.5, 0.50002], "c": [0.4, 0.1]}, correction=None)
    _, _, rows = read_table(result.latex("AP"))
    assert [row[1][2] for row in rows] == [True, True, False]


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="LaTeX is not installed")
def test_latex_takes_it(tmp_path):
    table = dx.compare(VALUES).latex("AP")
    document = rf"\documentclass{{article}}\usepackage{{booktabs}}\begin{{document}}{table}\end{{document}}"
    (tmp_path / "paper.tex").write_text(document)
    subprocess.run(["pdflatex", "-halt-on-error", "paper.tex"], cwd=tmp_path, check=True, timeout=60)
