"""Fusion: weights against all weights of a grid, formulas against naive ones, and honest tests."""

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.trec.pool import Pool
from directrix.fusion.combination import (
    NORMALIZERS,
    Combination,
    normalized,
    pool_of,
    runs_of,
)
from directrix.fusion.engines import ENGINES, computes, configuration
from directrix.fusion.methods import Weigher, dominated
from directrix.registry import MEASURES, classes
from tests.messages import rejects
from tests.reference.lines import points_between


def made(seed=0, n_queries=12, n_docs=30, n_runs=2, change=float):
    """Runs that are right in part, with documents that only some of them have, and judgments."""
    rng = np.random.default_rng(seed)
    runs, qrels = {f"r{i}": {} for i in range(n_runs)}, {}
    for q in range(n_queries):
        label = rng.integers(0, 4, n_docs) * (rng.random(n_docs) < 0.3)
        qrels[f"q{q}"] = {f"d{d}": int(label[d]) for d in range(n_docs) if label[d] or rng.random() < 0.5}
        for i, of in enumerate(runs.values()):
            scores = label + rng.normal(0.0, 1.5 + i, n_docs)
            of[f"q{q}"] = {f"d{d}": change(float(scores[d])) for d in range(n_docs) if rng.random() < 0.7}
    return runs, qrels


def pool_and_weigher(measure, **kinds):
    runs, qrels = made(**kinds)
    pool = pool_of(runs_of(runs), qrels)
    return pool, Weigher(pool, dx.measure(measure), 0)


def mean(weigher, kind, weights, *by):
    return np.nanmean(weigher.value(Combination(kind, tuple(weights), *by)))


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "P@5", "RR", "ERR@5", "Recall@5", "Rprec", "ROCArea"])
@pytest.mark.parametrize("normalizer", NORMALIZERS)
def test_the_optimum_of_two_runs_is_the_best_of_all_intervals_between_crossings(measure, normalizer):
    pool, weigher = pool_and_weigher(measure, seed=8, n_queries=5, n_docs=14)
    first, second = normalized(pool, normalizer).T
    points = points_between(first, second - first, pool.qptr)
    points = np.concatenate([[0.0, 1.0], points[(points > 0.0) & (points < 1.0)]])
    assert len(points) > 50
    every = [mean(weigher, "linear", (1.0 - a, a), normalizer) for a in points.tolist()]
    found = weigher.linear(normalizer)
    best = weigher.mean(found.combination)
    assert best == pytest.approx(max(every), abs=1e-12)
    for a in np.linspace(*found.interval, 12)[1:-1]:
        assert mean(weigher, "linear", (1.0 - a, a), normalizer) == pytest.approx(best, abs=1e-12)


def sparse(seed, n_runs=2, digits=15):
    """Short runs of different documents, some of them not judged, and judged ones that no run has."""
    rng = np.random.default_rng(seed)
    qrels = {f"q{q}": {f"d{d}": int(rng.integers(-1, 3)) for d in range(15)} for q in range(4)}
    runs = {f"r{i}": {} for i in range(n_runs)}
    for query, judged in qrels.items():
        for run in runs.values():
            kept = [f"d{d}" for d in range(12) if d == 0 or rng.random() < 0.4]
            run[query] = {d: round(rng.normal() + 0.5 * max(judged[d], 0), digits) for d in kept}
        qrels[query] = {
            d: max(grade, d == "d1") for d, grade in judged.items() if grade or rng.random() < 0.5
        }
    return runs, qrels


def every_measure():
    return [kind().name for kind in classes(MEASURES).values()] + [
        "nDCG@3",
        "P@3",
        "AP(empty=skip)",
        "nDCG(ties=worst)@4",
    ]


