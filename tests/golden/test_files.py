"""Files that earlier versions wrote are read, and give the same numbers.

``files/1.0.0`` holds model files of every kind, an index, thresholds and shards that version 1.0.0 wrote from
synthetic data. ``python -m tests.golden.test_files`` writes such a folder for this version; it does not
replace one. The scores that the writing version computed are in ``scores.json``.

Sums of leaves and steps have the same bits everywhere. Other scores are sums of products, whose last bits
depend on the processor (some fuse multiplication and addition, and have wider registers), and functions such
as tanh: they are compared to `ROUNDING`. That every number of a file is read with its bits is tested
for all kinds: the value that was read writes the same JSON.
"""

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import directrix as dx
from directrix.data.trec.features import RunThresholds
from directrix.rankers.model_file import model_to_json, read_model

FILES = Path(__file__).parent / "files"
FOLDERS = sorted(folder for folder in FILES.iterdir() if folder.is_dir()) if FILES.is_dir() else []
MODELS = [path for folder in FOLDERS for path in sorted(folder.glob("*.model.json"))]
ROUNDING = {"rtol": 1e-12, "atol": 1e-12}
SCALES = ("minmax", "standard", "log", "quantile", "query-minmax", "query-standard", "query-percentile")

# multiples of 1/8, which need no random numbers and are the same everywhere
ROWS = (np.add.outer(7 * np.arange(12), 13 * np.arange(4) + 3) % 17 - 8) / 8
GAPS = np.where(np.add.outer(5 * np.arange(12), 3 * np.arange(4)) % 7 == 0, np.nan, ROWS)
GROUP = [7, 5]
FRAME = pd.DataFrame({"shop": pd.Categorical(list("abcdeabcdeab")), "price": ROWS[:, 0]})
NAMES = ["bm25", "recency", "clicks", "länge"]
INPUTS = {"gaps": GAPS, "categories": FRAME, "names": pd.DataFrame(ROWS, columns=NAMES)}
"""Data of models whose names begin so; the others get `ROWS`."""


def ident(path: Path) -> str:
    return f"{path.parent.name} {path.name.removesuffix('.model.json')}"


def inputs(name: str):
    return INPUTS.get(name.split("-")[0], ROWS)


def predictions(path: Path) -> dict[str, list[float]]:
    """Scores of a model file, and probabilities if it is calibrated."""
    ranker, X = dx.load(path), inputs(path.name.removesuffix(".model.json"))
    found = {"scores": ranker.predict(X, group=GROUP)}
    if ranker.calibration_ is not None:
        found["probabilities"] = ranker.predict_probability(X, group=GROUP)
    return {name: values.tolist() for name, values in found.items()}


@pytest.mark.parametrize("path", MODELS, ids=ident)
def test_a_model_file_gives_the_scores_of_the_version_that_wrote_it(path):
    found, expected = predictions(path), json.loads((path.parent / "scores.json").read_text())[path.name]
    assert found.keys() == expected.keys()
    is_sum = json.loads(path.read_text())["model"]["type"] in ("trees", "stumps")
    how = {"rtol": 0.0, "atol": 0.0} if is_sum else ROUNDING
    np.testing.assert_allclose(found["scores"], expected["scores"], **how)
    if "probabilities" in found:
        np.testing.assert_allclose(found["probabilities"], expected["probabilities"], **ROUNDING)


@pytest.mark.parametrize("path", MODELS, ids=ident)
def test_every_number_of_a_model_file_is_read_with_its_bits(path):
    content = json.loads(path.read_text())
    again = json.loads(json.dumps(model_to_json(read_model(path))))
    assert again == {name: content[name] for name in content if name != "format"}


@pytest.mark.parametrize(
    "path", [path for path in MODELS if not path.name.startswith("categories")], ids=ident
)
def test_a_scorer_for_servers_reads_it_too(path):
    X, expected = inputs(path.name)[:7], json.loads((path.parent / "scores.json").read_text())[path.name]
    np.testing.assert_allclose(dx.load_scorer(path).predict(X), expected["scores"][:7], rtol=2e-5, atol=2e-5)


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_an_index_thresholds_and_shards_are_read(folder):
    index = dx.text.Index.load(folder / "documents.index")
    assert (index.n_docs, index.fields.keys() == {"title", "text"}) == (2, True)
    thresholds = RunThresholds.read(folder / "thresholds.json")
    assert (thresholds.form, thresholds.tags) == ("score", ("A", "B"))
    assert [row.tolist() for row in thresholds.values] == [[0.1, 1 / 3], [5e-324]]
    pytest.importorskip("pyarrow")
    shards = dx.data.open_shards(folder / "shards")
    shards.verify()
    assert (shards.n_queries, shards.n_docs, shards.n_features) == (8, 48, 4)


