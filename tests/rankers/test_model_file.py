"""Model files: whole, exact, and refused with a clear message when anything is wrong."""

import contextlib
import copy
import gzip
import json
import lzma
import os
import stat
import time
import tracemalloc
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.models.trees import Trees
from directrix.rankers.model_file import FORMAT
from directrix.rankers.named_trainers import trainer_from

X = np.array([[0.1, 1 / 3], [0.7, -2.5e-17], [0.3, 1e300], [0.9, 0.2]])
Y = [0, 2, 1, 0]
QID = ["a", "a", "b", "b"]


@pytest.fixture(scope="module")
def ranker():
    return dx.LinearRanker("ApproxNDCG(alpha=5.0)", l2=1e-3).fit(
        X[:, :1].repeat(2, axis=1) ** [1, 2], Y, qid=QID
    )


@pytest.fixture
def saved(ranker, tmp_path):
    path = tmp_path / "model.json"
    ranker.save(path)
    return path


def test_predictions_keep_their_bits(ranker, saved):
    loaded = dx.load(saved)
    rows = np.random.default_rng(0).standard_normal((50, 2)) * 10.0 ** np.arange(-25, 25)[:, None]
    assert loaded.predict(rows).tobytes() == ranker.predict(rows).tobytes()
    assert loaded.coef_.tobytes() == ranker.coef_.tobytes()


@pytest.mark.parametrize("value", [1 / 3, 5e-324, 1.7976931348623157e308, -0.0, 0.1 + 0.2])
def test_every_float_is_written_exactly(ranker, tmp_path, value):
    odd = copy.deepcopy(ranker)
    odd.model_ = replace(odd.model_, params=np.array([value, 1.0]))
    odd.save(tmp_path / "m.json")
    assert dx.load(tmp_path / "m.json").coef_.tobytes() == odd.coef_.tobytes()


def test_saving_a_loaded_model_writes_the_same_file(saved, tmp_path):
    again = tmp_path / "again.json"
    dx.load(saved).save(again)
    assert again.read_bytes() == saved.read_bytes()


def test_the_file_has_the_documented_form(ranker, saved):
    content = json.loads(saved.read_text())
    assert list(content) == ["format", "model", "features", "scale", "training"]
    assert content["format"] == "directrix/1"
    assert content["model"] == {"type": "linear", "coef": ranker.coef_.tolist()}
    assert content["features"] == {"count": 2, "names": None, "missing": "error"}
    assert content["scale"] is None
    training = content["training"]
    assert list(training) == [
        "measure", "surrogate", "trainer", "seed", "parameters", "versions", "data", "result",
    ]  # fmt: skip
    assert dx.measure(training["measure"]) == dx.NDCG()
    assert training["surrogate"] == repr(dx.ApproxNDCG(alpha=5.0))
    assert training["data"]["queries"] == 2
    assert training["data"]["digest"].startswith("sha256:")


def test_a_loaded_model_can_be_trained_again_the_same_way(ranker, saved):
    loaded = dx.load(saved)
    assert loaded.l2 == 1e-3
    rows = X[:, :1].repeat(2, axis=1) ** [1, 2]
    assert loaded.fit(rows, Y, qid=QID).coef_.tobytes() == ranker.coef_.tobytes()


def test_the_digest_tells_data_apart(ranker):
    changed = X[:, :1].repeat(2, axis=1) ** [1, 2]
    changed[3, 1] = np.nextafter(changed[3, 1], 1.0)
    other = dx.LinearRanker("ApproxNDCG(alpha=5.0)", l2=1e-3).fit(changed, Y, qid=QID)
    assert other.training_["data"]["digest"] != ranker.training_["data"]["digest"]


def test_saving_replaces_in_one_step(ranker, saved):
    before = saved.read_bytes()
    broken = copy.deepcopy(ranker)
    broken.model_ = replace(broken.model_, params=np.array([np.nan, 1.0]))
    with rejects(dx.InputError):
        broken.save(saved)
    assert saved.read_bytes() == before
    assert [entry.name for entry in saved.parent.iterdir()] == ["model.json"]
    assert stat.S_IMODE(saved.stat().st_mode) & 0o077 == 0o077 & 0o666 & ~_umask()


def _umask():
    current = os.umask(0)
    os.umask(current)
    return current


def test_saving_where_nothing_can_be_written(ranker, tmp_path):
    with rejects(dx.InputError):
        ranker.save(tmp_path / "absent" / "model.json")
    with rejects(dx.InputError):
        ranker.save(tmp_path)


