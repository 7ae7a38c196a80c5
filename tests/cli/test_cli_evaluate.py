"""``directrix predict`` and ``directrix evaluate``: the same numbers as in Python, in every form."""

import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx


@pytest.fixture
def scored(files):
    q = dx.read_letor(files.test)
    return q, np.loadtxt(files.scores)


def test_scores_are_those_of_the_model_bit_for_bit(files, scored):
    q, scores = scored
    assert scores.tobytes() == dx.load(files.model).predict_queries(q).tobytes()
    assert run("predict", files.model, files.test).stdout == files.scores.read_text()


def test_a_run_is_what_trec_tools_read(files, scored, tmp_path):
    q, scores = scored
    succeed("predict", files.model, files.test, "-o", tmp_path / "run.txt", "--run", "mine")
    found = dx.read_trec_run(tmp_path / "run.txt")
    assert found.tag == "mine"
    assert found.query_ids == tuple(map(str, q.query_ids))
    by_name = dict(zip(found.doc_ids, found.scores, strict=True))
    assert [by_name[name] for name in q.doc_ids] == scores.tolist()


def test_a_run_evaluated_on_judgments_is_the_model_evaluated_on_the_data(files, tmp_path):
    run("predict", files.model, files.test, "-o", tmp_path / "run.txt", "--run", "mine")
    succeed("convert", files.test, tmp_path / "test.qrels")
    runs = run(
        "evaluate", tmp_path / "test.qrels", tmp_path / "run.txt", "-f", "json", "--convention", "trec_eval"
    )
    model = run("evaluate", files.test, files.model, "-f", "json", "--convention", "trec_eval")
    a, b = (json.loads(result.stdout)["rows"][0]["measures"] for result in (runs, model))
    assert a == b


def test_json_has_the_documented_form(files, scored):
    q, scores = scored
    result = run(
        "evaluate", files.test, files.scores, files.model, "-m", "nDCG@10", "-m", "MAP", "--format", "json"
    )
    found = json.loads(result.stdout)
    exact = dx.evaluate(["nDCG@10", "MAP"], scores, q.labels, qptr=q.qptr)
    assert found == {
        "convention": "default",
        "rows": [
            {"name": "scores", "measures": dict(exact)},
            {"name": "model", "measures": dict(exact)},
        ],
    }


def test_a_convention_changes_the_number_and_is_named(files, scored):
    q, scores = scored
    result = run("evaluate", files.test, files.scores, "-m", "nDCG@3", "-f", "json", "--convention", "letor3")
    found = json.loads(result.stdout)
    exact = dx.evaluate("nDCG@3", scores, q.labels, qptr=q.qptr, convention="letor3")["nDCG@3"]
    assert found == {
        "convention": "letor3",
        "rows": [{"name": "scores", "measures": {"nDCG@3": exact}}],
    }


def test_all_conventions_are_a_list_of_the_same_objects(files):
    asked = ("evaluate", files.test, files.scores, "-m", "nDCG@10", "-f", "json")
    found = json.loads(run(*asked, "--convention", "all").stdout)
    assert [entry["convention"] for entry in found] == ["default", *dx.measures.conventions()]
    for entry in found:
        alone = () if entry["convention"] == "default" else ("--convention", entry["convention"])
        assert entry == json.loads(run(*asked, *alone).stdout)


def test_no_number_stands_under_the_name_of_a_tool_that_lacks_the_measure(files):
    asked = ("evaluate", files.test, files.scores, "-m", "nDCG@10", "-m", "AP", "--per-query", "-f", "json")
    result = run(*asked, "--convention", "all")
    by_tool = {entry["convention"]: entry["rows"][0] for entry in json.loads(result.stdout)}
    blank = [tool for tool, row in by_tool.items() if row["measures"]["AP"] is None]
    assert blank == ["gdeval", "sklearn"]
    assert all(query["measures"]["AP"] is None for query in by_tool["sklearn"]["queries"])
    assert "convention gdeval leaves out AP: not in gdeval: prints nDCG@k and ERR@k only" in result.stderr
    only = json.loads(run(*asked[:3], "-m", "RBP", "-f", "json", "--convention", "all").stdout)
    assert [entry["convention"] for entry in only] == ["default", "trec_eval"]


