"""`directrix.cluster`: the cluster that works on shards while a block runs."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

from directrix.data.shards.context import using_driver
from directrix.data.shards.task import Driver
from directrix.errors import InputError, short_text
from directrix.parameters import whole

_NEEDED = (
    'cluster("local", 4) for 4 processes of this machine, or cluster("dask", client) with a client or the '
    'address of a scheduler, "tcp://host:8786", is needed'
)


@contextlib.contextmanager
def cluster(kind: str, target: Any) -> Iterator[Driver]:
    """Let a cluster train on shards while the block runs.

    Parameters
    ----------
    kind : {"local", "dask"}
        Processes on this machine, or a Dask cluster.
    target : int, or distributed.Client, or str
        For "local" the number of processes, for "dask" a client or the address of a scheduler. With "dask"
        and ``n_jobs=-1``, `directrix.experiments.cross_validate` and `directrix.AutoRanker` also train their
        candidates there.

    Raises
    ------
    InputError
        If the kind is unknown, or the scheduler cannot be reached.
    MissingExtra
        For "dask" without Dask.

    Notes
    -----
    Every worker gets some of the shards, with about equally many documents. Partial results are merged along
    a fixed tree, so the parameters have the same bits for any number of workers. The others take over the
    shards of a lost worker; a worker that joins is used from the next step on. Each worker needs directrix,
    and the folder of shards at the same path.

    Examples
    --------
    >>> import directrix as dx, pathlib, tempfile
    >>> q, _ = dx.data.make_linear(n_queries=40, docs_per_query=10, n_features=4, seed=0)
    >>> folder = dx.write_shards(q, pathlib.Path(tempfile.mkdtemp(), "shards"), n_shards=4)
    >>> here = dx.LinearRanker("ListNet").fit_shards(folder)
    >>> with dx.cluster("local", 2):
    ...     there = dx.LinearRanker("ListNet").fit_shards(folder)
    >>> bool((here.coef_ == there.coef_).all())
    True
    """
    if kind == "local":
        from directrix.cluster.processes import Processes

        made: contextlib.AbstractContextManager[Driver] = Processes(whole(target, "cluster('local', n)"))
    elif kind == "dask":
        from directrix.cluster.dask import Dask

        made = Dask(target)
    else:
        raise InputError(f"cluster({short_text(kind)}, ...): {_NEEDED}.")
    with made as driver, using_driver(driver):
        yield driver


def cluster_of(text: str) -> contextlib.AbstractContextManager[Driver]:
    """Return the cluster that a text names: "local:4", or "dask://host:8786".

    Raises
    ------
    InputError
        If the text is neither.
    """
    if match := re.fullmatch(r"local:(\d{1,4})", text):
        return cluster("local", int(match[1]))
    if text.startswith("dask://"):
        return cluster("dask", "tcp://" + text.removeprefix("dask://"))
    raise InputError(f"the cluster {text!r}: local:N, for N processes, or dask://HOST:PORT is needed.")
