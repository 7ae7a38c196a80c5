"""``directrix calibrate`` and ``predict --probability``."""

import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx


@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_probabilities_keep_the_order_of_the_scores(files, tmp_path, kind):
    calibrated = tmp_path / "calibrated.json"
    done = succeed("calibrate", files.model, files.valid, "--kind", kind, "-o", calibrated)
    assert f"saved: {calibrated} ({kind} calibration on 70 documents)" in done.stderr
    assert "Calibration error" in done.stdout
    succeed("predict", calibrated, files.test, "-o", tmp_path / "scores.txt")
    assert (tmp_path / "scores.txt").read_bytes() == files.scores.read_bytes()
    succeed("predict", calibrated, files.test, "--probability", "-o", tmp_path / "p.txt")
    p, scores = np.loadtxt(tmp_path / "p.txt"), np.loadtxt(files.scores)
    assert (np.argsort(p, kind="stable") == np.argsort(scores, kind="stable")).all()
    test = dx.read_letor(files.test)
    np.testing.assert_allclose(p, dx.load(calibrated).predict_probability(test.features), rtol=1e-12)


@pytest.mark.filterwarnings("always")
def test_the_training_data_are_noted(files, tmp_path):
    shown = succeed(
        "calibrate", files.model, files.train, "--kind", "platt", "-o", tmp_path / "m.json"
    ).stderr
    assert "note: calibrated on the training data of the model" in shown
    assert "directrix calibrate MODEL DATA -o OUT" in shown


def test_segments_and_json(files, tmp_path):
    segments = tmp_path / "segments.txt"
    segments.write_text("".join(f"{query} {'odd' if query % 2 else 'even'}\n" for query in range(15, 22)))
    arguments = ("--kind", "platt", "--by", segments, "-f", "json", "-o", tmp_path / "m.json")
    done = succeed("calibrate", files.model, files.valid, *arguments)
    document = json.loads(done.stdout)
    assert {name: one["documents"] for name, one in document["segments"].items()} == {"even": 30, "odd": 40}
    assert sum(document["documents"]) == document["total"]["documents"] == 70


def test_a_model_without_calibration_has_no_probabilities(files):
    assert "directrix calibrate MODEL DATA" in refused("predict", files.model, files.test, "--probability")


def test_an_export_keeps_the_calibration_or_refuses(files, tmp_path):
    calibrated = tmp_path / "calibrated.json"
    succeed("calibrate", files.model, files.valid, "-o", calibrated)
    assert "export the model that `directrix calibrate`" in refused(
        "export", calibrated, tmp_path / "m.json", "--to", "solr"
    )
    succeed("export", calibrated, tmp_path / "m.sql", "--to", "sql")
    assert run("calibrate", files.model, files.valid).exit_code == 2  # without -o


def test_one_query_is_not_enough(files, tmp_path):
    lines = [line for line in files.valid.read_text().splitlines() if " qid:15 " in line]
    (tmp_path / "one.txt").write_text("\n".join(lines) + "\n")
    refusal = refused("calibrate", files.model, tmp_path / "one.txt", "-o", tmp_path / "m.json")
    assert "the data have 1 query; two or more are needed" in refusal