@pytest.mark.filterwarnings("default")
def test_a_measure_under_a_convention_that_lacks_it_is_said(files):
    result = succeed("evaluate", files.test, files.scores, "-m", "AP", "--convention", "sklearn")
    assert "note: sklearn has no AP" in result.stderr
    assert "convention=" not in result.stderr


def test_conventions_that_need_document_ids_are_left_out_aloud(files, tmp_path):
    q = dx.read_letor(files.test)
    plain = tmp_path / "plain.txt"
    dx.write_letor(
        dx.Queries.from_arrays(q.features, q.labels, qid=np.repeat(q.query_ids, np.diff(q.qptr))), plain
    )
    tied = tmp_path / "tied.txt"
    tied.write_text("1.0\n" * q.n_docs)
    result = run("evaluate", plain, tied, "-f", "json", "--convention", "all")
    assert "convention trec_eval leaves out nDCG@10, AP: ties are broken by document id" in result.stderr
    assert "note: convention gdeval leaves out nDCG@10: ties are broken by document id" in result.stderr
    assert "trec_eval" not in [entry["convention"] for entry in json.loads(result.stdout)]
    message = refused("evaluate", plain, tied, "--convention", "trec_eval")
    assert "error: query" in message
    assert "Add `# docid = X`" in message
    succeed("evaluate", plain, files.scores, "--convention", "trec_eval", "-m", "AP")


def test_every_query_then_the_mean(files, scored):
    q, scores = scored
    exact = dx.evaluate("RR", scores, q.labels, qptr=q.qptr, per_query=True)["RR"]
    arguments = ("evaluate", files.test, files.scores, "-m", "RR", "--per-query")
    row = json.loads(run(*arguments, "-f", "json").stdout)["rows"][0]
    assert [entry["query"] for entry in row["queries"]] == [str(query) for query in q.query_ids]
    assert [entry["measures"]["RR"] for entry in row["queries"]] == exact.tolist()
    lines = run(*arguments, "-f", "tsv").stdout.splitlines()
    assert lines[0].split("\t") == ["name", "query", "RR"]
    assert len(lines) == 1 + q.n_queries + 1
    assert lines[-1].split("\t")[1] == "all"
    assert float(lines[-1].split("\t")[2]) == row["measures"]["RR"]


def test_undefined_queries_are_counted_aloud_and_null_in_json(tmp_path):
    (tmp_path / "d.txt").write_text("1 qid:1 1:1\n0 qid:1 1:2\n0 qid:2 1:1\n")
    (tmp_path / "s.txt").write_text("2\n1\n0\n")
    result = run(
        "evaluate", tmp_path / "d.txt", tmp_path / "s.txt", "-m", "ROCArea", "--per-query", "-f", "json"
    )
    row = json.loads(result.stdout)["rows"][0]
    assert [entry["measures"]["ROCArea"] for entry in row["queries"]] == [1.0, None]
    assert row["measures"]["ROCArea"] == 1.0
    assert "ROCArea is undefined for 1 query " in result.stderr


def test_the_table_is_the_default(files):
    result = run("evaluate", files.test, files.scores)
    head, line = result.stdout.splitlines()
    assert head.split() == ["name", "nDCG@10", "AP"]
    assert line.split()[0] == "scores"
    assert "convention: default" in result.stderr


SCORES = {
    "too few": (b"1\n2\n", "has 2 scores"),
    "too many": (b"1\n" * 81, "has 81 scores"),
    "text": (b"1\nhigh\n", "bad.txt:2: 'high'"),
    "nan": (b"nan\n" * 80, "bad.txt:1: 'nan'"),
    "infinite": (b"1e999\n" * 80, "bad.txt:1: '1e999'"),
    "two columns": (b"1 2\n" * 80, "bad.txt:1: '1 2'"),
    "blank line inside": (b"1\n\n" * 80, "bad.txt:2: ''"),
    "empty": (b"", "has 0 scores"),
    "binary": (b"\xff\xfe\x00", "a NUL byte; text in UTF-8 is needed"),
    "underscore": (b"1_0\n" * 80, "bad.txt:1: '1_0'"),
    "a cut off model": (b'{"format": "directrix/1"', "is not JSON"),
    "json of another kind": (b"[1, 2]", "is not a model"),
}


