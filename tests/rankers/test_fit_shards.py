"""Rankers that are trained on shards: in this process, with a checkpoint, and refused."""

import hashlib
import pickle
import resource

import numpy as np
import pytest
from tests.messages import rejects
from tests.search import search

import directrix as dx
from directrix import InputError
from directrix.data.shards import checkpoint
from directrix.data.shards.context import using_driver
from directrix.data.shards.task import Driver, ThisProcess
from directrix.measures import names
from directrix.models.linear import LinearModel
from directrix.objectives.objective import make_objective


@pytest.fixture(scope="module")
def q():
    return dx.data.make_linear(n_queries=120, docs_per_query=12, n_features=6, seed=0)[0]


@pytest.fixture(scope="module")
def folder(q, tmp_path_factory):
    cut = [q.take(range(40)), q.take([]), q.take(range(40, 45)), q.take(range(45, 90))]
    return dx.write_shards(cut, tmp_path_factory.mktemp("data") / "shards")


@pytest.fixture(scope="module")
def valid(q, tmp_path_factory):
    return dx.write_shards(q.take(range(90, 120)), tmp_path_factory.mktemp("data") / "valid", 2)


RANKERS = {
    "L-BFGS": lambda: dx.LinearRanker("ApproxNDCG", scale="standard", l2=1e-3),
    "conjugate gradients, annealed": lambda: dx.LinearRanker(
        "SmoothNDCG", trainer=dx.Anneal(dx.CG()), l2=1e-2
    ),
    "cutting planes": lambda: dx.LinearRanker("SVMMap", trainer="cutting-plane", l2=1e-2),
    "convexified": lambda: dx.LinearRanker("Dorm(k=5)", trainer="cutting-plane", l2=1e-2),
    "Adam": lambda: dx.LinearRanker("ApproxNDCG", trainer=dx.Adam(epochs=3, batch=16), scale="log"),
    "restarts": lambda: dx.LinearRanker("ApproxAP", trainer=dx.Restarts(dx.LBFGS(max_iter=20), 3), l2=1e-3),
    "bounds": lambda: dx.LinearRanker("ListNet", bounds="nonnegative"),
    "network": lambda: dx.MLPRanker("ListNet", hidden=(4,), trainer="lbfgs", max_iter=15, random_state=0),
}


@pytest.mark.parametrize("name", RANKERS)
def test_the_quality_is_that_of_one_data_set(q, folder, valid, name):
    train, judged = q.take(range(90)), q.take(range(90, 120))
    ours = RANKERS[name]().fit_shards(folder, valid, measure="nDCG@5")
    theirs = RANKERS[name]().fit_queries(train, judged, measure="nDCG@5")
    values = [
        ranker.score(judged.features, judged.labels, group=np.diff(judged.qptr)) for ranker in (ours, theirs)
    ]
    assert abs(values[0] - values[1]) < 0.01
    assert ours.training_["data"]["documents"] == train.n_docs


def test_validation_in_shards_and_in_memory_are_the_same(q, folder, valid):
    make = RANKERS["L-BFGS"]
    ours = make().fit_shards(folder, valid, measure="nDCG@5")
    theirs = make().fit_shards(folder, q.take(range(90, 120)), measure="nDCG@5")
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    scores = [row["score"] for ranker in (ours, theirs) for row in ranker.result_.trace]
    half = len(scores) // 2
    np.testing.assert_allclose(scores[:half], scores[half:], rtol=1e-12)


def test_scores_of_shards_are_those_of_the_documents(q, folder):
    for ranker in (dx.LinearRanker("ListNet", scale="query-minmax"), dx.BoostedRanker("RankNet", n_trees=3)):
        fitted = ranker.fit_queries(q)
        shards = dx.data.open_shards(folder)
        np.testing.assert_array_equal(shards.scores(fitted), fitted.predict_queries(q.take(range(90))))
        assert shards.judged().n_docs == 90 * 12


def test_the_certificate_is_that_of_one_data_set(q, folder):
    ranker = dx.LinearRanker("ListNet", scale="standard").fit_queries(q)
    ours = dx.certify(ranker, dx.data.open_shards(folder), "nDCG@5", eps=0.2, delta=0.2)
    theirs = dx.certify(ranker, q.take(range(90)), "nDCG@5", eps=0.2, delta=0.2)
    np.testing.assert_allclose(ours.value, theirs.value, rtol=1e-12)
    assert ours.n_rising == theirs.n_rising
    with rejects(InputError):
        dx.certify(ranker, dx.data.open_shards(folder), "nDCG@5", exact=True)


