import bz2
import gzip
import lzma
import math

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.messages import rejects

import directrix as dx
from directrix.data.file import convert_file
from directrix.data.files import stream_blocks
from directrix.data.letor import parse as letor_parse
from directrix.data.letor.parse import FileBlocks

TEXT = (
    b"2 qid:10 1:0.5 3:-1e-3 # docid = A1 inc = 1\r\n\n# nothing\n"
    b"0 qid:10 2:7 #plain text \n  1\tqid:-4 1:.5 3:1. #docid=B\n"
)


def read(tmp_path, text, **options):
    path = tmp_path / "file.txt"
    path.write_bytes(text)
    return dx.read_letor(path, **options)


def test_every_part_of_a_line(tmp_path):
    q = read(tmp_path, TEXT, dtype=np.float64)
    assert q.features.tolist() == [[0.5, 0.0, -0.001], [0.0, 7.0, 0.0], [0.5, 0.0, 1.0]]
    assert q.features.flags.c_contiguous
    assert q.labels.tolist() == [2.0, 0.0, 1.0]
    assert q.query_ids == (10, -4)
    assert q.qptr.tolist() == [0, 2, 3]
    assert q.doc_ids.tolist() == ["A1", "plain text", "B"]


@pytest.mark.parametrize("compress", [gzip.compress, bz2.compress, lzma.compress])
def test_compressed_is_the_same(compress, tmp_path):
    q = read(tmp_path, compress(TEXT))
    assert q.features.tolist() == read(tmp_path, TEXT).features.tolist()
    assert q.doc_ids.tolist() == ["A1", "plain text", "B"]


def test_options_change_what_they_say(tmp_path):
    assert read(tmp_path, b"1 qid:1 0:3 1:4\n", index_base=0).features.tolist() == [[3.0, 4.0]]
    assert read(tmp_path, b"1 qid:1 1:3\n", n_features=3).features.tolist() == [[3.0, 0.0, 0.0]]
    assert read(tmp_path, b"1 qid:1 1:3\n").features.dtype == np.float32
    holes = b"1 qid:1 1:NULL 2:nan 3:1\n"
    assert read(tmp_path, holes, missing="zero").features.tolist() == [[0.0, 0.0, 1.0]]
    assert np.isnan(read(tmp_path, holes, missing="nan").features).tolist() == [[True, True, False]]


def test_labels_alone(tmp_path):
    q = read(tmp_path, b"2 qid:1\n0 qid:1\n1 qid:2\n")
    assert q.features.shape == (3, 0)
    assert q.labels.tolist() == [2.0, 0.0, 1.0]


def test_sparse_is_chosen_by_the_share_of_written_features(tmp_path):
    thin = b"1 qid:1 1:1\n0 qid:1 100:2\n"
    q = read(tmp_path, thin)
    assert sp.issparse(q.features)
    assert q.features.format == "csr"
    assert q.features.toarray()[1, 99] == 2.0
    assert q.features.toarray().sum() == 3.0
    dense = read(tmp_path, thin, sparse=False)
    assert np.array_equal(dense.features, q.features.toarray())
    assert sp.issparse(read(tmp_path, TEXT, sparse=True).features)


def test_group_sizes_beside_the_file(tmp_path):
    (tmp_path / "file.txt.query").write_text("1\n2\n")
    q = read(tmp_path, b"1 1:1\n\n0 1:2\n2 1:3\n")
    assert q.qptr.tolist() == [0, 1, 3]
    assert q.query_ids == (0, 1)
    assert read(tmp_path, b"1 qid:7 1:1\n").query_ids == (7,), "lines with qid do not need the sizes"
    (tmp_path / "other").write_text("3")
    assert read(tmp_path, b"1 1:1\n0 1:2\n2 1:3\n", groups=tmp_path / "other").qptr.tolist() == [0, 3]