@pytest.mark.parametrize("name", SCORES)
def test_score_files_that_cannot_be_used(files, tmp_path, name):
    content, message = SCORES[name]
    (tmp_path / "bad.txt").write_bytes(content)
    result = run("evaluate", files.test, tmp_path / "bad.txt")
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")
    assert message in result.stderr
    assert not result.stdout


def test_many_bad_lines_are_shown_twenty_at_a_time(files, tmp_path):
    (tmp_path / "bad.txt").write_text("x\n" * 80)
    lines = run("evaluate", files.test, tmp_path / "bad.txt").stderr.splitlines()
    assert "80 lines" in lines[0]
    assert "... and 60 more" in lines[-2]
    assert len(lines) == 1 + 20 + 2


@pytest.mark.parametrize("name", ["absent.txt", "absent.json", "."])
def test_rankings_that_are_not_there(files, tmp_path, name):
    result = run("evaluate", files.test, tmp_path / name)
    assert result.exit_code == 1
    assert result.stderr.startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [
        ("evaluate",),
        ("evaluate", "data.txt"),
        ("evaluate", "data.txt", "s.txt", "-m", "nGCD"),
        ("evaluate", "data.txt", "s.txt", "--convention", "letor9"),
        ("evaluate", "data.txt", "s.txt", "-m", "AP@"),
        ("evaluate", "data.txt", "s.txt", "-m", ","),
        ("predict", "m.json"),
        ("predict", "m.json", "data.txt", "--run", "two words", "-o", "x"),
        ("nonsense",),
        ("--threads", "0", "methods"),
    ],
)
def test_wrong_usage_is_exit_status_2(arguments):
    result = run(*arguments)
    assert result.exit_code == 2
    assert not result.stdout


def test_a_sparse_file_may_leave_out_the_last_features(files, tmp_path):
    (tmp_path / "narrow.txt").write_text("1 qid:1 1:1\n0 qid:1 2:1\n")
    assert "--by-position. That adds zeros for the last features, which sparse files leave out." in refused(
        "evaluate", tmp_path / "narrow.txt", files.model
    )
    succeed("evaluate", tmp_path / "narrow.txt", files.model, "--by-position")


SEGMENTS = {"qid": "query,segment", "lines": "", "many": "topic\tlanguage\tsegment"}


@pytest.mark.parametrize("kind", SEGMENTS)
def test_segments_and_intervals_are_those_of_evaluate(files, tmp_path, kind):
    q = dx.read_letor(files.test)
    of_query = {query: "first" if i < 2 else "rest" for i, query in enumerate(q.query_ids)}
    path = tmp_path / (
        "segments.csv" if kind == "qid" else "segments.txt" if kind == "lines" else "segments.tsv"
    )
    lines = {
        "qid": [f"{query},{name}" for query, name in of_query.items()],
        "lines": [f"{query} {name}" for query, name in of_query.items()],
        "many": [f"{query}\ten\t{name}" for query, name in of_query.items()],
    }[kind]
    path.write_text("\n".join([SEGMENTS[kind], *lines, ""]).lstrip())
    arguments = ("evaluate", files.test, files.scores, "-m", "AP,nDCG@5", "--by", path, "--intervals")
    scores = np.loadtxt(files.scores)
    wanted = dx.evaluate(
        ["AP", "nDCG@5"], scores, q.labels, qptr=q.qptr, by=dict(enumerate(of_query.values())), intervals=True
    )
    (row,) = json.loads(succeed(*arguments, "--format", "json").stdout)["rows"]
    parts = {"first": wanted.segments["first"], "rest": wanted.segments["rest"], "all": wanted}
    assert [(part["segment"], part["queries"]) for part in row["segments"]] == [
        ("first", 2),
        ("rest", 6),
        ("all", 8),
    ]
    for part in row["segments"]:
        assert part["measures"] == parts[part["segment"]]
        ends = parts[part["segment"]].intervals
        assert part["intervals"] == {name: None if of is None else list(of) for name, of in ends.items()}
    heads, *rows = [line.split("\t") for line in succeed(*arguments, "--format", "tsv").stdout.splitlines()]
    assert heads == [
        "name",
        "segment",
        "queries",
        "AP",
        "AP low",
        "AP high",
        "nDCG@5",
        "nDCG@5 low",
        "nDCG@5 high",
    ]
    assert list(map(float, rows[1][3:6])) == [parts["rest"]["AP"], *parts["rest"].intervals["AP"]]
    table = succeed(*arguments).stdout
    low, high = wanted.segments["rest"].intervals["nDCG@5"]
    figures = (wanted.segments["rest"]["nDCG@5"], low, high)
    (line,) = [line for line in table.splitlines() if " rest " in line]
    assert line.split()[-3:] == [f"{value:.4f}" for value in figures]


