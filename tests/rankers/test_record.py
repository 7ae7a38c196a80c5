"""A model file is read back as the ranker that was saved, or is not written."""

from dataclasses import dataclass, replace

import joblib
import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data import Scale
from directrix.rankers.record import own_model
from directrix.surrogates.sampling import Gumbel

Q, _ = dx.data.make_linear(n_queries=20, docs_per_query=8, n_features=3, seed=1)
X, Y, QID = Q.features, Q.labels, np.repeat(np.arange(20), 8)
PARENTS = {
    "LinearRanker": {"surrogate": "ListNet", "max_iter": 3},
    "MLPRanker": {"surrogate": "ListNet", "max_iter": 2, "random_state": 0},
    "StumpRanker": {"max_iter": 3},
    "BoostedRanker": {"n_trees": 3},
    "EnsembleRanker": {"members": [dx.LinearRanker("ListNet", max_iter=3)]},
    "AutoRanker": {"measure": "nDCG@3", "method": "ListNet", "folds": 1},
}


def subclass(parent):
    @dataclass(eq=False, repr=False)
    class Doubled(getattr(dx, parent)):
        def predict(self, X, qid=None, **more):
            return super().predict(2.0 * np.asarray(X), qid, **more)

    return Doubled


@pytest.mark.parametrize("parent", PARENTS)
def test_a_subclass_is_not_saved_as_its_parent(parent, tmp_path):
    ranker = subclass(parent)(**PARENTS[parent]).fit(X, Y, qid=QID)
    for write in (lambda: ranker.save(tmp_path / "m.json"), lambda: own_model(ranker)):
        with rejects(dx.InputError):
            write()
    with rejects(dx.InputError):
        dx.export(ranker, tmp_path / "m.py", to="python")
    assert not [*tmp_path.iterdir()]
    plain = getattr(dx, parent)(**PARENTS[parent]).fit(X, Y, qid=QID)
    np.testing.assert_array_equal(ranker.predict(X), plain.predict(2.0 * X))
    assert ranker.calibrate(Q.take(range(3)), "platt").predict_probability(X).shape == (len(X),)


class Kept(dx.LinearRanker):
    pass


def test_joblib_keeps_a_subclass(tmp_path):
    ranker = Kept("ListNet", max_iter=3).fit(X, Y, qid=QID)
    joblib.dump(ranker, tmp_path / "m.joblib")
    again = joblib.load(tmp_path / "m.joblib")
    assert type(again) is Kept
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))


def test_an_ensemble_does_not_drop_what_a_member_adds():
    with rejects(dx.InputError):
        dx.EnsembleRanker([subclass("LinearRanker")("ListNet", max_iter=3)]).fit(X, Y, qid=QID)


@dataclass(frozen=True, kw_only=True, repr=False)
class NDCG(dx.NDCG):
    def worth(self, labels):
        return 3.0 * labels


@dataclass(frozen=True)
class ApproxNDCG(dx.ApproxNDCG):
    pass


@dataclass(frozen=True)
class LBFGS(dx.LBFGS):
    pass


@dataclass(frozen=True)
class OtherLBFGS(dx.LBFGS):
    pass


class Twice(Scale):
    def apply(self, features, qptr):
        return super().apply(2.0 * features, qptr)


def fitted(surrogate="ListNet", measure=None, kind=dx.LinearRanker, **settings):
    return kind(surrogate, **settings).fit(X, Y, qid=QID, measure=measure)


def with_scale():
    ranker = fitted(scale="standard", max_iter=3)
    scale = Twice("standard", ranker.scale_.center, ranker.scale_.width)
    ranker.model_ = replace(ranker.model_, scale=scale)
    return ranker


def with_calibration():
    ranker = fitted(max_iter=3).calibrate(Q.take(range(3)), "platt")
    ranker.model_ = replace(ranker.model_, calibration=lambda scores: scores)
    return ranker


def redefined():
    make = dx.define_measure("Remade", gain=lambda labels: labels)
    ranker = fitted(measure=make(k=3), max_iter=3)
    dx.define_measure("Remade", gain=lambda labels: 2.0 * labels)
    return ranker


OTHERS = {
    "measure": lambda: fitted(measure=NDCG(k=3), max_iter=3),
    "measure of an ensemble": lambda: dx.EnsembleRanker([dx.LinearRanker("ListNet", max_iter=3)]).fit(
        X, Y, qid=QID, measure=NDCG(k=3)
    ),
    "surrogate of a measure": lambda: fitted(dx.Lambda(NDCG(k=3)), "AP", dx.BoostedRanker, n_trees=3),
    "trainer of a measure": lambda: fitted(
        None, "AP", trainer=dx.CoordinateAscent(measure=NDCG(k=3), max_iter=2)
    ),
    "measure of a search": lambda: dx.AutoRanker(NDCG(k=3), method="ListNet", folds=1).fit(X, Y, qid=QID),
    "measure that was defined again": redefined,
    "trainer in a trainer": lambda: fitted(trainer=dx.Restarts(LBFGS(max_iter=3), n=2)),
    "unknown trainer in a trainer": lambda: fitted(trainer=dx.Restarts(OtherLBFGS(max_iter=3), n=2)),
    "surrogate in a surrogate": lambda: fitted(Gumbel(ApproxNDCG()), max_iter=3),
    "scale": with_scale,
    "calibration": with_calibration,
}


@pytest.mark.parametrize("other", OTHERS)
def test_what_would_become_another_one_is_refused(other, tmp_path):
    ranker = OTHERS[other]()
    with pytest.raises(
        dx.InputError, match=f"the {other.split()[0] if other[0] != 'u' else 'trainer'} .*joblib.dump"
    ):
        ranker.save(tmp_path / "m.json")
    assert not [*tmp_path.iterdir()]


@dataclass(frozen=True)
class Own(dx.ListNet):
    pass


@pytest.mark.parametrize(
    "settings",
    [
        {"surrogate": Own()},
        {"trainer": LBFGS(max_iter=3)},
        {"trainer": dx.Restarts(dx.LBFGS(max_iter=3), n=2)},
    ],
)
def test_what_is_left_out_or_the_same_is_saved(settings, tmp_path):
    ranker = fitted(**settings)
    ranker.save(tmp_path / "m.json")
    again = dx.load(tmp_path / "m.json")
    np.testing.assert_array_equal(again.predict(X), ranker.predict(X))
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()
