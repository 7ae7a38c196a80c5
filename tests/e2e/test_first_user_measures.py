"""Steps of a new user with runs and qrels: the measures and names of the tools that they come from."""

import json

import pytest

from tests.commands import refused, run

NAMES = ["bpref", "infAP", "gm_map", "set_F", "Rprec_mult_0.20", "num_rel_ret", "Judged@10"]


def test_names_of_trec_eval_and_tags_of_runs(data_dir):
    folder = data_dir / "trec_eval"
    options = [word for name in NAMES for word in ("-m", name)]
    found = run("evaluate", folder / "qrels.test", folder / "results.test", *options, "-f", "json")
    row = json.loads(found.stdout)["rows"][0]
    assert row["name"] == "STANDARD"
    printed = [line.split() for line in (folder / "out.test.a").read_text().splitlines()]
    expected = {name: float(value) for name, _, value in printed if name in NAMES}
    assert len(expected) == 6
    assert {name: row["measures"][name] for name in expected} == pytest.approx(expected, abs=5.001e-5)


def test_training_for_a_measure_of_reports_says_what_to_do(tmp_path):
    (tmp_path / "few.txt").write_text("1 qid:1 1:1\n0 qid:1 1:0\n1 qid:2 1:1\n0 qid:2 1:0\n")
    text = refused(
        "train", tmp_path / "few.txt", "--measure", "GMAP", "-o", tmp_path / "model.json", status=2
    )
    assert "GMAP is for reports and cannot be trained for; train for another measure, e.g. AP" in text
    assert not (tmp_path / "model.json").exists()