def test_scores_of_one_data_set_are_refused(folder):
    ranker = dx.LinearRanker("ListNet").fit_shards(folder)
    with rejects(InputError):
        ranker.predict_queries(dx.data.open_shards(folder))


@pytest.mark.parametrize(
    "options",
    [{"valid": None}, {"folds": 2}, {"time_budget": 9.0}, {"n_jobs": 2}, {"weights": (None, np.ones(90))}],
)
def test_a_search_refuses_what_shards_do_not_have(q, folder, options):
    given = {"valid": q.take(range(90, 120))} | options
    with rejects(InputError):
        search(dx.data.open_shards(folder), method="ListNet", **given)


class Failing(Driver):
    """Counts the questions, and is lost after some of them."""

    def __init__(self, n):
        self.n, self.asked = n, 0

    def answers(self, task):
        self.asked += 1
        if self.asked > self.n:
            raise InputError("the cluster was lost")
        return ThisProcess().answers(task)


@pytest.mark.parametrize("name", ["L-BFGS", "Adam", "network", "cutting planes"])
def test_a_training_resumes_where_it_was_interrupted(folder, valid, tmp_path, name):
    path, whole = tmp_path / "answers", RANKERS[name]()
    with using_driver(Failing(10**6)) as counting:
        whole.fit_shards(folder, valid, measure="nDCG@5")
    for lost_after in (counting.asked // 3, counting.asked // 3):
        with using_driver(Failing(lost_after)), rejects(InputError):
            RANKERS[name]().fit_shards(folder, valid, measure="nDCG@5", checkpoint=path)
    content = path.read_bytes()
    path.write_bytes(content[:-3])  # the last answer was being written
    with using_driver(Failing(10**6)) as rest:
        resumed = RANKERS[name]().fit_shards(folder, valid, measure="nDCG@5", checkpoint=path)
    assert np.array_equal(resumed.model_.params, whole.model_.params)
    # each of the two interrupted trainings also asked for the labels, which no checkpoint keeps
    assert rest.asked <= counting.asked - 2 * (counting.asked // 3) + 3 + 2
    assert not path.exists()


def test_other_files_are_no_checkpoints(folder, tmp_path):
    with rejects(InputError):
        dx.LinearRanker("ListNet").fit_shards(folder, checkpoint=tmp_path / "none" / "here")


def interrupted(folder, path):
    with using_driver(Failing(8)), pytest.raises(InputError, match="was lost"):
        RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=path)
    return path.read_bytes()


@pytest.mark.parametrize("seed", range(4))
def test_a_damaged_checkpoint_gives_the_same_bits(folder, tmp_path, seed):
    """Answers up to the damage are used, the others are asked for again."""
    rng, path = np.random.default_rng(seed), tmp_path / "answers"
    content, whole = interrupted(folder, path), RANKERS["L-BFGS"]().fit_shards(folder)
    for at in rng.integers(len(checkpoint._MAGIC), len(content), size=6):
        path.write_bytes(content[:at] + bytes([content[at] ^ rng.integers(1, 256)]) + content[at + 1 :])
        resumed = RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=path)
        assert np.array_equal(resumed.coef_, whole.coef_)


@pytest.mark.parametrize("shape", [(0, 7, 1), (1, 1, 7), (2, 2**63, 2**63), (2, 0, 2**64 - 1), (255, 7, 1)])
def test_shapes_that_no_answer_has(folder, tmp_path, shape):
    path = tmp_path / "answers"
    content = interrupted(folder, path)
    first = len(checkpoint._MAGIC)
    key = content[first : first + 32]  # of the question that is asked first
    head = checkpoint._HEAD.pack(key, *shape)
    numbers = bytes(8 * 7)
    path.write_bytes(content[:first] + head + numbers + hashlib.sha256(head + numbers).digest())
    resumed = RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=path)
    assert np.array_equal(resumed.coef_, RANKERS["L-BFGS"]().fit_shards(folder).coef_)


def test_answers_of_another_version_are_not_used(folder, tmp_path, monkeypatch):
    interrupted(folder, tmp_path / "answers")
    monkeypatch.setattr(checkpoint, "__version__", "0.0.0")
    with using_driver(Failing(10**6)) as rest:
        RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=tmp_path / "answers")
    with using_driver(Failing(10**6)) as whole:
        RANKERS["L-BFGS"]().fit_shards(folder)
    assert rest.asked == whole.asked


