"""The experiment of Yue et al. (2007) on a small collection, and what is known of the real one."""

import gzip
import json
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.experiments.significance import signed_rank
from directrix.objectives.objective import make_objective
from directrix.objectives.penalty import L2
from directrix.papers.yue2007 import METHODS, Grid, Yue2007, balanced_trials, features_of, train_path
from directrix.papers.yue2007_data import ap_of_topics, read_runs
from directrix.papers.yue2007_page import best_accuracy
from directrix.trainers.cutting_plane import CuttingPlane
from tests.experiments.artificial import NOISE, write_collection
from tests.messages import rejects
from tests.papers.workspaces import quick_workspace

SMALL = Grid(
    hinge_c=(1e-2, 1.0),
    accuracy_c=(1e-3, 1e-1),
    balanced_c=(1e-4, 1e-2),
    published_c=(1e-3, 1e-1),
    epsilon=1e-2,
    bins=8,
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("trec"))


@pytest.fixture(scope="module")
def runs(folder):
    return read_runs(folder)


@pytest.fixture(scope="module")
def settings():
    return Yue2007(trials=10, counted=2, grid=SMALL)


def run_of(runs, settings, folder, jobs=1):
    """Results of a run, and its finished cells."""
    folder.mkdir(exist_ok=True)
    work = quick_workspace("yue2007", folder, folder, jobs=jobs)
    results = settings.run({"TREC-7": runs}, work)
    cells = map(json.loads, work.path.read_text().splitlines())
    return results, {tuple(cell["key"]): cell["result"] for cell in cells if len(cell["key"]) == 2}


@pytest.fixture(scope="module")
def done(runs, settings, tmp_path_factory):
    return run_of(runs, settings, tmp_path_factory.mktemp("cells"))


@pytest.fixture(scope="module")
def results(done):
    return list(done[0].collections.values())


@pytest.fixture(scope="module")
def cells(done):
    return done[1]


def map_of(folder, name):
    """MAP of a run over its judgments, by the library's own reader and measure."""
    qrels = dx.read_trec_qrels(folder / "trec7" / "qrels.trec7.txt")
    judged = dx.data.join_trec(dx.read_trec_run(folder / "trec7" / "runs" / f"{name}.res.gz"), qrels)
    return dx.evaluate("AP", judged.scores, judged.labels, qptr=judged.qptr, doc_ids=judged.doc_ids)["AP"]


def test_data_sets_are_made_of_the_runs_that_their_names_say(runs):
    tags = {name: scores.tags for name, scores in runs.data_sets.items()}
    assert tags == {
        "basic": ("basic-A_0", "basic-B_1", "basic-C_2"),
        "plain + basic": ("basic-A_0", "basic-B_1", "basic-C_2", "plain-A", "plain-B"),
        "all": tuple(sorted(NOISE)),
        "all without the best": tuple(name for name in sorted(NOISE) if name != "extra-A_0"),
    }
    assert next(iter(runs.single["all without the best"])) == "extra-A_0"


def test_base_functions_are_the_runs_of_the_data_set_by_falling_map(runs, folder):
    names = list(runs.single["plain + basic"])
    assert names[:2] == ["basic-A_0", "plain-A"]
    for name, values in runs.single["all"].items():
        np.testing.assert_allclose(values.mean(), map_of(folder, name), rtol=1e-12, atol=0)
    means = [values.mean() for values in runs.single["all"].values()]
    assert means == sorted(means, reverse=True)


def test_a_topic_that_a_run_lacks_counts_0_for_it(tmp_path):
    path = write_collection(tmp_path) / "trec7" / "runs" / "basic-A_0.res.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(line for line in lines if not line.startswith(b"352 "))))
    runs = read_runs(tmp_path)
    values = runs.single["all"]["basic-A_0"]
    assert np.flatnonzero(values == 0.0).tolist() == [runs.topics.index("352")]
    assert len(values) == 50


@pytest.mark.parametrize("column", ["basic", "all"])
def test_average_precision_of_a_run_in_the_union_is_that_of_its_file(runs, folder, column):
    scores = runs.data_sets[column]
    for f, name in enumerate(scores.tags):
        ranked = np.where(np.isnan(scores.scores[:, f]), -np.inf, scores.scores[:, f])
        found = ap_of_topics(scores, ranked).mean()
        np.testing.assert_allclose(found, map_of(folder, name), rtol=1e-12, atol=0)


