"""``directrix compare``: the numbers of the library, in every form, and refusals."""

import json
import re
import shutil
import subprocess
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from tests.commands import run

import directrix as dx
from directrix.experiments.significance import compare


@pytest.fixture(scope="module")
def invoke():
    """Run the command."""
    return partial(run, "compare")


@pytest.fixture(scope="module")
def rankings(files):
    """A model and two files of scores, one of them noise."""
    scores = np.loadtxt(files.scores)
    rng = np.random.default_rng(0)
    for name, scatter in (("near.txt", 0.3), ("noise.txt", 50.0)):
        np.savetxt(files.folder / name, scores + scatter * rng.normal(size=len(scores)))
    return [files.model, files.folder / "near.txt", files.folder / "noise.txt"]


def by_hand(files, rankings, name="nDCG@10", convention=None):
    q = dx.read_letor(files.test)
    scores = [dx.load(rankings[0]).predict_queries(q), *map(np.loadtxt, rankings[1:])]
    options = {"qptr": q.qptr, "doc_ids": q.doc_ids, "per_query": True, "convention": convention}
    return {
        f.stem: dx.evaluate(name, s, q.labels, **options)[name] for f, s in zip(rankings, scores, strict=True)
    }


def embedded(page):
    """Return the values and rankings of a page."""
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', text, re.S)[1])


def test_json_is_what_the_library_finds(invoke, files, rankings):
    result = invoke(files.test, *rankings, "-f", "json")
    expected = compare(by_hand(files, rankings)).to_dict()
    assert json.loads(result.stdout) == {"measure": "nDCG@10", "convention": "default", **expected}


def test_options_are_handed_on(invoke, files, rankings):
    options = ("--test", "randomization", "--correction", "bonferroni", "--alpha", "0.1", "--seed", "3")
    asked = ("-m", "RR", "--convention", "trec_eval", "--against", rankings[2])
    found = json.loads(invoke(files.test, *rankings, *options, *asked, "-f", "json").stdout)
    values = by_hand(files, rankings, "RR", "trec_eval")
    named = {"against": "noise", "test": "randomization", "correction": "bonferroni"}
    expected = compare(values, **named, alpha=0.1, seed=3)
    assert found == {"measure": "RR", "convention": "trec_eval", **expected.to_dict()}


def test_the_table_has_letters(invoke, files, rankings):
    lines = invoke(files.test, *rankings).stdout.splitlines()
    assert lines[0] == "nDCG@10 of 8 queries"
    assert lines[2].split() == ["system", "nDCG@10", "letters"]
    found = compare(by_hand(files, rankings))
    expected = sorted(found.means, key=found.means.get, reverse=True)
    assert [line.split()[0] for line in lines[4:7]] == expected
    assert [line.split()[2] for line in lines[4:7]] == [found.letters[name] for name in expected]


def test_tsv_has_a_line_for_every_pair(invoke, files, rankings):
    head, *lines = (
        line.split("\t") for line in invoke(files.test, *rankings, "-f", "tsv").stdout.splitlines()
    )
    pairs = compare(by_hand(files, rankings)).pairs
    assert len(lines) == len(pairs) == 3
    found = dict(zip(head, lines[1], strict=True))
    assert float(found["p"]) == pairs[1].p
    assert (float(found["low"]), float(found["high"])) == pairs[1].interval


def test_latex_is_two_tables(invoke, files, rankings):
    text = invoke(files.test, *rankings, "-f", "latex").stdout
    assert text.startswith("% needs \\usepackage{booktabs}\n\n\\begin{table}")
    assert text.count(r"\begin{table}") == 2
    assert "two-sided paired t-test" in text


