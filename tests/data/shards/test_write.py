"""Writing shards: whole queries, balanced, described, whatever the form of the data."""

import contextlib
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from tests.messages import rejects

import directrix as dx
from directrix import InputError
from directrix.data.shards import task
from directrix.data.shards.manifest import _digest_of, read_manifest


@pytest.fixture(scope="module")
def q():
    rng = np.random.default_rng(0)
    sizes = rng.integers(1, 30, size=60)
    qid = np.repeat([f"q{i}" for i in range(60)], sizes)
    X = rng.normal(size=(len(qid), 5)).astype(np.float32)
    doc_ids = [f"d{i}" for i in range(len(qid))]
    return dx.Queries.from_arrays(X, rng.integers(0, 3, size=len(qid)), qid=qid, doc_ids=doc_ids)


def frame_of(q):
    frame = pd.DataFrame(q.features, columns=list("abcde"))
    frame["qid"] = np.repeat(q.query_ids, np.diff(q.qptr))
    frame["label"], frame["docno"] = q.labels, q.doc_ids
    return frame


def test_every_query_is_whole_in_one_shard_and_sizes_are_about_equal(q, tmp_path):
    folder = dx.write_shards(q, tmp_path / "shards", n_shards=7)
    parts = [dx.data.read_parquet(path) for path in sorted(folder.glob("*.arrow"))]
    assert sorted(query for part in parts for query in part.query_ids) == sorted(q.query_ids)
    assert max(part.n_docs for part in parts) - min(part.n_docs for part in parts) <= np.diff(q.qptr).max()
    for part in parts:
        for i, query in enumerate(part.query_ids):
            at = q.query_ids.index(query)
            rows, ours = slice(*q.qptr[at : at + 2]), slice(*part.qptr[i : i + 2])
            assert np.array_equal(part.features[ours], q.features[rows])
            assert np.array_equal(part.labels[ours], q.labels[rows])
            assert part.doc_ids[ours].tolist() == q.doc_ids[rows].tolist()


