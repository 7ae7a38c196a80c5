"""Indexes: what users give, candidates, labels, other runs, and files that cannot be used."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data import Run
from directrix.text import Index
from tests.messages import rejects

DOCUMENTS = [
    {"docno": "d1", "title": "Wings", "text": "Wings in a slipstream of a propeller", "year": 1958},
    {"docno": "d2", "title": "Heat", "text": "Heat conduction in composite slabs"},
    {"docno": "d3", "title": "Heated wings"},
]
QUERIES = {"q1": "heated wing", "q2": "slabs in composite"}
DENSE = Run.from_frame({"q1": {"d1": 0.25, "d3": 0.75}}, tag="dense")


@pytest.fixture
def two_stemmers(monkeypatch):
    """Messages list all stemmers; every version of PyStemmer has others."""
    monkeypatch.setattr("Stemmer.algorithms", lambda: ["english", "german"])


@pytest.fixture
def index():
    return Index.build(DOCUMENTS)


@pytest.mark.parametrize(
    ("options", "feature"),
    [
        ({}, "bm25.all.english+stop"),
        ({"field": "text", "analyzer": "none", "k1": 0.9, "b": 0.4}, "bm25-0.9-0.4.text.none"),
    ],
)
def test_candidates_have_the_scores_of_the_feature_bm25_in_falling_order(index, options, feature):
    run = index.candidates(QUERIES, **options)
    q = index.features(QUERIES, run, names=[feature])
    assert q.features[:, 0] == pytest.approx(run.scores, rel=1e-6)
    for first, last in zip(run.qptr[:-1], run.qptr[1:], strict=True):
        assert (np.diff(run.scores[first:last]) <= 0).all()
    assert options or run.doc_ids.tolist() == ["d3", "d1", "d2", "d2"]


def test_k_limits_candidates_and_equal_scores_keep_the_order_of_documents():
    index = Index.build({f"d{i}": "same words" for i in range(9)})
    assert index.candidates({"q": "same"}, 3).doc_ids.tolist() == ["d0", "d1", "d2"]


def test_the_field_all_joins_the_fields_in_their_order(index):
    whole = Index.build({d["docno"]: f"{d['title']} {d.get('text', '')}" for d in DOCUMENTS})
    run = {query: {"d1": 1.0, "d2": 1.0, "d3": 1.0} for query in QUERIES}
    a, b = index.features(QUERIES, run), whole.features(QUERIES, run)
    columns = [a.feature_names.index(name.replace(".text.", ".all.")) for name in b.feature_names]
    np.testing.assert_array_equal(a.features[:, columns], b.features)


def test_a_saved_index_gives_the_same_bits_and_bytes(index, tmp_path):
    index.save(tmp_path / "a")
    Index.build(DOCUMENTS).save(tmp_path / "b")
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    loaded, run = Index.load(tmp_path / "a"), index.candidates(QUERIES)
    assert repr(loaded) == repr(index)
    np.testing.assert_array_equal(loaded.candidates(QUERIES).scores, run.scores)
    np.testing.assert_array_equal(
        loaded.features(QUERIES, run).features, index.features(QUERIES, run).features
    )


def test_labels_are_the_judgments_and_queries_without_any_are_left_out(index):
    q = index.features(QUERIES, index.candidates(QUERIES), {"q1": {"d3": 2, "d1": -1}, "q9": {"d1": 1}})
    assert q.query_ids == ("q1",)
    assert dict(zip(q.doc_ids, q.labels, strict=True)) == {"d3": 2.0, "d2": 0.0, "d1": 0.0}
    assert index.features(QUERIES, index.candidates(QUERIES)).labels.tolist() == [0.0] * 4


def test_scores_of_other_runs_are_features_and_what_they_lack_has_their_lowest(index):
    run = index.candidates(QUERIES)
    q = index.features(QUERIES, run, runs=[DENSE], names=["run.dense"])
    assert dict(zip(q.doc_ids[:3], q.features[:3, 0], strict=True)) == {"d1": 0.25, "d2": 0.25, "d3": 0.75}
    assert q.features[3, 0] == 0.0


def test_chosen_features_are_those_of_all_in_the_order_asked_for(index):
    run = index.candidates(QUERIES)
    every = index.features(QUERIES, run)
    names = ["dph.title.none", "bm25-0.9-0.4.all.english+stop"]
    some = index.features(QUERIES, run, names=names)
    assert some.feature_names == tuple(names)
    np.testing.assert_array_equal(
        some.features, every.features[:, [every.feature_names.index(name) for name in names]]
    )


def test_stop_words_are_those_that_were_given():
    texts, names = {"a": "der Flügel", "b": "the wing"}, ["german+stop", "english+stop"]
    index = Index.build(texts, analyzers=names, stop_words=["der", "wing"])
    assert index.query_terms("Der Flügel the", "german+stop") == ["flugel", "the"]
    assert index.query_terms("wings wing", "english+stop") == ["wing"]  # words are left out, not stems


@pytest.mark.usefixtures("two_stemmers")
@pytest.mark.parametrize(
    "arguments",
    [
        {"documents": [{"title": "x"}]},
        {"documents": [{"id": "", "t": "x"}]},
        {"documents": [{"id": 1, "t": "x"}, {"id": "1", "t": "y"}]},
        {"documents": [{"id": 1, "t": "x"}], "fields": ["u"]},
        {"documents": [{"id": 1, "t": "..."}]},
        {"documents": []},
        {"documents": 7},
        {"documents": [7]},
        {"documents": {"a": "x"}, "analyzers": ["klingon"]},
        {"documents": {"a": "x"}, "analyzers": ["english+stops"]},
        {"documents": {"a": "x"}, "analyzers": ["none", "none"]},
    ],
)
def test_what_cannot_be_indexed_is_rejected(arguments):
    with rejects(dx.InputError):
        Index.build(**arguments)


@pytest.mark.parametrize(
    "call",
    [
        lambda i: i.candidates({"q": "zzz"}),
        lambda i: i.candidates({}),
        lambda i: i.candidates(QUERIES, 0),
        lambda i: i.candidates(QUERIES, b=2.0),
        lambda i: i.candidates(QUERIES, k1=float("nan")),
        lambda i: i.candidates(QUERIES, field="body"),
        lambda i: i.candidates(QUERIES, analyzer="porter"),
        lambda _: Index.build([{"id": "a", "title": "", "text": "x"}]).candidates({"q": "x"}, field="title"),
        lambda i: i.features(QUERIES, {"q9": {"d1": 1.0}}),
        lambda i: i.features(QUERIES, {"q1": {"x": 1.0}}),
        lambda i: i.features(QUERIES, {"q1": {"d1": 1.0}}, {"q7": {"d1": 1}}),
        lambda i: i.features(QUERIES, i.candidates(QUERIES), runs=[DENSE, DENSE]),
        lambda i: i.features(QUERIES, i.candidates(QUERIES), names=["bm25.body.none"]),
    ],
)
def test_wrong_arguments_are_rejected(index, call):
    with rejects(dx.InputError):
        call(index)


@pytest.mark.parametrize(
    "damage",
    [
        lambda good: b"",
        lambda good: b"text",
        lambda good: b'{"id": "a"}',
        lambda good: b"PK",
        lambda good: good[: len(good) // 2],
        lambda good: good[:-1],
        lambda good: good.replace(b"index/2", b"index/9"),
    ],
)
def test_files_that_are_no_index_are_rejected(index, tmp_path, damage):
    path = tmp_path / "i.index"
    index.save(path)
    path.write_bytes(damage(path.read_bytes()))
    with rejects(dx.InputError):
        Index.load(path)


def numbers(*values, dtype=np.int64):
    return np.array(values, dtype=dtype).tobytes()


@pytest.mark.usefixtures("two_stemmers")
@pytest.mark.parametrize(
    "change",
    [
        {"ids_0": numbers(99, dtype=np.int32)},
        {"ids_0": numbers(-1, dtype=np.int32)},
        {"ids_0": b"odd"},
        {"offsets_0": numbers(0, 2)},
        {"offsets_0": numbers(0, -1)},
        {"offsets_0": numbers(1, 1)},
        {"offsets_0": numbers(0)},
        {"offsets_0": b""},
        # their differences do not fit into 64 bits
        {"offsets_0": numbers(0, 2**62, -(2**63) + 5, 1), "doc_ids.json": b'["a", "b", "c"]'},
        {"doc_ids.json": b"[1]"},
        {"doc_ids.json": b'["a", "a"]', "offsets_0": numbers(0, 1, 1)},
        {"doc_ids.json": b"{"},
        {"doc_ids.json": b"[" * 100_000},
        {"words.json": b'"ab"'},
        {"words.json": b'["\\ud800"]'},
        {"words.json": b'["\xed\xa0\x80"]'},
        {"doc_ids.json": b'["a\\nb"]'},
        {"doc_ids.json": b'[""]'},
        {"header.json": b"[]"},
        {"header.json": b"\xff"},
        {"header.json": (b"index/2", b"index/1")},
        {"header.json": (b'["text"]', b"[]")},
        {"header.json": (b'["text"]', b'["text", "text"]'), "ids_1": b"", "offsets_1": numbers(0, 0)},
        {"header.json": (b'["none"]', b'["nine"]')},  # an unknown analyzer
    ],
)
def test_parts_that_do_not_fit_are_rejected(tmp_path, change):
    """With checksums that are right again."""
    path = tmp_path / "i.index"
    Index.build({"a": "word"}, analyzers=["none"]).save(path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in (parts | change).items():
            if isinstance(content, tuple):
                assert content[0] in parts[name]
                content = parts[name].replace(*content)
            archive.writestr(name, content)
    with rejects(dx.InputError):
        Index.load(path)


def test_a_compressed_archive_is_rejected_before_it_is_unpacked(tmp_path):
    path = tmp_path / "i.index"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", bytes(10_000_000))
    with rejects(dx.InputError):
        Index.load(path)


def test_parts_that_are_larger_than_the_file_are_rejected(tmp_path):
    """As they are where they overlap: each of many fields would be the same bytes again."""
    path = tmp_path / "i.index"
    Index.build({"a": "word " * 1000}, analyzers=["none"]).save(path)
    content = bytearray(path.read_bytes())
    at = content.rindex(b"PK\x01\x02", 0, content.rindex(b"ids_0"))
    content[at + 20 : at + 28] = (10**6).to_bytes(4, "little") * 2  # compressed and other size
    path.write_bytes(content)
    with rejects(dx.InputError):
        Index.load(path)


def test_an_index_is_not_changed_by_its_user(index):
    with pytest.raises(ValueError, match="read-only"):
        index.doc_ids[0] = "x"
    assert replace(index, analyzers=("none",)).analyzers == ("none",)
