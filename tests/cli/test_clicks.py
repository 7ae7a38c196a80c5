"""``directrix clicks``: logs by position, click models, interleaved lists of runs, and simulated logs."""

import csv
import io
import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx
from directrix.clicks.writing import write_log
from directrix.data import Run, write_trec_run

pytest.importorskip("pyarrow")

ROWS = [
    (1, "q", "a", 1, 1),
    (1, "q", "b", 2, 0),
    (2, "q", "b", 1, 0),
    (2, "q", "a", 2, 1),
    (3, "p", "c", 1, 0),
]


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    folder = tmp_path_factory.mktemp("clicks")
    for name, head in (("log", "session,qid,docno,position,clicked"), ("strange", "S,Q,D,P,C")):
        lines = [head, *(",".join(map(str, row)) for row in ROWS)]
        (folder / f"{name}.csv").write_text("\n".join(lines) + "\n")
    a = {"q1": {"x": 3.0, "y": 2.0, "z": 1.0}, "q2": {"w": 1.0}}
    b = {"q1": {"y": 9.0, "v": 8.0}}
    for name, ranking in (("a", a), ("b", b), ("c", b)):
        write_trec_run(Run.from_frame(ranking, tag=name), folder / f"{name}.run")
    return folder


def test_describe_prints_clicks_by_position(here):
    text = succeed("clicks", "describe", here / "log.csv").stdout
    assert "3 sessions, 2 queries, 3 pairs of query and document" in text
    assert ["1", "3", "1", "0.3333", "0.6667"] in [line.split() for line in text.splitlines()]
    found = json.loads(succeed("clicks", "describe", here / "log.csv", "-f", "json").stdout)
    assert found == json.loads(json.dumps(dx.clicks.Log.read(here / "log.csv").to_dict()))


def test_a_column_of_sessions_can_be_named(tmp_path):
    log = tmp_path / "log.csv"
    log.write_text("page,qid,docno,position,clicked\n1,a,x,1,1\n1,a,y,2,0\n")
    done = succeed("clicks", "describe", log)
    assert ("no sessions" in done.stdout, "type --session-column NAME" in done.stderr) == (True, True)
    done = succeed("clicks", "describe", log, "--session-column", "page")
    assert ("1 session, 1 query, 2 pairs of" in done.stdout, done.stderr) == (True, "")
    assert "Type --session-column NAME." in refused("clicks", "model", log, "--model", "SDBN")


def test_describe_takes_names_of_columns(here):
    names = {"session": "S", "query": "Q", "doc": "D", "position": "P", "clicked": "C"}
    given = [word for name, column in names.items() for word in (f"--{name}-column", column)]
    by_name = succeed("clicks", "describe", here / "strange.csv", *given).stdout
    assert by_name == succeed("clicks", "describe", here / "log.csv").stdout
    message = refused("clicks", "describe", here / "strange.csv")
    assert "Type --query-column NAME --doc-column NAME --position-column NAME --clicked-column" in message


def test_the_page_of_a_log_shows_clicks_by_position(here, tmp_path):
    pytest.importorskip("matplotlib")
    done = succeed("clicks", "describe", here / "log.csv", "--report", tmp_path / "page.html")
    assert "open: " in done.stderr
    page = (tmp_path / "page.html").read_text()
    assert "Clicks per impression by position." in page
    assert "directrix clicks describe" in page
    assert "<svg" in page


@pytest.fixture(scope="module")
def labeled(here):
    q, _ = dx.data.make_linear(6, 8, 3, seed=0)
    dx.write_letor(q, here / "data.txt")
    return here / "data.txt"


@pytest.mark.parametrize("ending", [".csv", ".parquet"])
def test_a_simulated_log_is_that_of_the_library(labeled, tmp_path, ending):
    given = ("--sessions", 200, "--positions", 5, "--policy", "shuffle", "--eta", 0.5, "--seed", 3)
    done = succeed("clicks", "simulate", labeled, "-o", tmp_path / f"log{ending}", *given)
    q = dx.read_letor(labeled)
    log = dx.clicks.simulate(
        q, -q.rows.astype(float), n_sessions=200, n_positions=5, policy="shuffle", eta=0.5, seed=3
    )
    assert f"(200 sessions, {log.sessions.click.sum()} clicks)" in done.stderr
    written = dx.clicks.Log.read(tmp_path / f"log{ending}")
    assert written.tables()[0].rows == log.tables()[0].rows
    assert written.n_sessions == 200


