"""Methods by name: what they build, what they refuse, what "auto" tries."""

import dataclasses

import pytest

import directrix as dx

APPROX = [m for m in dx.methods() if m.surrogate is not None]


def test_every_method_is_found_by_its_name_in_any_case():
    for m in dx.methods():
        assert dx.method(m.name) is m
        assert dx.method(m.name.upper()) is m


@pytest.mark.parametrize("m", APPROX, ids=lambda m: m.name)
def test_a_method_is_its_surrogate(m):
    ranker = m.ranker(alpha=50.0, l2=1e-3)
    assert ranker.surrogate == m.surrogate(alpha=50.0)
    assert ranker.l2 == 1e-3
    assert set(m.traits) == set(m.surrogate().traits)


@pytest.mark.parametrize("m", dx.methods(), ids=lambda m: m.name)
def test_every_method_describes_itself(m):
    found = m.describe()
    assert all(found[name] for name in ("name", "use_when", "model", "trainer", "settings", "cost", "source"))
    for name, values in m.grid.items():
        assert name in m.settings
        assert values


def test_the_grid_is_tried_in_order_and_fixed_settings_replace_its_axes():
    m = dx.method("ApproxAP")
    every = [chosen for _, chosen in m.candidates(dx.AP(), {})]
    assert len(every) == len(m.grid["alpha"]) * len(m.grid["l2"])
    fixed = [chosen for _, chosen in m.candidates(dx.AP(), {"alpha": 7, "beta": 3})]
    assert [chosen["l2"] for chosen in fixed] == list(m.grid["l2"])
    assert {(chosen["alpha"], chosen["beta"]) for chosen in fixed} == {(7, 3)}


def test_cut_off_and_relevance_come_from_the_measure():
    assert dx.method("ApproxPrecision").ranker(
        measure=dx.measure("P(rel=2)@3")
    ).surrogate == dx.ApproxPrecision(k=3, rel=2)
    assert dx.method("ApproxAP").ranker(measure=dx.AP(rel=2)).surrogate == dx.ApproxAP(rel=2)
    own = dx.method("ApproxAP").ranker(measure=dx.AP(rel=2), rel=3)
    assert own.surrogate == dx.ApproxAP(rel=3)


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        ("nDCG@10", ["ApproxNDCG"]),
        ("AP", ["ApproxNDCG", "ApproxAP"]),
        ("P@5", ["ApproxNDCG", "ApproxPrecision"]),
        ("RR", ["ApproxNDCG", "ApproxRR"]),
        ("ERR", ["ApproxNDCG", "ApproxERR"]),
        ("tau", ["ApproxNDCG", "ApproxKendall"]),
        ("RBP(p=0.8)", ["ApproxNDCG"]),
    ],
)
def test_auto_tries_what_suits_the_measure(measure, names):
    tried = [part.name for part, _ in dx.method("auto").candidates(dx.measure(measure), {})]
    assert list(dict.fromkeys(tried)) == names


def test_auto_gives_a_setting_to_the_parts_that_have_it():
    tried = dx.method("auto").candidates(dx.measure("tau"), {"k": 5, "l2": 0.0})
    assert {part.name: chosen.get("k") for part, chosen in tried} == {"ApproxNDCG": 5, "ApproxKendall": None}
    assert {chosen["l2"] for _, chosen in tried} == {0.0}


def test_auto_as_a_ranker_is_the_first_of_its_parts():
    assert dx.method("auto").ranker(measure=dx.AP(), alpha=5.0).surrogate == dx.ApproxNDCG(alpha=5.0)


def test_regression_trains_nothing():
    assert dx.method("Regression").ranker().max_iter == 0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: dx.method("ApproxNDGC"),
            "is not known; there are auto, .*Did you mean 'ApproxNDCG'",
        ),
        (
            lambda: dx.method("ApproxAP").ranker(alfa=3),
            "no setting 'alfa'; it has .*Did you mean 'alpha'",
        ),
        (lambda: dx.method("auto").candidates(dx.AP(), {"alfa": 3}), "no setting 'alfa'"),
        (lambda: dx.method("Regression").ranker(alpha=3), "no setting 'alpha'"),
    ],
)
def test_what_does_not_exist_is_said(call, message):
    with pytest.raises(dx.InputError, match=message):
        call()


def test_methods_are_values():
    with pytest.raises(dataclasses.FrozenInstanceError):
        dx.method("auto").name = "other"