@pytest.mark.parametrize("block", [1, 10, 33, 1000])
def test_blocks_and_threads_do_not_change_the_result(block, tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    lines = [b"# head\n"]
    for row in range(60):
        width = int(rng.integers(1, 9))  # rows grow and shrink, so guesses of the width fail
        features = b" ".join(b"%d:%.17g" % (i + 1, rng.standard_normal()) for i in range(width))
        lines.append(b"%d qid:%d %s # docid = d%d\n" % (row % 3, row // 7, features, row) + b"\n" * (row % 2))
    whole = read(tmp_path, b"".join(lines), dtype=np.float64)
    monkeypatch.setattr(letor_parse, "FileBlocks", lambda path: FileBlocks(path, block))
    for threads in (1, 2):
        dx.set_threads(threads)
        try:
            parts = read(tmp_path, b"".join(lines), dtype=np.float64)
        finally:
            dx.set_threads(None)
        assert np.array_equal(parts.features, whole.features)
        assert np.array_equal(parts.labels, whole.labels)
        assert parts.query_ids == whole.query_ids
        assert parts.doc_ids.tolist() == whole.doc_ids.tolist()


def test_lines_without_data_leave_no_gaps(tmp_path, monkeypatch):
    monkeypatch.setattr(letor_parse, "FileBlocks", lambda path: FileBlocks(path, 40))
    lines = [b"1 qid:1 1:%d 2:1\n" % row + b"# note\n" * (row % 3) for row in range(30)]
    assert read(tmp_path, b"".join(lines)).features[:, 0].tolist() == list(range(30))


def test_empty_last_column_of_csr_is_kept(tmp_path):
    q = dx.Queries.from_arrays(sp.csr_array(np.array([[1.0, 0.0], [2.0, 0.0]])), [1, 0], group=[2])
    dx.write_letor(q, tmp_path / "a")
    assert (tmp_path / "a").read_text() == "1 qid:0 1:1 2:0\n0 qid:0 1:2\n"


@given(text=st.text("ab\n", max_size=40).map(str.encode), size=st.integers(1, 9))
def test_blocks_are_the_lines_once_each(text, size, tmp_path_factory):
    import io

    path = tmp_path_factory.mktemp("blocks") / "x"
    path.write_bytes(text)
    with FileBlocks(path, size) as blocks:
        parts = [blocks.read(b) for b in range(len(blocks))]
    assert b"".join(parts) == text
    assert all(
        part.endswith(b"\n") for part in parts[:-1] if part and part is not [p for p in parts if p][-1]
    )
    assert b"".join(stream_blocks(io.BytesIO(text), size)) == text


def hard_numbers():
    """Doubles, halfway cases, long and short texts."""
    doubles = st.floats(allow_nan=False, allow_infinity=False).map(repr)
    digits = st.from_regex(r"\A-?[0-9]{1,22}(\.[0-9]{0,22})?([eE][-+]?[0-9]{1,3})?\Z")
    halfway = st.floats(1e-200, 1e200).map(lambda x: f"{x:.20e}")
    return st.one_of(doubles, digits, halfway).filter(lambda text: abs(float(text)) <= 1.7e308)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(hard_numbers(), min_size=1, max_size=30))
@example(
    texts=["9007199254740993", "9007199254740992.5", "1e23", "8.41e21", "4.9e-324", "2.2250738585072011e-308"]
)
@example(
    texts=["179769313486231570000e288", "0.000001", "123456789012345678", "1e22", "-0.0", "5e-324", "1e-400"]
)
def test_numbers_are_correctly_rounded(texts, tmp_path):
    line = " ".join(f"{i}:{text}" for i, text in enumerate(texts, start=1))
    got = read(tmp_path, f"0 qid:1 {line}\n".encode(), dtype=np.float64, sparse=False).features[0].tolist()
    for text, value in zip(texts, got, strict=True):
        assert (value, math.copysign(1, value)) == (float(text), math.copysign(1, float(text))), text


@st.composite
def queries(draw):
    n_docs, n_features = draw(st.integers(1, 8)), draw(st.integers(1, 4))
    dtype = draw(st.sampled_from([np.float32, np.float64]))
    floats = st.floats(allow_nan=False, allow_infinity=False, width=32 if dtype == np.float32 else 64)
    values = draw(st.lists(floats, min_size=n_docs * n_features, max_size=n_docs * n_features))
    labels = draw(st.lists(st.floats(0, 1e6), min_size=n_docs, max_size=n_docs))
    qid = draw(st.lists(st.integers(-5, 5), min_size=n_docs, max_size=n_docs))
    names = st.text(st.characters(codec="utf-8", exclude_categories=["C", "Z"]), min_size=1).filter(
        lambda text: "docid" not in text
    )
    doc_ids = draw(st.none() | st.lists(names, min_size=n_docs, max_size=n_docs))
    X = np.array(values, dtype=dtype).reshape(n_docs, n_features)
    return dx.Queries.from_arrays(
        sp.csr_array(X) if draw(st.booleans()) else X, labels, qid=qid, doc_ids=doc_ids
    )


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(q=queries(), suffix=st.sampled_from(["", ".gz", ".bz2", ".xz"]))
def test_what_is_written_reads_back_the_same(q, suffix, tmp_path):
    path = tmp_path / f"out.txt{suffix}"
    dx.write_letor(q, path)
    r = dx.read_letor(path, dtype=q.features.dtype, sparse=sp.issparse(q.features))
    assert r.features.shape == q.features.shape
    difference = r.features != q.features
    assert (difference.nnz if sp.issparse(difference) else difference.sum()) == 0
    assert r.labels.tolist() == q.labels.tolist()
    assert r.qptr.tolist() == q.qptr.tolist()
    assert r.query_ids == q.query_ids
    assert (r.doc_ids is None) == (q.doc_ids is None)
    assert q.doc_ids is None or r.doc_ids.tolist() == q.doc_ids.tolist()


def test_query_identifiers_have_64_bits(tmp_path):
    ids = (-(2**63), 2**63 - 1, 1234567890123456789, -9223372036854775799, 0)
    q = dx.Queries.from_arrays(np.ones((5, 1)), np.ones(5), qid=ids)
    dx.write_letor(q, tmp_path / "a.txt")
    assert dx.read_letor(tmp_path / "a.txt").query_ids == ids
    for text in ("9223372036854775808", "-9223372036854775809", "9" * 19, "1" * 20):
        (tmp_path / "b.txt").write_text(f"1 qid:{text} 1:1\n")
        with pytest.raises(dx.InputError, match=rf"'qid:{text}'; files need an integer of 64 bits"):
            dx.read_letor(tmp_path / "b.txt")
    for qid in (2**63, -(2**63) - 1, 1e19):
        q = dx.Queries.from_arrays([[1.0]], [1], qid=[qid])
        with rejects(dx.InputError):
            dx.write_letor(q, tmp_path / "c.txt")


def test_written_text_is_the_shortest(tmp_path):
    q = dx.Queries.from_arrays(np.array([[0.1, 2.0]], dtype=np.float32), [1], qid=[3], doc_ids=["D"])
    dx.write_letor(q, tmp_path / "a")
    assert (tmp_path / "a").read_text() == "1 qid:3 1:0.1 2:2 #docid = D\n"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"qid": ["a"]}, r"query 0 is 'a'; files of this format need integer identifiers"),
        ({"group": [1], "doc_ids": [" a"]}, r"document identifier of row 0 is ' a'"),
        ({"group": [1], "doc_ids": ["# a b"]}, r"document identifier of row 0 is '# a b'"),
    ],
)
def test_queries_that_cannot_be_written_leave_the_old_file(arguments, message, tmp_path):
    (tmp_path / "a").write_text("old")
    q = dx.Queries.from_arrays([[1.0]], [1], **arguments)
    with pytest.raises(dx.InputError, match=message):
        dx.write_letor(q, tmp_path / "a")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a", "old")]