@pytest.mark.parametrize(
    ("command", "name"), [("evaluate", "t"), ("compare", "the runs"), ("runs fuse", "the runs")]
)
def test_queries_of_runs_and_qrels_without_a_match_are_counted(tmp_path, command, name):
    def runs(queries):
        lines = [f"{q} Q0 d{d} 1 {(d + 3 * q) % 4} t\n" for q in queries for d in range(4)]
        (tmp_path / "a.run").write_text("".join(lines))
        (tmp_path / "b.run").write_text("".join(lines[::-1]).replace(" t\n", " u\n"))
        return [tmp_path / "a.run", tmp_path / "b.run"][: 1 if command == "evaluate" else 2]

    qrels = tmp_path / "qrels"
    qrels.write_text("".join(f"{q} 0 d{d} {int(d < 2)}\n" for q in range(8) for d in range(4)))
    option = ["--qrels"] if command == "runs fuse" else []
    rest = ["--folds", "2"] if command == "runs fuse" else []
    shown = run(*command.split(), *option, qrels, *runs(range(2, 11)), *rest).stderr
    found = f"note: 6 of 9 queries of {name} are judged, and 2 judged queries are not in {name}; only those"
    assert found in shown
    assert "queries of " not in run(*command.split(), *option, qrels, *runs(range(8)), *rest).stderr
    if command == "evaluate":
        assert "note: 1 of 1 query of t is judged, and 7 judged" in run(command, qrels, *runs([2])).stderr


@pytest.mark.parametrize("common", [False, True])
def test_a_query_that_a_run_lacks_is_lost_or_left_out(invoke, tmp_path, common):
    (tmp_path / "qrels").write_text("".join(f"{q} 0 d{d} {int(d < 2)}\n" for q in range(4) for d in range(4)))
    for name, queries in (("a.run", range(4)), ("b.run", range(1, 4))):
        lines = [f"{q} Q0 d{d} 1 {(d + q * (name == 'a.run')) % 4} t\n" for q in queries for d in range(4)]
        (tmp_path / name).write_text("".join(lines))
    options = ["-m", "AP", "-m", "KendallTau", "-f", "json", *["--common-queries"] * common]
    result = invoke(tmp_path / "qrels", tmp_path / "a.run", tmp_path / "b.run", *options)
    how = "do not count for any run" if common else "count as if it had retrieved nothing (--common-queries"
    assert f"note: t (b.run) lacks 1 of 4 queries, which {how}" in result.stderr
    first, second = json.loads(result.stdout)
    assert [found["pairs"][0]["n"] for found in (first, second)] == ([3, 3] if common else [4, 4])
    assert [system["ranked"] for system in first["systems"]] == [4, 3]
    assert [system["undefined"] for system in second["systems"]] == [0, 0]
    ap_of_b = (1 / 3 + 2 / 4) / 2  # of each query that it has: the two relevant documents come last
    expected = ap_of_b if common else 3 / 4 * ap_of_b
    np.testing.assert_allclose(first["systems"][1]["mean"], expected, rtol=1e-12)


def test_runs_without_a_common_query_have_no_comparison_on_those(invoke, tmp_path):
    (tmp_path / "qrels").write_text("1 0 d 1\n2 0 d 1\n")
    for query in "12":
        (tmp_path / f"{query}.run").write_text(f"{query} Q0 d 1 1 t\n")
    runs = tmp_path / "1.run", tmp_path / "2.run"
    result = invoke(tmp_path / "qrels", *runs, "--common-queries")
    assert result.exit_code == 1
    assert "no topic is in all runs" in result.stderr


@pytest.mark.parametrize("test", ["paired-t", "tukey"])
def test_one_query_is_too_little_data(invoke, tmp_path, test):
    (tmp_path / "qrels").write_text("1 0 a 1\n1 0 b 0\n")
    for name in ("a", "b"):
        (tmp_path / name).write_text(f"1 Q0 {name} 1 2 {name}\n")
    result = invoke(tmp_path / "qrels", tmp_path / "a", tmp_path / "b", "--test", test)
    assert result.exit_code == 1
    assert re.search(r"for 1 query; 2 or more|1 of 1; two or more", result.stderr)
    table = invoke(tmp_path / "qrels", tmp_path / "a", tmp_path / "b", "--test", "sign").stdout
    assert table.startswith("nDCG@10 of 1 query\n")