@pytest.mark.parametrize("digits", [15, 0])
@pytest.mark.parametrize("measure", every_measure())
def test_values_are_those_that_evaluate_gives_to_each_run_alone(measure, digits):
    if dx.measure(measure).form is None:
        with pytest.raises(dx.InputError, match=r"not a sum over the ranks|by subtopic"):
            dx.fuse(*sparse(0), measure, n_folds=2)
        return

    def value(run):
        return dx.evaluate(measure, run=run, qrels=qrels)[measure]

    for seed in range(3):
        runs, qrels = sparse(seed, digits=digits)
        fusion = dx.fuse(runs, qrels, measure, n_folds=2)
        for name, run in runs.items():
            assert fusion.runs[name] == pytest.approx(value(run), rel=1e-12, nan_ok=True)
        for row in fusion.rows:
            applied = replace(fusion, method=row.method, of_class={"": row.combination}).apply(runs)
            assert row.value == pytest.approx(value(applied), rel=1e-9, nan_ok=True), row.method


@pytest.mark.parametrize(
    "measure", ["nDCG@3", "AP", "RR", "P@3", "Rprec", "ROCArea", "AP(ties=trec)", "DCG@5"]
)
@pytest.mark.parametrize("digits", [15, 1])
def test_no_weights_of_a_grid_with_both_ends_are_better(measure, digits):
    for seed in range(3):
        pool = pool_of(runs_of(sparse(seed, digits=digits)[0]), sparse(seed, digits=digits)[1])
        weigher = Weigher(pool, dx.measure(measure), 0)
        for found in (
            weigher.linear("min-max"),
            weigher.linear("none"),
            weigher.best(Combination("rrf", (0.5, 0.5))),
        ):
            shape = found.combination
            grid = [replace(shape, weights=(1.0 - t, t)) for t in np.linspace(0.0, 1.0, 101).tolist()]
            assert weigher.mean(shape) >= max(map(weigher.mean, grid)) - 1e-9
            assert found.interval or shape.weights in ((1.0, 0.0), (0.5, 0.5), (0.0, 1.0))


@pytest.mark.parametrize("n_runs", [2, 3])
@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "ROCArea"])
def test_a_weight_of_0_leaves_a_run_out(measure, n_runs):
    runs, qrels = sparse(3, n_runs)
    weigher = Weigher(pool_of(runs_of(runs), qrels), dx.measure(measure), 0)
    for single in weigher.single_runs:
        alone = weigher.mean(single)
        for normalizer in NORMALIZERS:
            assert mean(weigher, "linear", single.weights, normalizer) == pytest.approx(alone, rel=1e-12)
            assert weigher.mean(weigher.linear(normalizer).combination) >= alone - 1e-12
    for engine in ENGINES:
        combination = Combination("rrf", (0.0, 1.0))
        assert not computes(engine, combination)
        assert any("weight 0" in note for note in configuration(engine, ("a", "b"), combination)[1])


@pytest.mark.parametrize("measure", ["nDCG@5", "AP", "P@5", "Recall@5"])
@pytest.mark.parametrize(
    ("seed", "n_runs", "normalizer"), [(11, 3, "min-max"), (1, 4, "z-score"), (11, 5, "min-max")]
)
def test_neither_moving_one_weight_nor_random_weights_are_better(measure, seed, n_runs, normalizer):
    _, weigher = pool_and_weigher(measure, seed=seed, n_runs=n_runs)
    found = weigher.linear(normalizer).combination
    assert sum(found.weights) == pytest.approx(1.0)
    others = list(np.random.default_rng(7).dirichlet(np.ones(n_runs), size=100))
    for i in range(n_runs):
        for factor in np.append(0.0, np.geomspace(0.01, 100.0, 40)):
            moved = np.array(found.weights)
            moved[i] = factor * moved[i] if moved[i] > 0.0 else 0.1 * factor
            if moved.sum() > 0.0:
                others.append(moved / moved.sum())
    best = weigher.mean(found) + 1e-12
    assert max(mean(weigher, "linear", weights, normalizer) for weights in others) <= best


