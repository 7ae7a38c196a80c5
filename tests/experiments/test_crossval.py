"""Cross-validation: splits, selection by hand, the same numbers however it is run."""

import json
import math
from collections import Counter
from dataclasses import dataclass, replace

import joblib
import numpy as np
import pytest

from directrix.data.letor.read import read_letor
from directrix.data.synthetic import make_linear
from directrix.errors import InputError, NotConverged
from directrix.experiments import crossval
from directrix.experiments.crossval import Entry, cross_validate, plan_entry
from directrix.experiments.splits import Split, k_fold_splits, letor_splits, repeated_queries
from directrix.measures.convention import conventions
from directrix.measures.dcg import NDCG
from directrix.measures.evaluation import evaluate
from directrix.measures.precision import AP
from directrix.rankers.means import mean_of, values_of
from directrix.rankers.method import Method
from directrix.rankers.methods import method, methods
from directrix.search.plan import Candidate
from tests.experiments.letor_folder import letor_folder, letor_queries
from tests.messages import rejects
from tests.search import search

ENTRIES = (Entry("Regression", "Regression"), Entry("cosine", "RankCosine", grid={"l2": [1e-5, 1e-1, 1.0]}))


@pytest.fixture(scope="module")
def splits():
    return k_fold_splits(letor_queries(18, seed=3), 3)


def numbers(found):
    """All that must not depend on how it was run."""
    document = found.to_dict()
    for row in document["rows"]:
        del row["seconds"]
    tried = [
        replace(each, seconds=0.0)
        for entry in found.entries
        for fold in found.folds
        for each in found.candidates(entry, fold)
    ]
    values = [found.values(e, m).tolist() for e in found.entries for m in found.measures]
    return (
        json.dumps(document),
        repr(tried),
        repr(values),
        found.query_ids,
        repr(list(map(found.top, found.entries))),
    )


# splits


def test_letor_splits_are_the_files(tmp_path):
    folder = letor_folder(tmp_path, n_folds=3, n_queries=9)
    found = letor_splits(folder)
    assert [split.name for split in found] == ["Fold1", "Fold2", "Fold3"]
    for split in found:
        for part, name in zip(split.parts, ("train", "vali", "test"), strict=True):
            file = read_letor(folder / split.name / f"{name}.txt")
            assert np.array_equal(part.features, file.features)
            assert part.query_ids == file.query_ids


def test_letor_splits_are_all_as_wide_as_the_widest_file(tmp_path):
    folder = letor_folder(tmp_path, n_folds=3, n_queries=9)
    with (folder / "Fold2" / "test.txt").open("a") as file:
        file.write("1 qid:99 1:0.5 7:0.25 #docid = X\n")
    for split in letor_splits(folder):
        assert {part.n_features for part in split.parts} == {7}
    assert split.train.features[:, 4:].sum() == 0.0


def test_a_split_depends_on_all_that_figures_depend_on(splits):
    first = splits[0]
    renamed = replace(first.test, doc_ids=first.test.doc_ids[::-1])
    others = [
        Split("x", first.train, None, first.test),
        Split("x", first.train, first.valid, renamed),
        Split("x", first.valid, first.train, first.test),
        splits[1],
    ]
    assert len({split.digest for split in [first, *others]}) == 5
    assert Split("other name", first.train, first.valid, first.test).digest == first.digest


def test_in_k_folds_every_query_tests_once_and_chooses_once():
    q = letor_queries(17)
    found = k_fold_splits(q, 5, seed=2)
    for part in ("test", "valid"):
        ids = [query for split in found for query in getattr(split, part).query_ids]
        assert sorted(ids) == sorted(q.query_ids)
    assert all(
        Counter([*s.train.query_ids, *s.valid.query_ids, *s.test.query_ids]) == Counter(q.query_ids)
        for s in found
    )
    assert [s.test.query_ids for s in found] == [s.test.query_ids for s in k_fold_splits(q, 5, seed=2)]
    assert [s.test.query_ids for s in found] != [s.test.query_ids for s in k_fold_splits(q, 5, seed=3)]


def test_folds_that_cannot_be_are_rejected():
    with rejects(InputError):
        k_fold_splits(letor_queries(6), 7)
    with rejects(InputError):
        k_fold_splits(letor_queries(6), 2)


# what is chosen, and what is reported


