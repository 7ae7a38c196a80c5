"""Features that engines logged, in the shapes of the engines' references, and what is joined with them."""

import gzip
import json

import numpy as np
import pytest
from tests.commands import refused, succeed
from tests.messages import rejects

import directrix as dx
from directrix.data import read_responses
from directrix.data.file import DataFile
from directrix.errors import InputError

# "Logging feature scores" of the plugin: a feature that did not match has no value
ELASTICSEARCH = {
    "took": 2,
    "hits": {
        "total": {"value": 2, "relation": "eq"},
        "hits": [
            {
                "_index": "tmdb",
                "_id": "1370",
                "_score": 20.291,
                "_source": {"title": "Rambo III"},
                "fields": {
                    "_ltrlog": [
                        {
                            "log_entry1": [
                                {"name": "title_query", "value": 9.510193},
                                {"name": "body_query", "value": 10.7808075},
                            ]
                        }
                    ]
                },
                "matched_queries": ["logged_featureset"],
            },
            {
                "_id": "1368",
                "fields": {
                    "_ltrlog": [
                        {"log_entry1": [{"name": "title_query"}, {"name": "body_query", "value": 8.0}]},
                        {"log_entry2": [{"name": "votes", "value": 3}]},
                    ]
                },
            },
        ],
    },
}
# "Learning To Rank" of the Solr guide, "Extracting Features"; the second document as format=sparse
SOLR = {
    "responseHeader": {"status": 0, "QTime": 0, "params": {"q": "test", "fl": "id,score,[features]"}},
    "response": {
        "numFound": 2,
        "start": 0,
        "maxScore": 1.959392,
        "docs": [
            {
                "id": "GB18030TEST",
                "score": 1.959392,
                "[features]": "documentRecency=0.020893794,isBook=0.0,originalScore=1.959392",
            },
            {"id": "UTF8TEST", "score": 1.5513437, "[features]": "originalScore=1.5513437"},
        ],
    },
}
# summary-features and match-features of Vespa's sample applications, and a tensor
VESPA = {
    "root": {
        "id": "toplevel",
        "relevance": 1.0,
        "fields": {"totalCount": 1},
        "children": [
            {
                "id": "id:msmarco:msmarco::D2977840",
                "relevance": 25.48,
                "source": "msmarco",
                "fields": {
                    "matchfeatures": {"bm25(body)": 19.51565699523739, "bm25(title)": 4.978933753876959},
                    "sddocname": "msmarco",
                    "documentid": "id:msmarco:msmarco::D2977840",
                    "summaryfeatures": {"attribute(year)": 2026.0, "vespa.summaryFeatures.cached": 0.0},
                },
            },
            {"id": "group:root:0", "relevance": 1.0, "children": []},
            {
                "id": "index:music/0/c4ca42388c5df0c643567eaa",
                "fields": {
                    "documentid": "id:music:music:g=rock:a:b",
                    "rankfeatures": {"bm25(body)": 1, "bm25(title)": 0.5, "attribute(year)": 1999.0},
                },
            },
        ],
    }
}
EXPECTED = {
    "elasticsearch": (
        {"qid": "rambo", **ELASTICSEARCH},
        "rambo",
        ["1370", "1368"],
        ("title_query", "body_query", "votes"),
        [[9.510193, 10.7808075, np.nan], [np.nan, 8.0, 3.0]],
    ),
    "solr": (
        SOLR,
        "test",
        ["GB18030TEST", "UTF8TEST"],
        ("documentRecency", "isBook", "originalScore"),
        [[0.020893794, 0.0, 1.959392], [np.nan, np.nan, 1.5513437]],
    ),
    "vespa": (
        {**VESPA, "query_id": 7},
        7,
        ["D2977840", "a:b"],
        ("bm25(body)", "bm25(title)", "attribute(year)"),
        [[19.51565699523739, 4.978933753876959, 2026.0], [1.0, 0.5, 1999.0]],
    ),
}


