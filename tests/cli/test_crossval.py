"""``directrix lab crossval``: its table in all forms, a run that was killed, and what it refuses."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest
from tests.commands import refused, run, succeed
from tests.experiments.letor_folder import letor_folder, letor_queries
from tests.latex import read_table

import directrix
from directrix.data.letor.write import write_letor
from directrix.experiments.crossval import cross_validate
from directrix.experiments.significance import paired_t
from directrix.experiments.splits import k_fold_splits, letor_splits
from directrix.measures import names

OPTIONS = ("--method", "Regression", "--method", "RankCosine", "-m", "AP", "-m", "nDCG@3", "--jobs", 1)


@pytest.fixture(scope="module")
def folds(tmp_path_factory):
    return letor_folder(tmp_path_factory.mktemp("letor"))


@pytest.fixture(scope="module")
def done(folds, tmp_path_factory):
    """The folder of a finished run, and its JSON."""
    folder = tmp_path_factory.mktemp("out") / "cv"
    result = succeed(
        "lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder, "--format", "json"
    )
    return folder, json.loads(result.stdout), result


def test_the_page_has_the_tables_and_every_test_query(done, folds, tmp_path):
    folder, document, _ = done
    page = tmp_path / "crossval.html"
    result = succeed(
        "lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder, "--report", page
    )
    assert f"open: {page}" in result.stderr
    shown = page.read_text(encoding="utf-8")
    for title in ("2 methods by AP and nDCG@3", "Test queries, convention letor3", "Query by query"):
        assert title in shown
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', shown, re.S)[1])
    assert [(part["measure"], len(part["queries"])) for part in data] == [("AP", 15), ("nDCG@3", 15)]
    assert len(data[0]["values"][0]) == document["queries"]
    test = document["significance"]["rows"][0]
    assert f"AP: RankCosine - Regression {test['difference']:+.4f}, 95 % interval [" in shown
    assert f", p {test['p']:.2g}: not shown to be " in shown


def without_times(document):
    return document | {"rows": [{k: v for k, v in row.items() if k != "seconds"} for row in document["rows"]]}


def test_json_has_the_figures_of_a_cross_validation(done, folds):
    _, document, result = done
    found = cross_validate(
        letor_splits(folds), ["Regression", "RankCosine"], ["AP", "nDCG@3"], select="AP", convention="letor3"
    )
    assert without_times(document) == without_times(found.to_dict())
    row = document["rows"][2]
    assert list(row) == ["method", "measure", "mean", "folds", "selected", "seconds", "values"]
    assert (row["method"], row["measure"], len(row["folds"])) == ("RankCosine", "AP", 3)
    assert row["mean"] == pytest.approx(sum(row["folds"]) / 3)
    assert [sorted(settings) for settings in row["selected"]] == [["centered", "l2"]] * 3
    assert (document["convention"], document["select"], document["queries"]) == ("letor3", "AP", 15)
    assert document["folds"] == ["Fold1", "Fold2", "Fold3"]
    test = paired_t(found.values("RankCosine", "nDCG@3"), found.values("Regression", "nDCG@3"))
    rows = document["significance"]["rows"]
    assert rows[1] == {
        "method": "RankCosine",
        "measure": "nDCG@3",
        "difference": test.difference,
        "p": test.p,
    }
    assert document["significance"]["against"] == "Regression"
    assert "training runs: 15 of 15, 0 s left" in result.stderr


def test_the_folder_holds_the_trainings_and_what_they_depend_on(done):
    folder, _, result = done
    assert {path.name for path in folder.iterdir()} == {"cells.jsonl", "settings.json"}
    assert len((folder / "cells.jsonl").read_text().splitlines()) == 3 * (1 + 4)
    fixed = json.loads((folder / "settings.json").read_text())["fixed"]
    assert fixed["measures"] == ["AP", "nDCG@3"]
    assert fixed["data"].startswith("sha256:")
    assert str(folder / "cells.jsonl") in result.stderr


@pytest.mark.parametrize("form", ["table", "tsv", "latex"])
def test_other_forms_are_printed_from_the_folder(done, folds, form):
    folder, document, _ = done
    before = (folder / "cells.jsonl").read_bytes()
    result = run("lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder, "--format", form)
    assert (folder / "cells.jsonl").read_bytes() == before
    mean, text = document["rows"][3]["mean"], result.stdout
    if form == "tsv":
        head, *rows = [line.split("\t") for line in text.splitlines()]
        assert head == ["method", "measure", "mean", "Fold1", "Fold2", "Fold3", "selected", "seconds"]
        assert [float(cell) for cell in rows[3][2:6]] == [mean, *document["rows"][3]["folds"]]
        assert json.loads(rows[3][6]) == document["rows"][3]["selected"]
        return
    assert f"{mean:.4f}" in text
    assert "Settings that validation chose" in text
    if form == "latex":
        assert text.count(r"\begin{table}") == 2
        return
    p = document["significance"]["rows"][1]["p"]
    (line,) = re.findall("^RankCosine +nDCG@3 .*$", text, re.MULTILINE)
    assert line.split()[2:] == [f"{v:.4f}" for v in (mean, *document["rows"][3]["folds"], p)]
    assert "p: two-sided paired t-test against Regression over 15 test queries, not adjusted." in text
    settings = document["rows"][2]["selected"][0]
    assert f"centered={settings['centered']} l2={settings['l2']:g}" in text


def test_another_method_is_added_to_a_folder(done, folds, tmp_path):
    folder, document, _ = done
    folder = shutil.copytree(folder, tmp_path / "cv")  # the other tests count what is in theirs
    before = (folder / "cells.jsonl").read_bytes()
    more = (*OPTIONS, "--method", "ListMLE", "--convention", "letor3", "-o", folder, "--format", "json")
    result = run("lab", "crossval", folds, *more)
    assert (folder / "cells.jsonl").read_bytes().startswith(before)
    assert json.loads(result.stdout)["rows"][:4] == document["rows"]


def test_one_file_is_cut_into_folds_by_query(tmp_path):
    q = letor_queries(12)
    write_letor(q, tmp_path / "data.txt")
    options = ("--folds", 4, "--seed", 3, "-m", "AP", "-o", tmp_path / "cv", "--format", "json", "--jobs", 1)
    document = json.loads(
        run("lab", "crossval", tmp_path / "data.txt", "--method", "regression", *options).stdout
    )
    found = cross_validate(k_fold_splits(q, 4, seed=3), ["Regression"], ["AP"])
    assert document["rows"][0]["folds"] == list(found.folds_of("Regression", "AP"))
    assert document["rows"][0]["method"] == "Regression"
    assert document["significance"]["rows"] == []


def test_set_and_select_reach_the_trainings(folds, tmp_path):
    options = (*OPTIONS, "--select", "nDCG@3", "--set", "l2=0.5")
    document = json.loads(
        run("lab", "crossval", folds, *options, "-o", tmp_path / "cv", "--format", "json").stdout
    )
    assert document["select"] == "nDCG@3"
    assert {settings["l2"] for settings in document["rows"][2]["selected"]} == {0.5}
    assert document["rows"][0]["selected"] == [{}, {}, {}]  # has no such setting
    lines = (tmp_path / "cv" / "cells.jsonl").read_text().splitlines()
    assert len(lines) == 3 * (1 + 2)
    for result in (json.loads(line)["result"] for line in lines):
        assert result["chosen_by"] == result["valid"][1] != result["valid"][0]


SLOWLY = """
    import sys, time
    from directrix.experiments import crossval

    plain = crossval.train_candidate

    def slow(*arguments):
        time.sleep(0.2)  # so that the kill comes in the middle
        return plain(*arguments)

    crossval.train_candidate = slow
    from directrix.cli.main import app

    app()
