"""Requests as ``directrix reproduce`` makes them, without a progress bar."""

from contextlib import nullcontext

from directrix.reproductions.request import Request


def request_of(name, data, folder, **options):
    """A quick request of a paper."""
    given = {"quick": True, "seed": 0, "jobs": 1, "command": f"directrix reproduce {name} --data DIR"}
    return Request(
        name,
        data,
        folder,
        installation={"directrix": "0"},
        progress=lambda _: nullcontext(lambda *_: None),
        **{**given, **options},
    )