FACTS = {
    "OHSUMED": (106, 16140, 45, [11303, 2585, 2252], 105),
    "MQ2008": (784, 15211, 46, [12279, 2001, 931], 564),
}


@pytest.mark.parametrize("name", FACTS)
def test_real_collections(name, data_dir):
    n_queries, n_docs, n_features, labels, with_relevant = FACTS[name]
    tests = [dx.read_letor(fold.test) for fold in dx.data.letor_folds(data_dir / "letor" / name)]
    assert len(tests) == 5
    assert len({qid for q in tests for qid in q.query_ids}) == sum(q.n_queries for q in tests) == n_queries
    assert sum(q.n_docs for q in tests) == n_docs
    assert {q.n_features for q in tests} == {n_features}
    assert np.bincount(np.concatenate([q.labels for q in tests]).astype(int)).tolist() == labels
    assert sum(int((np.maximum.reduceat(q.labels, q.qptr[:-1]) > 0).sum()) for q in tests) == with_relevant


def test_same_values_as_scikit_learn(data_dir):
    from sklearn.datasets import load_svmlight_file

    path = data_dir / "letor" / "MQ2008" / "Fold1" / "vali.txt"
    X, y, qid = load_svmlight_file(str(path), query_id=True)
    q = dx.read_letor(path, dtype=np.float64)
    assert np.array_equal(q.features, X.toarray())
    assert np.array_equal(q.labels, y)
    assert np.array_equal(np.repeat(q.query_ids, np.diff(q.qptr)), qid)