WRONG = [
    (["MODEL"], "one ranking is given; two or more are needed"),
    (["MODEL", "MODEL"], "is given twice; give every ranking once"),
    (["MODEL", "near.txt", "--against", "noise.txt"], "--against noise.txt is not one of the rankings"),
    (["MODEL", "near.txt", "--alpha", "5"], "--alpha 5: a number between 0 and 1 is needed"),
    (["MODEL", "near.txt", "-m", "nDGC"], "nDGC"),
    (["MODEL", "near.txt", "--convention", "letor9"], "letor9"),
    (["MODEL", "near.txt", "--test", "tukey", "--correction", "holm"], "takes no correction"),
    (["MODEL", "near.txt", "--test", "tukey", "--against", "near.txt"], "takes no against"),
    (["MODEL", "near.txt", "--test", "anova"], "anova"),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG)
def test_wrong_usage_is_one_message(invoke, files, rankings, monkeypatch, arguments, message):
    monkeypatch.chdir(files.folder)
    result = invoke(files.test, *(files.model if word == "MODEL" else word for word in arguments))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())


def test_scores_of_other_data_are_one_error(invoke, files, tmp_path):
    (tmp_path / "few.txt").write_text("1\n2\n")
    result = invoke(files.test, files.model, tmp_path / "few.txt")
    assert result.exit_code == 1
    assert "error:" in result.stderr
    assert "has 2 scores" in result.stderr
    assert result.stdout == ""


def judged_run(folder, name, tag, first="d1"):
    """Write a run of one topic, whose first document is relevant if it is d1."""
    docs = [first, *({"d0", "d1", "d2"} - {first})]
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_text(
        "".join(f"{q} Q0 {d} 1 {-i} {tag}\n" for q in "12" for i, d in enumerate(docs))
    )
    return folder / name


@pytest.mark.parametrize(
    ("files", "options", "names"),
    [
        ([("a.run", "BM25"), ("b.run", "QL")], [], ["BM25", "QL"]),
        ([("a.run", "t"), ("b.run", "t"), ("c.run", "u")], [], ["t (a.run)", "t (b.run)", "u"]),
        ([("x/a.run", "t"), ("y/a.run", "t")], [], ["t ({0})", "t ({1})"]),
        ([("a.run", "t"), ("b.run", "t")], ["--name", "one", "--name", "two"], ["one", "two"]),
    ],
)
def test_systems_have_short_names_that_differ(invoke, tmp_path, files, options, names):
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d2 1\n")
    paths = [judged_run(tmp_path, name, tag, f"d{i}") for i, (name, tag) in enumerate(files)]
    names = [name.format(*paths) for name in names]
    asked = [*options, "--against", paths[1], "-m", "RR"]
    found = json.loads(invoke(tmp_path / "qrels", *paths, *asked, "-f", "json").stdout)
    assert [system["name"] for system in found["systems"]] == names
    assert found["against"] == names[1]
    by_name = invoke(tmp_path / "qrels", *paths, *options, "--against", names[1], "-m", "RR", "-f", "json")
    assert json.loads(by_name.stdout) == found


@pytest.mark.parametrize(
    ("options", "problem"),
    [(["--name", "one"], "1 for 2 rankings"), (["--name", "one", "--name", "one"], "'one' is given twice")],
)
def test_names_that_do_not_fit_are_refused(invoke, tmp_path, options, problem):
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d2 1\n")
    runs = [judged_run(tmp_path, name, "t") for name in ("a.run", "bm25_k1=0.9")]
    result = invoke(tmp_path / "qrels", *runs, *options)
    assert result.exit_code == 2
    text = " ".join(result.stderr.replace("│", " ").split())
    assert problem in text
    assert "in their order: --name a --name bm25_k1=0.9." in text