def edited(path, change):
    content = json.loads(path.read_text())
    change(content)
    path.write_text(json.dumps(content))


EDITS = {
    "newer format": (lambda c: c.update(format="directrix/2"), r"'directrix/2'.*pip install -U"),
    "no format": (lambda c: c.pop("format"), "is not a model"),
    "another program's": (lambda c: c.update(format="lightgbm"), "is not a model"),
    "no model": (lambda c: c.pop("model"), "model is missing"),
    "no scale": (lambda c: c.pop("scale"), "scale is missing"),
    "no training": (lambda c: c.pop("training"), "training is missing"),
    "model is a list": (lambda c: c.update(model=[]), "model is .*object"),
    "unknown type": (lambda c: c["model"].update(type="forest"), "model.type is 'forest'.*linear"),
    "no coef": (lambda c: c["model"].pop("coef"), "model.coef is missing"),
    "coef is text": (lambda c: c["model"].update(coef="1 2"), "model.coef is '1 2', must be a list"),
    "too few weights": (lambda c: c["model"]["coef"].pop(), "coef holds 1 numbers, must hold 2"),
    "a weight is text": (lambda c: c["model"].update(coef=[1.0, "2"]), r"model.coef\[1\] is '2'"),
    "a weight is null": (lambda c: c["model"].update(coef=[None, 2.0]), r"model.coef\[0\] is None"),
    "a weight is true": (lambda c: c["model"].update(coef=[True, 2.0]), r"model.coef\[0\] is True"),
    "a weight is huge": (lambda c: c["model"].update(coef=[10**400, 2.0]), "not a number that a model"),
    "count is not an integer": (lambda c: c["features"].update(count=2.5), "features.count is 2.5"),
    "missing is not a rule": (lambda c: c["features"].update(missing="mean"), "missing is 'mean'.*zero"),
    "count is negative": (lambda c: c["features"].update(count=-2), "features.count is -2"),
    "names of another number": (lambda c: c["features"].update(names=["a"]), "2 different texts"),
    "names twice": (lambda c: c["features"].update(names=["a", "a"]), "2 different texts"),
    "unknown measure": (lambda c: c["training"].update(measure="nGCD@10"), "nGCD"),
    "unknown status": (lambda c: c["training"]["result"].update(status="great"), "status is 'great'"),
    "a count with decimals": (lambda c: c["training"]["result"].update(counts={"s": 0.5}), "counts.s"),
    "no result": (lambda c: c["training"].pop("result"), "training.result is missing"),
    "negative l2": (lambda c: c["training"]["parameters"].update(l2=-1.0), "l2"),
    "no l2": (lambda c: c["training"]["parameters"].pop("l2"), "l2 is missing"),
    "a seed with decimals": (lambda c: c["training"].update(seed=2.5), "training.seed is 2.5"),
    "unknown trainer": (lambda c: c["training"]["parameters"].update(trainer="magic"), "trainer"),
    "unknown scale": (lambda c: c.update(scale={"type": "magic"}), "scale"),
}  # fmt: skip


@pytest.mark.parametrize("edit", EDITS)
def test_a_wrong_entry_is_named(saved, edit):
    change, message = EDITS[edit]
    edited(saved, change)
    with pytest.raises(dx.InputError, match=message) as caught:
        dx.load(saved)
    assert str(saved) in str(caught.value)


TEXTS = {
    "empty": (b"", "is not JSON"),
    "cut off": (b'{"format": "directrix/1", "model": {"co', "is not JSON"),
    "binary": (b"\x80\x04\x95\xff\xfe", "is not a JSON model"),
    "a list": (b"[1, 2]", "is not a model"),
    "a number": (b"3", "is not a model"),
    "NaN": (f'{{"format": "{FORMAT}", "model": NaN}}'.encode(), "NaN"),
    "a key twice": (f'{{"format": "{FORMAT}", "format": "{FORMAT}"}}'.encode(), "'format' appears twice"),
    "too deep": (b"[" * 200_000, "is not a JSON model|is not JSON"),
    "a pickle's opcodes": (b"cos\nsystem\n(S'true'\ntR.", "is not JSON"),
}


@pytest.mark.parametrize("text", TEXTS)
def test_what_is_no_model_file_is_refused(tmp_path, text):
    content, message = TEXTS[text]
    path = tmp_path / "model.json"
    path.write_bytes(content)
    with pytest.raises(dx.InputError, match=message) as caught:
        dx.load(path)
    assert str(path) in str(caught.value)