def test_relevant_documents_that_no_run_has_count(runs):
    scores = runs.data_sets["all"]
    perfect = ap_of_topics(scores, scores.labels)
    in_union = np.add.reduceat(scores.labels, scores.qptr[:-1])
    np.testing.assert_allclose(perfect, in_union / 4, rtol=1e-12, atol=0)
    assert perfect.max() <= 3 / 4


def test_structural_methods_end_at_the_minimum_of_their_own_loss(runs):
    queries, model = features_of("score", runs.data_sets["basic"].take(range(10)), SMALL.bins)
    ends = [train_path(method, queries, model, SMALL, seed=0) for method in METHODS[:2]]
    assert len(ends[0]) == len(SMALL.hinge_c)
    for i, c in enumerate(SMALL.hinge_c):
        for own, surrogate in enumerate((dx.SVMMap(), dx.SVMRoc())):
            objective = make_objective(queries, surrogate, model, penalty=L2(1 / (2 * c)))
            best = CuttingPlane(epsilon=1e-4).minimize(objective, np.zeros(model.n_params)).value
            value = objective.value_and_grad(ends[own][i].params)[0]
            assert best - 1e-4 <= value <= best + SMALL.epsilon
            assert all(step.status == "converged" for step in ends[own])
    assert not np.allclose(ends[0][1].params, ends[1][1].params)


@pytest.mark.parametrize("method", METHODS[2:], ids=lambda method: method.name)
def test_classifiers_are_svmacc_of_the_steps(runs, method):
    queries, model = features_of(method.form, runs.data_sets["basic"].take(range(10)), SMALL.bins)
    objective, start = make_objective(queries, dx.SVMRoc(), model), np.zeros(model.n_params)
    is_published = method.name == "SVMacc (hinge)"
    results = train_path(method, queries, model, SMALL, seed=5)
    for c, step in zip(SMALL.c_of(method), results, strict=True):
        trainer = dx.trainers.SVMAcc(
            C=c,
            loss="hinge" if is_published else "squared_hinge",
            balanced=method.name == "SVMacc2",
            max_iter=50 if is_published else 200,
            random_state=5,
        )
        np.testing.assert_array_equal(step.params, trainer.minimize(objective, start).params)


def test_each_method_cuts_what_the_paper_says(runs):
    train = runs.data_sets["basic"].take(range(10))
    for method, form in zip(METHODS, ["score"] * 4 + ["percentile", "minmax", "score"], strict=True):
        queries, model = features_of(method.form, train, 5)
        np.testing.assert_array_equal(queries.features, train.queries(form).features)
        if form == "score":
            np.testing.assert_array_equal(model.values, np.concatenate(train.thresholds(5)))


@pytest.mark.parametrize(
    ("part", "stays", "changes"), [("valid", "test_by_c", "valid"), ("test", "valid", "test")]
)
def test_what_is_learned_depends_on_training_topics_alone(runs, settings, tmp_path, part, stays, changes):
    """With other scores and judgments of one part, figures of the other part are the same at every C."""
    basic = runs.data_sets["basic"]
    trial = balanced_trials(50, 10, 5, 1, seed=settings.seed)[0]
    scores, labels = basic.scores.copy(), basic.labels.copy()
    for t in getattr(trial, part):
        rows = slice(basic.qptr[t], basic.qptr[t + 1])
        scores[rows], labels[rows] = scores[rows][::-1], np.roll(labels[rows], 1)
    other = replace(runs, data_sets={"basic": replace(basic, scores=scores, labels=labels)})
    few = Yue2007(trials=1, counted=0, grid=SMALL)
    found = [run_of(data, few, tmp_path / f"{i}")[1] for i, data in enumerate((runs, other))]
    for method in METHODS:
        there, here = (cells["basic", 0]["methods"][method.name] for cells in found)
        assert there[stays] == here[stays]
        assert there[changes] != here[changes]


def test_evenly_spaced_thresholds_lie_within_0_and_1(runs):
    train = runs.data_sets["basic"].take(range(10))
    for form in ("percentile", "minmax"):
        _, model = features_of(form, train, 4)
        np.testing.assert_allclose(model.values, [0.2, 0.4, 0.6, 0.8] * 3, rtol=1e-12, atol=0)


