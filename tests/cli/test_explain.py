"""``directrix explain`` and ``directrix describe``."""

import json

import numpy as np
import pytest
from tests.commands import refused, run, succeed

import directrix as dx


def rows_of(text):
    return [line.split("\t") for line in text.splitlines()]


def test_the_table_the_json_and_the_tsv_say_the_same(files):
    shown = succeed("explain", files.model, files.test, "--top", 2)
    assert "Importance of features for nDCG@5" in shown.stdout
    assert "Mean rank of a document, by the value of one of its features" in shown.stdout
    document = json.loads(run("explain", files.model, files.test, "--top", 2, "-f", "json").stdout)
    ranker, q = dx.load(files.model), dx.read_letor(files.test)
    explanation = dx.explain(ranker, q, top=2)
    assert [one["feature"] for one in document["features"]] == [
        explanation.importance.names[j] for j in explanation.importance.ranked
    ]
    first = document["features"][0]
    assert f"{first['importance']:.4f}" in shown.stdout
    assert first["interval"] == list(explanation.importance.interval(explanation.importance.ranked[0]))
    np.testing.assert_array_equal(first["dependence"]["rank"], explanation.dependence[0].rank)
    table = rows_of(run("explain", files.model, files.test, "-f", "tsv").stdout)
    assert table[0] == ["feature", "importance", "low", "high"]
    assert table[1][:2] == [first["feature"], repr(first["importance"])]
    other = json.loads(run("explain", files.model, files.test, "-m", "AP", "-f", "json").stdout)
    assert other["measure"] == "AP"


def test_a_query_and_a_pair(files):
    ranked = json.loads(run("explain", files.model, files.test, "--query", 25, "-f", "json").stdout)
    documents = ranked["documents"]
    assert len(documents) == 10
    assert [one["score"] for one in documents] == sorted((one["score"] for one in documents), reverse=True)
    parts = [sum(part["contribution"] for part in one["features"]) for one in documents]
    mean = np.mean([one["score"] for one in documents])
    np.testing.assert_allclose(parts, [one["score"] - mean for one in documents], atol=1e-6)
    first, second = documents[0]["document"], documents[1]["document"]
    shown = run("explain", files.model, files.test, "--query", 25, "--top", 3)
    assert "Query 25: the first 3 documents\n\nrank  document" in shown.stdout
    pair = ("explain", files.model, files.test, "--query", 25, "--docs", f"{second},{first}")
    told = run(*pair)
    assert told.stdout.startswith(f"{first} is above {second} by ")
    found = json.loads(run(*pair, "-f", "json").stdout)
    assert found["above"]["document"] == first
    table = rows_of(run(*pair, "--top", 1, "-f", "tsv").stdout)
    assert [row[0] for row in table] == ["feature", found["features"][0]["feature"], "3 others", "score"]


def test_groups_training_again_and_a_page(files, tmp_path):
    pytest.importorskip("matplotlib")
    groups = tmp_path / "groups.txt"
    groups.write_text("22 first half\n23\tfirst half\n24, second half\n25 second half\n\n")
    page = tmp_path / "page.html"
    arguments = ("--groups", groups, "--retrain", files.train, "--valid", files.valid, "--top", 2)
    shown = succeed("explain", files.model, files.test, *arguments, "--report", page)
    for text in ("left out", "Groups of queries", "first half", "second half"):
        assert text in shown.stdout
        assert text in page.read_text()
    assert shown.stderr.endswith(f"open: {page}\n")
    document = json.loads(run("explain", files.model, files.test, *arguments, "-f", "json").stdout)
    assert [group["queries"] for group in document["groups"]] == [2, 2]
    assert "left_out" in document["features"][0]
    assert "left_out" not in document["features"][2]


@pytest.mark.parametrize(
    ("arguments", "status", "words"),
    [
        (("--docs", "a,b"), 2, "--docs needs --query"),
        (("--query", "25", "--docs", "a"), 2, "two documents are needed"),
        (("--query", "25", "--report", "x.html"), 2, "--query explains one query, --report all of them"),
        (("--valid", "x.txt"), 2, "--valid is used with --retrain only"),
        (("-m", "nonsense"), 2, "nonsense"),
        (("--query", "99"), 1, "there is no query '99'; the data have 8 queries, 22 to 29"),
        (("--query", "25", "--docs", "a,b"), 1, "query 25 has no document 'a'"),
        (("--top", "0"), 2, "--top"),
    ],
)
def test_wrong_options_are_named(files, arguments, status, words):
    assert words in refused("explain", files.model, files.test, *arguments, status=status)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("22 a\n22 b\n", "2: query 22 has the segment a above. Each query has one segment."),
        ("22\n", "1: '22' is not a query and its segment"),
        ("1 a\n", "none of the 8 queries, 22 to 29, has a group, though e.g. '1' has one"),
    ],
)
def test_wrong_groups_are_named(files, tmp_path, content, words):
    groups = tmp_path / "groups.txt"
    groups.write_text(content)
    assert words in refused("explain", files.model, files.test, "--groups", groups)


