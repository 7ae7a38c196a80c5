"""Runs as ``directrix lab reproduce`` makes them, without a progress bar."""

from contextlib import nullcontext

from directrix.papers.workspace import Workspace


def quick_workspace(name, data, folder, **options):
    """A quick run of a paper."""
    given = {"quick": True, "seed": 0, "jobs": 1, "command": f"directrix lab reproduce {name} --data DIR"}
    return Workspace(
        name,
        data,
        folder,
        installation={"directrix": "0"},
        progress=lambda _: nullcontext(lambda *_: None),
        **{**given, **options},
    )
