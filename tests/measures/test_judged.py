"""Measures that read more than labels: textbook loops, other tools' values, and what is refused."""

from itertools import permutations, product

import numpy as np
import pytest

import directrix as dx
from directrix.data.trec.runs import read_trec_qrels, read_trec_run
from directrix.measures.judged import Bpref, InfAP, JudgedRate
from tests.measures.test_expected import PROBLEMS
from tests.messages import rejects

NAN = float("nan")


def bpref(ranked, labels, rel=1):
    n_rel, n_non = sum(y >= rel for y in labels), sum(0 <= y < rel for y in labels)
    total = 0.0
    for i, y in enumerate(ranked):
        if y >= rel:
            above = sum(0 <= z < rel for z in ranked[:i])
            total += 1.0 - (min(above, n_rel) / min(n_non, n_rel) if above else 0.0)
    return total / n_rel if n_rel else 0.0


def judged(ranked, labels, k):
    top = ranked[:k]
    return sum(y >= 0 for y in top) / len(top) if top else 0.0


def over_orders(function, scores, labels, **options):
    """Mean over all orders of the tied groups; documents are numbers, for NaN is not equal to itself."""
    levels = sorted(set(scores) - {-np.inf}, reverse=True)
    groups = [[i for i, s in enumerate(scores) if s == level] for level in levels]
    orders = product(*(permutations(group) for group in groups))
    values = [function([labels[i] for part in order for i in part], labels, **options) for order in orders]
    return sum(values) / len(values)


@pytest.mark.parametrize(
    ("measure", "function", "options"),
    [
        (Bpref(), bpref, {}),
        (Bpref(rel=2), bpref, {"rel": 2}),
        (JudgedRate(k=3), judged, {"k": 3}),
        (JudgedRate(), judged, {"k": None}),
    ],
    ids=lambda v: getattr(v, "name", ""),
)
def test_equals_the_mean_over_all_orders_with_unjudged_documents(measure, function, options):
    rng = np.random.default_rng(3)
    lists = [(s, np.where(rng.random(len(s)) < 0.3, rng.choice([NAN, -1.0], len(s)), y)) for s, y in PROBLEMS]
    qptr = np.cumsum([0] + [len(s) for s, _ in lists])
    got = measure(np.concatenate([s for s, _ in lists]), np.concatenate([y for _, y in lists]), qptr)
    wanted = [over_orders(function, s.tolist(), y.tolist(), **options) for s, y in lists]
    np.testing.assert_allclose(got, wanted, rtol=1e-12, atol=1e-14)


def test_inferred_ap_of_a_sampled_pool_by_hand():
    e = 1e-5
    # relevant, not in the pool, judged irrelevant, in the pool only, relevant
    value = InfAP()([5, 4, 3, 2, 1], [1, NAN, 0, -1, 1], [0, 5])
    at_5 = 1 / 5 + (4 / 5) * (3 / 4) * (1 + e) / (2 + 2 * e)
    np.testing.assert_allclose(value, [(1 + at_5) / 2], rtol=1e-14)


def test_the_worst_order_of_tied_documents_puts_unjudged_ones_first():
    tied = InfAP()([1, 1, 1], [1, NAN, -1], [0, 3])
    np.testing.assert_allclose(tied, InfAP()([1, 3, 2], [1, NAN, -1], [0, 3]), rtol=0)


SAMPLED = {"bpref": "bpref", "infAP": "infAP", "set_F": "set_F", "set_map": "set_map"}
SAMPLED |= {"set_relative_P": "P(relative=True)", "gm_map": "gm_map", "num_rel_ret": "NumRet(rel=1)"}
SAMPLED |= {"Rprec_mult_0.20": "Rprec(times=0.2)", "relative_P_10": "P(relative=True)@10"}


@pytest.mark.slow
@pytest.mark.parametrize("share", [1.0, 0.4])
def test_all_runs_of_trec_7_as_pytrec_eval(data_dir, share):
    """Every query of 23 runs, with the judgments as they are, and with most of them withheld (-1)."""
    pytrec_eval = pytest.importorskip("pytrec_eval")
    qrels, rng = read_trec_qrels(data_dir / "trec7/qrels.trec7.txt"), np.random.default_rng(0)
    kept = {
        query: {d: int(y) if rng.random() < share else -1 for d, y in qrels.of_query(q).items()}
        for q, query in enumerate(qrels.query_ids)
    }
    theirs = pytrec_eval.RelevanceEvaluator(
        kept, {*SAMPLED, "Rprec_mult", "relative_P"} - {"Rprec_mult_0.20", "relative_P_10"}
    )
    for path in sorted((data_dir / "trec7/runs").glob("*.gz")):
        run = read_trec_run(path)
        by_query = {
            query: dict(zip(run.doc_ids[a:b], run.scores[a:b].tolist(), strict=True))
            for query, a, b in zip(run.query_ids, run.qptr[:-1], run.qptr[1:], strict=True)
        }
        values = theirs.evaluate(by_query)
        ours = dx.evaluate(SAMPLED.values(), run=run, qrels=kept, convention="trec_eval", per_query=True)
        for name, our_name in SAMPLED.items():
            wanted = [values[query][name] for query in ours.query_ids]
            np.testing.assert_allclose(ours[our_name], wanted, rtol=1e-12, atol=1e-12)