def written(path, *responses):
    path.write_text("".join(json.dumps(one) + "\n" for one in responses))
    return path


@pytest.mark.parametrize("engine", EXPECTED)
def test_documents_and_features_of_an_engine(tmp_path, engine):
    response, qid, docs, names, values = EXPECTED[engine]
    path = written(tmp_path / "log.jsonl", response)
    assert DataFile(path).content == "responses"
    q = read_responses(path, missing="nan")
    assert (q.query_ids, list(q.doc_ids), q.feature_names) == ((qid,), docs, names)
    np.testing.assert_array_equal(q.features, values)
    np.testing.assert_array_equal(read_responses(path).features, np.nan_to_num(values))
    np.testing.assert_array_equal(DataFile(path).queries().features, np.nan_to_num(values))
    (tmp_path / "log.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert list(read_responses(tmp_path / "log.gz").doc_ids) == docs


def test_responses_without_documents_and_blank_lines_add_nothing(tmp_path):
    empty = {"qid": "none", "hits": {"hits": []}}
    path = written(tmp_path / "log.jsonl", empty, {"qid": "rambo", **ELASTICSEARCH})
    path.write_text(path.read_text() + "\n")
    assert DataFile(path).content == "responses"
    assert read_responses(path).query_ids == ("rambo",)


def test_judgments_become_labels(tmp_path):
    other = {"qid": "rocky", **ELASTICSEARCH}
    path = written(tmp_path / "log.jsonl", {"qid": "rambo", **ELASTICSEARCH}, other, SOLR)
    q = read_responses(path, {"test": {"UTF8TEST": 2, "GB18030TEST": -1}, "rambo": {"1370": 4}})
    assert q.query_ids == ("rambo", "test")
    np.testing.assert_array_equal(q.labels, [4, 0, 0, 2])


def test_tensors_are_left_out_with_a_note(tmp_path):
    fields = {
        "documentid": "id:a:b::1",
        "summaryfeatures": {"x": 2.0, "t": {"type": "tensor(d{})", "cells": {}}},
    }
    path = written(tmp_path / "log.jsonl", {"qid": 1, "root": {"children": [{"id": "1", "fields": fields}]}})
    with pytest.warns(UserWarning, match="tensors, and are left out: t"):
        assert read_responses(path).feature_names == ("x",)


def test_wrong_lines_are_all_named(tmp_path):
    solr = {"docs": [{"id": "1", "[features]": "a=1,b=high"}]}
    hidden = {"children": [{"id": "index:x/0/1", "fields": {"summaryfeatures": {"x": 1.0}}}]}
    typed = {"hits": [{"_id": "1", "fields": {"_ltrlog": [{"log": [{"name": "a", "value": "1"}]}]}}]}
    path = written(
        tmp_path / "log.jsonl",
        ELASTICSEARCH,
        {"qid": 1, "response": solr},
        {"qid": 1, "root": hidden},
        {"qid": 1, "hits": typed},
        {"qid": 1, "response": {"docs": [{"title": "x"}]}},
        [1],
    )
    path.write_text(path.read_text() + "{\n")
    with rejects(InputError):
        read_responses(path)
    written(path, {"qid": 1, "root": {"children": [{"id": "group:root:0"}]}})
    with rejects(InputError):
        read_responses(path)
    written(path, {"qid": "rambo", **ELASTICSEARCH})
    with rejects(InputError):
        read_responses(path, {"rocky": {"1370": 1}})
    written(path, {"qid": "rambo", **ELASTICSEARCH}, {"qid": "rambo", **ELASTICSEARCH})
    with rejects(InputError):
        read_responses(path)


def test_from_responses_to_a_training_file(tmp_path):
    path = written(tmp_path / "log.jsonl", {"qid": 20, **ELASTICSEARCH}, SOLR)
    (tmp_path / "qrels.txt").write_text("20 0 1370 3\n20 0 1368 1\n20 0 7 2\n20 0 8 0\n9 0 1370 1\n")
    done = succeed("convert", path, tmp_path / "train.txt", "--qrels", tmp_path / "qrels.txt")
    assert "(2 rows, 1 query, 6 features)" in done.stderr
    assert "relevant: 3 documents, 2 of them retrieved; measures of this file do not count" in done.stderr
    q = dx.read_letor(tmp_path / "train.txt")
    np.testing.assert_array_equal(q.labels, [3, 1])
    np.testing.assert_allclose(q.features[0, :2], [9.510193, 10.7808075], rtol=1e-6)
    assert list(q.doc_ids) == ["1370", "1368"]
    (tmp_path / "qrels.txt").write_text("rocky 0 1370 3\n")
    message = refused("convert", path, tmp_path / "no.txt", "--qrels", tmp_path / "qrels.txt")
    assert "0 of 2 queries of the run 'features' are in the qrels" in message
    assert not (tmp_path / "no.txt").exists()


def test_any_data_with_identifiers_take_judgments(tmp_path):
    (tmp_path / "features.csv").write_text("qid,docno,x\n1,d1,1\n1,d2,2\n2,d1,3\n")
    (tmp_path / "qrels.txt").write_text("1 0 d2 1\n")
    succeed("convert", tmp_path / "features.csv", tmp_path / "train.txt", "--qrels", tmp_path / "qrels.txt")
    np.testing.assert_array_equal(dx.read_letor(tmp_path / "train.txt").labels, [0, 1])
    (tmp_path / "plain.csv").write_text("qid,x\na,1\na,2\n")
    refused("convert", tmp_path / "plain.csv", tmp_path / "t.txt", "--qrels", tmp_path / "qrels.txt")


def test_judgments_in_a_table_have_columns_of_any_name(tmp_path):
    """Quepid calls them query, docid and rating."""
    judged, train = tmp_path / "quepid.csv", tmp_path / "train.parquet"
    judged.write_text("query,docid,rating\nstar wars,d2,3\n")
    rows = tmp_path / "features.csv"
    rows.write_text("query,url,x,kind\nstar wars,d1,1,a\nstar wars,d2,2,b\n")
    named = ("--label-column", "rating", "--exclude-columns", "kind")
    succeed("convert", rows, train, "--qrels", judged, *named, "--doc-id-column", "url")
    np.testing.assert_array_equal(dx.data.read_parquet(train).labels, [0, 3])
    logged = written(tmp_path / "log.jsonl", {"qid": "star wars", **ELASTICSEARCH})
    judged.write_text("query,docid,rating\nstar wars,1370,3\n")
    done = succeed("convert", logged, train, "--qrels", judged, "--label-column", "rating")
    assert "(2 rows, 1 quer" in done.stderr
    assert "rating, grade" not in refused("convert", judged, tmp_path / "a.qrels", "--label-column", "rating")
    judged.write_text("query,docid,rating\nstar_wars,1370,3\n")
    done = succeed("convert", judged, tmp_path / "a.qrels", "--label-column", "rating")
    assert "feature" not in done.stderr
    assert (tmp_path / "a.qrels").read_text() == "star_wars 0 1370 3\n"
    wrong = ("--qrels", judged, "--label-column", "points")
    assert "no column points" in refused("convert", logged, train, *wrong)


def test_a_click_log_takes_them_as_features(tmp_path):
    path = written(tmp_path / "log.jsonl", {"qid": "rambo", **ELASTICSEARCH})
    shown = {
        "session": [1, 1],
        "query": ["rambo"] * 2,
        "doc": ["1370", "1368"],
        "position": [1, 2],
        "clicked": [0, 1],
    }
    log = dx.clicks.Log.from_frame(shown)
    for features in (path, read_responses(path)):
        q = dx.clicks.training_data(log, features, "ips", propensities=[1.0, 0.5])
        np.testing.assert_array_equal(q.labels, [0.0, 2.0])
        assert q.feature_names == ("title_query", "body_query", "votes")


def _logged(qid, name, /, **features):
    pairs = [{"name": key, "value": value} for key, value in features.items()]
    return {"qid": qid, "hits": {"hits": [{"_id": name, "fields": {"_ltrlog": [{"l": pairs}]}}]}}


def _of_vespa(qid, **features):
    fields = {"documentid": f"id:a:b::{qid}", "matchfeatures": features}
    return {"qid": qid, "root": {"children": [{"id": "1", "fields": fields}]}}


def test_a_value_that_is_missing_is_not_0(tmp_path):
    """Vespa writes null for NaN; Elasticsearch logs no value where its model takes 0."""
    for responses in ([_of_vespa(1, f=None, g=2)], [_logged(1, "a", f=float("nan"), g=2)]):
        path = written(tmp_path / "log.jsonl", *responses, _of_vespa(2, f=1, g=2))
        with pytest.raises(InputError, match="nan at row 0"):
            read_responses(path, missing="error")
        assert np.isnan(read_responses(path, missing="nan").features[0, 0])
        assert read_responses(path, missing="zero").features[0].tolist() == [0.0, 2.0]
    path = written(tmp_path / "log.jsonl", _logged(1, "a", f=1), _logged(2, "b", f=1, g=2))
    assert read_responses(path, missing="error").features[0].tolist() == [1.0, 0.0]


def test_features_with_other_names_in_each_document_take_no_room(tmp_path):
    path = written(tmp_path / "log.jsonl", *(_logged(i, "a", **{f"f{i}": i + 1}) for i in range(50)))
    q = read_responses(path)
    assert q.features.format == "csr"
    np.testing.assert_array_equal(q.features.toarray(), np.diag(np.arange(1.0, 51.0)))
    dense = read_responses(path, missing="nan").features
    np.testing.assert_array_equal(np.nan_to_num(dense), q.features.toarray())


def test_a_matrix_without_room_is_rejected(tmp_path, monkeypatch):
    path = written(tmp_path / "log.jsonl", *(_logged(i, "a", **{f"f{i}": 1}) for i in range(50)))
    monkeypatch.setattr("directrix.data.memory.available_memory", lambda: 1000)
    monkeypatch.setattr("directrix.data.memory._NOT_ASKED", 1000)
    with pytest.raises(InputError, match=r"50 documents with 50 features would take .* Log fewer features"):
        read_responses(path, missing="nan")


@pytest.mark.parametrize(
    ("response", "said"),
    [
        (_logged(1, "a", f=10**400), "the feature 'f' is .*, must be a number"),
        (_logged(1, "a", f=-(10**400)), "the feature 'f' is .*, must be a number"),
        (_logged(1, "a", f=True), "the feature 'f' is True, must be a number"),
        (_logged(1, None, f=1), "an identifier is None, must be text or an integer"),
        (_logged(1, ["a"], f=1), r"an identifier is \['a'\], must be text"),
        (_logged([1], "a", f=1), r"an identifier is \[1\], must be text"),
        (_logged(*(True, "a"), f=1), "an identifier is True, must be text"),
    ],
)
def test_values_and_identifiers_are_checked(tmp_path, response, said):
    with pytest.raises(InputError, match=f"log.jsonl:1: {said}"):
        read_responses(written(tmp_path / "log.jsonl", response))


def test_names_of_features_are_text(tmp_path):
    response = _logged(1, "a", f=[1], g=1)
    response["hits"]["hits"][0]["fields"]["_ltrlog"][0]["l"].append({"name": 5, "value": [1]})
    with pytest.raises(InputError, match="the name of a feature is 5, must be text"):
        read_responses(written(tmp_path / "log.jsonl", response))


def test_7_and_its_text_are_one_query(tmp_path):
    path = written(
        tmp_path / "log.jsonl", _logged(7, "a", f=1), _logged("7", "b", f=2), _logged(7.0, "c", f=3)
    )
    q = read_responses(path)
    assert (q.query_ids, q.doc_ids.tolist()) == (("7",), ["a", "b", "c"])
