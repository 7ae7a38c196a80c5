"""What needs a package that is not installed says which to install."""

import importlib
import sys

import pytest

import directrix as dx
from directrix.interop import catboost, lightgbm
from directrix.text import Index


def shards_for_lightgbm(folder):
    q = dx.data.make_cubic(n_queries=4, docs_per_query=3, n_features=2, seed=0)
    return lightgbm.dask_arrays(dx.write_shards(q, folder / "shards", 1))


@pytest.mark.parametrize(
    ("package", "call", "install"),
    [
        ("dask.array", shards_for_lightgbm, r'pip install "directrix\[dask\]"'),
        ("catboost", lambda _: catboost.boost("ListNet", [[1.0]], [1.0], group=[1]), "pip install catboost"),
        ("Stemmer", lambda _: Index.build({"a": "words"}), r'pip install "directrix\[text\]"'),
        (
            "bm25s",
            lambda _: Index.build({"a": "words"}, analyzers=["none"]).candidates({"q": "words"}),
            r'pip install "directrix\[text\]"',
        ),
        (
            "pyterrier",
            lambda _: importlib.import_module("directrix.interop.pyterrier"),
            r'pip install "directrix\[pyterrier\]"',
        ),
    ],
)
def test_a_package_that_is_missing(package, call, install, monkeypatch, tmp_path):
    monkeypatch.delitem(sys.modules, "directrix.interop.pyterrier", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(dx.MissingExtra, match=install):
        call(tmp_path)