@pytest.mark.parametrize("measure", ["nDCG@3", "AP", "P@3"])
def test_the_line_search_sees_the_measure_of_the_whole_pool_up_to_a_factor(measure):
    _, weigher = pool_and_weigher(measure, seed=2, n_docs=80, n_runs=3)
    parts = normalized(weigher.pool, "min-max")[weigher._is_reached]
    every = np.random.default_rng(0).dirichlet(np.ones(3), size=20)
    ratios = [mean(weigher, "linear", weights) / weigher._line.value(parts @ weights) for weights in every]
    assert np.ptp(ratios) < 1e-9


def test_dominated_documents_are_never_among_the_first():
    pool, _ = pool_and_weigher("AP", seed=4, n_docs=120, n_runs=3)
    is_dominated = dominated(pool, 5)
    assert 0 < is_dominated.sum() < len(is_dominated)
    for normalizer in NORMALIZERS:
        for weights in np.random.default_rng(1).dirichlet(np.ones(3), size=30):
            scores = Combination("linear", tuple(weights), normalizer).scores(pool)
            for a, b in zip(pool.qptr[:-1], pool.qptr[1:], strict=True):
                first = np.argsort(-scores[a:b], kind="stable")[:5]
                assert not is_dominated[a:b][first].any()


def test_normalizers_are_what_their_table_says():
    runs = {"a": {"q": {"x": 4.0, "y": 2.0, "z": 1.0}}, "b": {"q": {"x": 7.0}}}
    pool = pool_of(runs_of(runs), {"q": {"x": 1, "w": -1}})
    assert pool.doc_ids.tolist() == ["z", "y", "x", "w"]
    assert pool.labels.tolist() == [0.0, 0.0, 1.0, 0.0]
    wanted = {
        "min-max": ([0.0, 1 / 3, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]),
        "sum": ([0.0, 0.25, 0.75, 0.0], [0.0, 0.0, 1.0, 0.0]),
        "rank": ([1 / 3, 2 / 3, 1.0, 0.0], [0.0, 0.0, 1.0, 0.0]),
        "none": ([1.0, 2.0, 4.0, 1.0], [7.0] * 4),
    }
    for name, columns in wanted.items():
        np.testing.assert_allclose(normalized(pool, name).T, columns)
    z = normalized(pool, "z-score")[:3, 0]
    assert (z.mean(), z.std()) == pytest.approx((0.0, 1.0))
    np.testing.assert_allclose(
        Combination("rrf", (1.0, 0.0)).parts(pool)[:, 0], [1 / 63, 1 / 62, 1 / 61, 0.0]
    )


def test_combmnz_counts_the_runs_and_unretrieved_documents_stay_out():
    runs = {"a": {"q": {"x": 4.0, "y": 2.0}}, "b": {"q": {"x": 7.0, "z": 1.0}}}
    pool = pool_of(runs_of(runs), {"q": {"w": 1, "x": 0}})
    scores = Combination("combmnz", (0.5, 0.5)).scores(pool)
    assert dict(zip(pool.doc_ids, scores, strict=True)) == {"x": 2.0, "y": 0.0, "z": 0.0, "w": -np.inf}


def test_the_result_has_what_was_chosen_and_applies_it():
    runs, qrels = made(n_queries=20)
    fusion = dx.fuse(runs, qrels, "nDCG@5")
    assert sum(fusion.weights.values()) == pytest.approx(1.0)
    row = next(row for row in fusion.rows if row.method == fusion.method)
    fused = fusion.apply(runs)
    assert dx.evaluate("nDCG@5", run=fused, qrels=qrels)["nDCG@5"] == pytest.approx(row.value)
    assert row.tested == max(row.tested for row in fusion.rows)
    assert json.loads(json.dumps(fusion.to_dict()))["method"] == fusion.method
    assert "over the best run" in str(fusion)
    again = dx.fuse(dict(reversed(runs.items())), qrels, "nDCG@5", method=fusion.method)
    assert again.weights == pytest.approx(fusion.weights, abs=1e-9)
    with rejects(dx.InputError):
        fusion.apply({"x": runs["r0"], "y": runs["r1"]})  # other systems