def test_judged_as_ir_measures(data_dir):
    ir_measures = pytest.importorskip("ir_measures")
    run, qrels = data_dir / "trec_eval/results.test", data_dir / "trec_eval/qrels.test"
    wanted = ir_measures.iter_calc(
        [ir_measures.Judged @ 20],
        ir_measures.read_trec_qrels(str(qrels)),
        ir_measures.read_trec_run(str(run)),
    )
    ours = dx.evaluate(ir_measures.Judged @ 20, run=run, qrels=qrels, per_query=True)
    of = dict(zip(ours.query_ids, ours["Judged@20"], strict=True))
    assert of == {metric.query_id: pytest.approx(metric.value, rel=1e-12) for metric in wanted}


def test_measures_of_labels_take_unjudged_documents_as_irrelevant_beside_others():
    both = dx.evaluate(["AP", "bpref"], [3, 2, 1], [NAN, 1, -1], group=[3])
    assert both["AP"] == 0.5
    with rejects(dx.InputError):
        dx.evaluate("AP", [3, 2, 1], [NAN, 1, -1], group=[3])


def test_a_joined_run_is_enough_and_counts_missing_topics():
    qrels = {"1": {"a": 1}, "2": {"b": 1}}
    joined = dx.data.join_trec({"1": {"a": 1.0}}, qrels, queries="judged")
    assert dx.evaluate(["AP", "bpref"], run=joined) == {"AP": 0.5, "bpref": 0.5}
    with rejects(dx.InputError):
        dx.evaluate("AP", run=joined, qrels=qrels)


def test_geometric_mean_has_a_floor_and_logarithms_of_queries():
    scores, labels = [2, 1, 2, 1], [1, 0, 0, 0]
    values = dx.evaluate("GMAP", scores, labels, group=[2, 2], per_query=True)
    np.testing.assert_allclose(values["GMAP"], [np.log(1.0), np.log(1e-5)])
    np.testing.assert_allclose(values.mean["GMAP"], (1.0 * 1e-5) ** 0.5)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("SetF(beta=0)", "beta must be a number > 0; type"),
        ("Rprec(times=0)", "times must be a number > 0 and < 1e"),
        ("alpha_nDCG(alpha=0)", "alpha must be a number > 0 and <= 1"),
        ("infAP(ties=expected)", "ties must be 'worst', 'order' or 'trec'"),
        ("NumRet(rel=0)", "rel must be a number > 0"),
        ("P(relative=3)", "must be True or False"),
    ],
)
def test_fields_are_checked(text, problem):
    with pytest.raises(dx.InputError, match=problem):
        dx.measure(text)


@pytest.mark.parametrize("name", ["GMAP", "Judged@10", "NumRet", "alpha_nDCG@20"])
def test_measures_for_reports_cannot_be_trained_for(name):
    rng = np.random.default_rng(0)
    X, y, qid = rng.normal(size=(40, 3)), rng.integers(0, 2, 40), np.repeat(np.arange(8), 5)
    for ranker, options in ((dx.LinearRanker(), {"measure": name}), (dx.AutoRanker(measure=name), {})):
        with pytest.raises(dx.InputError, match=r"is for reports and cannot be trained for; train for anoth"):
            ranker.fit(X, y, qid=qid, **options)
    with pytest.raises(dx.InputError, match="is for reports"):
        dx.experiments.cross_validate([], "Regression", name)


@pytest.mark.parametrize(
    ("labels", "problem"),
    [
        ([[[1.0]], [[0.0]]], r"shape \(2, 1, 1\) for 2 documents"),
        ([np.inf, 1.0], "labels: row 0 is infinite"),
    ],
)
def test_judgments_are_finite_and_of_one_shape(labels, problem):
    with pytest.raises(dx.InputError, match=problem):
        dx.measure("bpref")([2.0, 1.0], np.array(labels), [0, 2])
