"""``directrix runs reconcile``."""

import json

import pytest
from tests.commands import refused, run, succeed

import directrix as dx


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run and qrels with a missing and an unjudged document."""
    folder = tmp_path_factory.mktemp("runs")
    (folder / "run").write_text("1 Q0 a 1 3 x\n1 Q0 b 2 2 x\n2 Q0 c 1 2 x\n2 Q0 e 2 1 x\n")
    (folder / "qrels").write_text("1 0 a 0\n1 0 b 1\n2 0 c 2\n2 0 d 1\n3 0 a 1\n")
    return folder


def reconcile(runs, *arguments):
    return run("runs", "reconcile", runs / "qrels", runs / "run", "-m", "AP", *arguments)


def test_scores_of_labeled_data(files):
    value = run("evaluate", files.test, files.scores, "-m", "nDCG@5", "--convention", "sklearn", "-f", "tsv")
    number = f"{float(value.stdout.splitlines()[1].split()[1]):.6f}"
    done = succeed("runs", "reconcile", files.test, files.scores, "-m", "nDCG@5", "--value", number)
    assert f"nDCG@5 = {number}: " in done.stderr
    assert "sklearn" in done.stderr.splitlines()[0]
    assert "Settings that give" in done.stdout
    assert "The data" in done.stdout
    model = run("runs", "reconcile", files.test, files.model, "-m", "nDCG@5", "--value", number, "-f", "json")
    q = dx.read_letor(files.test)
    scores = [float(line) for line in files.scores.read_text().split()]
    found = dx.reconcile(number, "nDCG@5", scores, q.labels, qptr=q.qptr, doc_ids=q.doc_ids)
    assert json.loads(model.stdout) == found.to_dict()


def test_a_run_and_qrels(runs):
    done = reconcile(runs, "--value", "0.5000", "-f", "json")
    found = json.loads(done.stdout)
    assert done.exit_code == 0
    assert found["value"] == 0.5
    assert found["matches"][0]["switches"] == []
    assert found["diagnosis"]["missing_documents"] == 2
    assert found["diagnosis"]["queries_not_ranked"] == 1
    assert {tool["tool"] for tool in found["tools"]} >= {"directrix", "trec_eval", "trec_eval -c"}
    with_c = reconcile(runs, "--value", "0.3333", "--from", "0.5000")
    assert "trec_eval -c" in with_c.stderr.splitlines()[0]
    assert "From 0.5000 to 0.3333: 1 switch (queries: all judged queries instead of" in with_c.stderr


def test_no_setting_gives_the_number(runs):
    done = reconcile(runs, "--value", "0.0123")
    assert done.exit_code == 3
    assert "gives AP = 0.0123; the nearest gives" in done.stderr
    assert "The setting nearest to AP = 0.0123" in done.stdout


def test_rows_for_programs(runs):
    done = reconcile(runs, "--value", "0.5", "-f", "tsv")
    head, *rows = [line.split("\t") for line in done.stdout.splitlines()]
    assert head == ["tool", "switches", "n", "value", "settings", "no effect"]
    assert rows[0][:4] == ["directrix, trec_eval, trec_eval -J, ranx", "none", "0", "0.5"]


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--value", "nDCG"), 2, "--value='nDCG': a finite number is needed"),
        (("--value", "0.5", "--from", "x"), 2, "--from='x': a finite number is needed"),
        (("--value", "0.5", "-m", "nDGC"), 2, "there is no measure"),
        (("--value", "0.5", "--convention", "treceval"), 2, "Did you mean"),
        (("--value", "101"), 2, "the measure is at most 1"),
        ((), 2, "--value"),
    ],
)
def test_wrong_usage(runs, arguments, status, message):
    assert message in refused("runs", "reconcile", runs / "qrels", runs / "run", *arguments, status=status)


def test_files_that_do_not_fit_together(runs, files):
    done = run("runs", "reconcile", files.test, runs / "run", "--value", "0.5")
    assert done.exit_code == 1
    assert done.stderr.count("\n") <= 3
    short = files.folder / "short.txt"
    short.write_text("1.0\n")
    assert "1 scores" in refused("runs", "reconcile", files.test, short, "--value", "0.5")