def test_figures_are_those_of_rankers_trained_one_by_one(splits):
    """The loop that a reader would write by hand."""
    found = cross_validate(splits, ENTRIES, ["nDCG@3", "AP"], select="AP")
    tests, chosen = [], []
    for split in splits:
        best = (-math.inf, None, None)
        for l2 in (1e-5, 1e-1, 1.0):
            ranker = method("RankCosine").ranker(measure=AP(), l2=l2)
            ranker.fit_queries(split.train, split.valid, measure=AP())
            value = mean_of(AP(), ranker.predict_queries(split.valid), split.valid)
            best = max(best, (value, -l2, ranker), key=lambda b: b[0])
        tests.append(values_of(NDCG(k=3), best[2].predict_queries(split.test), split.test))
        chosen.append({"l2": -best[1]})
    assert found.selected("cosine") == tuple(chosen)
    assert found.values("cosine", "nDCG@3").tolist() == np.concatenate(tests).tolist()
    assert found.folds_of("cosine", "nDCG@3") == tuple(values.mean() for values in tests)
    assert found.mean("cosine", "nDCG@3") == pytest.approx(np.mean([v.mean() for v in tests]), abs=1e-15)
    assert found.query_ids == tuple(query for split in splits for query in split.test.query_ids)


def test_means_of_parts_and_candidates_are_kept(splits):
    found = cross_validate(splits, [ENTRIES[1]], ["AP"], keep_top=2)
    tried = found.candidates("cosine", "Fold2")
    assert [each.settings for each in tried] == [{"l2": l2} for l2 in (1e-5, 1e-1, 1.0)]
    split = splits[1]
    ranker = method("RankCosine").ranker(measure=AP(), l2=1e-5)
    ranker.fit_queries(split.train, split.valid, measure=AP())
    for part in ("train", "valid", "test"):
        q = getattr(split, part)
        assert getattr(tried[0], part) == {"AP": mean_of(AP(), ranker.predict_queries(q), q)}
    assert tried[0].chosen_by == tried[0].valid["AP"]
    picked = [found.candidates("cosine", f"Fold{i}") for i in (1, 2, 3)]
    best = [max(each, key=lambda c: c.chosen_by) for each in picked]
    assert found.train("cosine", "AP") == pytest.approx(np.mean([b.train["AP"] for b in best]))
    assert found.valid("cosine", "AP") == pytest.approx(np.mean([b.valid["AP"] for b in best]))
    assert found.seconds("cosine") == pytest.approx(sum(c.seconds for each in picked for c in each))
    top = found.top("cosine")
    assert len(top) == 18
    assert all(len(query) == 2 and query[0][1] >= query[1][1] for query in top)


def test_of_equal_candidates_the_earliest_is_chosen(splits):
    """max_iter does nothing to what has converged before."""
    grid = {"max_iter": [900, 800, 1000], "l2": [1e-1]}
    found = cross_validate(splits, [Entry("a", "RankSVM", grid=grid)], ["AP"])
    values = {each.chosen_by for each in found.candidates("a", "Fold1")}
    assert len(values) == 1
    assert [each["max_iter"] for each in found.selected("a")] == [900, 900, 900]


def test_validation_chooses_and_not_test(splits):
    """With the labels of the test queries turned round nothing else is chosen."""
    turned = [replace(s, test=replace(s.test, labels=2.0 - s.test.labels)) for s in splits]
    first, second = (cross_validate(each, [ENTRIES[1]], ["AP"]) for each in (splits, turned))
    assert first.selected("cosine") == second.selected("cosine")
    assert first.mean("cosine", "AP") > second.mean("cosine", "AP")


def test_auto_chooses_what_a_search_chooses(splits):
    """Among several methods their order counts within one standard error."""
    found = cross_validate(splits[:1], [Entry("auto", "auto", {"max_iter": 5, "epochs": 2})], ["AP"])
    alone = search(
        splits[0].train, splits[0].valid, method="auto", measure="AP", settings={"max_iter": 5, "epochs": 2}
    )
    (selected,) = found.selected("auto")
    assert selected == {"method": alone.chosen.name, **alone.chosen.candidate.settings}
    values = {each.method: each.chosen_by for each in found.candidates("auto", "Fold1")}
    assert set(values) == {each.name for each in alone.trials}


