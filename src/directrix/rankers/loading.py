"""From a model file to a ranker: at once what scores lists, the rest when it is needed."""

from __future__ import annotations

import os
import threading
from typing import Any

from directrix.rankers.contents import Contents, contents_of
from directrix.rankers.persistence import Saved, read_model_file
from directrix.rankers.serving import PLAIN, Kept, served
from directrix.types import Int64Array

_COMPLETING = threading.RLock()
_CLASS: Any = vars(object)["__class__"]


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model that ``ranker.save`` or ``directrix train`` wrote.

    Parameters
    ----------
    path : path
        The JSON file. What scores documents is checked entry by entry now, the record of the training when
        the ranker is first used for something else than `rank`; nothing in it is ever executed.

    Returns
    -------
    ranker
        Of the class that was saved, fitted: it predicts the same bits. ``result_.trace`` is empty. Until
        something else than `rank` is asked of it only NumPy is imported, for trees Numba too.

    Raises
    ------
    InputError
        If the file cannot be read, is of a newer format, or any entry is missing or wrong.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> path = pathlib.Path(tempfile.mkdtemp(), "model.json")
    >>> q, _ = dx.data.make_linear(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> ranker = dx.LinearRanker().fit_queries(q)
    >>> ranker.save(path)
    >>> dx.load(path).rank(q.features[:3])
    array([0, 1, 2])
    >>> bool((dx.load(path).predict_queries(q) == ranker.predict_queries(q)).all())
    True
    """
    contents = contents_of(os.fspath(path), read_model_file(path))
    return _Loaded(contents)


class _Loaded(Saved):
    """A ranker of which only `rank` was used so far: anything else makes it an object of its own class.

    scikit-learn and SciPy, which that class needs, take a second to import; a server that only ranks does
    without them. Python lets an object change its class if both begin with the same base.
    """

    def __init__(self, contents: Contents) -> None:
        vars(self).update(_contents=contents, _served=Kept(contents.training, served(contents)))

    def rank(self, features: Any) -> Int64Array:
        """See `directrix.rankers.base.Ranker.rank`."""
        kept: Kept = vars(self)["_served"]
        if kept.model is None or type(features) not in PLAIN:
            ranked: Int64Array = _completed(self).rank(features)
            return ranked
        return kept.model.rank(features)

    def __getattr__(self, name: str) -> Any:
        return getattr(_completed(self), name)

    def __setattr__(self, name: str, value: Any) -> None:
        setattr(_completed(self), name, value)

    def to_json(self) -> dict[str, Any]:
        """See `Saved.to_json`."""
        content: dict[str, Any] = _completed(self).to_json()
        return content

    def __repr__(self) -> str:
        return repr(_completed(self))

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _completed(self).__reduce_ex__(protocol)

    @property  # type: ignore[misc]  # it can be written, by `_completed`
    def __class__(self) -> type[Any]:  # what isinstance asks
        return type(_completed(self))


def _completed(loaded: Any) -> Any:
    """Return the same object, now of the class that was saved."""
    from directrix.rankers.model_file import restored

    with _COMPLETING:
        if type(loaded) is _Loaded:
            ranker = restored(vars(loaded)["_contents"])
            vars(loaded).update(vars(ranker))  # other threads may rank meanwhile
            del vars(loaded)["_contents"]
            _CLASS.__set__(loaded, type(ranker))
    return loaded