def test_a_simulated_log_is_of_the_ranker_that_is_given(labeled, tmp_path):
    q = dx.read_letor(labeled)
    (tmp_path / "scores.txt").write_text("".join(f"{label}\n" for label in q.labels))
    given = (
        "--ranker",
        tmp_path / "scores.txt",
        "--sessions",
        300,
        "--eta",
        0,
        "--model",
        "GCTR",
        "--positions",
        3,
    )
    succeed("clicks", "simulate", labeled, "-o", tmp_path / "log.csv", *given)
    log = dx.clicks.simulate(q, q.labels, "GCTR", n_sessions=300, n_positions=3, eta=0.0)
    written = dx.clicks.Log.read(tmp_path / "log.csv")
    assert written.tables()[0].rows == log.tables()[0].rows
    assert {*written.pairs.doc_ids} == {*log.pairs.doc_ids[log.sessions.pair]}
    assert "log.parquet" in refused("clicks", "simulate", labeled, "-o", tmp_path / "log.txt")


def test_logs_are_written_with_users_and_rankers(labeled, tmp_path):
    q = dx.read_letor(labeled)
    log = dx.clicks.simulate(q, {"new": q.labels, "old": -q.labels}, n_sessions=50, n_positions=3)
    users = log.sessions._replace(user=np.arange(50, dtype=np.int32) % 7)
    write_log(dx.clicks.Log(log.pairs, users), tmp_path / "log.parquet")
    read = dx.clicks.Log.read(tmp_path / "log.parquet").sessions
    names = [np.array(of.rankers)[of.ranker].tolist() for of in (log.sessions, read)]
    assert names[0] == names[1]
    assert len(set(read.user.tolist())) == 7


def test_a_model_prints_what_the_library_says(here, labeled, tmp_path):
    succeed("clicks", "simulate", labeled, "-o", tmp_path / "log.csv", "--sessions", 500, "--positions", 4)
    log = dx.clicks.Log.read(tmp_path / "log.csv")
    model = dx.clicks.model("DCM").fit(log)
    arguments = (tmp_path / "log.csv", "--model", "DCM", "--report", tmp_path / "page.html")
    found = json.loads(succeed("clicks", "model", *arguments, "-f", "json").stdout)
    assert found["log_likelihood"] == pytest.approx(model.log_likelihood(log))
    np.testing.assert_allclose(found["perplexity"]["marginal"], model.perplexity(log), rtol=1e-9)
    given = model.perplexity(log, given_clicks=True)
    np.testing.assert_allclose(found["perplexity"]["given clicks"], given, rtol=1e-9)
    assert model.to_dict().items() <= found.items()
    assert "Perplexity by position." in (tmp_path / "page.html").read_text()
    other = dx.clicks.simulate(dx.read_letor(labeled), np.zeros(48), n_sessions=100, n_positions=4, seed=1)
    write_log(other, tmp_path / "other.csv")
    tested = succeed("clicks", "model", *arguments[:3], "--test", tmp_path / "other.csv").stdout
    assert f"log-likelihood {model.log_likelihood(other):.6g}" in tested
    assert "model must be one of PBM" in refused(
        "clicks", "model", here / "log.csv", "--model", "XYZ", status=2
    )


