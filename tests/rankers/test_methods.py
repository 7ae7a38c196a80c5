"""Methods by name: what they build, what they refuse, what "auto" tries."""

import dataclasses
import json

import pytest
from tests.search import search

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.rankers.kinds import KINDS
from directrix.registry import RANKERS, classes
from directrix.search.plan import candidates_of

EVERY = [pytest.param(m, id=m.name) for m in dx.methods()]
APPROX = [m for m in dx.methods() if m.name.startswith("Approx")]
Q, _ = make_linear(12, 10, 3, seed=4)
TRAIN, VALID = Q.take(range(8)), Q.take(range(8, 12))
QUICK = {
    **{"max_iter": 2, "epochs": 2, "rounds": 2, "cg_iter": 2, "sigma_first": 1.0, "sigma_last": 0.5},
    **{"n_trees": 2, "min_data_in_leaf": 2, "hidden": (3,), "thresholds": 3},
}
"""Settings with which a method takes no time."""


def test_every_method_is_found_by_its_name_in_any_case():
    for m in dx.methods():
        assert dx.method(m.name) is m
        assert dx.method(m.name.upper()) is m


@pytest.mark.parametrize("m", APPROX, ids=lambda m: m.name)
def test_a_method_is_its_surrogate(m):
    ranker = m.ranker(alpha=50.0, l2=1e-3)
    assert ranker.surrogate == m.surrogate(alpha=50.0)
    assert ranker.l2 == 1e-3
    assert set(m.properties) == set(m.surrogate().properties)


@pytest.mark.parametrize("m", EVERY)
def test_every_method_describes_itself(m):
    found = m.describe()
    assert all(found[name] for name in ("name", "use_when", "model", "trainer", "settings", "cost", "source"))
    assert json.loads(json.dumps(found)) == found
    for name, values in m.grid.items():
        assert name in m.settings
        assert values
        assert m.fixed.get(name, values[0]) in values  # without a search


@pytest.mark.parametrize("m", EVERY)
def test_every_setting_can_be_given(m):
    """Each one alone, at the value that it has anyway; the grid at each of its values."""
    ranker = m.ranker(measure=dx.measure("nDCG@10"))
    for candidate in candidates_of(m, dx.measure("nDCG@10"))[0]:
        candidate.ranker().check_parameters()
    for name in m.settings:
        owner = next((o for o in (ranker.surrogate, ranker) if hasattr(o, name)), None)
        if owner is not None:
            m.ranker(**{name: getattr(owner, name)}).check_parameters()


@pytest.mark.parametrize("m", EVERY)
def test_every_method_trains_chooses_and_is_kept(m, tmp_path):
    first = {name: values[0] for name, values in m.grid.items()}
    quick = {name: value for name, value in QUICK.items() if name in m.settings}
    found = search(TRAIN, VALID, method=m, measure="nDCG@5", settings={**first, **quick})
    scores = found.ranker.predict_queries(VALID)
    assert repr(found.ranker.measure_) == repr(dx.measure("nDCG@5"))
    value = dx.evaluate("nDCG@5", scores, VALID.labels, qptr=VALID.qptr)["nDCG@5"]
    assert value == pytest.approx(found.chosen.valid, rel=1e-12)
    found.ranker.save(tmp_path / "m.json")
    loaded = dx.load(tmp_path / "m.json")
    assert loaded.predict_queries(VALID).tobytes() == scores.tobytes()
    assert repr(loaded.surrogate_) == repr(found.ranker.surrogate_)
    assert loaded.measure_ == found.ranker.measure_
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
    again = loaded.fit_queries(TRAIN, VALID if m.keeps_best else None, measure="nDCG@5")
    assert again.result_.counts == found.ranker.result_.counts


def test_every_ranker_that_a_file_can_hold_is_a_kind():
    held = {name for name, cls in classes(RANKERS).items() if hasattr(cls, "model_type")}
    assert {kind.name for kind in KINDS.values()} == held
    for model, kind in KINDS.items():
        assert kind.load().model_type == model
        assert set(kind.load().saved_parameters) < set(kind.settings)


@pytest.mark.parametrize(
    ("name", "setting"),
    [
        ("SmoothNDCG", "sigma"),
        ("SmoothAP", "max_iter"),
        ("LambdaRank", "max_iter"),
        ("AdaRank-MAP", "max_iter"),
    ],
)
def test_what_would_have_no_effect_is_no_setting(name, setting):
    with pytest.raises(dx.InputError, match=f"no setting '{setting}'"):
        dx.method(name).ranker(**{setting: 1})