def test_validation_chooses_the_smallest_c_of_equals(cells):
    for cell in cells.values():
        for method in METHODS:
            found = cell["methods"][method.name]
            grid = SMALL.c_of(method)
            assert found["c"] == next(
                c for c, v in zip(grid, found["valid"], strict=True) if v == max(found["valid"])
            )
            assert found["test_by_c"][grid.index(found["c"])] == pytest.approx(
                np.mean(found["test"]), rel=1e-12
            )
            assert len(found["test"]) == len(cell["test"]) == 35


def test_of_equal_c_the_smallest_is_taken(runs, tmp_path):
    small = (2.0**-30, 2.0**-29)  # no margin is met: twice the same weights, to the last bit
    tiny = Grid(small, small, small, small, bins=4)
    basic = replace(runs, data_sets={"basic": runs.data_sets["basic"]})
    cell = run_of(basic, Yue2007(trials=1, counted=0, grid=tiny), tmp_path)[1]["basic", 0]
    for found in cell["methods"].values():
        assert found["valid"][0] == found["valid"][1]
        assert found["c"] == small[0]


def test_map_is_the_mean_over_topics_and_over_balanced_trials(runs, settings, results, cells):
    for column in results:
        assert column.topics == runs.topics
        for figure in column.methods:
            trials = [cells[column.name, t]["methods"][figure.name]["test"] for t in range(settings.trials)]
            np.testing.assert_allclose(figure.mean, np.mean(trials), rtol=1e-12, atol=0)


def test_comparisons_are_those_of_the_values_by_topic(results):
    column = results[2]
    reference = column.methods[0]
    assert reference.name == "SVMmap"
    assert reference.against is None
    for figure in (*column.methods[1:], *column.base):
        assert figure.against == signed_rank(reference.values, figure.values)
        assert figure.against.n == 50
    assert column.base[0].run == "extra-A_0"


def test_choices_of_c_are_counted(settings, results, cells):
    for column in results:
        for method in METHODS:
            of = [cells[column.name, t]["methods"][method.name] for t in range(settings.trials)]
            chosen, first = [t["c"] for t in of], SMALL.c_of(method)[0]
            assert column.chosen[method.name] == {c: chosen.count(c) for c in SMALL.c_of(method)}
            assert column.not_converged[method.name] == sum(not c for t in of for c in t["converged"])
            np.testing.assert_allclose(
                column.by_c[method.name][first], np.mean([t["test_by_c"][0] for t in of]), rtol=1e-12, atol=0
            )


def test_unbalanced_trials_leave_out_topics_that_none_tests(runs, cells, tmp_path):
    column = run_of(runs, Yue2007(trials=1, grid=SMALL), tmp_path)[0].collections["basic"]
    tested = cells["basic", 0]["test"]
    np.testing.assert_array_equal(column.base[0].values, next(iter(runs.single["basic"].values()))[tested])
    assert column.topics == tuple(runs.topics[t] for t in tested)
    np.testing.assert_allclose(
        column.methods[0].values, cells["basic", 0]["methods"]["SVMmap"]["test"], rtol=1e-12, atol=0
    )


def test_runs_of_one_kind_have_all_topics(tmp_path):
    for path in (write_collection(tmp_path) / "trec7" / "runs").glob("basic-*.res.gz"):
        lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
        path.write_bytes(gzip.compress(b"".join(line for line in lines if not line.startswith(b"352 "))))
    with rejects(InputError):
        read_runs(tmp_path)


@pytest.mark.slow
def test_one_process_and_two_give_the_same_numbers(runs, cells, tmp_path):
    two = Yue2007(trials=2, grid=SMALL)
    together = run_of(runs, two, tmp_path, jobs=2)[1]
    for key, cell in together.items():
        for method in METHODS:
            for what in ("c", "valid", "test", "converged"):
                assert cell["methods"][method.name][what] == cells[key]["methods"][method.name][what]


def test_what_is_missing_is_named(tmp_path):
    with rejects(InputError):
        read_runs(tmp_path)


def test_the_digest_changes_with_any_file(folder, runs, tmp_path):
    other = write_collection(tmp_path, seed=1)
    assert read_runs(folder).digest == runs.digest
    assert read_runs(other).digest != runs.digest


