"""Methods of the user's own: `method` of a surrogate, a trainer, a ranker, or their name in a module."""

import json
import sys
from dataclasses import dataclass

import numpy as np
import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.synthetic import make_linear
from directrix.rankers.method import Method
from directrix.types import Result

DATA, _ = make_linear(12, 8, 3, seed=1)


@dataclass(frozen=True)
class Pull:
    """Minus the squared distance of scores from labels."""

    strength: float = 1.0
    properties = frozenset({"smooth", "convex"})
    measure = dx.NDCG()

    def value_and_grad(self, scores, labels, qptr):
        """Return the value of every query and the gradient."""
        gaps = scores - labels
        return -self.strength * np.add.reduceat(gaps**2, qptr[:-1]), -2.0 * self.strength * gaps


class Plain:
    """The same without a dataclass, and with a parameter that has no default."""

    properties = frozenset({"smooth", "convex"})
    measure = dx.NDCG()

    def __init__(self, strength):
        self.strength = strength

    def value_and_grad(self, scores, labels, qptr):
        """Return the value of every query and the gradient."""
        return Pull(self.strength).value_and_grad(scores, labels, qptr)


@dataclass(frozen=True)
class Descent:
    """A few steps of a fixed length."""

    length: float = 0.1

    def minimize(self, objective, start, *, callback=None):
        """Minimize from the start."""
        for _ in range(5):
            loss, grad = objective.value_and_grad(start)
            start = start - self.length * grad
        return Result(start, loss, "max_iter", "five steps")


def test_a_surrogate_is_maximized_for_a_linear_model():
    for given, strength in ((Pull, 1.0), (Pull(0.5), 0.5), (Plain(0.5), 0.5)):
        found = dx.method(given)
        kind = given if isinstance(given, type) else type(given)
        assert (found.name, found.surrogate, found.model, found.trainer) == (
            kind.__name__,
            kind,
            "linear",
            "lbfgs",
        )
        assert dict(found.grid) == {"l2": (1e-5, 1e-4, 1e-3, 1e-2, 1e-1)}
        assert "strength" in found.settings
        ours = found.ranker(l2=0.1).fit_queries(DATA)
        assert ours.surrogate.strength == strength
        assert found.ranker(strength=2.0).surrogate.strength == 2.0
        theirs = dx.LinearRanker(Pull(strength), l2=0.1).fit_queries(DATA)
        np.testing.assert_array_equal(ours.coef_, theirs.coef_)


def test_a_trainer_gets_a_surrogate_and_its_own_parameters():
    found = dx.method(Descent(0.5))
    assert found.ranker().trainer == Descent(0.5)
    assert found.ranker(length=0.2, alpha=5.0).trainer == Descent(0.2)
    ranker = found.ranker(length=0.2, alpha=5.0).fit_queries(DATA)
    assert ranker.result_.message == "five steps"
    assert ranker.surrogate == dx.ApproxNDCG(alpha=5.0)


def test_a_ranker_is_trained_as_it_is():
    template = dx.MLPRanker(Pull(), hidden=(3,), max_iter=4)
    found = dx.method(template)
    assert (found.name, found.model, dict(found.grid)) == ("MLPRanker", "mlp", {})
    made = found.ranker(measure="AP", max_iter=2)
    assert made is not template
    assert (made.hidden, made.max_iter, template.max_iter) == ((3,), 2, 4)
    assert dx.method(dx.LinearRanker).ranker().get_params() == dx.LinearRanker().get_params()
    with rejects(dx.InputError):
        found.ranker(alpha=1.0)


def test_the_surrogate_of_a_ranker_can_be_searched():
    for surrogate in (Pull(0.5), "ListNet(temperature=0.5)"):
        name = "strength" if isinstance(surrogate, Pull) else "temperature"
        found = dx.method(dx.MLPRanker(surrogate, hidden=(3,), max_iter=4))
        assert name in found.settings
        assert getattr(found.ranker().surrogate, name) == 0.5
        made = found.ranker(**{name: 2.0})
        assert (getattr(made.surrogate, name), made.hidden, made.max_iter) == (2.0, (3,), 4)
    with rejects(dx.InputError):
        found.ranker(strength=1.0)


