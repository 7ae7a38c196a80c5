"""The experiment of Yue et al. (2007) on a small collection, and what is known of the real one."""

import gzip
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix import InputError
from directrix.experiments.significance import paired
from directrix.experiments.trials import balanced_trials
from directrix.experiments.yue2007.collection import average_precision, read_collection
from directrix.experiments.yue2007.methods import METHODS, Grid, features_of, path
from directrix.experiments.yue2007.protocol import Settings, run_trials
from directrix.experiments.yue2007.results import results
from directrix.objectives.build import make_objective
from directrix.objectives.penalty import L2
from directrix.trainers.cutting_plane import CuttingPlane
from tests.experiments.artificial import NOISE, write_collection

SMALL = Grid(hinge_c=(1e-2, 1.0), accuracy_c=(1e-3, 1e-1), balanced_c=(1e-4, 1e-2), epsilon=1e-2, bins=8)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_collection(tmp_path_factory.mktemp("trec"))


@pytest.fixture(scope="module")
def collection(folder):
    return read_collection(folder)


@pytest.fixture(scope="module")
def settings():
    return Settings(trials=10, grid=SMALL)


@pytest.fixture(scope="module")
def cells(collection, settings, tmp_path_factory):
    return run_trials(collection, settings, tmp_path_factory.mktemp("cells") / "cells.jsonl", n_jobs=1)


def map_of(folder, name):
    """MAP of a run over its judgements, by the library's own reader and measure."""
    qrels = dx.read_trec_qrels(folder / "trec7" / "qrels.trec7.txt")
    judged = dx.data.join_trec(dx.read_trec_run(folder / "trec7" / "runs" / f"{name}.res.gz"), qrels)
    return dx.evaluate("AP", judged.scores, judged.labels, qptr=judged.qptr, doc_ids=judged.doc_ids)["AP"]


def test_data_sets_are_made_of_the_runs_that_their_names_say(collection):
    runs = {name: scores.tags for name, scores in collection.columns.items()}
    assert runs == {
        "basic": ("basic-A_0", "basic-B_1", "basic-C_2"),
        "plain + basic": ("basic-A_0", "basic-B_1", "basic-C_2", "plain-A", "plain-B"),
        "all": tuple(sorted(NOISE)),
        "all without the best": tuple(name for name in sorted(NOISE) if name != "extra-A_0"),
    }


def test_base_functions_are_the_runs_of_the_data_set_by_falling_map(collection, folder):
    names = [run.name for run in collection.base["plain + basic"]]
    assert names[:2] == ["basic-A_0", "plain-A"]
    for run in collection.base["all"]:
        np.testing.assert_allclose(run.values.mean(), map_of(folder, run.name), rtol=1e-12, atol=0)
    means = [run.values.mean() for run in collection.base["all"]]
    assert means == sorted(means, reverse=True)


def test_a_topic_that_a_run_lacks_counts_0_for_it(tmp_path):
    path = write_collection(tmp_path) / "trec7" / "runs" / "basic-A_0.res.gz"
    lines = gzip.decompress(path.read_bytes()).splitlines(keepends=True)
    path.write_bytes(gzip.compress(b"".join(line for line in lines if not line.startswith(b"352 "))))
    collection = read_collection(tmp_path)
    (run,) = (run for run in collection.base["all"] if run.name == "basic-A_0")
    assert np.flatnonzero(run.values == 0.0).tolist() == [collection.topics.index("352")]
    assert len(run.values) == 50


def test_without_the_best_run_the_comparison_is_still_with_it(collection):
    assert collection.base["all without the best"][0].name == "extra-A_0"
    assert "extra-A_0" not in collection.columns["all without the best"].tags


@pytest.mark.parametrize("column", ["basic", "all"])
def test_average_precision_of_a_run_in_the_union_is_that_of_its_file(collection, folder, column):
    scores = collection.columns[column]
    for f, name in enumerate(scores.tags):
        ranked = np.where(np.isnan(scores.scores[:, f]), -np.inf, scores.scores[:, f])
        found = average_precision(scores, ranked).mean()
        np.testing.assert_allclose(found, map_of(folder, name), rtol=1e-12, atol=0)


