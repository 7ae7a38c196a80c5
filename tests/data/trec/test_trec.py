import gzip

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx

RUN = "301 Q0 A 7 0.5 tag\n302 Q0 B 1 2 tag\n301\tQ0\tB 8  1e1 tag\n\n"
QRELS = "301 0 B 2\n301 0 C 1\n301 0 A -1\n303 0 A 1\n302 0 X 0\n"


@pytest.fixture
def files(tmp_path):
    (tmp_path / "run").write_text(RUN)
    (tmp_path / "qrels").write_text(QRELS)
    return tmp_path / "run", tmp_path / "qrels"


def test_run(files):
    run = dx.read_trec_run(files[0])
    assert run.tag == "tag"
    assert run.query_ids == ("301", "302")
    assert run.qptr.tolist() == [0, 2, 3]
    assert run.doc_ids.tolist() == ["A", "B", "B"]
    assert run.scores.tolist() == [0.5, 10.0, 2.0]


def test_documents_follow_their_scattered_queries(tmp_path):
    (tmp_path / "run").write_text("2 Q0 a 1 3 t\n1 Q0 b 1 4 t\n2 Q0 c 1 5 t\n1 Q0 a 1 6 t\n")
    run = dx.read_trec_run(tmp_path / "run")
    assert (run.query_ids, run.qptr.tolist()) == (("2", "1"), [0, 2, 4])
    assert run.doc_ids.tolist() == ["a", "c", "b", "a"]
    assert run.scores.tolist() == [3.0, 5.0, 4.0, 6.0]


def test_judgments_with_three_and_four_columns(files, tmp_path):
    four = dx.read_trec_qrels(files[1])
    (tmp_path / "three.gz").write_bytes(gzip.compress(QRELS.replace(" 0 ", " ").encode()))
    three = dx.read_trec_qrels(tmp_path / "three.gz")
    for qrels in (four, three):
        assert qrels.query_ids == ("301", "303", "302")
        assert qrels.doc_ids.tolist() == ["B", "C", "A", "A", "X"]
        assert qrels.labels.tolist() == [2.0, 1.0, -1.0, 1.0, 0.0]


def test_joined_for_measures(files):
    run, qrels = dx.read_trec_run(files[0]), dx.read_trec_qrels(files[1])
    both = dx.data.join_trec(run, qrels)
    assert both.query_ids == ("301", "302")
    assert both.qptr.tolist() == [0, 3, 5]
    assert both.doc_ids.tolist() == ["A", "B", "C", "B", "X"]
    assert both.scores.tolist() == [0.5, 10.0, -np.inf, 2.0, -np.inf]
    assert both.labels.tolist() == [0.0, 2.0, 1.0, 0.0, 0.0]
    judged = dx.data.join_trec(run, qrels, queries="judged")
    assert judged.query_ids == ("301", "303", "302")
    assert judged.scores.tolist() == [0.5, 10.0, -np.inf, -np.inf, 2.0, -np.inf]


def test_nothing_in_common(files, tmp_path):
    (tmp_path / "other").write_text("9 0 A 1\n")
    with rejects(dx.InputError):
        dx.data.join_trec(dx.read_trec_run(files[0]), dx.read_trec_qrels(tmp_path / "other"))


@pytest.mark.parametrize(("run", "qrels"), [({}, {"1": {"d": 1}}), ({"1": {"d": 1.0}}, {})])
def test_a_run_or_judgments_without_queries_are_called_empty(run, qrels):
    with pytest.raises(dx.InputError, match="must have a query with a document, got none"):
        dx.evaluate("AP", run=run, qrels=qrels)


def runs_and_qrels(queries, docs, judged, known):
    run = {query: dict.fromkeys(docs, 1.0) for query in queries}
    return dx.data.Run.from_frame(run, tag="A"), dx.data.Qrels.from_frame(
        {query: dict.fromkeys(known, 1) for query in judged}
    )


@pytest.mark.parametrize(
    ("queries", "docs", "judged", "known", "said"),
    [
        (["001", "002", "4"], "d", ["1", "2", "4"], "d", r"1 of 3 queries of the run 'A' are in the "
         r"qrels; the others do not count. Identifiers .* zeros, capitals or .0: 2, such as 001 and 1"),
        (["1", "2.0", "Q3"], "d", ["1", "2", "q3"], "d", r"1 of 3 .* 2, such as 2.0 and 2"),
        ("12345", "d", "5678", "d", r"1 of 5 queries of the run 'A' are in the qrels; the others"),
        ("12", "ab", "12", "cd", r"0 of 4 documents .* the 4 of the qrels .* \(a, b against c, d\)"),
        ("1", [f"d{i}" for i in range(100)], "1", ["d7", *(f"x{i}" for i in range(39))],
         r"1 of 100 documents of the run 'A' are among the 40 of the qrels"),
        ("1", "a", "12", "b", r"0 of 1 documents .* one collection"),
        ("12", ["007"], "12", ["7"], r"0 of 2 documents .* 1, such as 007 and 7. None would count"),
    ],
)  # fmt: skip
def test_few_common_identifiers_are_counted_and_none_are_refused(queries, docs, judged, known, said):
    run, qrels = runs_and_qrels(queries, docs, judged, known)
    if "None" in said:
        with pytest.raises(dx.InputError, match=said):
            dx.data.join_trec(run, qrels)
    else:
        with pytest.warns(UserWarning, match=said):
            dx.data.join_trec(run, qrels)