def test_tested_values_are_of_weights_chosen_on_the_other_folds():
    runs, qrels = made(seed=5)
    pool, measure, n = pool_of(runs_of(runs), qrels), dx.measure("nDCG@5"), 12
    values = np.full(n, np.nan)
    for fold in np.array_split(np.random.default_rng(2).permutation(n), 3):
        others = Weigher(pool.take(np.setdiff1d(np.arange(n), fold)), measure, 0)
        chosen = others.linear("min-max").combination
        values[fold] = Weigher(pool.take(fold), measure, 0).value(chosen)
    rows = {row.method: row for row in dx.fuse(runs, qrels, measure, n_folds=3, seed=2).rows}
    assert rows["linear, min-max"].tested == pytest.approx(np.nanmean(values), rel=1e-12)
    assert rows["linear, min-max"].tested < rows["linear, min-max"].value


def test_the_best_run_alone_ranks_its_own_documents_in_falling_order():
    runs, qrels = made()
    fusion = dx.fuse(runs, qrels, method="best run")
    best = max(fusion.weights, key=fusion.weights.get)
    applied = fusion.apply(runs)
    for q, query in enumerate(applied.query_ids):
        part = slice(applied.qptr[q], applied.qptr[q + 1])
        assert set(applied.doc_ids[part]) == set(runs[best][query])
        assert (np.diff(applied.scores[part]) <= 0).all()


def test_weights_by_class_help_where_the_good_run_depends_on_the_class():
    runs, qrels = made(n_queries=40, seed=6)
    classes = {f"q{q}": "odd" if q % 2 else "even" for q in range(40)}
    mixed = {
        name: {q: runs["r0" if (classes[q] == "odd") == is_odd else "r1"][q] for q in classes}
        for name, is_odd in (("a", True), ("b", False))
    }
    fusion = dx.fuse(mixed, qrels, "nDCG@5", classes=classes, method="linear, by class")
    assert fusion.of_class["odd"].weights[0] > 0.5 > fusion.of_class["even"].weights[0]
    values = {row.method: row.tested for row in fusion.rows}
    assert values["linear, by class"] > values["linear, min-max"]
    single, _ = fusion.tables()
    assert single.columns[2:] == ("weight in linear, by class", "class even", "class odd")
    for i, row in enumerate(single.rows):
        assert row[2:] == tuple(fusion.of_class[name].weights[i] for name in ("", "even", "odd"))
    applied, without = fusion.apply(mixed, classes), fusion.apply(mixed)
    values = [dx.evaluate("nDCG@5", run=run, qrels=qrels)["nDCG@5"] for run in (applied, without)]
    assert values[0] == pytest.approx(next(row.value for row in fusion.rows if row.method == fusion.method))
    assert values[0] > values[1]


def value_of_written(fused, qrels, measure, path, **options):
    dx.data.write_trec_run(fused, path)
    return dx.evaluate(measure, run=path, qrels=qrels, **options)[measure]


@pytest.mark.slow
@pytest.mark.parametrize("measure", ["nDCG@5", "AP(ties=trec)", "P(ties=order)@3", "RR(ties=worst)"])
@pytest.mark.parametrize("digits", [0, 1, 17])
def test_the_written_run_has_the_printed_value(tmp_path, digits, measure):
    """Also where documents tie, and in a pool of all topics, judged or not."""
    runs, qrels = made(seed=digits, n_runs=3, n_docs=40, change=lambda score: round(score, digits) / 3.0)
    del qrels["q3"]
    for row in dx.fuse(runs, qrels, measure, n_folds=2).rows:
        fused = dx.fuse(runs, qrels, measure, method=row.method, n_folds=2).apply(runs)
        value = value_of_written(fused, qrels, measure, tmp_path / "fused.run")
        np.testing.assert_allclose(value, row.value, rtol=1e-12, err_msg=row.method)


def test_the_written_run_has_the_printed_value_in_trec_eval(tmp_path):
    """It holds scores in float32, where those of this run would be alike; none tie in float64."""
    runs, qrels = made(seed=1, change=lambda score: 1.0 + 1e-9 * score)
    fusion = dx.fuse(runs, qrels, "AP", method="linear, none")
    value = value_of_written(fusion.apply(runs), qrels, "AP", tmp_path / "run", convention="trec_eval")
    printed = next(row.value for row in fusion.rows if row.method == fusion.method)
    np.testing.assert_allclose(value, printed, rtol=1e-12)