def test_relevant_documents_that_no_run_has_count(collection):
    scores = collection.columns["all"]
    perfect = average_precision(scores, scores.labels)
    in_union = np.add.reduceat(scores.labels, scores.qptr[:-1])
    np.testing.assert_allclose(perfect, in_union / 4, rtol=1e-12, atol=0)
    assert perfect.max() <= 3 / 4


def test_structural_methods_end_at_the_minimum_of_their_own_loss(collection):
    queries, model = features_of("score", collection.columns["basic"].take(range(10)), SMALL.bins)
    ends = [path(method, queries, model, SMALL, seed=0) for method in METHODS[:2]]
    assert [step.c for step in ends[0]] == list(SMALL.hinge_c)
    for i, c in enumerate(SMALL.hinge_c):
        for own, surrogate in enumerate((dx.SVMMap(), dx.SVMRoc())):
            objective = make_objective(queries, surrogate, model, penalty=L2(1 / (2 * c)))
            best = CuttingPlane(epsilon=1e-4).minimise(objective, np.zeros(model.n_params)).value
            value = objective.value_and_grad(ends[own][i].params)[0]
            assert best - 1e-4 <= value <= best + SMALL.epsilon
            assert all(step.is_converged for step in ends[own])
    assert not np.allclose(ends[0][1].params, ends[1][1].params)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
@pytest.mark.parametrize("method", METHODS[2:], ids=lambda method: method.name)
def test_classifiers_are_svmacc_of_the_steps(collection, method, loss):
    queries, model = features_of(method.form, collection.columns["basic"].take(range(10)), SMALL.bins)
    objective, start = make_objective(queries, dx.SVMRoc(), model), np.zeros(model.n_params)
    for step in path(method, queries, model, replace(SMALL, accuracy_loss=loss), seed=5):
        trainer = dx.trainers.SVMAcc(
            C=step.c, loss=loss, balanced=method.name == "SVMacc2", max_iter=SMALL.max_iter, random_state=5
        )
        np.testing.assert_array_equal(step.params, trainer.minimise(objective, start).params)


def test_each_method_cuts_what_the_paper_says(collection):
    train = collection.columns["basic"].take(range(10))
    for method, form in zip(METHODS, ["score"] * 4 + ["percentile", "minmax"], strict=True):
        queries, model = features_of(method.form, train, 5)
        np.testing.assert_array_equal(queries.features, train.queries(form).features)
        if form == "score":
            np.testing.assert_array_equal(model.values, np.concatenate(train.thresholds(5)))


@pytest.mark.parametrize(
    ("part", "stays", "changes"), [("valid", "test_by_c", "valid"), ("test", "valid", "test")]
)
def test_what_is_learned_depends_on_training_topics_alone(
    collection, settings, tmp_path, part, stays, changes
):
    """With other scores and judgements of one part, figures of the other part are the same at every C."""
    runs = collection.columns["basic"]
    trial = balanced_trials(50, 10, 5, 1, seed=settings.seed)[0]
    scores, labels = runs.scores.copy(), runs.labels.copy()
    for t in getattr(trial, part):
        rows = slice(runs.qptr[t], runs.qptr[t + 1])
        scores[rows], labels[rows] = scores[rows][::-1], np.roll(labels[rows], 1)
    other = replace(collection, columns={"basic": replace(runs, scores=scores, labels=labels)})
    few = Settings(trials=1, grid=SMALL)
    found = [run_trials(c, few, tmp_path / f"{i}.jsonl") for i, c in enumerate((collection, other))]
    for method in METHODS:
        there, here = (cells["basic", 0]["methods"][method.name] for cells in found)
        assert there[stays] == here[stays]
        assert there[changes] != here[changes]


def test_evenly_spaced_thresholds_lie_within_0_and_1(collection):
    train = collection.columns["basic"].take(range(10))
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


def test_of_equal_c_the_smallest_is_taken(collection, tmp_path):
    small = (2.0**-30, 2.0**-29)  # no margin is met: twice the same weights, to the last bit
    tiny = Grid(small, small, small, accuracy_loss="hinge", bins=4)
    basic = replace(collection, columns={"basic": collection.columns["basic"]})
    cell = run_trials(basic, Settings(trials=1, grid=tiny), tmp_path / "c")["basic", 0]
    for found in cell["methods"].values():
        assert found["valid"][0] == found["valid"][1]
        assert found["c"] == small[0]