"""


def test_a_killed_run_goes_on_and_ends_with_the_same_table(done, folds, tmp_path):
    """With SIGKILL, which leaves no time to tidy up."""
    folder = tmp_path / "cv"
    arguments = [
        str(a)
        for a in (
            "lab",
            "crossval",
            folds,
            *OPTIONS,
            "--convention",
            "letor3",
            "-o",
            folder,
            "--format",
            "json",
        )
    ]
    environment = {**os.environ, "PYTHONPATH": str(Path(directrix.__file__).parents[1])}
    running = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(SLOWLY), *arguments],
        env=environment,
        stderr=subprocess.DEVNULL,
    )
    cells = folder / "cells.jsonl"
    try:
        for _ in range(1200):
            if cells.exists() and cells.read_bytes().count(b"\n") >= 4:
                break
            time.sleep(0.05)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    finished = [line for line in cells.read_bytes().splitlines(keepends=True) if line.endswith(b"\n")]
    assert 4 <= len(finished) < 15
    result = succeed(*arguments)
    lines = cells.read_bytes().splitlines(keepends=True)
    assert lines[: len(finished)] == finished  # seconds too: not computed again
    assert len({json.dumps(json.loads(line)["key"]) for line in lines}) == len(lines) == 15
    assert without_times(json.loads(result.stdout)) == without_times(done[1])


def test_a_run_of_other_settings_or_data_is_refused(done, folds, tmp_path):
    folder = done[0]
    before = (folder / "cells.jsonl").read_bytes()
    for other in (("--seed", 1), ("--set", "l2=1.0"), ("--convention", "trec_eval")):
        assert "which cannot be resumed with" in refused(
            "lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder, *other
        )
    other = letor_folder(tmp_path / "other", seed=9)
    assert 'belongs to a run with data "sha256:' in refused(
        "lab", "crossval", other, *OPTIONS, "--convention", "letor3", "-o", folder
    )
    assert (folder / "cells.jsonl").read_bytes() == before


def test_a_measure_whose_module_was_edited_is_refused(folds, tmp_path, monkeypatch):
    """After 1/r the file says 1/r^10: no table shows both.

    The sizes of the files differ, because Python reads old byte code of files that have the same second and
    size.
    """
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(names, "_DEFINED", {})

    def after(power, *options):
        sys.modules.pop("edited_measure", None)
        names._DEFINED.clear()
        names._read.cache_clear()
        Path("edited_measure.py").write_text(
            f"import directrix as dx\nPOWER = {power}\n"
            "Steep = dx.define_measure('Steep', discount=lambda rank: rank**-POWER, norm='ideal')\n"
        )
        measure = "edited_measure:Steep@5"
        return run(
            "lab",
            "crossval",
            folds,
            "--method",
            "Regression",
            *options,
            "-m",
            measure,
            "--jobs",
            1,
            "-o",
            "cv",
        )

    assert after(1.0).exit_code == 0
    cells = Path("cv/cells.jsonl").read_bytes()
    refused = after(10.0, "--method", "RankCosine")
    assert (refused.exit_code, refused.stdout, Path("cv/cells.jsonl").read_bytes()) == (1, "", cells)
    assert "cv/cells.jsonl: measure Steep@5 changed" in refused.stderr
    said = " ".join(refused.stderr.split())
    assert "Give another folder, e.g. -o cv-2, or remove its files *.jsonl." in said
    assert after(1.0).exit_code == 0


def test_what_is_wrong_is_said_before_anything_is_done(folds, tmp_path):
    cases = [
        (("--method", "Regresion"), 2, "did you mean 'Regression'"),
        (("--method", "Regression", "--set", "alpha=3"), 2, "method 'Regression' has no setting 'alpha'"),
        (("--method", "ApproxAP", "--set", "alpha=-3"), 2, "alpha"),
        (("--method", "Regression", "--set", "random_state=3"), 2, "give only --seed"),
        (("--method", "Regression", "-m", "nDGC"), 2, "did you mean nDCG"),
        (("--method", "Regression", "--select", "AP@x"), 2, "AP@x"),
        (("--method", "Regression", "--convention", "letor9"), 2, "letor9"),
        (("--method", "Regression", "--jobs", 0), 2, "--jobs 0: a number of parallel training runs"),
        (("--method", "Regression", "--folds", 4), 2, "--folds 4:"),
        ((), 2, "--method"),
    ]
    for options, status, message in cases:
        result = run("lab", "crossval", folds, *options, "-o", tmp_path / "cv")
        assert result.exit_code == status, options
        assert message in " ".join(re.sub("[│╭╮╰╯─]", " ", result.stderr).split()), options
    assert "has no folder Fold1" in refused(
        "lab", "crossval", tmp_path, "--method", "Regression", "-o", tmp_path / "cv"
    )
    assert not (tmp_path / "cv").exists()


def test_candidates_that_could_not_be_trained_are_named(folds, tmp_path, monkeypatch):
    from directrix.errors import InputError
    from directrix.experiments import crossval

    def fussy(trial, *rest):
        if trial.settings.get("l2") == 1e-5:
            raise InputError("labels 0 and 1 are needed")
        return plain(trial, *rest)

    plain = crossval.train_candidate
    monkeypatch.setattr(crossval, "train_candidate", fussy)
    result = run("lab", "crossval", folds, *OPTIONS, "-o", tmp_path / "cv")
    assert "note: RankCosine, Fold1: 2 of 4 candidates could not be trained: labels 0 and 1" in result.stderr


def test_json_has_the_value_of_every_test_query(done, folds):
    _, document, _ = done
    found = cross_validate(letor_splits(folds), ["Regression", "RankCosine"], ["AP"], convention="letor3")
    assert document["query_ids"] == list(map(str, found.query_ids))
    assert document["rows"][2]["values"] == found.values("RankCosine", "AP").tolist()


def test_shards_at_the_same_time_end_in_the_same_table(done, folds, tmp_path):
    """Three processes on one folder, as the jobs of an array."""
    folder = tmp_path / "cv"
    command = list(map(str, ("lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder)))
    code = "from directrix.cli.main import app; app()"
    environment = {**os.environ, "PYTHONPATH": str(Path(directrix.__file__).parents[1])}
    running = [
        subprocess.Popen(
            [sys.executable, "-c", code, *command, "--shard", f"{place}/3"],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for place in (1, 2, 3)
    ]
    for process in running:
        stdout, stderr = process.communicate(timeout=300)
        assert (process.returncode, stdout) == (0, ""), stderr
        assert "of 15 training runs are finished; leave out --shard to print results" in stderr
    lines = [path.read_bytes().count(b"\n") for path in sorted(folder.glob("cells-*.jsonl"))]
    assert lines == [5, 5, 5]
    result = succeed(*command, "--format", "json")
    assert "training runs:" not in result.stderr.replace(
        "finished training runs:", ""
    )  # nothing was left to do
    assert without_times(json.loads(result.stdout)) == without_times(done[1])


def test_the_table_for_a_paper(done, folds, tmp_path):
    folder, document, _ = done
    path = tmp_path / "table.tex"
    result = succeed(
        "lab", "crossval", folds, *OPTIONS, "--convention", "letor3", "-o", folder, "--latex", path
    )
    assert f"saved: {path}" in result.stderr
    caption, heads, rows = read_table(path.read_text())
    assert heads == ["", "AP", "nDCG@3"]
    means = [
        [row["mean"] for row in document["rows"] if row["method"] == m] for m in ("Regression", "RankCosine")
    ]
    for row, of_method, others in zip(rows, means, means[::-1], strict=True):
        for (text, _, is_bold), mean, other in zip(row[1:], of_method, others, strict=True):
            assert (text, is_bold) == (f"{mean:.4f}", mean > other or text == f"{other:.4f}")
    assert caption == (
        "AP and nDCG@3 on test queries, mean over 3 folds. Settings were chosen by AP on validation queries. "
        "The best values are bold; * p < .05, ** p < .01, *** p < .001 for the difference from Regression: "
        "two-sided paired t-test, over 15 queries."
    )


OWN = """
from dataclasses import dataclass
import numpy as np
import directrix as dx
from directrix.experiments import Entry