@pytest.mark.slow
def test_the_real_runs(data_dir):
    if not (data_dir / "trec7").is_dir():
        pytest.skip(f"no trec7 in {data_dir}")
    runs = read_runs(data_dir)
    assert len(runs.topics) == 50
    assert [len(scores.tags) for scores in runs.data_sets.values()] == [10, 19, 23, 22]
    assert next(iter(runs.single["all"])) == "plain-DirichletLM_noSM_noSW"
    np.testing.assert_allclose(next(iter(runs.single["all"].values())).mean(), 0.1945, rtol=0, atol=5e-5)
    np.testing.assert_allclose(
        next(iter(runs.single["basic"].values())).mean(),
        map_of(data_dir, "basic-BB2c1.0_0"),
        rtol=1e-12,
        atol=0,
    )
    everything = runs.data_sets["all"]
    assert everything.n_relevant.sum() == 4674
    assert (everything.labels > 0).sum() == 2789


def test_algorithm_1_adds_no_more_constraints_than_theorem_1_says(done, runs):
    """And its counts are those of the trainer."""
    settings = done[0].settings
    train = runs.data_sets["basic"].take(balanced_trials(50, 10, 5, 10, seed=0)[0].train)
    queries, model = features_of("score", train, SMALL.bins)
    objective = make_objective(queries, dx.SVMMap(), model)
    first = done[0].constraints[0]
    assert (first.name, first.n_trainings, first.n_converged) == ("basic", 4, 4)
    assert first.is_bounded
    for count, c in zip(first.counts, SMALL.hinge_c, strict=True):
        result = CuttingPlane(epsilon=SMALL.epsilon, slack="each", C=c).minimize(
            objective, np.zeros(model.n_params)
        )
        assert count.c == c
        assert count.largest >= result.counts["added"] > 0
        assert count.largest >= count.added
        assert count.bound >= 8 * c * 0.5 * first.radius**2 * 0.25 / SMALL.epsilon**2
    assert not replace(first, counts=(first.counts[0]._replace(largest=10**15),)).is_bounded
    assert settings.counted == 2


def test_statistics_are_those_of_the_data(runs, results):
    column = results[0]
    scores = runs.data_sets["basic"]
    train = scores.take(balanced_trials(50, 10, 5, 10, seed=0)[0].train)
    n_thresholds = sum(map(len, train.thresholds(SMALL.bins)))
    sizes = (3, n_thresholds, len(scores.labels), int(scores.labels.sum()))
    assert (column.n_runs, column.n_features, column.n_documents, column.n_relevant) == sizes


def test_best_accuracy_is_that_of_the_best_threshold():
    rng = np.random.default_rng(0)
    for _ in range(50):
        scores, labels = rng.integers(0, 4, 6) * 1.0, rng.integers(0, 2, 6) * 1.0
        right = [
            np.mean((scores > t) == (labels > 0)) for t in (-1.0, 0.5, 1.5, 2.5, 3.5, 0.0, 1.0, 2.0, 3.0)
        ]
        assert best_accuracy(scores, labels) == max(right)


# splits: disjoint, whole, balanced, and the same whatever their number


def how_often(trials, part, n):
    return np.bincount(np.concatenate([getattr(trial, part) for trial in trials]), minlength=n).tolist()


@pytest.mark.parametrize(("n", "n_train", "n_valid", "turns"), [(50, 10, 5, 10), (12, 4, 2, 6), (7, 3, 2, 7)])
def test_a_round_of_the_circle_is_balanced_and_no_less(n, n_train, n_valid, turns):
    balanced = [
        len(set(how_often(balanced_trials(n, n_train, n_valid, k, seed=3), "train", n))) == 1
        for k in range(1, turns + 1)
    ]
    assert balanced[-1]
    assert len(set(how_often(balanced_trials(n, n_train, n_valid, turns, seed=3), "valid", n))) == 1


def test_a_trial_has_every_topic_once_and_in_order():
    for trial in balanced_trials(50, 10, 5, 12, seed=1):
        assert [len(part) for part in trial] == [10, 5, 35]
        assert sorted(np.concatenate(trial).tolist()) == list(range(50))
        assert all((np.diff(part) > 0).all() for part in trial)


def test_a_trial_does_not_depend_on_how_many_there_are():
    few, many = balanced_trials(50, 10, 5, 3, seed=2), balanced_trials(50, 10, 5, 30, seed=2)
    assert all(np.array_equal(a.train, b.train) for a, b in zip(few, many, strict=False))


def test_too_few_queries_are_rejected():
    with rejects(InputError):
        balanced_trials(15, 10, 5, 1, seed=0)