def test_map_is_the_mean_over_topics_and_over_balanced_trials(collection, settings, cells):
    for column in results(collection, settings, cells):
        assert column.topics == collection.topics
        for figure in column.methods:
            trials = [cells[column.name, t]["methods"][figure.name]["test"] for t in range(settings.trials)]
            np.testing.assert_allclose(figure.mean, np.mean(trials), rtol=1e-12, atol=0)


def test_comparisons_are_those_of_the_values_by_topic(collection, settings, cells):
    column = results(collection, settings, cells)[2]
    reference = column.methods[0]
    assert reference.name == "SVMmap"
    assert reference.against is None
    for figure in (*column.methods[1:], *column.base):
        assert figure.against == paired(reference.values, figure.values)
        assert sum(figure.against[:3]) == 50
    assert column.base[0].run == "extra-A_0"


def test_svmmap_is_above_the_best_run_of_this_collection(collection, settings, cells):
    for column in results(collection, settings, cells):
        assert column.methods[0].mean > column.base[0].mean


def test_choices_of_c_are_counted(collection, settings, cells):
    for column in results(collection, settings, cells):
        for method in METHODS:
            of = [cells[column.name, t]["methods"][method.name] for t in range(settings.trials)]
            chosen, first = [t["c"] for t in of], SMALL.c_of(method)[0]
            assert column.chosen[method.name] == {c: chosen.count(c) for c in SMALL.c_of(method)}
            assert column.not_converged[method.name] == sum(not c for t in of for c in t["converged"])
            np.testing.assert_allclose(
                column.by_c[method.name][first], np.mean([t["test_by_c"][0] for t in of]), rtol=1e-12, atol=0
            )


def test_unbalanced_trials_leave_out_topics_that_none_tests(collection, settings, cells):
    few = Settings(trials=1, grid=SMALL)
    column = results(collection, few, cells)[0]
    tested = cells["basic", 0]["test"]
    np.testing.assert_array_equal(column.base[0].values, collection.base["basic"][0].values[tested])
    assert column.topics == tuple(collection.topics[t] for t in tested)
    np.testing.assert_allclose(
        column.methods[0].values, cells["basic", 0]["methods"]["SVMmap"]["test"], rtol=1e-12, atol=0
    )


def test_one_process_and_two_give_the_same_numbers(collection, settings, cells, tmp_path):
    two = Settings(trials=2, grid=SMALL)
    together = run_trials(collection, two, tmp_path / "cells.jsonl", n_jobs=2)
    for key, cell in together.items():
        for method in METHODS:
            for what in ("c", "valid", "test", "converged"):
                assert cell["methods"][method.name][what] == cells[key]["methods"][method.name][what]


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(
        InputError, match=r"has no .*runs/basic-\*\.res\.gz, no .*plain-.*, no .*qrels\.trec7\.txt"
    ):
        read_collection(tmp_path)


def test_the_digest_changes_with_any_file(folder, collection, tmp_path):
    other = write_collection(tmp_path, seed=1)
    assert read_collection(folder).digest == collection.digest
    assert read_collection(other).digest != collection.digest


def test_the_real_runs(data_dir):
    if not (data_dir / "trec7").is_dir():
        pytest.skip(f"no trec7 in {data_dir}")
    collection = read_collection(data_dir)
    assert len(collection.topics) == 50
    assert [len(runs.tags) for runs in collection.columns.values()] == [10, 19, 23, 22]
    assert collection.base["all"][0].name == "plain-DirichletLM_noSM_noSW"
    np.testing.assert_allclose(collection.base["all"][0].values.mean(), 0.1945, rtol=0, atol=5e-5)
    np.testing.assert_allclose(
        collection.base["basic"][0].values.mean(), map_of(data_dir, "basic-BB2c1.0_0"), rtol=1e-12, atol=0
    )
    everything = collection.columns["all"]
    assert everything.n_relevant.sum() == 4674
    assert (everything.labels > 0).sum() == 2789