@dataclass(frozen=True)
class Pull:
    strength: float = 1.0
    properties = frozenset({"smooth", "convex"})
    measure = dx.NDCG()

    def value_and_grad(self, scores, labels, qptr):
        gaps = scores - labels
        return -self.strength * np.add.reduceat(gaps**2, qptr[:-1]), -2.0 * self.strength * gaps

ours = Entry("ours_100%", Pull, {"l2": 0.1}, grid={"strength": [0.5, FACTOR]})
ranker = dx.LinearRanker(Pull(), l2=0.1, max_iter=5)
"""


def test_methods_of_ones_own_are_compared_with_published_ones(folds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))

    def crossval(factor, methods, *options):
        sys.modules.pop("own_loss", None)
        Path("own_loss.py").write_text(OWN.replace("FACTOR", factor))
        return run("lab", "crossval", folds, "--method", methods, "-m", "AP", "--jobs", 1, *options)

    methods = "Regression,own_loss:Pull,own_loss:ours,own_loss:ranker"
    result = crossval("2.0", methods, "--format", "json", "--latex", "table.tex")
    assert result.exit_code == 0, result.stderr
    rows = {row["method"]: row for row in json.loads(result.stdout)["rows"]}
    assert list(rows) == ["Regression", "Pull", "ours_100%", "ranker"]
    assert [sorted(rows[name]["selected"][0]) for name in rows] == [[], ["l2"], ["l2", "strength"], []]
    assert [row[0][0] for row in read_table(Path("table.tex").read_text())[2]] == list(rows)
    own = sys.modules["own_loss"]
    found = cross_validate(letor_splits(folds), [own.Pull, own.ours, own.ranker], ["AP"])
    assert [found.mean(name, "AP") for name in ("Pull", "ours_100%")] == [
        rows[name]["mean"] for name in ("Pull", "ours_100%")
    ]
    assert found.mean("LinearRanker", "AP") == rows["ranker"]["mean"]  # an object has the name of its class
    assert len(Path("crossval/cells.jsonl").read_text().splitlines()) == 3 * (1 + 5 + 2 + 1)
    assert crossval("  2.0", methods).exit_code == 0
    changed = crossval("2.0", methods.replace("ranker", "ranker,ListNet"), "--set", "l2=0.2")
    assert changed.exit_code == 1  # of other settings


def test_a_surrogate_whose_module_was_edited_is_refused(folds, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    for factor, status in (("2.0", 0), ("3.0", 1)):
        sys.modules.pop("own_loss", None)
        Path("own_loss.py").write_text(
            OWN.replace("-2.0 * self", f"-{factor} * self").replace("FACTOR", "2.0")
        )
        result = run("lab", "crossval", folds, "--method", "own_loss:Pull", "-m", "AP", "--jobs", 1)
        assert result.exit_code == status
    assert "crossval/cells.jsonl: surrogate Pull changed" in result.stderr


def test_wrong_shards_and_tables_are_said_before_anything_is_done(folds, tmp_path):
    two = ("--method", "Regression,ListNet")
    cases = [
        ((*two, "--shard", "4/3"), "--shard must be I/N with 1 <= I <= N, got 4/3."),
        ((*two, "--shard", "0/3"), "got 0/3."),
        ((*two, "--shard", "3"), "got 3."),
        (
            (*two, "--shard", "1/2", "--latex", "t.tex"),
            "--shard trains a part; give --latex and --report to the command without it.",
        ),
        (("--method", "Regression", "--latex", "t.tex"), "--latex compares methods, got one"),
        (("--method", "absent_module:A"), "the module 'absent_module' cannot be imported"),
        (("--method", "json:JSONDecoder"), "method JSONDecoder must be a surrogate (value_and_grad)"),
    ]
    for options, message in cases:
        found = refused("lab", "crossval", folds, *options, "-o", tmp_path / "cv", status=2)
        assert message in re.sub("[╭╮╰╯─]", "", found), options
    assert not (tmp_path / "cv").exists()