def test_describe_says_what_the_file_knows(files):
    shown = succeed("describe", files.model)
    for text in ("LinearRanker", "4 weights", "nDCG@5", "sha256:", "7 validation queries", "Known limits"):
        assert text in shown.stdout
    document = json.loads(run("describe", files.model, "-f", "json").stdout)
    record = dx.load(files.model).training_
    assert document["training"]["data"] == record["data"]
    choice = document["selection"]
    low, high = choice["interval"]
    assert choice["queries"] == 7
    assert low < choice["value"] < high
    assert (high - low) / 2 == pytest.approx(2.446912 * choice["error"], rel=1e-5)  # t(6), 97.5 %
    assert document["figures"] is None
    markdown = run("describe", files.model, "-f", "markdown").stdout
    assert markdown.startswith("# Model card of")
    assert "| class | LinearRanker |" in markdown


def test_the_figure_of_a_choice_is_that_of_the_file(files):
    document = json.loads(run("describe", files.model, files.valid, "-m", "AP", "-f", "json").stdout)
    own, other = document["figures"]["measures"]
    assert (own["measure"], other["measure"]) == ("nDCG@5", "AP")
    assert own["value"] == pytest.approx(document["selection"]["value"])
    np.testing.assert_allclose(own["interval"], document["selection"]["interval"])
    assert document["importance"]["kind"] == "fall of nDCG@5 when the feature is shuffled"
    assert not document["figures"]["is_training_data"]


def test_figures_on_the_training_data_are_a_limit(files, tmp_path):
    page = tmp_path / "card.html"
    shown = run("describe", files.model, files.train, "--report", page)
    assert "The figures are of its training data" in shown.stdout
    assert "7 queries are few" in shown.stdout
    assert "Model card of" in page.read_text()


def test_limits_are_those_of_the_model(files, tmp_path):
    from directrix.experiments import model_card

    q = dx.read_letor(files.train)

    def limits(ranker):
        ranker.fit_queries(q, measure="nDCG@5").save(tmp_path / "m.json")
        return " ".join(model_card(tmp_path / "m.json")["limits"])

    by_query = limits(dx.LinearRanker("ListNet", scale="raw+query-percentile"))
    assert "scaled by query" in by_query
    assert "rejects missing values" in by_query
    filled = limits(dx.LinearRanker("ListNet", scale="standard", max_iter=1))
    assert "rejects missing values" not in filled
    assert "The training of the LinearRanker ended early: 1 iteration done" in filled
    assert "no figure on other queries" in filled
    trees = limits(dx.BoostedRanker(n_trees=3, min_data_in_leaf=5))
    assert "do not extrapolate" in trees
    both = limits(dx.EnsembleRanker([dx.LinearRanker("ListNet"), dx.MLPRanker("ListNet", max_iter=2)]))
    assert "The training of the MLPRanker ended early" in both


def test_a_figure_that_took_part_in_the_choice_is_too_high(files, tmp_path):
    from directrix.experiments import model_card

    q, valid = dx.read_letor(files.train), dx.read_letor(files.valid)

    def limits(**settings):
        dx.AutoRanker(**settings).search(q, valid).ranker.save(tmp_path / "m.json")
        return " ".join(model_card(tmp_path / "m.json")["limits"])

    few = {"max_iter": 2, "l2": 1e-3}
    several = limits(method="ListNet", settings=few)
    assert "too high: the same queries chose it among 4 candidates, and the step of each" in several
    one = limits(method="ApproxNDCG", settings=few | {"alpha": 10.0})
    assert "too high if its training kept its best step" in one


def test_constraints_are_on_the_card(files, tmp_path):
    q = dx.read_letor(files.train)
    ranker = dx.LinearRanker("ListNet", bounds={1: (0, None)}, monotone={0: 1, 3: -1})
    ranker.fit_queries(q, measure="nDCG@5").save(tmp_path / "m.json")
    shown = run("describe", tmp_path / "m.json").stdout
    assert "column 1: [0, None]" in shown
    assert "column 0: 1, column 3: -1" in shown


def test_importance_without_data_is_that_of_the_model(files, tmp_path):
    from directrix.experiments import model_card

    q = dx.read_letor(files.train)
    trees = dx.BoostedRanker(n_trees=3, min_data_in_leaf=5).fit_queries(q, measure="nDCG@5")
    trees.save(tmp_path / "m.json")
    rows = model_card(tmp_path / "m.json")["importance"]["features"]
    assert sum(row["importance"] for row in rows) == pytest.approx(1.0)
    linear = dx.LinearRanker("ListNet", scale="standard").fit_queries(q, measure="nDCG@5")
    linear.save(tmp_path / "m.json")
    rows = model_card(tmp_path / "m.json")["importance"]["features"]
    assert [row["importance"] for row in rows] == sorted(abs(linear.coef_), reverse=True)
    dx.MLPRanker("ListNet", max_iter=2).fit_queries(q, measure="nDCG@5").save(tmp_path / "m.json")
    assert model_card(tmp_path / "m.json")["importance"] is None


def test_a_measure_without_data_is_refused(files):
    assert "--measure needs DATA" in refused("describe", files.model, "-m", "AP", status=2)