def test_documents_with_the_same_scores_tie_wherever_they_are():
    """A product of matrices rounds by the place of a row."""
    rng = np.random.default_rng(0)
    for n in range(1, 60):
        scores = np.tile(rng.random((n, 10)), (5, 1))
        docs = np.arange(5 * n).astype(object)
        pool = Pool(
            tags=tuple("abcdefghij"),
            query_ids=("q",),
            qptr=np.array([0, 5 * n]),
            doc_ids=docs,
            scores=scores,
            labels=np.zeros(5 * n),
            judgments=np.zeros(5 * n),
        )
        found = Combination("linear", tuple(rng.dirichlet(np.ones(10))), "none").scores(pool)
        assert len(np.unique(found)) == n


def test_a_gain_is_said_to_be_shown_or_not():
    rng, qrels = np.random.default_rng(0), {f"q{q}": {f"d{d}": 1 for d in range(5)} for q in range(40)}
    runs = {
        name: {q: {f"d{d}": float(2 * (d < 5) + rng.normal()) for d in range(40)} for q in qrels}
        for name in ("a", "b")
    }
    fusion = dx.fuse(runs, qrels, method="CombSUM")
    assert "chosen: CombSUM, shown to beat your best run (tested gain 0.1" in str(fusion)
    fusion = dx.fuse({"a": runs["a"], "again": runs["a"]}, qrels, method="CombSUM")
    assert "CombSUM, not shown to beat your best run (tested gain 0.0000" in fusion.verdict


def test_the_gain_over_the_best_run_is_what_compare_says_of_the_written_run(tmp_path):
    """Without weights the fused run is the same in all folds; the best run is that of all queries."""
    runs, qrels = made(seed=5, n_runs=2, n_docs=40)
    fusion = dx.fuse(runs, qrels, "AP", method="CombSUM")
    by_fold = next(row.tested for row in fusion.rows if row.method == "best run")
    assert by_fold < max(fusion.runs.values()) - 0.01  # folds choose other runs
    best = max(fusion.runs, key=fusion.runs.__getitem__)
    of_query = {
        name: dx.evaluate("AP", run=run, qrels=qrels, per_query=True)["AP"]
        for name, run in (("fused", fusion.apply(runs)), ("best", runs[best]))
    }
    (pair,) = dx.compare(of_query).pairs
    gain = next(row.over_best_run for row in fusion.rows if row.method == "CombSUM")
    assert (gain.difference, gain.p) == pytest.approx((pair.difference, pair.p), rel=1e-9)
    np.testing.assert_allclose(gain.interval, pair.interval, rtol=1e-9)


@pytest.mark.parametrize("engine", ENGINES)
def test_of_all_methods_the_best_that_an_engine_computes_is_taken(engine):
    runs, qrels = made(seed=3, n_runs=2, n_docs=40)
    fusion = dx.fuse(runs, qrels, "AP", method="CombMNZ")
    chosen = fusion.among(lambda one: computes(engine, one))
    row = next(row for row in fusion.rows if row.method == chosen.method)
    assert computes(engine, row.combination)
    assert not computes(engine, fusion.combination)
    others = [row for row in fusion.rows if computes(engine, row.combination)]
    assert row.tested == max(row.tested for row in others)
    assert chosen.combination == row.combination
    assert chosen.among(lambda one: computes(engine, one)) is chosen