def test_enough_common_identifiers_are_no_remark():
    """A quarter of the queries of the run, one in twenty documents; judged queries may be more."""
    docs = [f"d{i}" for i in range(20)]
    dx.data.join_trec(*runs_and_qrels("1234", docs, "1789", ["d0", *(f"x{i}" for i in range(30))]))


def test_written_run_is_ranked_and_reads_back(tmp_path):
    q = dx.Queries.from_arrays(np.ones((3, 1)), [1, 0, 1], qid=[5, 5, 6], doc_ids=["a", "b", "c"])
    dx.data.write_trec_run(dx.data.Run.from_scores(q, [0.25, 0.5, -1.0], tag="mine"), tmp_path / "run.gz")
    text = gzip.decompress((tmp_path / "run.gz").read_bytes()).decode()
    assert text == "5 Q0 b 1 0.5 mine\n5 Q0 a 2 0.25 mine\n6 Q0 c 1 -1.0 mine\n"
    run = dx.read_trec_run(tmp_path / "run.gz")
    assert run.scores.tolist() == [0.5, 0.25, -1.0]
    assert dx.data.Run.from_scores(
        dx.Queries.from_arrays([[1.0]], [1], group=[1]), [2.0]
    ).doc_ids.tolist() == ["0"]


@pytest.mark.parametrize("name", ["two words", " a"])
def test_names_that_do_not_fit_a_column(name, tmp_path):
    q = dx.Queries.from_arrays([[1.0]], [1], doc_ids=[name], group=[1])
    with rejects(dx.InputError):
        dx.data.write_trec_run(dx.data.Run.from_scores(q, [1.0]), tmp_path / "run")
    assert not (tmp_path / "run").exists()


BAD_RUNS = {
    "judgments": (b"1 0 a 1\n", r"must be a run \(6 columns\), and line 1 has 4, as in judgments\. Swap"),
    "columns": (b"1 Q0 a 1 0.5 t\n1 Q0 b 2 0.5\n", r"run:2: 5 columns where 6 are needed, '1 Q0 b 2 0.5'"),
    "score": (b"1 Q0 a 1 high t\n", r"run:1: the score is 'high'; a finite number is needed"),
    "twice": (
        b"1 Q0 a 1 2 t\n2 Q0 a 1 2 t\n1 Q0 a 2 1 t\n",
        r"run:3: query 1 has the document 'a' already, at .*run:1",
    ),
    "empty": (b"", r"run has no data"),
    "many": (b"x\n" * 30, r"30 lines cannot be used:[\s\S]*and 10 more"),
    "several": (
        b"1 Q0 a 1 high t\n\n1 Q0 b 2\n1 Q0 c 1 2 t\n",
        r"2 lines cannot be used:[\s\S]*run:1: the score[\s\S]*run:3: 4 columns",
    ),
    "carriage return": (
        b"1 Q0 a 1 2 t\r\n1 Q0 b 1 2\rt\r\n",
        r"run:2: a carriage return within the line; lines end with a line feed. Type `tr",
    ),
    "far from the start": (
        b"".join(b"1 Q0 a%d 1 2 t\n" % i for i in range(99_999)) + b"1 Q0 b 1 2\n",
        r"run:100000: 5 columns where 6 are needed",
    ),
}


def test_a_byte_order_mark_and_ends_of_lines_of_windows(tmp_path):
    (tmp_path / "run").write_bytes(b"\xef\xbb\xbf" + RUN.replace("\n", "\r\n").encode())
    run = dx.read_trec_run(tmp_path / "run")
    assert (run.tag, run.query_ids, run.doc_ids.tolist()) == ("tag", ("301", "302"), ["A", "B", "B"])


@pytest.mark.parametrize("blank", ["\u00a0", "\u3000", "\u2028", "\x85", "\x1c"])
def test_only_ascii_blanks_separate_columns(blank, tmp_path):
    name = f"a{blank}b"
    (tmp_path / "run").write_text(f"1 Q0 {name} 1 \t 0.5\x0bt\n", encoding="utf-8", newline="")
    run = dx.read_trec_run(tmp_path / "run")
    assert (run.doc_ids.tolist(), run.tag) == ([name], "t")


