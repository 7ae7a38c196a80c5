"""Requests and runners as ``directrix reproduce`` makes them, without a progress bar."""

from contextlib import nullcontext

from directrix.reproductions.request import Request
from directrix.reproductions.runner import Runner


def _silent(_):
    return nullcontext(lambda *_: None)


def request_of(name, data, folder, **options):
    """A quick request of a paper."""
    given = {"quick": True, "seed": 0, "jobs": 1, "command": f"directrix reproduce {name} --data DIR"}
    return Request(
        name,
        data,
        folder,
        installation={"directrix": "0"},
        progress=_silent,
        **{**given, **options},
    )


def runner_of(path, jobs=1):
    """A runner with this file of finished cells."""
    return Runner(path, jobs, _silent)
