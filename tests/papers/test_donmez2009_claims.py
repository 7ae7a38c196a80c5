"""Verdicts on the statements of Donmez et al. (2009), on made-up values."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from directrix.experiments.crossval_result import CrossValidation, FoldResult
from directrix.papers.donmez2009 import Donmez2009, Optimality, Trained, entry_name
from directrix.papers.donmez2009_page import PAPER
from directrix.papers.donmez2009_training import (
    COMPARED,
    CONSTRUCTIONS,
    EVERY_CHANGE,
    MEASURES,
    PairCounts,
    Sized,
)
from directrix.papers.workspace import Collection

NOISE = np.random.default_rng(0).normal(0.0, 0.01, (20, 200))


def values_of(mean, row):
    return mean + NOISE[row]


def comparison_of(trained, constructions=None, every=0.5):
    """A collection whose trainings have these means: ``trained[trained for][tested on]``."""
    means = constructions or {}
    values = {
        entry_name("mlp", name): [values_of(trained[name][target], i) for target in MEASURES]
        for i, name in enumerate(MEASURES)
    }
    for name in COMPARED:
        for i, construction in enumerate((*CONSTRUCTIONS[1:], EVERY_CHANGE), start=6):
            row = values_of(means.get(construction, every if construction == EVERY_CHANGE else 0.5), i)
            values[entry_name("mlp", name, construction)] = [row] * len(MEASURES)
    results = {name: [FoldResult((), 0, np.array(rows))] for name, rows in values.items()}
    compared = CrossValidation(MEASURES, ("Fold1",), tuple(range(200)), "default", results)
    return Trained(Collection("made", ()), compared)


def certificate(n_rising=0, value=0.5, changes=(-0.1, -0.2)):
    return {
        "value": value,
        "n_rising": n_rising,
        "n_level": 0,
        "n_directions": 459,
        "largest_rise": 0.01 * (n_rising > 0),
        "is_local_optimum": n_rising == 0,
        "mean_change": list(changes),
    }


def results_of(comparison=None, certificates=None, pairs=(), sized=()):
    collections = {} if comparison is None else {"made": comparison}
    return Optimality(Donmez2009(), collections, certificates or {}, tuple(pairs), tuple(sized))


def verdicts(results):
    return {claim.text: claim.verdict for claim in PAPER.claims(results)}


def test_constructions_are_compared_with_the_first():
    ahead = {name: dict.fromkeys(MEASURES, 0.6) for name in MEASURES}
    text = "made: RankNetWeightPairs outperforms the other constructions for AP"
    assert verdicts(results_of(comparison_of(ahead)))[text] == "holds"
    behind = {"local-cost": 0.7}
    assert verdicts(results_of(comparison_of(ahead, behind)))[text] == "does not hold"


def test_trainings_are_compared_as_tables_3_and_4_are_read():
    trained = {
        "nDCG": {"nDCG": 0.7, "nDCG@10": 0.5, "AP": 0.5, "RR": 0.6},
        "nDCG@10": {"nDCG": 0.6, "nDCG@10": 0.6, "AP": 0.5, "RR": 0.6},
        "AP": {"nDCG": 0.6, "nDCG@10": 0.5, "AP": 0.6, "RR": 0.6},
        "RR": {"nDCG": 0.4, "nDCG@10": 0.4, "AP": 0.7, "RR": 0.5},
    }
    found = verdicts(results_of(comparison_of(trained)))
    assert found["made: tested on nDCG, training for nDCG is best"] == "holds"
    assert found["made: tested on AP, training for AP is best"] == "does not hold"
    better = "made: tested on {0}, training for nDCG is better than training for {0}"
    assert found[better.format("nDCG@10")] == "does not hold"
    assert found[better.format("RR")] == "holds"
    assert found["made: training for RR gives the lowest value of every measure"] == "does not hold"


def test_statements_on_mrr_are_checked_for_both_readings():
    trained = {name: dict.fromkeys(MEASURES, 0.6) for name in MEASURES} | {"RR": dict.fromkeys(MEASURES, 0.3)}
    found = verdicts(results_of(comparison_of(trained, every=0.8)))
    for text, literal, every in (
        ("made: training for {} gives the lowest value of every measure", "holds", "does not hold"),
        ("made: tested on RR, training for nDCG is better than training for {}", "holds", "does not hold"),
        ("made: RankNetWeightPairs outperforms the other constructions for {}", "does not hold", "holds"),
    ):
        said = found[text.format("RR")], found[text.format("RR, every change")]
        assert said == (literal, every)


def test_a_measure_is_at_an_optimum_if_it_is_for_every_net_and_collection():
    keys = [("converged", data, net, "AP") for data in ("OHSUMED", "artificial") for net in ("linear", "mlp")]
    text = "Weights learned for AP are a local optimum with 99% confidence, single- and two-layer nets"
    held = {key: certificate(value=0.5 + 0.1 * (key[1] == "artificial")) for key in keys}
    assert verdicts(results_of(certificates=held))[text] == "holds"
    one = {**held, keys[2]: certificate(1)}
    found = {claim.text: claim for claim in PAPER.claims(results_of(certificates=one))}
    assert found[text].verdict == "does not hold"
    assert "artificial, single-layer: 1 of 459 rise, by at most 0.01000" in found[text].evidence
    higher = "Training values are higher on the artificial data, which have less noise"
    assert verdicts(results_of(certificates=held))[higher] == "holds"
    assert found[higher].verdict == "does not hold"  # .5 on both


def test_the_measure_must_fall_with_every_step():
    key, text = (
        ("converged", "artificial", "mlp", "RR"),
        "The measure falls smoothly as the weights move away from",
    )
    for changes, verdict in (
        ((-0.1, -0.2), "holds"),
        ((-0.2, -0.1), "does not hold"),
        ((0.1, -0.1), "does not hold"),
    ):
        found = verdicts(results_of(certificates={key: certificate(changes=changes)}))
        assert next(value for name, value in found.items() if name.startswith(text)) == verdict


def test_weights_of_section_8():
    place = ("artificial", "mlp", "nDCG@10")
    certificates = {
        ("random", "artificial", "linear", "nDCG"): certificate(100),
        ("epoch 7", *place): certificate(),
        ("epoch 12", *place): certificate(2),
        ("RR weights", *place): certificate(),
        ("gain from epoch 7", *place): [0.5, 0.51, 0.49],
        ("gain from RR weights", *place): [0.5, 0.49, 0.52],  # not at once
    }
    found = verdicts(results_of(certificates=certificates))
    assert found["A net with random weights is not at a local optimum"] == "holds"
    assert found["Weights of epochs 7 and 12 are local optima of nDCG@10"] == "does not hold"
    assert found["Weights learned for MRR are a local optimum of nDCG@10"] == "holds"
    further = "Further training for nDCG@10 from these weights improves its training value at once"
    assert found[further] == "does not hold"
    certificates["gain from RR weights", *place] = [0.5, 0.52]
    assert verdicts(results_of(certificates=certificates))[further] == "holds"


def test_effective_pairs_must_fall_in_the_order_of_the_paper():
    def counts(*means):
        return [
            PairCounts("made", "mlp", name, [mean], mean, mean / 1000.0, mean / 500.0, mean, 2 * mean / 500.0)
            for name, mean in zip(MEASURES, means, strict=True)
        ]

    order = "nDCG has more effective pairs than nDCG@10, which has more than MAP, which has more than MRR"
    below = "For MRR the effective pairs are around one to two orders of magnitude below the pairs"
    for means, expected in (
        ((1000.0, 800.0, 500.0, 25.0), ("holds", "holds")),
        ((1000.0, 400.0, 500.0, 200.0), ("does not hold", "does not hold")),
    ):
        found = verdicts(results_of(pairs=counts(*means)))
        assert (found[order], next(v for k, v in found.items() if k.startswith(below))) == expected
    evidence = next(
        one.evidence for one in PAPER.claims(results_of(pairs=counts(9, 8, 7, 25.0))) if below in one.text
    )
    assert "Pairs of Eq. (11): made 5.0% of these pairs" in evidence
    assert "exchange changes RR: made 10.0%" in evidence


def test_the_usual_construction_need_not_have_the_most_pairs():
    def counts(usual, smooth):
        by = {"ranknet-weight-pairs": (0, usual), "spring-smooth": (0, smooth)}
        return {("pairs", "made", "mlp", "RR"): by}

    text = (
        "RankNetWeightPairs may employ the most effective training pairs of the constructions (here of five)"
    )
    for pair, expected in (((351, 2834), "does not hold"), ((5, 5), "holds")):
        claim = next(
            one for one in PAPER.claims(replace(results_of(), counted=counts(*pair))) if one.text == text
        )
        assert claim.verdict == expected
        assert f"made, RR: {pair[0]}, " in claim.evidence


def test_weights_at_the_size_of_the_paper_are_evaluated_alone():
    for n_rising, expected in ((0, "holds"), (3, "does not hold")):
        large = {"converged": certificate(n_rising), "chance": 0.4}
        results = results_of(certificates={("large", "artificial", "linear", "nDCG"): large})
        text = (
            "Weights learned for nDCG on the artificial data of the paper's size are a local optimum with 99%"
        )
        assert next(value for name, value in verdicts(results).items() if name.startswith(text)) == expected


def test_trainings_on_about_as_many_pairs():
    def one(size, name, pairs, row, mean):
        return Sized(size, name, pairs, {"RR": values_of(mean, row), "nDCG": values_of(mean, row)})

    runs = [
        one(10, "nDCG", 1000.0, 0, 0.5),
        one(80, "nDCG", 8000.0, 1, 0.8),
        one(10, "RR", 100.0, 2, 0.3),
        one(80, "RR", 1000.0, 3, 0.7),
    ]
    found = verdicts(results_of(sized=runs))
    assert found["With about as many effective pairs, training for RR gives the best RR"] == "holds"
    behind = runs[2]._replace(pairs=900.0, test={"RR": values_of(0.35, 2), "nDCG": values_of(0.35, 2)})
    more = [*runs[:2], behind, runs[3]]  # at one of two sizes: leads of -.15 and .2
    text = "With about as many effective pairs, training for RR gives the best RR"
    claim = next(claim for claim in PAPER.claims(results_of(sized=more)) if claim.text == text)
    assert claim.verdict == "holds"
    assert "than for nDCG +0.02" in claim.evidence
    assert "2 sizes" in claim.evidence
    less = "More training data reduce the lead of training for nDCG over training for RR, tested on RR"
    assert found[less] == "holds"  # from .2 to .1
    runs[0] = runs[0]._replace(test={"RR": values_of(0.35, 0), "nDCG": values_of(0.35, 0)})
    assert verdicts(results_of(sized=runs))[less] == "does not hold"