def test_answers_of_code_that_was_edited_are_not_used(folder, valid, tmp_path):
    """Neither those of a checkpoint, nor what this process prepared with the code before."""
    text = """
import directrix as dx
class Turned(dx.ListNet):
    def prepare(self, labels, qptr, doc_weight=None):
        return super().prepare(+1 * (labels - 2) + 2, qptr, doc_weight)
Own = dx.define_measure("OwnOnShards", gain=lambda labels: +1 * (labels - 2) + 2, discount=lambda r: 1 / r)
"""

    def trained(text, checkpoint=None):
        own = {"__name__": "own"}
        names._DEFINED.pop("ownonshards", None)
        exec(text, own)
        ranker = dx.LinearRanker(own["Turned"](), trainer=dx.Adam(epochs=3))
        ranker.fit_shards(folder, valid, measure=own["Own"](), checkpoint=checkpoint)
        return ranker.coef_.tolist(), [step["score"] for step in ranker.result_.trace]

    turned = text.replace("+1 *", "-1 *")
    fresh = trained(turned)
    before = trained(text)
    assert before != fresh
    assert trained(turned) == fresh
    with using_driver(Failing(5)), rejects(InputError):
        trained(text, tmp_path / "answers")
    assert trained(turned, tmp_path / "answers") == fresh


def test_a_worker_with_other_code_is_refused(folder):
    """It imported a module before that was edited."""
    shards = dx.data.open_shards(folder)
    preparation = make_objective(shards, dx.ListNet(), LinearModel()).source.preparation
    sent = pickle.loads(pickle.dumps(preparation).replace(preparation.key.encode(), b"0" * 12))
    with pytest.raises(
        InputError, match=r"other code for the measure or the surrogate .* Restart the workers"
    ):
        sent.source(None)


def test_an_empty_checkpoint_is_a_new_one(folder, tmp_path):
    for content in (b"", checkpoint._MAGIC[:7]):
        (tmp_path / "answers").write_bytes(content)
        interrupted(folder, tmp_path / "answers")
        assert (tmp_path / "answers").read_bytes().startswith(checkpoint._MAGIC)


@pytest.mark.parametrize("resume", [True, False])
def test_a_file_of_others_is_neither_emptied_nor_removed(tmp_path, resume):
    (tmp_path / "notes").write_text("my notes")
    with (
        rejects(InputError),
        checkpoint.keep_answers(tmp_path / "notes", resume=resume),
    ):
        pass
    assert (tmp_path / "notes").read_text() == "my notes"


def test_a_training_without_answers_leaves_no_checkpoint(folder, tmp_path):
    with using_driver(Failing(0)), rejects(InputError):
        RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=tmp_path / "answers")
    assert not (tmp_path / "answers").exists()


def test_two_trainings_with_one_checkpoint(folder, tmp_path):
    with (
        checkpoint.keep_answers(tmp_path / "answers"),
        rejects(InputError),
    ):
        dx.LinearRanker("ListNet").fit_shards(folder, checkpoint=tmp_path / "answers")


def test_a_checkpoint_that_finds_no_room_is_one_error(folder, tmp_path):
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (300, limits[1]))
    try:
        with pytest.raises(InputError, match=r"answers cannot be written: .* Make room"):
            RANKERS["L-BFGS"]().fit_shards(folder, checkpoint=tmp_path / "answers")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


def test_a_checkpoint_is_emptied_where_training_does_not_resume(folder, tmp_path):
    path = tmp_path / "answers"
    content = interrupted(folder, path)
    with checkpoint.keep_answers(path, resume=False):
        assert path.read_bytes() == checkpoint._MAGIC
        RANKERS["L-BFGS"]().fit_shards(folder)
        assert path.read_bytes().startswith(content)  # which was asked for again
    with (
        checkpoint.keep_answers(path),
        rejects(InputError),
        checkpoint.keep_answers(path, resume=False),
    ):
        pass


def test_errors_of_a_callback_are_not_those_of_the_checkpoint(folder, tmp_path):
    def fail(step):
        raise ConnectionResetError(104, "the tracking server went away")

    with pytest.raises(ConnectionResetError, match="tracking server"):
        dx.LinearRanker("ListNet").fit_shards(folder, callback=fail, checkpoint=tmp_path / "answers")


def test_refused(q, folder, tmp_path):
    with rejects(InputError):
        dx.LinearRanker().fit_shards(tmp_path)
    other = dx.write_shards(dx.data.make_cubic(9, 5, 3, seed=0), tmp_path / "other", 2)
    with rejects(InputError):
        dx.LinearRanker().fit_shards(folder, other)
    alike = dx.Queries.from_arrays(q.features, np.ones(q.n_docs), group=np.diff(q.qptr))
    with rejects(InputError):
        dx.LinearRanker("ListNet").fit_shards(dx.write_shards(alike, tmp_path / "alike", 2))
    with rejects(InputError):
        dx.LinearRanker(trainer="coordinate-ascent").fit_shards(folder)