def test_the_manifest_says_what_is_in_the_shards(q, tmp_path):
    manifest = read_manifest(dx.write_shards(q, tmp_path / "shards", n_shards=7))
    assert (manifest.n_docs, manifest.n_queries, manifest.n_features) == (q.n_docs, 60, 5)
    assert manifest.labels == {
        float(k): int(v) for k, v in zip(*np.unique(q.labels, return_counts=True), strict=True)
    }
    levels = [set(q.labels[a:b]) for a, b in zip(q.qptr[:-1], q.qptr[1:], strict=True)]
    assert manifest.n_ordered == sum(len(some) > 1 for some in levels)
    X = q.features.astype(np.float64)
    np.testing.assert_allclose(manifest.moments.mean, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(manifest.moments.spread, X.var(axis=0) * len(X), rtol=1e-12)
    assert np.array_equal(manifest.moments.low, X.min(axis=0))
    dx.data.open_shards(tmp_path / "shards").verify()


def test_the_form_and_the_partitions_make_no_difference(q, tmp_path):
    frame = frame_of(q).sample(frac=1.0, random_state=1).reset_index(drop=True)
    wanted = read_manifest(dx.write_shards(frame, tmp_path / "frame", 5)).digest
    frame.to_parquet(tmp_path / "unsorted.parquet")
    dask = pytest.importorskip("dask.dataframe", reason="needs dask and pandas")
    for n in (1, 6):
        partitioned = dask.from_pandas(frame, npartitions=n)
        folder = dx.write_shards(partitioned, tmp_path / f"dask{n}", 5)
        assert read_manifest(folder).digest == wanted


def test_frames_that_are_refused(q, tmp_path):
    dask = pytest.importorskip("dask.dataframe", reason="needs dask and pandas")
    frame = frame_of(q).drop(columns="docno")
    gap = frame.copy()
    gap.loc[3, "qid"] = None
    with rejects(InputError):
        dx.write_shards(dask.from_pandas(gap, npartitions=3), tmp_path / "gap", 2)
    kinds = frame.assign(kind=pd.Categorical(np.where(frame["a"] > 0, "x", "y")))
    for data in (kinds, dask.from_pandas(kinds, npartitions=3)):
        with rejects(InputError):
            dx.write_shards(data, tmp_path / "kinds", 2)
    assert not any(tmp_path.iterdir())


def test_queries_that_are_categories(q, tmp_path):
    dask = pytest.importorskip("dask.dataframe", reason="needs dask and pandas")
    frame = frame_of(q)
    wanted = read_manifest(dx.write_shards(frame, tmp_path / "text", 3)).digest
    frame["qid"] = pd.Categorical(frame["qid"])
    partitioned = dask.from_pandas(frame, npartitions=3)
    assert read_manifest(dx.write_shards(partitioned, tmp_path / "categories", 3)).digest == wanted


def test_files_of_text_and_tables(q, tmp_path):
    numbered = dx.Queries.from_arrays(q.features, q.labels, group=np.diff(q.qptr))
    dx.write_letor(numbered, tmp_path / "train.txt")
    dx.data.write_parquet(numbered, tmp_path / "train.parquet")
    digests = [
        read_manifest(dx.write_shards(source, tmp_path / name, 4)).digest
        for name, source in (
            ("a", numbered),
            ("b", tmp_path / "train.txt"),
            ("c", tmp_path / "train.parquet"),
        )
    ]
    assert digests[0] == digests[2]
    assert read_manifest(tmp_path / "b").n_docs == q.n_docs
    stored = dx.data.open_parquet(tmp_path / "train.parquet")
    assert read_manifest(dx.write_shards(stored, tmp_path / "d", 4)).n_docs == q.n_docs


def test_a_list_is_one_shard_for_each_entry(q, tmp_path):
    cut = [q.take(range(40)), q.take([]), q.take([40]), q.take(range(41, 60))]
    manifest = read_manifest(dx.write_shards(cut, tmp_path / "shards"))
    assert [shard.queries for shard in manifest.shards] == [40, 0, 1, 19]
    assert manifest.present == (0, 2, 3)
    with rejects(InputError):
        dx.write_shards([q.take([3, 4]), q.take([5, 3])], tmp_path / "twice")
    assert [path.name for path in tmp_path.iterdir()] == ["shards"]


def test_entries_of_a_list_have_the_same_names(q, tmp_path):
    one, other = (replace(q.take([i]), feature_names=tuple(f"abcd{'ef'[i]}")) for i in range(2))
    with rejects(InputError):
        dx.write_shards([one, other], tmp_path / "shards")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda q, to: dx.write_shards(q, to / "full"), "exists already"),
        (lambda q, to: dx.write_shards(q, to / "new", 0), "n_shards"),
        (lambda q, to: dx.write_shards(q, to / "new", 100_000), "at most 512"),
        (lambda q, to: dx.write_shards(q.take([]), to / "new"), "there are no rows"),
        (lambda q, to: dx.write_shards([], to / "new"), "an empty list"),
        (lambda q, to: dx.write_shards([q, 3], to / "new"), "entry 1 of the list"),
        (lambda q, to: dx.write_shards(3, to / "new"), "a path or a frame"),
        (
            lambda q, to: dx.write_shards([q, dx.data.make_cubic(2, 5, 3, seed=0)], to / "new"),
            "same features",
        ),
        (lambda q, to: dx.write_shards(q, to / "full" / "file" / "new"), "cannot be written"),
    ],
)
def test_refused_and_nothing_is_left(q, tmp_path, change, said):
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "file").write_text("kept")
    with pytest.raises(InputError, match=said):
        change(q, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["full"]


def test_missing_values_are_counted(q, tmp_path):
    X = q.features.copy()
    X[3, 2] = X[9, 2] = np.nan
    with_gaps = dx.Queries.from_arrays(X, q.labels, group=np.diff(q.qptr), missing="nan")
    shards = dx.data.open_shards(dx.write_shards(with_gaps, tmp_path / "shards", 3))
    assert shards.manifest.gaps.tolist() == [0, 0, 2, 0, 0]
    assert shards.missing == "nan"
    with rejects(InputError):
        dx.LinearRanker("ListNet").fit_shards(shards)


@pytest.mark.parametrize("kind", ["standard", "minmax", "log", "quantile", "raw+log"])
def test_scales_are_those_of_the_data(q, tmp_path, kind):
    in_order = dx.Queries.from_arrays(q.features, q.labels, group=np.diff(q.qptr))
    cut = [in_order.take(range(0, 20)), in_order.take(range(20, 60))]
    shards = dx.data.open_shards(dx.write_shards(cut, tmp_path / "shards"))
    ours = dx.data.fit_scale(kind, shards.features).apply(q.features, q.qptr)
    np.testing.assert_allclose(ours, dx.data.fit_scale(kind, q.features).apply(q.features, q.qptr), atol=1e-6)


def test_changed_files_are_noticed(q, tmp_path):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    shards = dx.data.open_shards(folder)
    path = folder / "shard-001.arrow"
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"shard 1: .* SHA-256"):
        shards.verify()
    ranker = dx.LinearRanker("ListNet").fit_queries(q)
    for changed in (content, content[:-8]):
        path.write_bytes(changed)
        task._OPEN_SHARDS.clear()
        with pytest.raises(InputError, match="not the file that the manifest describes"):
            shards.scores(ranker)
    path.unlink()
    with pytest.raises(InputError, match="cannot be opened on this machine"):
        shards.scores(ranker)
    with pytest.raises(InputError, match="cannot be opened on this machine"):
        shards.verify()


def rewritten(folder, change):
    """Change a manifest as its writer would have: its digest is right again."""
    content = json.loads((folder / "shards.json").read_text())
    change(content)
    content["sha256"] = _digest_of(content)
    (folder / "shards.json").write_text(json.dumps(content))