def test_all_missing_entries_are_reported_at_once(saved):
    edited(saved, lambda c: [c["training"].pop(name) for name in ("measure", "seed")])
    with rejects(dx.InputError):
        dx.load(saved)


def test_paths_that_are_no_files(tmp_path):
    with rejects(dx.InputError):
        dx.load(tmp_path / "absent.json")
    with rejects(dx.InputError):
        dx.load(tmp_path)


def test_a_file_without_permission(saved, monkeypatch):
    def refuse(path, *_):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)  # root may read everything, so chmod shows nothing
    with pytest.raises(dx.InputError, match="may not be read"):
        dx.load(saved)


SMOOTH = dx.Anneal(dx.CG(max_iter=3), start=1.0, stop=0.1)
TRAINERS = [
    dx.SGD(learning_rate=0.5, epochs=2),
    dx.Restarts(dx.LBFGS(max_iter=2), n=2),
    SMOOTH,
    dx.CoordinateAscent("AP(rel=2)@3", max_iter=1),
    dx.trainers.AdaRank("nDCG@2", rounds=2, signs=True),
]


def kept(trainer, folder, change=None, kind=dx.LinearRanker, **settings):
    features = np.random.default_rng(0).random((20, 2))
    data = features, np.arange(20) % 3, np.arange(20) // 5
    surrogate = "SmoothNDCG(sigma=4.0)" if getattr(trainer, "uses_surrogate", True) else None
    ranker = kind(surrogate, trainer=trainer, **settings).fit(data[0], data[1], qid=data[2])
    ranker.save(folder / "m.json")
    if change is not None:
        edited(folder / "m.json", change)
    return ranker, dx.load(folder / "m.json"), data


@pytest.mark.parametrize("trainer", TRAINERS, ids=repr)
def test_a_trainer_that_is_an_object_is_read_back(trainer, tmp_path):
    ranker, loaded, (rows, labels, qid) = kept(trainer, tmp_path)
    assert loaded.trainer == trainer
    assert loaded.fit(rows, labels, qid=qid).coef_.tobytes() == ranker.coef_.tobytes()


@pytest.mark.parametrize(
    ("kind", "trainer"),
    [(dx.MLPRanker, dx.Adam(epochs=2)), (dx.StumpRanker, dx.trainers.FRank(rounds=2, candidates=3))],
)
def test_so_it_is_in_models_of_other_types(kind, trainer, tmp_path):
    ranker, loaded, (rows, labels, qid) = kept(trainer, tmp_path, kind=kind, random_state=0, patience=3)
    assert (loaded.trainer, loaded.patience) == (trainer, 3)
    assert loaded.fit(rows, labels, qid=qid).result_.value == ranker.result_.value


class Mine:
    """A trainer that a file cannot name."""

    def minimize(self, objective, start, *, callback=None):
        return dx.LBFGS(max_iter=1).minimize(objective, start, callback=callback)


@pytest.mark.parametrize("trainer", [Mine(), dx.Anneal(Mine(), 1.0, 0.5)], ids=["alone", "wrapped"])
def test_a_trainer_of_the_users_own_predicts_but_does_not_train_as_another(trainer, tmp_path):
    ranker, loaded, (rows, labels, qid) = kept(trainer, tmp_path)
    assert loaded.predict(rows).tobytes() == ranker.predict(rows).tobytes()
    with pytest.raises(ValueError, match=r"'trainer' parameter of LinearRanker.*Mine"):
        loaded.fit(rows, labels, qid=qid)
    loaded.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == (tmp_path / "m.json").read_bytes()


@dataclass(frozen=True)
class ListNet:
    """A surrogate of the user's, with the name of another one."""

    properties = frozenset()
    measure = dx.NDCG()

    def value_and_grad(self, scores, labels, qptr):
        """Return value and gradient of minus the squared distance of scores from labels."""
        return -np.add.reduceat((scores - labels) ** 2, qptr[:-1]), -2.0 * (scores - labels)


def test_a_surrogate_of_the_users_own_does_not_train_as_the_one_of_that_name(tmp_path):
    ranker, loaded, q = kept_of(ListNet(), tmp_path)
    with rejects(dx.InputError):
        loaded.fit_queries(q)
    again = loaded.set_params(surrogate=ListNet()).fit_queries(q)
    assert np.array_equal(again.coef_, ranker.coef_)