@pytest.mark.parametrize(("others", "chosen"), [((0.7, 0.5, 0.6, 0.6), 0), ((0.6, 0.6, 0.7, 0.6), 1)])
def test_the_best_method_is_chosen_and_of_equals_the_first(splits, monkeypatch, others, chosen):
    """Level, and ahead by .025 +- .048."""
    candidates = [Candidate(method(name), {}, measure=AP(), seed=0) for name in ("ListNet", "RankSVM")]
    outcomes = {}

    def finished(cells, *_, **__):
        for cell, judged in zip(cells, [(0.5, 0.7, 0.6, 0.6), others], strict=True):
            means = {part: [0.5] for part in ("train", "valid", "test")}
            common = {"status": "converged", "steps": 1, "seconds": 0.1, "values": [[0.5] * 6]}
            outcomes[cell.key] = {**common, **means, "chosen_by": sum(judged) / 4, "judged": list(judged)}
        return outcomes

    monkeypatch.setattr(crossval, "run_cells", finished)
    monkeypatch.setattr(crossval, "candidates_of", lambda *_, **__: (candidates, ()))
    found = cross_validate(splits[:1], ["auto"], ["AP"])
    assert found.results["auto"][0].chosen == chosen


def test_without_a_validation_part_the_training_queries_choose_as_in_a_search(splits):
    split = Split("Fold1", letor_queries(12, seed=7), None, splits[0].test)  # from 10 queries on in turns
    found = cross_validate([split], [ENTRIES[1]], ["AP"])
    fixed = Entry("", "RankCosine", grid={"l2": [1e-5, 1e-1, 1.0]})
    alone = search(
        split.train, method=replace(method("RankCosine"), grid={"l2": (1e-5, 1e-1, 1.0)}), measure="AP"
    )
    assert fixed.resolved.keeps_best  # as many steps as on the inner folds
    assert found.selected("cosine") == (alone.chosen.candidate.settings,)
    scores = alone.ranker.predict_queries(split.test)
    assert found.values("cosine", "AP").tolist() == values_of(AP(), scores, split.test).tolist()
    assert [c.chosen_by for c in found.candidates("cosine", "Fold1")] == [c.valid for c in alone.trials]


def test_a_convention_counts_in_reports_and_in_the_choice(splits):
    names = ["AP", "nDCG@3"]
    found = cross_validate(splits, ["Regression"], names, convention="letor3")
    assert found.convention == "letor3"
    assert found.measures == ("AP", "nDCG@3")
    ranker = method("Regression").ranker().fit_queries(splits[0].train)
    q = splits[0].test
    wanted = evaluate(
        names, ranker.predict_queries(q), q.labels, qptr=q.qptr, convention="letor3", per_query=True
    )
    for name in names:
        assert found.values("Regression", name)[: q.n_queries].tolist() == wanted[name].tolist()
    chosen_by = found.candidates("Regression", "Fold1")[0].chosen_by
    other = cross_validate(splits, ["Regression"], names, select="nDCG@3", convention="letor3")
    plain = cross_validate(splits, ["Regression"], names, select=NDCG(k=3), convention="letor3")
    assert chosen_by == found.candidates("Regression", "Fold1")[0].valid["AP"]
    assert (
        other.candidates("Regression", "Fold1")[0].chosen_by
        == other.candidates("Regression", "Fold1")[0].valid["nDCG@3"]
    )
    assert (
        plain.candidates("Regression", "Fold1")[0].chosen_by
        != other.candidates("Regression", "Fold1")[0].chosen_by
    )


def test_a_measure_that_a_tool_lacks_is_said(splits):
    with pytest.warns(UserWarning, match="letor3 has no RR"):
        cross_validate(splits[:1], ["Regression"], ["RR"], convention="letor3")


def test_an_entry_may_be_chosen_by_a_measure_of_its_own(splits):
    entries = [Entry("by AP", "Regression", measure="AP"), Entry("by nDCG", "Regression", measure="nDCG@3")]
    found = cross_validate(splits[:1], entries, ["AP", "nDCG@3"], select="RR")
    for entry, name in (("by AP", "AP"), ("by nDCG", "nDCG@3")):
        (each,) = found.candidates(entry, "Fold1")
        assert each.chosen_by == each.valid[name]


def test_queries_without_a_value_are_nan_and_do_not_count(splits):
    labels = splits[0].test.labels.copy()
    low, high = splits[0].test.qptr[1:3]
    labels[low:high] = 0.0
    split = replace(splits[0], test=replace(splits[0].test, labels=labels))
    found = cross_validate([split], ["Regression"], ["AP(empty='skip')"])
    values = found.values("Regression", "AP(empty='skip')")
    assert np.isnan(values).tolist() == [i == 1 for i in range(len(values))]
    assert found.mean("Regression", "AP(empty='skip')") == pytest.approx(np.nanmean(values))
    json.dumps(found.to_dict(), allow_nan=False)
    both = cross_validate([split], ["Regression", "RankCosine"], ["AP", "AP(empty='skip')"])
    n = len(values)
    assert f"Regression over {n - 1} to {n} defined queries" in both.tables()[0].notes[-1]