@pytest.mark.parametrize(
    "change", [lambda m: m.update(values=[0.25, 1, 2]), lambda m: m["documents"].__setitem__(0, 0)]
)
def test_labels_of_the_manifest_are_those_of_the_shards(q, tmp_path, change):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    counted = [int((q.labels == label).sum()) for label in (0.0, 1.0)]

    def forge(manifest):
        change(manifest["labels"])
        documents = manifest["labels"]["documents"]
        documents[1] += q.n_docs - sum(documents)

    rewritten(folder, forge)
    said = rf"the manifest states the labels .*, and the shards have 0 \({counted[0]}\), 1 \({counted[1]}\)"
    with pytest.raises(InputError, match=said):
        dx.LinearRanker("ListNet", max_iter=1).fit_shards(folder)


def test_a_changed_manifest_is_noticed(q, tmp_path):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    text = (folder / "shards.json").read_text()
    content = json.loads(text)
    content["statistics"]["mean"][0] += 1e-9
    (folder / "shards.json").write_text(json.dumps(content))
    with pytest.raises(InputError, match=r"damaged: .*changed since it was written"):
        dx.data.open_shards(folder)
    (folder / "shards.json").write_text(json.dumps(json.loads(text)))  # the layout is free
    dx.data.open_shards(folder)


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m["features"].update(dtype="float64"),
        lambda m: m["features"].update(names=list("abcde")),
        lambda m: (m["features"].update(count=4), [row.pop() for row in m["statistics"].values()]),
    ],
    ids=["type", "names", "number"],
)
def test_features_that_are_not_those_of_the_manifest(q, tmp_path, change):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    rewritten(folder, change)
    with rejects(InputError):
        dx.LinearRanker("ListNet").fit_shards(folder)


def test_files_that_the_manifest_does_not_list(q, tmp_path):
    shards = dx.data.open_shards(dx.write_shards(q, tmp_path / "shards", 2))
    shutil.copy(tmp_path / "shards" / "shard-001.arrow", tmp_path / "shards" / "shard-002.arrow")
    with rejects(InputError):
        shards.judged()


def test_a_query_at_the_border_of_two_shards_is_noticed(q, tmp_path):
    folder = dx.write_shards([q.take(range(10)), q.take(range(10, 20))], tmp_path / "shards")
    first = q.take(range(10)).query_ids[-1]
    other = dx.data.read_parquet(folder / "shard-001.arrow")
    dx.data.write_parquet(replace(other, query_ids=(first, *other.query_ids[1:])), folder / "shard-001.arrow")
    with rejects(InputError):
        dx.data.open_shards(folder).judged()


def of_first(**values):
    return lambda manifest: manifest["shards"][0].update(values)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (lambda m: m.update(format="other"), "format is 'other'"),
        (lambda m: m["shards"].reverse(), "shard 0 has the file 'shard-001.arrow'"),
        (lambda m: m["features"].update(dtype="int8"), "dtype is 'int8'"),
        (lambda m: m["features"].update(names=["a"]), "not those of 5 features"),
        (lambda m: m["features"].update(names=[]), "not those of 5 features"),
        (of_first(file="../x"), r"the file '\.\./x'"),
        (of_first(documents=-1), "documents is -1"),
        (of_first(documents=True), "documents is True"),
        (lambda m: m["labels"]["documents"].pop(), "shorter"),
        (lambda m: m["labels"]["values"].append(9.0), "shorter"),
        (lambda m: m["labels"]["values"].__setitem__(0, float("inf")), r"values\[0\] is inf"),
        (lambda m: m["statistics"]["mean"].pop(), "not those of 5 features"),
    ],
)
def test_a_manifest_that_says_what_cannot_be(q, tmp_path, damage, said):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    rewritten(folder, damage)
    with pytest.raises(InputError, match=f"is damaged: .*{said}.* Write the shards again"):
        dx.data.open_shards(folder)


def test_features_too_large_for_their_squares(q, tmp_path):
    features = q.features.astype(np.float64)
    features[0, 0], features[1, 0] = 1e200, -1e200
    with rejects(InputError):
        dx.write_shards(replace(q, features=features), tmp_path / "shards", 2)
    assert not (tmp_path / "shards").exists()


def test_features_in_shards_are_no_array(q, tmp_path):
    features = dx.data.open_shards(dx.write_shards(q, tmp_path / "shards", 2)).features
    with rejects(InputError):
        np.asarray(features)


def places(value, at=()):
    yield at
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, entry in items:
        yield from places(entry, (*at, key))


def test_no_manifest_ends_in_another_error(q, tmp_path):
    folder = dx.write_shards(q, tmp_path / "shards", 2)
    good = json.loads((folder / "shards.json").read_text())
    wrong = [None, -1, 1e300, "x", [], {}, True, "../x", 2**70]
    for at in [place for place in places(good) if place and place != ("sha256",)]:
        for value in wrong:
            changed = json.loads(json.dumps(good))
            entry = changed
            for key in at[:-1]:
                entry = entry[key]
            entry[at[-1]] = value
            changed["sha256"] = _digest_of(changed)
            (folder / "shards.json").write_text(json.dumps(changed))
            with contextlib.suppress(InputError):
                dx.data.open_shards(folder)
    for text in ("", "[]", "{", '{"format": 3}', "[" * 100_000):
        (folder / "shards.json").write_text(text)
        with rejects(InputError):
            dx.data.open_shards(folder)
    shutil.rmtree(folder)
    with rejects(InputError):
        dx.data.open_shards(folder)