def test_a_surrogate_whose_class_is_no_name_of_a_module_predicts(tmp_path):
    @dataclass(frozen=True)
    class Local(ListNet):
        """One that only a function knows."""

    _, loaded, q = kept_of(Local(), tmp_path)
    with pytest.raises(dx.InputError, match="is your own"):
        loaded.fit_queries(q)


def kept_of(surrogate, folder):
    """A ranker that was trained for a user's surrogate, the one that its file gives, and the data."""
    q = dx.data.make_cubic(n_queries=6, docs_per_query=5, n_features=3, seed=0)
    ranker = dx.LinearRanker(surrogate, max_iter=3).fit_queries(q)
    ranker.save(folder / "m.json")
    loaded = dx.load(folder / "m.json")
    assert np.array_equal(loaded.predict_queries(q), ranker.predict_queries(q))
    assert not hasattr(loaded, "surrogate_")
    return ranker, loaded, q


class LBFGS(Mine):
    """A trainer of the user's, with the name of another one."""

    def __repr__(self):
        return "LBFGS()"


def test_a_trainer_of_the_users_own_does_not_train_as_the_one_of_that_name(tmp_path):
    _, loaded, (rows, labels, qid) = kept(LBFGS(), tmp_path)
    with pytest.raises(ValueError, match="'trainer' parameter of LinearRanker"):
        loaded.fit(rows, labels, qid=qid)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("SGD(learning_rate=-1.0)", "learning_rate"),
        ("SGD(speed=1.0)", "speed"),
        ("Anneal(trainer=CG(max_iter=0))", "max_iter"),
        ("SGD", "'trainer' parameter"),
    ],
)
def test_a_damaged_trainer_is_refused(tmp_path, text, message):
    with pytest.raises(dx.InputError, match=f"m.json.*parameters.*{message}"):
        kept(dx.SGD(epochs=1), tmp_path, lambda c: c["training"]["parameters"].update(trainer=text))


def test_after_annealing_the_surrogate_is_the_one_of_the_last_round(tmp_path):
    ranker, loaded, _ = kept(SMOOTH, tmp_path)
    last = SMOOTH.smoothings[-1]
    assert ranker.surrogate_ == loaded.surrogate_ == dx.SmoothNDCG(sigma=last)
    assert loaded.training_["surrogate"] == repr(dx.SmoothNDCG(sigma=4.0))


def test_after_annealing_with_validation_it_is_the_one_of_the_chosen_round():
    from directrix.rankers.means import surrogate_gap

    q = dx.data.make_cubic(n_queries=12, docs_per_query=10, n_features=4, seed=0)
    ranker = dx.LinearRanker("SmoothNDCG", trainer=dx.Anneal(dx.CG(max_iter=3), 64.0, 1 / 64))
    ranker.fit_queries(q.take(range(8)), q.take(range(8, 12)), measure="nDCG@3")
    row = ranker.result_.trace[ranker.result_.counts["best"]]
    assert ranker.surrogate_ == dx.SmoothNDCG(sigma=row["smoothing"])
    scores = ranker.predict_queries(q)
    soft, _ = dx.SmoothNDCG(sigma=row["smoothing"]).value_and_grad(scores, q.labels, q.qptr)
    exact = dx.NDCG()(scores, q.labels, q.qptr)
    np.testing.assert_allclose(surrogate_gap(ranker, q), np.abs(soft - exact).mean(), rtol=1e-12, atol=0)


@pytest.mark.parametrize(("value", "message"), [(-1.0, "smoothing"), ("1", "smoothing is '1'")])
def test_a_damaged_smoothing_is_refused(tmp_path, value, message):
    with pytest.raises(dx.InputError, match=message):
        kept(SMOOTH, tmp_path, lambda c: c["training"]["result"].update(smoothing=value))


@pytest.mark.parametrize("surrogate", ["RankNet", "ListNet", "Lambda"])
def test_what_tends_to_no_measure_has_no_gap(surrogate):
    from directrix.rankers.means import surrogate_gap

    q = dx.data.make_cubic(n_queries=4, docs_per_query=5, n_features=3, seed=0)
    ranker = dx.LinearRanker(surrogate, trainer="sgd", max_iter=1).fit_queries(q, measure="nDCG")
    assert np.isnan(surrogate_gap(ranker, q))


def _written(path, content):
    path.write_text(json.dumps(content))
    return path


def _memory_to_load(path):
    """Peak of what Python and NumPy hold while a model file is loaded, in bytes."""
    tracemalloc.start()
    try:
        with contextlib.suppress(dx.InputError):
            dx.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("count", [2**31 - 1, 2**20 + 1])