def test_the_geometric_mean_is_compared_by_logarithms(invoke, tmp_path):
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d2 1\n")
    runs = [judged_run(tmp_path, "a.run", "A", "d1"), judged_run(tmp_path, "b.run", "B", "d0")]
    text = invoke(tmp_path / "qrels", *runs, "-m", "GMAP").stdout
    assert "Tests and differences are of ln AP by query." in text
    found = json.loads(invoke(tmp_path / "qrels", *runs, "-m", "GMAP", "-f", "json").stdout)
    evaluated = [dx.evaluate("GMAP", run=run, qrels=tmp_path / "qrels")["GMAP"] for run in runs]
    assert [system["mean"] for system in found["systems"]] == evaluated
    ratio = np.exp(found["pairs"][0]["difference"])
    np.testing.assert_allclose(ratio, evaluated[0] / evaluated[1], rtol=1e-12)
    assert found["unit"] == "ln AP"


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="pdflatex is not installed")
def test_latex_compiles_as_it_is_printed(invoke, tmp_path):
    (tmp_path / "qrels").write_text("1 0 d1 1\n2 0 d2 1\n")
    tags = ["bm25_k1=0.9&b#1", r"50%_~^\x{$|<>}", "[é*]\"'`--"]
    runs = [judged_run(tmp_path, f"{i}.run", tag, f"d{i}") for i, tag in enumerate(tags)]
    for options in ([], ["--against", tags[0]]):
        printed = invoke(tmp_path / "qrels", *runs, "-m", "AP(rel=1)@5", "-f", "latex", *options).stdout
        head = "\\documentclass{article}\n\\usepackage{booktabs}\n\\begin{document}\n"
        text = f"{head}{printed}\\end{{document}}\n"
        (tmp_path / "table.tex").write_text(text)
        command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "table.tex"]
        done = subprocess.run(
            command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
        )
        assert done.returncode == 0, done.stdout[-2000:]


def test_a_gain_is_shown_by_the_lower_end_of_its_interval(invoke, files, rankings):
    model, _, noise = rankings
    asked = ("-m", "AP", "--against", noise)
    values = by_hand(files, [model, noise], "AP")
    low, high = compare(values, against=list(values)[1]).pairs[0].interval
    assert low < high
    ends = {name: f"{low + by:.6f}" for name, by in (("below", -1e-4), ("above", 1e-4))}
    shown = invoke(files.test, model, noise, *asked, "--require-gain", ends["below"])
    assert shown.exit_code == 0
    assert re.search(r"gain of .* over .*: AP .*95 % interval .* is shown$", shown.stderr, re.M)
    missed = invoke(files.test, model, noise, *asked, "--require-gain", ends["above"])
    assert missed.exit_code == 3
    assert missed.stdout == shown.stdout  # the table comes all the same
    assert f"a gain of {float(ends['above']):g} is not shown" in missed.stderr
    wider = invoke(files.test, model, noise, *asked, "--require-gain", ends["below"], "--alpha", "0.001")
    assert wider.exit_code == 3
    assert "99.9 % interval" in wider.stderr


def test_every_other_ranking_must_show_the_gain(invoke, files, rankings):
    model, _, noise = rankings
    result = invoke(files.test, *rankings, "--against", noise, "--require-gain", "-2")
    assert (result.exit_code, result.stderr.count("is shown")) == (0, 2)
    result = invoke(files.test, *rankings, "--against", model, "--require-gain", "0")
    assert (result.exit_code, result.stderr.count("is not shown")) == (3, 2)


@pytest.mark.parametrize("least", ["0", "-0.01"])
def test_a_copy_shows_no_gain(invoke, files, rankings, tmp_path, least):
    """All differences are 0, which tells no variance: other queries may differ."""
    live, copy = rankings[0], tmp_path / "copy.json"
    copy.write_bytes(Path(live).read_bytes())
    asked = (files.test, copy, live, "--against", live, "--require-gain", least)
    result = invoke(*asked, "--report", tmp_path / "page.html")
    assert result.exit_code == 3
    (sentence,) = [line for line in result.stderr.splitlines() if line.startswith("gain")]
    assert re.search(r"interval unknown: \d+ queries with the same difference; .* is not shown", sentence)
    assert "interval unknown" in (tmp_path / "page.html").read_text(encoding="utf-8")
    (pair,) = json.loads(invoke(*asked, "-f", "json").stdout)["pairs"]
    assert (pair["interval"], pair["p"], pair["detectable"]) == ([None, None], 1.0, None)