@pytest.mark.filterwarnings("ignore:5 of 8 queries have no segment")
def test_what_lacks_a_segment_or_an_interval_is_said(files, tmp_path):
    ids = dx.read_letor(files.test).query_ids
    path = tmp_path / "segments.txt"
    path.write_text(f"{ids[0]} single\n{ids[1]} two\n{ids[2]} two\nother two\n")
    result = succeed("evaluate", files.test, files.scores, "-m", "AP", "--by", path, "--intervals")
    assert f"note: 1 of 4 queries of {path} are not among those evaluated" in result.stderr
    assert (
        "note: no interval of AP for segment single of scores: needs six queries, not all equal"
        in result.stderr
    )
    (line,) = [line for line in result.stdout.splitlines() if " single " in line]
    assert len(line.split()) == 4  # no ends


def test_intervals_stand_beside_the_mean_of_all_queries(files):
    lines = succeed(
        "evaluate", files.test, files.scores, "-m", "AP", "--intervals", "--per-query"
    ).stdout.splitlines()
    assert [len(line.split()) for line in lines] == [7] + [3] * 8 + [5]


UNUSABLE = {
    "two columns left": (
        "query,language,device\n1,en,phone\n",
        "other than 'query' is needed, got language, device.",
    ),
    "no column left": ("query\n1\n", "got none. Name it segment."),
    "two of a query": ("query,segment\n1,x\n1,y\n", "query 1 has the segments x and y; each query has one."),
    "other queries": ("q7,x\n", "the first of which is '22'; its first query is 'q7'."),
    "nothing": ("\n", "by has no segment for any of 8 queries"),
}


@pytest.mark.parametrize("name", UNUSABLE)
def test_files_of_segments_that_cannot_be_used(files, tmp_path, name):
    content, message = UNUSABLE[name]
    path = tmp_path / "segments.csv"
    path.write_text(content)
    assert message in refused("evaluate", files.test, files.scores, "--by", path)


def test_segments_and_single_queries_are_not_printed_together(files):
    message = refused("evaluate", files.test, files.scores, "--by", files.test, "--per-query", status=2)
    assert "give one of the two" in message


JUDGED = "q_id,doc_id,score\nq1,d1,1\nq1,d2,2\nq2,d3,1\n"
NAMED = ("--qid-column", "topic id", "--doc-id-column", "page", "--label-column", "score")


@pytest.mark.parametrize(
    ("name", "text", "named"),
    [
        ("qrels.csv", JUDGED, ()),
        ("qrels.csv", JUDGED, ("--label-column", "score")),
        ("test.tsv", JUDGED.replace("q_id,doc_id", "query-id,corpus-id").replace(",", "\t"), ()),
        ("test.tsv", JUDGED.replace("q_id,doc_id", "topic id,page").replace(",", "\t"), NAMED),
    ],
)
def test_judgments_may_be_called_scores(name, text, named, tmp_path):
    """As in ranx, BEIR and MTEB."""
    (tmp_path / name).write_text(text)
    (tmp_path / "run.csv").write_text("q_id,doc_id,score\nq1,d2,0.9\nq1,d9,0.5\nq2,d3,0.4\n")
    (tmp_path / "run.txt").write_text("q1 Q0 d2 1 0.9 t\nq1 Q0 d9 2 0.5 t\nq2 Q0 d3 1 0.4 t\n")
    for runs in (["run.csv"], ["run.txt"], ["run.csv", "run.txt"]):
        files = [tmp_path / run for run in runs]
        rows = json.loads(
            succeed("evaluate", tmp_path / name, *files, "-m", "AP", *named, "-f", "json").stdout
        )
        assert [row["measures"]["AP"] for row in rows["rows"]] == [(1 / 2 + 1) / 2] * len(runs)


