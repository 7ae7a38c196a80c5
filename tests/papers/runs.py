"""Runs as ``directrix reproduce`` makes them, without a progress bar."""

from contextlib import nullcontext

from directrix.papers.run import Run


def quick_run(name, data, folder, **options):
    """A quick run of a paper."""
    given = {"quick": True, "seed": 0, "jobs": 1, "command": f"directrix reproduce {name} --data DIR"}
    return Run(
        name,
        data,
        folder,
        installation={"directrix": "0"},
        progress=lambda _: nullcontext(lambda *_: None),
        **{**given, **options},
    )
