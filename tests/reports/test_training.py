"""The page of a training: its tables, its figures, and what it leaves out."""

import re
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.synthetic import make_cubic
from directrix.experiments import inspection as inspected
from directrix.experiments.inspection import inspect_search
from directrix.reports.training import training_report, write_training_report
from tests.messages import rejects
from tests.search import search

Q = make_cubic(60, 8, 5, label_noise=0.1, seed=3)
TRAIN, VALID = Q.take(range(40)), Q.take(range(40, 60))
QUICK = {"max_iter": 8}


@pytest.fixture(scope="module")
def result():
    return search(TRAIN, VALID, method="ListNet", settings={**QUICK, "l2": 1e-4})


@pytest.fixture(scope="module")
def report(result):
    return training_report(result, inspect_search(result, TRAIN, VALID), TRAIN, VALID)


def table(report, title):
    return next(each for each in report.tables if title in each.title)


def column(report, title, name):
    shown = table(report, title)
    return [row[shown.columns.index(name)] for row in shown.rows]


def test_the_race_has_every_candidate_and_the_lead_over_it(result, report):
    rows = [*result.trials, result.baseline]
    assert column(report, "candidates", "candidate") == [c.label for c in rows]
    assert column(report, "candidates", "nDCG@10 valid") == [c.valid for c in rows]
    leads = column(report, "candidates", "lead")
    errors = column(report, "candidates", "its error")
    for c, lead, error, outcome in zip(
        rows, leads, errors, column(report, "candidates", "outcome"), strict=True
    ):
        if c is result.chosen:
            assert (lead, error, outcome) == (None, None, "chosen")
            continue
        gaps = result.chosen.values - c.values
        np.testing.assert_allclose(lead, gaps.mean(), rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(error, gaps.std(ddof=1) / np.sqrt(20), rtol=1e-9, atol=1e-12)


def test_the_baseline_is_a_regression_on_the_same_queries(result, report):
    ranker = dx.method("Regression").ranker().fit_queries(TRAIN)
    theirs = dx.NDCG(k=10)(ranker.predict_queries(VALID), VALID.labels, VALID.qptr)
    gain = result.chosen.values - theirs
    (part,) = report.per_query
    np.testing.assert_allclose(part.values["Regression"], theirs, rtol=1e-12, atol=0)
    np.testing.assert_allclose(part.values["ListNet"], result.chosen.values, rtol=1e-12, atol=0)
    wins, losses = int((gain > 1e-12).sum()), int((gain < -1e-12).sum())
    assert f"higher on {wins} queries, equal on {20 - wins - losses}, lower on {losses}" in report.summary[2]
    assert "chose the candidate among 4 and the best step of a training" in report.summary[2]
    assert " p " not in report.summary[2]  # of a value that took part in the choice
    (section,) = (section for section in report.sections if section.title == "Against Regression")
    assert "this lead is too high" in section.text[0]
    differences = column(report, "gain and lose most", "difference")
    assert differences == sorted(differences, reverse=True)
    np.testing.assert_allclose(differences[0], gain.max(), rtol=1e-9, atol=0)
    np.testing.assert_allclose(differences[-1], gain.min(), rtol=1e-9, atol=0)
    first = column(report, "gain and lose most", "query")[0]
    assert first == str(VALID.query_ids[int(np.argmax(gain))])
    assert len(part.rankings["ListNet"]) == 20
    assert len(part.rankings["ListNet"][0]) == 8


def test_the_importances_fall(report):
    falls = column(report, "Importance", "importance")
    assert falls == sorted(falls, reverse=True)
    assert falls[0] > 0.0


def test_a_sample_of_queries_and_the_headline_are_those_of_the_importances(result):
    inspection = inspect_search(result, TRAIN, VALID)
    importance = replace(inspection.importance, n_given=99)
    page = training_report(result, replace(inspection, importance=importance), TRAIN, VALID)
    assert "20 of 99 validation queries, drawn at random" in " ".join(page.how)
    assert "Measured on 20 of 99 queries, drawn at random." in table(page, "Importance").notes
    assert f"- {importance.headline}" in page.summary
    noise = replace(importance, falls=importance.falls * np.resize([1.0, -1.0], 20))
    assert noise.headline.startswith("no feature has an importance that is more than chance")


def test_the_figures_show_every_candidate_and_the_steps_of_the_choice(result, report):
    race, learning, importance = report.figures
    assert [c.label for c in race.panels[0].curves] == [
        "target=labels temperature=0.3",
        "target=labels temperature=1",
        "target=gains temperature=0.3",
        "target=gains temperature=1",
    ]
    for curve, candidate in zip(race.panels[0].curves, result.trials, strict=True):
        assert curve.x[-1] == candidate.seconds
        assert curve.y[-1] == candidate.valid
        assert (np.diff(curve.y) >= 0.0).all()  # best so far
    valid, loss = learning.panels
    np.testing.assert_array_equal(valid.curves[0].y, result.chosen.curve.valid)
    assert (valid.curves[1].label, valid.curves[1].y[0]) == ("best", result.chosen.valid)
    np.testing.assert_array_equal(loss.curves[0].y, result.chosen.curve.loss)
    np.testing.assert_array_equal(
        importance.panels[0].curves[0].y, column(report, "Importance", "importance")
    )


def test_without_a_validation_set_the_folds_judge_and_rows_have_no_names():
    result = search(TRAIN, method="ListNet", settings={**QUICK, "l2": 1e-4}, folds=4, seed=2)
    report = training_report(result, inspect_search(result, TRAIN), TRAIN)
    (part,) = report.per_query
    assert sorted(part.query_ids) == sorted(map(str, TRAIN.query_ids))
    np.testing.assert_allclose(part.values["ListNet"], result.chosen.values, rtol=1e-12, atol=0)
    assert not part.rankings
    race, learning, _ = report.figures
    assert "mean over 4 folds" in learning.title
    assert [c.label for c in learning.panels[0].curves] == [""]  # each fold keeps its own step
    for curve, candidate in zip(race.panels[0].curves, result.trials, strict=True):
        np.testing.assert_allclose(curve.y[-2], candidate.valid, rtol=1e-12, atol=0)
    assert "40 queries" in table(report, "Importance").title
    assert any("on training queries, because" in text for text in report.how)
    with_ids = replace(TRAIN, doc_ids=np.array([f"d{i}" for i in range(TRAIN.n_docs)], dtype=object))
    (part,) = training_report(result, inspect_search(result, with_ids), with_ids).per_query
    names = {name for docs in part.rankings["ListNet"] for name, _, _ in docs}
    assert names == set(with_ids.doc_ids)
    with rejects(dx.InputError):
        inspect_search(result, VALID)


def missing(report):
    return dict(report.missing)


def test_what_cannot_be_shown_is_named():
    result = search(TRAIN, VALID, method="Regression")
    report = training_report(result, inspect_search(result, TRAIN, VALID), TRAIN, VALID)
    assert missing(report) == {
        "Learning curve": "what was chosen is trained without steps",
        "Comparison with Regression": "Regression, the baseline, was chosen.",
    }
    assert report.per_query == ()
    assert "Against Regression" not in [section.title for section in report.sections]


def test_one_validation_query_has_no_test():
    result = search(TRAIN, VALID.take([0]), method="ApproxNDCG", settings=QUICK)
    report = training_report(result, inspect_search(result, TRAIN, VALID.take([0])), TRAIN, VALID.take([0]))
    reason = "nDCG@10 is defined on fewer than 2 validation queries."
    assert missing(report) == {"Comparison with Regression": reason}


def test_a_measure_that_is_undefined_everywhere_leaves_tables_without_values(tmp_path):
    nothing = replace(VALID, labels=np.zeros(VALID.n_docs))
    measure = dx.NDCG(k=10, empty="skip")
    result = search(TRAIN, nothing, method="ApproxNDCG", measure=measure, settings=QUICK)
    report = training_report(result, inspect_search(result, TRAIN, nothing), TRAIN, nothing)
    assert set(column(report, "candidates", f"{measure.name} valid")) == {None}
    assert set(missing(report)) == {
        "Measure against seconds",
        "Figure of the importances",
        "Comparison with Regression",
    }
    write_training_report(result, tmp_path / "page.html", TRAIN, nothing)


def test_queries_without_a_value_are_counted():
    some = replace(VALID, labels=np.where(np.arange(VALID.n_docs) < 16, 0.0, VALID.labels))
    result = search(TRAIN, some, method="ApproxNDCG", measure=dx.NDCG(k=10, empty="skip"), settings=QUICK)
    report = training_report(result, inspect_search(result, TRAIN, some), TRAIN, some)
    assert any("Queries without a value: ApproxNDCG 2" in n for t in report.tables for n in t.notes)


def test_missing_features_have_a_baseline_too():
    features = np.array(Q.features)
    features[::7, 2] = np.nan
    q = replace(Q, features=features, missing="nan")
    settings = {"n_trees": 5, "num_leaves": 7, "l2": 20.0}
    result = search(q, method="YetiRank", settings=settings, folds=2)
    found = inspect_search(result, q)
    assert found.refusal == ""
    assert list(found.values) == ["YetiRank", "Regression"]


def test_a_baseline_that_refuses_the_data_is_named(result, monkeypatch):
    def refuse(*_):
        raise dx.InputError("the baseline does not take this.")

    monkeypatch.setattr(inspected, "_baseline_scores", refuse)
    report = training_report(result, inspect_search(result, TRAIN, VALID), TRAIN, VALID)
    assert missing(report) == {"Comparison with Regression": "the baseline does not take this."}


def test_the_page_escapes_names_and_loads_nothing(result, tmp_path):
    path = tmp_path / "page.html"
    path.write_text("an older page")
    names = ("<b>*train*</b>", "a_b_c")
    write_training_report(result, path, TRAIN, VALID, names=names, command="directrix train '<x>'")
    page = path.read_text()
    assert "<b>*train*</b>" not in page
    assert (
        page.count("&lt;b&gt;*train*&lt;/b&gt;") == 2
    )  # in the first sentence and in the table: no Markdown
    assert "$ directrix train &#x27;&lt;x&gt;&#x27;" in page
    assert not re.findall(r'(?:src|href)="(?!#|data:)[^"]*', page)
    write_training_report(result, path, TRAIN, VALID)
    assert "&gt;&gt;&gt; directrix.experiments.write_training_report(" in path.read_text()


def test_the_report_is_the_same_every_time(result, tmp_path):
    for name in ("a", "b"):
        write_training_report(result, tmp_path / name, TRAIN, VALID)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