def test_a_run_in_place_of_judgments_is_still_a_run(tmp_path):
    (tmp_path / "a.csv").write_text("q_id,doc_id,score\nq1,d2,0.9\n")
    assert "a.csv is a run, whose scores are not integers" in refused("evaluate", *[tmp_path / "a.csv"] * 2)


@pytest.mark.filterwarnings("default")
def test_all_judged_queries_count_on_demand(tmp_path):
    """As trec_eval's -c: queries of the qrels that a run lacks have the value 0."""
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n3 0 c 1\n4 0 d 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n2 Q0 x 1 2.0 a\n")
    (tmp_path / "b.run").write_text("1 Q0 x 1 2.0 b\n3 Q0 c 1 2.0 b\n")
    files = [tmp_path / name for name in ("qrels", "a.run", "b.run")]
    result = succeed("evaluate", *files, "-m", "AP", "-f", "json")
    assert [row["measures"]["AP"] for row in json.loads(result.stdout)["rows"]] == [1 / 2, 1 / 2]
    assert "--all-judged counts the others as empty rankings" in result.stderr
    result = succeed("evaluate", *files, "-m", "AP", "-f", "json", "--all-judged")
    assert [row["measures"]["AP"] for row in json.loads(result.stdout)["rows"]] == [1 / 4, 1 / 4]
    assert "judged" not in result.stderr
    assert "different queries" not in result.stderr
    for options, n, mean in (((), 3, 1 / 3), (("--all-judged",), 4, 1 / 4)):
        result = succeed("compare", *files, "-m", "AP", "-f", "json", *options)
        found = json.loads(result.stdout)
        assert (found["n_queries"], found["systems"][0]["mean"]) == (n, mean)
    assert "give one of the two" in refused("compare", *files, "--all-judged", "--common-queries", status=2)


def test_all_judged_is_for_runs(files):
    assert "--all-judged is for runs" in refused("evaluate", files.test, files.scores, "--all-judged")


@pytest.mark.filterwarnings("default")
def test_a_system_that_found_nothing_judged_is_compared(tmp_path):
    (tmp_path / "qrels").write_text("1 0 a 1\n2 0 b 1\n")
    (tmp_path / "a.run").write_text("1 Q0 a 1 2.0 a\n2 Q0 b 1 2.0 a\n")
    (tmp_path / "b.run").write_text("1 Q0 x 1 2.0 b\n2 Q0 y 1 2.0 b\n")
    result = succeed(
        "evaluate", *(tmp_path / f for f in ("qrels", "a.run", "b.run")), "-m", "AP", "-f", "json"
    )
    assert [row["measures"]["AP"] for row in json.loads(result.stdout)["rows"]] == [1.0, 0.0]
    assert "note: 0 of 2 documents of the run 'b'" in result.stderr


@pytest.mark.parametrize(
    ("name", "judged", "said"),
    [
        ("a.qrels", "query-id corpus-id score\nq b 1\n", "a.qrels:1: the label is 'score'"),
        ("a.txt", "q;0;b;1\n", "a.txt:1: 1 column where 4 are needed"),
        ("a.qrels", "q 0 b 1 see note\nq 0 c 0\n", "a.qrels:1: 6 columns where 4 are needed"),
    ],
)
def test_bad_judgments_of_runs_are_called_judgments(name, judged, said, tmp_path):
    (tmp_path / name).write_text(judged)
    (tmp_path / "r.run").write_text("q Q0 b 1 2 t\n")
    text = refused("evaluate", tmp_path / name, tmp_path / "r.run")
    assert said in text
    assert "qid:ID" not in text


def test_a_ranking_without_scores_is_told_how_to_become_a_run(tmp_path):
    (tmp_path / "a.qrels").write_text("q 0 b 1\n")
    (tmp_path / "r.run").write_text("q b 1\nq c 2\n")
    text = refused("evaluate", tmp_path / "a.qrels", tmp_path / "r.run")
    assert "must be a run (6 columns), and line 1 has 3, as in judgments and in rankings of MS MARCO" in text