def test_a_field_that_is_also_a_parameter_of_the_ranker_belongs_to_the_ranker():
    @dataclass(frozen=True)
    class Penalized(Pull):
        l2: float = 3.0

    made = dx.method(dx.MLPRanker(Penalized(l2=2.0), l2=0.1)).ranker(l2=0.5)
    assert (made.surrogate, made.l2) == (Penalized(l2=2.0), 0.5)


def test_no_surrogate_of_the_user_has_weights_of_documents():
    assert not dx.method(Pull).weighs_docs
    assert not dx.method(Plain(0.5)).weighs_docs
    assert dx.method(dx.LinearRanker("ListNet")).weighs_docs == dx.method("ListNet").weighs_docs


def test_subclasses_of_rankers_are_not_known():
    class Mine(dx.LinearRanker):
        pass

    with rejects(dx.InputError):
        dx.method(Mine())


def test_a_method_is_itself():
    assert dx.method(dx.method("ListNet")) is dx.method("ListNet")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A current folder with the module ``my_loss``."""
    (tmp_path / "my_loss.py").write_text(
        "import directrix as dx\n"
        "from directrix.experiments import Entry\n"
        "class Mine(dx.ListNet): pass\n"
        "half = Mine(temperature=0.5)\n"
        "entry = Entry('ours', Mine, grid={'temperature': [1.0, 2.0]})\n"
        "number = 3\n"
    )
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield tmp_path
    sys.modules.pop("my_loss", None)


def test_a_name_in_a_module_is_imported(folder):
    assert dx.method("my_loss:Mine").surrogate is sys.modules["my_loss"].Mine
    half = dx.method("my_loss:half")
    assert (half.name, half.ranker().surrogate.temperature) == ("half", 0.5)
    several = dx.method("my_loss:Mine, ListNet")
    assert [part.name for part in several.parts(None)] == ["Mine", "ListNet"]
    ranker = dx.AutoRanker("nDCG@3", method="my_loss:half").fit_queries(DATA)
    assert ranker.ranker_.surrogate.temperature == 0.5


@pytest.mark.parametrize(
    "given",
    [
        3,
        None,
        np,
        dict,
        "my_loss:number",
        "my_loss:dx",
        "my_loss:Nothing",
        "my_loss:",
        "absent:A",
    ],
    ids=lambda given: getattr(given, "__name__", str(given)),
)
def test_anything_else_is_rejected(folder, given):
    with pytest.raises(dx.InputError, match=r"must be a surrogate|has no such name|cannot be imported"):
        dx.method(given)


def test_an_entry_is_for_comparisons(folder):
    with rejects(dx.InputError):
        dx.method("my_loss:entry")


def test_nothing_is_imported_for_a_text_of_a_file(folder):
    ranker = dx.LinearRanker(Pull(), max_iter=2).fit_queries(DATA)
    ranker.save(folder / "model.json")
    text = (folder / "model.json").read_text().replace(f"{__name__}:Pull(strength=1.0)", "my_loss:Mine")
    (folder / "changed.json").write_text(text)
    loaded = dx.load(folder / "changed.json")
    with rejects(dx.InputError):
        loaded.fit_queries(DATA)
    assert "my_loss" not in sys.modules


def test_all_of_it_is_in_the_description():
    described = dx.method(Pull(0.5)).describe()
    assert (described["fixed"], described["source"]) == ({"strength": 0.5}, f"{__name__}.Pull")
    assert isinstance(dx.method(Pull), Method)
    assert dx.method(Plain(0.5)).describe()["properties"] == ["convex", "smooth"]
    described = json.loads(json.dumps(dx.method(dx.LinearRanker(Pull(0.5), l2=0.1)).describe()))
    assert (described["surrogate"], described["fixed"]["strength"], described["fixed"]["l2"]) == (
        "Pull",
        0.5,
        0.1,
    )