def test_bytes_that_are_not_utf8_are_escaped(tmp_path):
    (tmp_path / "run").write_bytes(b"1 Q0 a\xe4 1 0.5 t\n1 Q0 \xc3\xa4\xe2\x82 1 0.5 t")
    assert dx.read_trec_run(tmp_path / "run").doc_ids.tolist() == ["a\\xe4", "\u00e4\\xe2\\x82"]


def test_a_file_of_several_blocks_is_read_in_order(tmp_path):
    lines = [f"{q} Q0 d{i} {i} {1000 - i} t\n" for q in range(100) for i in range(1000)]
    (tmp_path / "run").write_text("".join(lines))
    run = dx.read_trec_run(tmp_path / "run")
    assert run.query_ids == tuple(map(str, range(100)))
    assert run.doc_ids.tolist() == [f"d{i}" for i in range(1000)] * 100
    assert run.scores.tolist() == list(range(1000, 0, -1)) * 100


@pytest.mark.parametrize("name", BAD_RUNS)
def test_bad_runs_give_their_message(name, tmp_path):
    content, message = BAD_RUNS[name]
    (tmp_path / "run").write_bytes(content)
    with pytest.raises(dx.InputError, match=message):
        dx.read_trec_run(tmp_path / "run")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 0 a 1\n1 b 1\n", r"qrels:2: 3 columns where 4 are needed"),
        ("1 0 a relevant\n", r"qrels:1: the label is 'relevant'"),
        ("1 a 1\n1 a 0\n", r"qrels:2: query 1 has the document 'a' already"),
        ("\n1 Q0 a 1 0.5 t\n", r"must be judgments \(4 columns\), and line 2 has 6, as in a run\. Swap"),
    ],
)
def test_bad_judgments_give_their_message(content, message, tmp_path):
    (tmp_path / "qrels").write_text(content)
    with pytest.raises(dx.InputError, match=message):
        dx.read_trec_qrels(tmp_path / "qrels")


def test_trec7(data_dir):
    qrels = dx.read_trec_qrels(data_dir / "trec7" / "qrels.trec7.txt")
    assert len(qrels.labels) == 80345
    assert int((qrels.labels > 0).sum()) == 4674
    assert qrels.query_ids == tuple(str(topic) for topic in range(351, 401))
    run = dx.read_trec_run(next(iter(sorted((data_dir / "trec7" / "runs").glob("*.gz")))))
    joined = dx.data.join_trec(run, qrels)
    assert int((joined.labels > 0).sum()) == 4674, "relevant documents that were not retrieved count too"


def test_a_running_number_in_place_of_subtopics_takes_no_memory(tmp_path):
    (tmp_path / "qrels").write_text("".join(f"1 {i} d{i} 1\n" for i in range(200_000)))
    with pytest.raises(
        dx.InputError, match=r"200,000 documents .* 320 GB .*write 0 in it where a query has none"
    ):
        dx.read_trec_qrels(tmp_path / "qrels")


def test_all_problems_of_judgments_come_in_one_message(tmp_path):
    path = tmp_path / "a.qrels"
    path.write_text("q 0 d 1\nq 0 d 2\nq 0 e x\nq 0 f g 1\nq 0 d 1\n")
    with pytest.raises(dx.InputError) as error:
        dx.read_trec_qrels(path)
    text = str(error.value).replace(f"{path}", "P")
    assert "P: 4 lines cannot be used" in text
    assert "P:2: query q has the document 'd' already, at P:1" in text
    assert "P:3: the label is 'x'" in text
    assert "P:4: 5 columns where 4 are needed" in text
    assert "P:5: query q has the document 'd' already, at P:1" in text


def test_semicolons_and_rankings_without_scores_are_named(tmp_path):
    path = tmp_path / "a"
    path.write_text("q;0;d;1\nq;0;e;0\n")
    with pytest.raises(dx.InputError, match=r"a:1: 1 column where 4 are needed(?s:.*)`tr ';' ' ' < FILE"):
        dx.read_trec_qrels(path)
    path.write_text("q d 1\nq e 2\n")
    with pytest.raises(dx.InputError, match=r"must be a run \(6 columns\), and line 1 has 3.* MS MARCO.*awk"):
        dx.read_trec_run(path)
    path.write_text("q Q0 d 1 0.5\n")
    with pytest.raises(dx.InputError, match="5 columns where 6 are needed"):
        dx.read_trec_run(path)


def test_most_lines_decide_the_number_of_columns(tmp_path):
    path = tmp_path / "a"
    path.write_text("query doc score\nq 0 a 1\nq 0 b 0\n")
    with pytest.raises(dx.InputError, match="a:1: 3 columns where 4 are needed"):
        dx.read_trec_qrels(path)