def test_propensities_are_those_of_the_library(here, labeled, tmp_path):
    log = tmp_path / "log.csv"
    given = ("--sessions", 2000, "--positions", 4, "--policy", "shuffle")
    succeed("clicks", "simulate", labeled, "-o", log, *given)
    arguments = (log, "--method", "random-top", "--positions", 3, "--resamples", 30, "--seed", 5)
    page = tmp_path / "page.html"
    done = succeed("clicks", "propensities", *arguments, "-f", "json", "--report", page)
    read = dx.clicks.Log.read(log)
    wanted = dx.clicks.propensities(read, "random-top", n_positions=3, n_resamples=30, seed=5).to_dict()
    assert json.loads(done.stdout) == json.loads(json.dumps(wanted))
    assert "Propensities by position." in page.read_text()
    assert "<svg" in page.read_text()
    by_features = ("--method", "regression-em", "--features", labeled, "--resamples", 20, "-f", "json")
    found = json.loads(succeed("clicks", "propensities", log, *by_features).stdout)
    assert found["method"] == "regression-em"
    q = dx.read_letor(labeled)
    rows = zip(np.repeat(q.query_ids, np.diff(q.qptr)), range(q.n_docs), q.features[:, 0], strict=True)
    (tmp_path / "features.csv").write_text("\n".join(["q,sku,x", *(",".join(map(str, row)) for row in rows)]))
    (tmp_path / "named.csv").write_text(log.read_text().replace("query", "q").replace("doc", "sku"))
    by_features = ("--method", "regression-em", "--features", tmp_path / "features.csv", "--resamples", 20)
    names = ("--query-column", "q", "--doc-column", "sku")  # of both tables, which have no labels
    succeed("clicks", "propensities", tmp_path / "named.csv", *by_features, *names)
    assert len(found["theta"]) == 4
    succeed("clicks", "simulate", labeled, "-o", log, "--sessions", 100)
    assert "position" in refused("clicks", "propensities", log)  # no document moves


def test_interleave_prints_what_the_library_says(here, tmp_path):
    paths = [here / "a.run", here / "b.run"]
    lists = dx.clicks.interleave(*paths, seed=3)
    done = succeed("clicks", "interleave", *paths, "--seed", 3, "-f", "json", "-o", tmp_path / "lists.run")
    found = json.loads(done.stdout)
    assert found["seed"] == 3
    assert found["lists"] == [
        {"query": query, **json.loads(json.dumps(shown.to_dict()))} for query, shown in lists.items()
    ]
    written = dx.read_trec_run(tmp_path / "lists.run")
    assert written.tag == "interleaved"
    assert tuple(written.doc_ids) == tuple(doc for shown in lists.values() for doc in shown.documents)
    assert written.scores.tolist() == [4.0, 3.0, 2.0, 1.0, 1.0]


def test_interleave_has_a_table_of_all_queries_for_programs(here):
    text = succeed("clicks", "interleave", here / "a.run", here / "b.run", "-f", "tsv", "-k", 2).stdout
    rows = list(csv.DictReader(io.StringIO(text), delimiter="\t"))
    assert [row["query"] for row in rows] == ["q1", "q1", "q2"]
    assert [float(row["credit of a"]) + float(row["credit of b"]) for row in rows] == [1.0, 1.0, 0.0]


def test_interleave_takes_methods_and_names(here):
    runs = [here / "a.run", here / "b.run", here / "b.run"]
    names = ("--name", "new", "--name", "old", "--name", "same")
    text = succeed("clicks", "interleave", *runs, *names, "--method", "probabilistic").stdout
    assert "Interleaved lists, probabilistic" in text
    assert "credit of same" in text


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (("a.run",), 2, "one run cannot be interleaved; give two or more."),
        (("a.run", "b.run", "--method", "magic"), 1, "method must be one of team-draft"),
        (("a.run", "b.run", "c.run", "--method", "optimized"), 1, "takes 2 rankings, got 3"),
        (("a.run", "b.run", "--name", "new"), 2, "each ranking needs a name"),
        (("a.run", "b.run", "--method", "optimized", "-k", "20"), 1, "k must be a number <= 16"),
        (("a.run", "b.run", "-o", "a.run"), 1, "a.run"),
    ],
)
def test_what_cannot_be_interleaved_is_rejected(here, arguments, status, message):
    files = [here / word if word.endswith(".run") else word for word in arguments]
    assert message in refused("clicks", "interleave", *files, status=status)


def test_the_group_says_what_it_has():
    text = run("clicks", "--help").stdout
    assert "Learn from logs of clicks, and compare rankers by clicks." in text
    assert "Did you mean 'describe'?" in refused("clicks", "describ", status=2)