def test_the_grid_is_tried_in_order_and_fixed_settings_replace_its_axes():
    m = dx.method("ApproxAP")
    every = [c.settings for c in candidates_of(m, dx.AP())[0]]
    assert len(every) == len(m.grid["alpha"]) * len(m.grid["l2"])
    fixed = [c.settings for c in candidates_of(m, dx.AP(), {"alpha": 7, "beta": 3})[0]]
    assert [chosen["l2"] for chosen in fixed] == list(m.grid["l2"])
    assert {(chosen["alpha"], chosen["beta"]) for chosen in fixed} == {(7, 3)}


def test_cut_off_and_relevance_come_from_the_measure():
    assert dx.method("ApproxPrecision").ranker(
        measure=dx.measure("P(rel=2)@3")
    ).surrogate == dx.ApproxPrecision(k=3, rel=2)
    assert dx.method("ApproxAP").ranker(measure=dx.AP(rel=2)).surrogate == dx.ApproxAP(rel=2)
    assert dx.method("ApproxAP").ranker(measure="AP(rel=2)").surrogate == dx.ApproxAP(rel=2)
    assert dx.method("auto").ranker(measure="AP(rel=2)").surrogate == dx.ApproxAP(rel=2)
    own = dx.method("ApproxAP").ranker(measure=dx.AP(rel=2), rel=3)
    assert own.surrogate == dx.ApproxAP(rel=3)


@pytest.mark.parametrize(
    ("measure", "first", "others"),
    [
        ("nDCG@10", "ApproxNDCG", ["SmoothNDCG", "LambdaRank"]),
        ("AP", "ApproxAP", ["SmoothAP", "YetiRank"]),
        ("P@5", "ApproxNDCG", ["ApproxPrecision"]),
        ("RR", "ApproxNDCG", ["ApproxRR"]),
        ("ERR", "ApproxNDCG", ["ApproxERR"]),
        ("tau", "ApproxKendall", ["ApproxNDCG"]),
        ("RBP(p=0.8)", "ApproxNDCG", ["MLP"]),
    ],
)
def test_auto_tries_what_suits_the_measure(measure, first, others):
    tried = [c.name for c in candidates_of(dx.method("auto"), dx.measure(measure))[0]]
    assert tried[0] == first
    assert {*others, "Regression"} <= set(tried)


def test_auto_gives_a_setting_to_the_parts_that_have_it():
    tried, _ = candidates_of(dx.method("auto"), dx.measure("tau"), {"k": 5, "l2": 0.0})
    got = {c.name: (c.settings.get("k"), c.settings.get("l2")) for c in tried}
    assert got["ApproxNDCG"] == (5, 0.0)
    assert got["ApproxKendall"] == (None, 0.0)
    assert got["Regression"] == (None, None)


def test_auto_as_a_ranker_is_the_first_of_its_parts():
    assert dx.method("auto").ranker(measure=dx.NDCG(k=3), alpha=5.0).surrogate == dx.ApproxNDCG(alpha=5.0)


def test_regression_trains_nothing():
    assert dx.method("Regression").ranker().max_iter == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dx.method("ApproxNDGC"),
            r"is not known; did you mean 'ApproxNDCG'\?$",
        ),
        (lambda: dx.method("quality"), "is not known; the methods are auto, "),
        (
            lambda: dx.method("ApproxAP").ranker(alfa=3),
            "no setting 'alfa'; it has .*Did you mean 'alpha'",
        ),
        (lambda: candidates_of(dx.method("auto"), dx.AP(), {"alfa": 3}), "no setting 'alfa'"),
        (lambda: dx.method("Regression").ranker(alpha=3), "no setting 'alpha'"),
    ],
)
def test_what_does_not_exist_is_said(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_methods_are_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        dx.method("auto").name = "other"


@pytest.mark.parametrize("name", ["MLP", "LambdaRank-MLP"])
def test_networks_of_papers_are_perceptrons_whatever_the_defaults(name):
    ranker = dx.method(name).ranker()
    assert (ranker.hidden, ranker.residual, ranker.dropout) == ((10,), False, 0.0)
    assert dx.method("Network").ranker().get_params()["residual"]


def test_methods_with_commas_are_one_to_a_search():
    several = dx.method("regression, ListNet,Regression,")
    assert several.name == "Regression, ListNet"
    assert dx.method("ListNet,") is dx.method("ListNet")
    found = search(dx.data.make_cubic(12, 10, 4, seed=0), method="Regression,ListNet", folds=2)
    assert {c.name for c in found.trials} == {"Regression", "ListNet"}
    with pytest.raises(dx.InputError, match="auto cannot be in a list of methods"):
        dx.method("auto,ListNet")
    with pytest.raises(dx.InputError, match="method 'Foo' is not known"):
        dx.method("ListNet,Foo")
    with pytest.raises(dx.InputError, match="method ',' is not known"):
        dx.method(",")
    with pytest.raises(dx.InputError, match="ties='worst' is for evaluation"):
        search(dx.data.make_cubic(12, 10, 4, seed=0), method="ListNet,LambdaRank", measure="AP(ties='worst')")