def test_one_entry_and_one_measure_need_no_list(splits):
    found = cross_validate(splits[:1], ENTRIES[0], "AP")
    assert (found.entries, found.measures) == (("Regression",), ("AP",))
    document = found.to_dict()
    assert (document["convention"], document["select"], document["significance"]["rows"]) == (
        "default",
        "AP",
        [],
    )
    by_object = cross_validate(splits[:1], "Regression", AP())
    assert by_object.mean("Regression", "AP") == found.mean("Regression", "AP")


# however it is run


def test_numbers_do_not_depend_on_workers(splits):
    options = {"keep_top": 3}
    alone = cross_validate(splits, ENTRIES, ["AP", "nDCG@3"], **options)
    two = cross_validate(splits, ENTRIES, ["AP", "nDCG@3"], n_jobs=2, **options)
    assert numbers(two) == numbers(alone)


def test_large_data_reach_other_processes_as_files_with_the_same_numbers(splits):
    """Arrays of more than a megabyte are mapped by joblib."""
    q = make_linear(240, 40, 40, seed=1)[0]
    large = k_fold_splits(q, 3)[:1]
    assert large[0].train.features.nbytes > 1e6
    alone, two = (cross_validate(large, ["Regression", "ListNet"], "AP", n_jobs=n) for n in (1, 2))
    assert numbers(two) == numbers(alone)


@pytest.mark.parametrize("backend", ["threading", "multiprocessing"])
def test_numbers_do_not_depend_on_the_backend_of_joblib(splits, backend):
    alone = cross_validate(splits, ENTRIES, ["AP"])
    with joblib.parallel_config(backend, n_jobs=2):
        other = cross_validate(splits, ENTRIES, ["AP"])
    assert numbers(other) == numbers(alone)


def test_a_finished_file_is_not_computed_again(splits, tmp_path):
    path = tmp_path / "cells.jsonl"
    first = cross_validate(splits, ENTRIES, ["AP"], path=path)
    before, said = path.read_bytes(), []
    again = cross_validate(splits, ENTRIES, ["AP"], path=path, progress=lambda *now: said.append(now))
    assert numbers(again) == numbers(first)
    assert path.read_bytes() == before
    assert said == []
    more = cross_validate(splits, [*ENTRIES, "ListNet"], ["AP"], path=path)
    assert path.read_bytes().startswith(before)
    assert len(path.read_text().splitlines()) == 12 + 3 * 8  # folds, and the grid of ListNet
    assert more.folds_of("Regression", "AP") == first.folds_of("Regression", "AP")


def test_cells_of_other_data_or_settings_are_other_cells(splits, tmp_path):
    path, one = tmp_path / "cells.jsonl", {"l2": 0.1, "centered": True}
    others = [
        {},
        {"measures": ["AP", "RR"]},
        {"select": "RR"},
        {"seed": 1},
        {"keep_top": 1},
        {"convention": "letor3"},
        {"splits": [replace(splits[1], name="Fold1")]},
        {"entries": [Entry("a", replace(method("RankCosine"), fixed={"centered": False}), one)]},
    ]
    for count, other in enumerate(others, start=1):
        given = {"splits": splits[:1], "entries": [Entry("a", "RankCosine", one)]}
        cross_validate(**{**given, "measures": ["AP"], **other}, path=path)
        assert len(path.read_text().splitlines()) == count