@pytest.mark.parametrize("engine", ENGINES)
def test_an_engine_computes_only_what_it_writes_without_a_difference(engine):
    shapes = [Combination("linear", (0.5, 0.5), name) for name in NORMALIZERS]
    shapes += [Combination("rrf", weights, constant=60.0) for weights in ((0.5, 0.5), (0.2, 0.8))]
    differences = r"lowest score|z-scores|no normalizer|multipl|the scores themselves|constant is"
    for shape in (*shapes, Combination("combmnz", (0.5, 0.5))):
        notes = " ".join(configuration(engine, ("a", "b"), shape)[1])
        assert not (computes(engine, shape) and re.search(differences, notes)), (shape, notes)
    assert computes(engine, shapes[NORMALIZERS.index("min-max")]) == (engine != "qdrant")
    assert computes(engine, Combination("rrf", (0.5, 0.5), constant=60.0)) == (engine != "weaviate")


FAR = {f"q{q}": {f"d{place}": -float(place) for place in range(99)} for q in range(5)}


@pytest.mark.parametrize(
    "change",
    [
        {"runs": {"a": {"q0": {"d0": 1.0}}}},
        {"qrels": {"x": {"d": 1}}},
        {"runs": {"a": {"q0": {"d0": 1.0}}, "b": {"q0": {"d0": 1.0, "d1": -1e308}}}},
        {"n_folds": 30},
        {"n_folds": 1},
        {"method": "magic"},
        {"qrels": {f"q{q}": {"d0": 0, "x": 1} for q in range(12)}},
        # relevant documents far below the cut-off are not said to be absent
        {"runs": {"a": FAR, "b": FAR}, "qrels": {query: {"d90": 1} for query in FAR}, "measure": "P@1"},
    ],
)
def test_what_cannot_be_fused_is_rejected(change):
    runs, qrels = made()
    with rejects((dx.InputError, ValueError)):
        dx.fuse(**{"runs": runs, "qrels": qrels} | change)


def test_folds_without_a_relevant_document_choose_equal_weights():
    """Only one query has one, so four of five folds learn from it, and the fifth from nothing."""
    runs, qrels = made()
    last = {q: {d: label * (q == "q3") for d, label in of.items()} for q, of in qrels.items()}
    fusion = dx.fuse(runs, last, "nDCG@5", method="linear, min-max")
    pool = pool_of(runs_of(runs), last)
    others = Weigher(pool.take(np.setdiff1d(np.arange(12), [3])), dx.measure("nDCG@5"), 0)
    assert others.linear("min-max") == ({"": Combination("linear", (0.5, 0.5))}, (0.0, 1.0))
    assert np.isfinite([row.tested for row in fusion.rows]).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize(
    "combination",
    [
        Combination("linear", (0.25, 0.75), "min-max"),
        Combination("linear", (0.25, 0.75), "sum"),
        Combination("rrf", (0.5, 0.5), constant=20.0),
        Combination("rrf", (0.4, 0.6), constant=60.0),
        Combination("combmnz", (0.5, 0.5)),
    ],
)
def test_configurations_hold_the_weights_and_say_what_differs(engine, combination):
    text, notes = configuration(engine, ("bm25", "dense-v2"), combination)
    if engine not in ("vespa", "weaviate"):
        json.loads(text)
    assert ("REPLACE" in text) == any(note.startswith("replace ") for note in notes)
    is_weighted = len(set(combination.weights)) > 1
    if is_weighted and not (engine == "qdrant" and combination.kind == "rrf"):
        assert f"{combination.weights[1]:g}" in text
    if combination.normalizer == "sum":
        assert any("sum" in note for note in notes)
    if combination.kind == "rrf" and engine in ("opensearch", "elasticsearch"):
        assert f'"rank_constant": {combination.constant:.0f}' in text
        assert is_weighted == any("weights of RRF need" in note for note in notes)
    if combination.kind == "rrf" and engine == "weaviate":
        assert any("constant is 59" in note for note in notes)
    if engine == "elasticsearch":
        # its default is 10
        assert '"rank_window_size": 1000' in text