def test_a_huge_number_of_features_takes_no_memory(tmp_path, count):
    """A file of 1.2 kB took 16 GB: one empty array for each feature that it named."""
    q, _ = dx.data.make_linear(n_queries=4, docs_per_query=5, n_features=2, seed=0)
    dx.StumpRanker(max_iter=2).fit_queries(q).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["features"]["count"] = count
    path = _written(tmp_path / "huge.json", content)
    assert _memory_to_load(path) < 200e6
    with pytest.raises(dx.InputError, match=rf"there are {count} features; .* at most 1048576"):
        dx.load(path)


@pytest.mark.parametrize(("name", "opener"), [("m.gz", gzip.open), ("m.xz", lzma.open)])
def test_a_small_file_that_unpacks_to_gigabytes_is_refused(tmp_path, name, opener):
    with opener(tmp_path / name, "wb") as file:
        for _ in range(64):
            file.write(b" " * (1 << 20))
    assert _memory_to_load(tmp_path / name) < 60e6
    with pytest.raises(dx.InputError, match="unpacks to more than"):
        dx.load(tmp_path / name)


def test_a_model_of_zeros_is_read_however_well_it_packs(tmp_path, ranker):
    wide = copy.deepcopy(ranker)
    wide.model_ = replace(wide.model_, n_features=500_000, params=np.zeros(500_000))
    wide.save(tmp_path / "m.json")
    (tmp_path / "m.json.gz").write_bytes(gzip.compress((tmp_path / "m.json").read_bytes()))
    assert (tmp_path / "m.json").stat().st_size > 200 * (tmp_path / "m.json.gz").stat().st_size
    assert dx.load(tmp_path / "m.json.gz").n_features_in_ == 500_000


def test_a_trainer_of_others_stays_a_text():
    assert trainer_from("Magic(rate=1)") == "Magic(rate=1)"


@pytest.mark.parametrize("write", [lambda path: dx.load(path), lambda path: dx.load_scorer(path)])
def test_trees_for_a_huge_number_of_features_take_no_memory(tmp_path, write):
    q, _ = dx.data.make_linear(n_queries=4, docs_per_query=5, n_features=2, seed=0)
    dx.BoostedRanker(n_trees=2).fit_queries(q).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["features"]["count"] = content["model"]["n_features"] = 2**31 - 1
    path = _written(tmp_path / "huge.json", content)
    assert _memory_to_load(path) < 50e6
    with pytest.raises(dx.InputError, match="trees for 2,147,483,647 features would take"):
        write(path)


def test_an_export_asks_for_room_first(tmp_path, monkeypatch):
    q, _ = dx.data.make_linear(n_queries=4, docs_per_query=5, n_features=2, seed=0)
    dx.BoostedRanker(n_trees=2).fit_queries(q).save(tmp_path / "m.json")
    content = json.loads((tmp_path / "m.json").read_text())
    content["features"]["count"] = content["model"]["n_features"] = 100_000
    ranker = dx.load(_written(tmp_path / "wide.json", content))
    monkeypatch.setattr("directrix.data.memory.available_memory", lambda: 100 << 20)
    with pytest.raises(dx.InputError, match="an export of a model with 100,000 features would take"):
        dx.export(ranker, tmp_path / "m.py", to="python")


def test_a_category_with_a_huge_number_takes_no_memory(monkeypatch):
    lists = {
        "n_leaves": [2],
        "feature": [0],
        "threshold": [0.0],
        "decision": [1],
        "left": [-1],
        "right": [-2],
    }
    lists |= {"gain": [1.0], "leaf": [0.0, 1.0], "count": [1, 1]}
    trees = Trees.of_json({"n_features": 1, **lists, "categories": [[2**31 - 1]]}, 1)
    monkeypatch.setattr("directrix.data.memory.available_memory", lambda: 1 << 30)
    with pytest.raises(dx.InputError, match="categories numbered up to 2,147,483,647 would take"):
        trees.to_lightgbm()


def test_a_repeated_key_among_many_is_named_at_once(tmp_path):
    keys = ",".join(f'"{i}":0' for i in range(200_000))
    (tmp_path / "m.json").write_text(f'{{"format": "directrix/1", "x": {{{keys},"199999":0}}}}')
    begun = time.process_time()
    with pytest.raises(dx.InputError, match="the key '199999' appears twice"):
        dx.load(tmp_path / "m.json")
    assert time.process_time() - begun < 10.0  # it took minutes