OWN = """
from dataclasses import dataclass
import directrix as dx
from directrix.measures import RankingMeasure

@dataclass(frozen=True, kw_only=True, repr=False)
class Steep(RankingMeasure):
    symbol = "Steep"
    form = "sum"
    def worth(self, labels):
        return labels
    def discounts(self, n):
        return [1 / rank**1 for rank in range(1, n + 1)]

@dataclass(frozen=True)
class Turned:
    properties = frozenset({"smooth", "convex"})
    def value_and_grad(self, scores, labels, qptr):
        value, grad = dx.ListNet().value_and_grad(scores, labels, qptr)
        return +1 * value, +1 * grad

def stopping(max_iter=7):
    return dx.LBFGS(max_iter=1 * max_iter)
"""


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ("rank**1", "rank**3", "measure Steep"),
        ("+1 * value, +1 * grad", "-1 * value, -1 * grad", "surrogate Turned"),
        ("=1 * max_iter", "=1", "trainer LBFGS"),
    ],
)
def test_cells_of_code_that_was_edited_are_rejected(splits, tmp_path, old, new, name):
    path = tmp_path / "cells.jsonl"

    def run(text, path):
        own = {"__name__": "own"}
        exec(text, own)
        tried = Method.of(own["Turned"], trainer=own["stopping"], source="", cost="", use_when="")
        return cross_validate(splits[:1], Entry("mine", tried), own["Steep"](), path=path).mean(
            "mine", "Steep"
        )

    before = run(OWN, path)
    content = path.read_bytes()
    assert run(OWN.replace("class Turned", "# a comment\nclass Turned"), path) == before
    assert OWN.count(old) == 1
    with pytest.raises(
        InputError, match=rf"cells\.jsonl: {name} changed .* Give another path, or remove the"
    ):
        run(OWN.replace(old, new), path)
    assert path.read_bytes() == content
    run(OWN.replace(old, new), tmp_path / "others.jsonl")


# what is refused, and what fails


def test_a_candidate_that_cannot_be_trained_is_reported(splits, monkeypatch):
    def fussy(trial, *rest):
        if trial.settings.get("l2") == 1e-5:
            raise InputError("labels 0 and 1 are needed")
        return plain(trial, *rest)

    plain = crossval.train_candidate
    monkeypatch.setattr(crossval, "train_candidate", fussy)
    found = cross_validate(splits[:2], ENTRIES, ["AP"])
    failed = found.candidates("cosine", "Fold1")[0]
    assert (failed.status, failed.message) == ("failed", "labels 0 and 1 are needed")
    assert math.isnan(failed.chosen_by)
    assert failed.test == {}
    assert all(settings["l2"] != 1e-5 for settings in found.selected("cosine"))
    with rejects(InputError):
        cross_validate(splits[:1], [Entry("a", "RankCosine", {"l2": 1e-5, "centered": True})], ["AP"])


@dataclass(frozen=True)
class Overflowing:
    """A surrogate whose loss is not finite."""

    properties = frozenset()
    measure = NDCG()

    def value_and_grad(self, scores, labels, qptr):
        """Return values of infinity."""
        return np.full(len(qptr) - 1, np.inf), np.zeros_like(scores)


def test_values_of_a_start_that_could_not_be_trained_are_noted(splits):
    """Otherwise the row of a method that never took a step would show the values of Regression."""
    with pytest.warns(NotConverged, match="not finite at the start; .*check_surrogate"):
        found = cross_validate(splits[:1], ["Regression", Overflowing()], ["AP"])
    assert found.mean("Overflowing", "AP") == found.mean("Regression", "AP")
    note = "Overflowing, Fold1: training ended because the loss was not finite; the start was kept."
    assert note in found.tables()[0].notes
    assert not any("Regression, Fold1" in note for note in found.tables()[0].notes)


def test_test_queries_that_are_also_trained_on_are_noted(splits):
    first = splits[0]
    both = first.train.take(range(2)), first.valid.take(range(1))
    for part, n in zip(both, (2, 1), strict=True):
        with pytest.warns(
            UserWarning, match=f"Fold1: {n} of {n} test queries are also training or validation"
        ):
            cross_validate([replace(first, test=part)], ["Regression"], ["AP"])
    numbered = replace(first.test, query_ids=first.train.query_ids[: first.test.n_queries])
    assert not repeated_queries(replace(first, test=numbered))  # every file may count from 1


def test_the_text_of_a_result_is_its_tables(splits):
    found = cross_validate(splits, ["Regression"], ["AP"])
    assert str(found) == "\n\n".join(table.text() for table in found.tables())
    assert repr(found) == (
        "CrossValidation(entries=('Regression',), measures=('AP',), folds=('Fold1', 'Fold2', 'Fold3'))"
    )


def test_captions_and_tests_of_all_pairs(splits):
    names = ["AP", "RR", "P@1"]
    found = cross_validate(splits[:1], ["Regression", "RankCosine"], names)
    assert r"\caption{AP, RR and P@1 on the test queries of Fold1. Settings" in found.latex()
    for test in ("tukey", "randomized-tukey"):
        with rejects(InputError):
            found.latex(test=test)
        assert "Fold1" in found.latex(test=test, all_pairs=True)