@pytest.mark.parametrize("constant", [1.0, 60.0])
def test_the_rrf_of_qdrant_is_ours_for_equal_weights_and_said_to_be_another_for_others(constant):
    """Its formula: 1 / ((place + 1) / weight + k - 1), places begin at 0."""
    text, notes = configuration("qdrant", ("a", "b"), Combination("rrf", (0.5, 0.5), constant=constant))
    rrf = json.loads(text)["query"]["rrf"]
    assert rrf.keys() == {"k"}
    assert not any("weights" in note for note in notes)
    for rank in (1, 2, 10):
        assert 1 / (rank / 1.0 + rrf["k"] - 1) == pytest.approx(1 / (constant + rank))
    text, notes = configuration("qdrant", ("a", "b"), Combination("rrf", (0.2, 0.8), constant=constant))
    assert json.loads(text)["query"]["rrf"]["weights"] == [0.4, 1.6]
    assert any("divides ranks by the weights" in note for note in notes)


@pytest.mark.parametrize(
    ("engine", "normalizer", "note"),
    [
        ("opensearch", "z-score", "z-scores below 0"),
        ("opensearch", "min-max", "pagination_depth"),
        ("elasticsearch", "none", "gets 0 there, not the lowest score"),
        ("qdrant", "none", "gets 0 there, not the lowest score"),
        ("qdrant", "min-max", "choose the method 'linear, none'"),
        ("vespa", "min-max", "that its first phase ranks highest"),
        ("weaviate", "z-score", "no normalizer z-score"),
    ],
)
def test_what_an_engine_does_otherwise_is_said(engine, normalizer, note):
    _, notes = configuration(engine, ("a", "b"), Combination("linear", (0.2, 0.8), normalizer))
    assert any(note in said for said in notes)


def test_functions_of_vespa_have_different_names_that_it_accepts():
    text, _ = configuration("vespa", ("bm25-a", "bm25.a", "2024 é"), Combination("rrf", (1 / 3,) * 3))
    for name in ("run_bm25_a", "run_bm25_a_2", "run_2024__"):
        assert f"function {name}()" in text
        assert f"reciprocal_rank({name}, 60)" in text


LINEAR, RRF = Combination("linear", (0.25, 0.75), "min-max"), Combination("rrf", (0.5, 0.5), constant=60.0)
WEIGHTED = Combination("rrf", (0.25, 0.75), constant=60.0)


@pytest.mark.parametrize("combination", [LINEAR, RRF, WEIGHTED])
def test_elasticsearch_has_types_of_retrievers_where_it_reads_them(combination):
    """The names of runs stand where its reference has names."""
    text, _ = configuration("elasticsearch", ("bm25", "dense"), combination)
    ((kind, compound),) = json.loads(text)["retriever"].items()
    assert kind == combination.kind
    for name, entry in zip(("bm25", "dense"), compound["retrievers"], strict=True):
        retriever = entry if combination is RRF else entry["retriever"]
        assert {*entry} <= {"standard", "retriever", "weight", "normalizer"}
        assert retriever == {"standard": {"_name": name, "query": {"match": {"REPLACE": "REPLACE"}}}}


def test_no_run_is_taken_for_a_vector_of_qdrant():
    for one in json.loads(configuration("qdrant", ("a", "b"), RRF)[0])["prefetch"]:
        assert one["query"] == one["using"]
        assert one["using"].startswith("REPLACE: ")


def test_the_fusion_of_weaviate_is_a_value_of_graphql():
    text, _ = configuration("weaviate", ("bm25", "dense"), LINEAR)
    assert text.split() == [
        *("hybrid:", "{", "query:", '"REPLACE"', "alpha:", "0.75"),
        *("fusionType:", "relativeScoreFusion", "}"),
    ]


def test_engines_reject_what_they_cannot_express():
    with rejects(dx.InputError):
        configuration("solr", ("a", "b"), Combination("rrf", (0.5, 0.5)))
    with rejects(dx.InputError):
        configuration("weaviate", ("a", "b", "c"), Combination("rrf", (0.2, 0.2, 0.6)))
    with rejects(dx.InputError):
        configuration("vespa", ("a", "b"), Combination("run", (0.0, 1.0)))
    with rejects(dx.InputError):
        configuration("opensearch", tuple("abcdef"), Combination("rrf", (1 / 6,) * 6))
