"""Structural SVMs on real data: trained to a proven distance from the minimum, and nothing gets below."""

import numpy as np
import pytest

import directrix as dx
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2

pytestmark = pytest.mark.slow


def lowest_of_others(objective, optimum, rng):
    """The lowest loss from random starts, from the optimum, and in its neighborhood."""
    starts = [optimum, *rng.standard_normal((2, len(optimum)))]
    trainers = (dx.LBFGS(max_iter=60), dx.SGD(learning_rate=0.01, epochs=10, random_state=0))
    ends = [trainer.minimize(objective, start).params for trainer in trainers for start in starts]
    near = [optimum + rng.normal(0.0, s, len(optimum)) for s in np.repeat([1e-4, 1e-3, 1e-2, 1e-1], 25)]
    scaled = [optimum * factor for factor in (0.5, 0.9, 0.99, 1.01, 1.1, 2.0)]
    return min(objective.value_and_grad(params)[0] for params in (*ends, *near, *scaled))


@pytest.mark.parametrize("C", [10.0, 1000.0])
@pytest.mark.parametrize("surrogate", ["SVMMap", "SVMRoc"])
def test_ohsumed_is_trained_to_a_thousandth_of_the_primal(data_dir, surrogate, C):
    train = dx.read_letor(dx.data.letor_folds(data_dir / "letor" / "OHSUMED")[0].train)
    objective = dx.linear_objective(train, surrogate, l2=1 / (2 * C))
    start = np.zeros(train.n_features)
    result = dx.CuttingPlane(epsilon=5e-4).minimize(objective, start)
    assert result.status == "converged"
    assert result.gap <= 1e-3 * (1.0 + result.value)  # the mean hinge and the penalty
    assert result.counts["planes"] <= 120
    assert lowest_of_others(objective, result.params, np.random.default_rng(0)) >= result.dual
    ranking = objective.scores(result.params), train.labels, train.qptr
    slacks = 1.0 - dx.surrogate(surrogate).value_and_grad(*ranking)[0]
    loss = 1.0 - dx.surrogate(surrogate).measure(*ranking)
    assert slacks.mean() >= np.where(np.isnan(loss), 0.0, loss).mean()  # Proposition 1
    published = dx.CuttingPlane(epsilon=1e-2, slack="each").minimize(objective, start)
    assert published.dual <= result.value
    assert result.dual <= published.value <= result.value + 1e-2


def test_a_trial_of_trec7_is_trained_to_a_thousandth_of_the_primal(data_dir):
    folder = data_dir / "trec7"
    if not folder.is_dir():
        pytest.skip(f"no TREC-7 in {folder}")
    paths = sorted((folder / "runs").glob("basic-*.gz"))
    runs = dx.data.runs_as_features(paths, folder / "qrels.trec7.txt", depth=300).take(range(10))
    steps = dx.models.StumpModel(runs.thresholds(50))
    objective = make_objective(runs.queries(), "SVMMap", steps, penalty=L2(1 / (2 * 10.0)))
    result = dx.CuttingPlane(epsilon=5e-4).minimize(objective, np.zeros(steps.n_params))
    assert result.status == "converged"
    assert result.gap <= 1e-3 * (1.0 + result.value)
    assert lowest_of_others(objective, result.params, np.random.default_rng(0)) >= result.dual
    along = dx.CuttingPlane().path(objective, np.zeros(steps.n_params), C=[0.1, 1.0, 10.0])
    assert max(result.dual, along[-1].dual) <= min(result.value, along[-1].value)