def test_the_page_has_both_rankings_of_each_query(invoke, tmp_path):
    """Of runs without a document that was not retrieved, and of score files by row."""
    docs = {"1": ["d1", "d2", "d3"], "2": ["d4", "d5"]}
    (tmp_path / "qrels").write_text(
        "".join(f"{q} 0 {d} {int(d == of[0])}\n" for q, of in docs.items() for d in of)
    )
    for name, order in (("a", 1), ("b", -1)):
        lines = [(q, d, i) for q, of in docs.items() for i, d in enumerate(of[::order])]
        shown = [line for line in lines if name == "a" or line[1] != "d2"]
        (tmp_path / f"{name}.run").write_text(
            "".join(f"{q} Q0 {d} {i + 1} {9 - i} {name}\n" for q, d, i in shown)
        )
    page = tmp_path / "page.html"
    invoke(tmp_path / "qrels", tmp_path / "a.run", tmp_path / "b.run", "-m", "AP", "--report", page)
    (part,) = embedded(page)
    assert [[doc for doc, _, _ in query] for query in part["rankings"][0]] == [*docs.values()]
    assert part["rankings"][1] == [[["d3", 0, 9.0], ["d1", 1, 7.0]], [["d5", 0, 9.0], ["d4", 1, 8.0]]]
    (tmp_path / "data.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n0 qid:1 1:3\n")
    for name, scores in (("x", "1\n3\n2\n"), ("y", "3\n2\n1\n")):
        (tmp_path / f"{name}.scores").write_text(scores)
    given = [tmp_path / name for name in ("data.txt", "x.scores", "y.scores")]
    invoke(*given, "-m", "AP", "--test", "sign", "--report", page)
    assert embedded(page)[0]["rankings"][0] == [[["row 2", 0, 3.0], ["row 3", 0, 2.0], ["row 1", 1, 1.0]]]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--require-gain", "0.1"), "a baseline is needed. Type --against RANKING too."),
        (("--require-gain", "0.1", "--against", 0, "-m", "AP", "-m", "RR"), "one measure is needed, got 2."),
        (("--require-gain", "nan", "--against", 0), "a finite number is needed"),
    ],
)
def test_a_gain_without_a_baseline_or_of_several_measures_is_wrong_usage(
    invoke, files, rankings, options, message
):
    result = invoke(files.test, *rankings, *(rankings[o] if o == 0 else o for o in options))
    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", " ").split())
    assert result.stdout == ""


def test_the_page_has_the_tables_and_every_query(invoke, files, rankings, tmp_path):
    page = tmp_path / "compare.html"
    asked = ("-m", "AP", "-m", "RR", "--against", rankings[2])
    result = invoke(files.test, *rankings, *asked, "--report", page)
    assert result.exit_code == 0
    assert f"open: {page}" in result.stderr
    shown = page.read_text(encoding="utf-8")
    assert shown.startswith("<!DOCTYPE html>")
    for title in ("AP of 8 queries", "Differences of RR", "Query by query", "How to repeat it"):
        assert title in shown
    assert "--report" in re.search(r"<code>(directrix compare .*?)</code>", shown)[1]
    data = embedded(page)
    values = by_hand(files, rankings, "RR")
    assert [part["measure"] for part in data] == ["AP", "RR"]
    assert data[1]["methods"] == list(values)
    np.testing.assert_allclose(data[1]["values"], list(values.values()), rtol=1e-12, atol=0)
    first, _, base = values
    gap = np.mean(values[first] - values[base])
    (verdict,) = re.findall(rf"<li>(RR: {re.escape(first)} - {re.escape(base)} .*?)</li>", shown)
    assert f" {gap:+.4f}, 95 % interval [" in verdict
    p = json.loads(invoke(files.test, *rankings, *asked, "--format", "json").stdout)[1]["pairs"][0][
        "adjusted"
    ]
    assert verdict.endswith(
        f"adjusted p {p:.2g}: "
        + ("" if p < 0.05 else "not shown to be ")
        + ("better" if gap >= 0 else "worse")
    )


def test_equal_systems_are_first_together_on_the_page(invoke, files, rankings, tmp_path):
    same, page = tmp_path / "same.txt", tmp_path / "compare.html"
    same.write_bytes(rankings[0].read_bytes())
    names = ("--name", "old", "--name", "new")
    invoke(files.test, rankings[0], same, *names, "-m", "AP", "--report", page)
    assert "AP: old and new are first with " in page.read_text(encoding="utf-8")


def test_a_page_in_the_place_of_an_input_is_refused_before_the_work(invoke, files, rankings):
    result = invoke(files.test, *rankings, "--report", rankings[1])
    assert result.exit_code == 1
    assert "is the same file as the input" in result.stderr
