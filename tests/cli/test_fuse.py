"""``directrix runs fuse``: tables, JSON, a combined run, a configuration."""

import json

import pytest
from tests.commands import run
from tests.fusion.test_fuse import made

import directrix as dx
from directrix.data import Run, write_trec_run


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("fuse")
    runs, qrels = made(n_queries=15)
    for name, ranking in runs.items():
        write_trec_run(Run.from_frame(ranking, tag=name), folder / f"{name}.run")
    lines = [f"{q} 0 {d} {label}\n" for q, of in qrels.items() for d, label in of.items()]
    (folder / "qrels").write_text("".join(lines))
    (folder / "twice").write_text("q0 a\nq0 b\n")
    (folder / "others").write_text("x1 a\n")
    (folder / "classes").write_text("".join(f"q{q} {'ab'[q % 2]}\n" for q in range(15)))
    return folder


def fuse(here, *arguments):
    return run("runs", "fuse", here / "r0.run", here / "r1.run", "--qrels", here / "qrels", *arguments)


@pytest.mark.parametrize(
    ("arguments", "texts"),
    [
        (
            ("-m", "nDCG@5"),
            ["nDCG@5 of single runs, 15 queries", "RRF, c = 60", "linear, min-max", "chosen: "],
        ),
        (("--classes", "CLASSES"), ["linear, by class"]),
        (
            ("--config", "opensearch", "--method", "linear, sum"),
            [
                "normalization-processor",
                "note: the engine has no normalizer sum",
                "note: chosen: linear, sum",
            ],
        ),
    ],
)
def test_what_is_printed(here, arguments, texts):
    result = fuse(here, *[here / "classes" if word == "CLASSES" else word for word in arguments])
    assert result.exit_code == 0, result.stderr
    for text in texts:
        assert text in (result.stderr if text.startswith("note: ") else result.stdout)
    assert ("--config" in arguments) == result.stdout.startswith("{")


def test_json_is_what_the_library_says_and_tsv_has_its_rows(here):
    found = json.loads(fuse(here, "-m", "AP", "--format", "json").stdout)
    runs, qrels = made(n_queries=15)
    wanted = dx.fuse(runs, qrels, "AP").to_dict()
    assert found["rows"][0]["in_sample"] == pytest.approx(wanted["rows"][0]["in_sample"])
    assert found["method"] == wanted["method"]
    lines = fuse(here, "-m", "AP", "--format", "tsv").stdout.splitlines()
    assert len(lines) == 1 + len(wanted["rows"])


def test_the_combined_run_is_written(here, tmp_path):
    result = fuse(here, "-o", tmp_path / "fused.run", "--method", "CombSUM")
    assert result.exit_code == 0, result.stderr
    assert dx.read_trec_run(tmp_path / "fused.run").tag == "fused"


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("--config", "solr", "--method", "CombSUM"), 1, "there is no engine 'solr'"),
        (
            ("--config", "vespa", "--classes", "CLASSES", "--method", "linear, by class"),
            1,
            "queries of the classes a, b have weights of their own",
        ),
        (("--method", "magic"), 1, "must be one of 'auto', 'best run'"),
        (("--classes", "QRELS"), 1, "query q0 has the segment 0 "),
        (("--classes", "TWICE"), 1, "2: query q0 has the segment a above. Each query has one segment."),
        (("--classes", "OTHERS"), 1, "no query that has a class (x1) is judged and in the runs (q0"),
        (("r0 again",), 1, "of 3 runs some have the same tag ("),
        (("--name", "a"), 2, "each ranking needs a name"),
        (("-m", "nonsense"), 1, "nonsense"),
    ],
)
def test_what_cannot_be_used_is_refused(here, arguments, status, message):
    files = {"r0 again": "r0.run"} | {name.upper(): name for name in ("qrels", "classes", "twice", "others")}
    given = [here / files[word] if word in files else word for word in arguments]
    result = fuse(here, *given)
    assert (result.exit_code, message in " ".join(result.stderr.replace("│", " ").split())) == (status, True)