def write(folder: Path) -> None:
    """Write a folder for this version."""
    fitted = rankers()
    folder.mkdir(parents=True)
    for name, ranker in fitted.items():
        ranker.save(folder / f"{name}.model.json")
    found = {path.name: predictions(path) for path in sorted(folder.glob("*.model.json"))}
    (folder / "scores.json").write_text(json.dumps(found, indent=0) + "\n")
    documents = [{"id": "7", "title": "Wings", "text": "in a slipstream"}, {"id": "9", "title": "Heat"}]
    dx.text.Index.build(documents, analyzers=["none", "porter+stop"]).save(folder / "documents.index")
    RunThresholds("score", ("A", "B"), [np.array([0.1, 1 / 3]), np.array([5e-324])]).write(
        folder / "thresholds.json"
    )
    dx.write_shards(data(), folder / "shards", 2)


def data() -> dx.Queries:
    return dx.data.make_cubic(n_queries=8, docs_per_query=6, n_features=4, seed=0)


def rankers() -> dict[str, object]:
    """Fitted rankers of every kind that a file can hold."""
    q = data()
    named = dx.Queries.from_arrays(q.features, q.labels, group=np.diff(q.qptr), feature_names=NAMES)
    gaps = dx.Queries.from_arrays(
        np.where(q.features > 0.9, np.nan, q.features), q.labels, group=np.diff(q.qptr), missing="nan"
    )
    shops = pd.DataFrame(
        {"shop": pd.Categorical(list("abcdef") * 200), "price": np.arange(1200) * 7 % 13 / 13}
    )
    sold = (np.isin(shops["shop"], ["a", "d"]) + shops["price"] > 0.8).to_numpy().astype(int)
    short, small = {"max_iter": 5, "random_state": 0}, {"n_trees": 3, "num_leaves": 4, "min_data_in_leaf": 3}
    trees = dx.BoostedRanker(random_state=0, **small)
    stumps = dx.StumpRanker(thresholds=4, max_iter=8)
    network = dx.MLPRanker(hidden=(3, 3), residual=False, dropout=0.0, **short)
    fitted = {
        "linear": dx.LinearRanker(max_iter=5),
        **{
            f"linear-{kind}": dx.LinearRanker(scale=kind, max_iter=5)
            for kind in (*SCALES, "raw+query-minmax")
        },
        "linear-lambda-sgd": dx.LinearRanker("Lambda", trainer="sgd", **short),
        "linear-anneal": dx.LinearRanker(
            trainer=dx.Anneal(dx.CG(max_iter=2), start=2.0, stop=1.0), max_iter=5
        ),
        "linear-adarank": dx.LinearRanker(trainer="adarank", start="zero", max_iter=5),
        "linear-cutting-plane": dx.LinearRanker("SVMMap", trainer="cutting-plane", l2=0.01, max_iter=20),
        "linear-ascent": dx.LinearRanker(trainer="coordinate-ascent", **short),
        "network": network,
        "network-residual": dx.MLPRanker(hidden=(3, 3), activation="tanh", **short),
        "stumps": stumps,
        "stumps-query-percentile": dx.StumpRanker(thresholds=4, max_iter=8, scale="query-percentile"),
        "trees": trees,
        "trees-bagged": dx.BoostedRanker(random_state=0, n_bags=2, **small),
        "ensemble": dx.EnsembleRanker(
            [dx.LinearRanker("ListNet", scale="standard", max_iter=3), stumps, network]
        ),
    }
    fitted = {name: ranker.fit_queries(q) for name, ranker in fitted.items()}
    fitted["names-linear"] = dx.LinearRanker(max_iter=5).fit_queries(named)
    fitted["gaps-linear-standard"] = dx.LinearRanker(scale="standard", max_iter=5).fit_queries(gaps)
    fitted["gaps-trees"] = dx.BoostedRanker(random_state=0, **small).fit_queries(gaps)
    fitted["gaps-oblivious"] = dx.BoostedRanker(n_trees=3, num_leaves=8, l2=1.0).fit_queries(gaps)
    fitted["categories-trees"] = dx.BoostedRanker(random_state=0, **small).fit(shops, sold, group=[6] * 200)
    fitted["linear-clicks"] = dx.LinearRanker(
        dx.ApproxMeasure("DCG(gain=linear)@10"), max_iter=5
    ).fit_queries(clicked())
    fitted["linear-isotonic"] = dx.LinearRanker(max_iter=5).fit_queries(q).calibrate(q)
    fitted["trees-platt"] = dx.BoostedRanker(random_state=0, **small).fit_queries(q).calibrate(q, "platt")
    return fitted


def clicked() -> dx.Queries:
    """Training data from simulated clicks."""
    q = data()
    q = dx.Queries.from_arrays(
        q.features, q.labels, qid=np.repeat([*"ABCDEFGH"], 6), doc_ids=[*map(str, range(q.n_docs))]
    )
    theta = 1.0 / np.arange(1, 7)
    log = dx.clicks.simulate(q, dx.LinearRanker(max_iter=1).fit_queries(q), n_sessions=400, n_positions=6)
    return dx.clicks.training_data(log, q, propensities=theta)


if __name__ == "__main__":
    target = FILES / dx.__version__
    if target.exists():
        sys.exit(f"{target} exists, and later versions must read it as it is")
    write(target)