def test_messages(splits):
    run = lambda entries=ENTRIES, measures=("AP",), given=splits, **more: cross_validate(  # noqa: E731
        given, entries, measures, **more
    )
    cases = [
        (dict(entries=[]), "3 folds, 0 entries, 1 measures; at least one of each is needed"),
        (dict(entries=["Regression", "Regression"]), r"given 2 times.*e.g. Entry\('Regression 2', method\)"),
        (dict(given=[splits[0], splits[0]]), "fold 'Fold1' is given 2 times"),
        (dict(entries=["Regresion"]), "did you mean 'Regression'"),
        (dict(entries=[Entry("a", "RankCosine", grid={"l2": []})]), r"a: grid\['l2'\] is \[\]"),
        (dict(entries=[Entry("a", "RankCosine", grid={"l2": 0.1})]), r"a: grid\['l2'\] is 0.1"),
        (dict(entries=[Entry("a", "RankCosine", grid={"alpha": [1]})]), "has no setting 'alpha'"),
        (dict(entries=[Entry("a", "RankCosine", {"l2": -1.0})]), "l2"),
        (dict(entries=[Entry("a", "auto", grid={"l2": [0.1]})]), "a grid was given for 'auto', which tries"),
        (dict(seed=-1), "seed"),
        (dict(keep_top=-1), "keep_top"),
        (dict(convention="letor9"), "letor9"),
    ]  # fmt: skip
    for given, message in cases:
        with pytest.raises(ValueError, match=message):  # scikit-learn's own for l2
            run(**given)
    wide = replace(splits[0], test=splits[0].test.widened(9))
    with rejects(InputError):
        run(given=[wide])
    wide = replace(splits[0], valid=splits[0].valid.widened(9))
    with rejects(InputError):
        run(given=[wide])
    for part, name in (("train", "training"), ("test", "test")):
        q = getattr(splits[0], part)
        missing = q.features.copy()
        missing[3, 1] = np.nan
        bad = replace(splits[0], **{part: replace(q, features=missing)})
        with pytest.raises(InputError, match=f"Fold1: row 3 of the {name} data: feature 2 is missing"):
            run(given=[bad])
    found = run(["Regression"])
    assert found.top("Regression") == ()  # none were asked for
    with rejects(InputError):
        found.mean("x", "AP")
    with rejects(InputError):
        found.values("Regression", "RR")
    with rejects(InputError):
        found.candidates("Regression", "Fold9")


@pytest.mark.parametrize("name", ["nDCG@10", "AP"])
def test_every_method_can_be_made_under_every_convention(name):
    """Ties and empty queries of a tool are for judging; LambdaRank can be trained for neither."""
    needs_sum = ("ApproxMeasure", "ApproxMeasure-MLP")
    able = [way for way in methods() if name != "AP" or way.name not in needs_sum]
    for tool in conventions():
        plans = [plan_entry(Entry("a", way), name, tool) for way in able]
        judged, goal = plans[0].measure, plans[0].candidates[0].measure
        assert getattr(goal, "gain", None) == getattr(judged, "gain", None)
        assert goal.ties == "expected"


def test_lambdarank_is_evaluated_by_the_convention_that_it_cannot_be_trained_for(splits):
    entry = Entry("a", "LambdaRank", {"learning_rate": 0.01, "epochs": 2})
    found = cross_validate(splits[:1], [entry], ["nDCG@3"], convention="trec_eval")
    ranker = entry.resolved.ranker(measure=NDCG(k=3, gain="linear"), random_state=0, **entry.settings)
    goal = NDCG(k=3).under("trec_eval")
    ranker.fit_queries(splits[0].train, splits[0].valid, measure=goal)
    q = splits[0].test
    wanted = values_of(goal, ranker.predict_queries(q), q)
    assert found.values("a", "nDCG@3").tolist() == wanted.tolist()


def test_constraints_hold_for_all_candidates(splits):
    entry = Entry("kept", "ApproxNDCG,SmoothNDCG,RankBoost", {"bounds": {0: (None, 0.0)}, "max_iter": 5})
    found = cross_validate(splits[:1], [entry], "nDCG@5")
    tried = found.candidates("kept", found.folds[0])
    assert {each.method for each in tried} == {"ApproxNDCG"}
    assert all(each.settings["bounds"] == {0: (None, 0.0)} for each in tried)