@pytest.mark.parametrize("missing", ["error", "nan"])
def test_values_beyond_float32_are_float64(tmp_path, missing):
    """Istella LETOR marks values by this number."""
    text = b"1 qid:1 1:1.79769313486e+308 2:1008\n" + b"0 qid:1 1:5 2:1\n" * 3
    q = read(tmp_path, text, missing=missing)
    assert q.features.dtype == np.float64
    assert q.features[:2].tolist() == [[1.79769313486e308, 1008.0], [5.0, 1.0]]
    assert read(tmp_path, text.replace(b"e+308", b"e+30")).features.dtype == np.float32
    with pytest.raises(dx.InputError, match="too large for float32"):
        read(tmp_path, text, dtype=np.float32)
    convert_file(tmp_path / "file.txt", tmp_path / "a.parquet")
    assert dx.data.read_parquet(tmp_path / "a.parquet").features.tobytes() == q.features.tobytes()


@pytest.mark.parametrize("ending", [".query", ".group"])
def test_sizes_of_queries_are_in_a_file_next_to_it(tmp_path, ending):
    (tmp_path / f"file.txt{ending}").write_text("1\n2\n")
    assert read(tmp_path, b"1 1:1\n0 1:2\n0 1:3\n").qptr.tolist() == [0, 1, 3]


@pytest.mark.parametrize(
    ("ending", "said"),
    [
        (".weight", "without the weights in file.txt.weight. `fit` takes weights as sample_weight"),
        (".position", "without the positions in file.txt.position"),
        (".init", "without the scores in file.txt.init"),
        (".base_margin", "without the scores in file.txt.base_margin"),
    ],
)
def test_other_files_next_to_it_are_named(tmp_path, ending, said):
    (tmp_path / f"file.txt{ending}").write_text("1\n2\n")
    with pytest.warns(UserWarning, match=said):
        read(tmp_path, b"1 qid:1 1:1\n0 qid:1 1:2\n")
    with pytest.warns(UserWarning, match=said):
        convert_file(tmp_path / "file.txt", tmp_path / "a.parquet")


def test_identifiers_that_are_not_utf8_stay_different(tmp_path):
    q = read(tmp_path, b"1 qid:1 1:1 # docid = caf\xe9\n0 qid:1 1:2 # docid = caf\xe8\n")
    (tmp_path / "qrels").write_bytes(b"1 0 caf\xe9 1\n1 0 caf\xe8 0\n")
    assert q.doc_ids.tolist() == dx.read_trec_qrels(tmp_path / "qrels").doc_ids.tolist()
