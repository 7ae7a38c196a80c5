"""The folder of a reproduction: what it depends on, so that it can be taken up again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from directrix.data.atomic import replacing
from directrix.errors import InputError

__all__ = ["open_folder", "write_settings"]

_SETTINGS, _CELLS = "settings.json", "cells.jsonl"


def open_folder(folder: Path, settings: Mapping[str, Any]) -> Path:
    """Make a folder for a run, or take up the run that is in it.

    Parameters
    ----------
    folder : Path
        Made, with its parents, if it is not there.
    settings : mapping
        JSON. Written to ``settings.json``; of a run that is there ``settings["fixed"]``, what its
        figures depend on, must be the same.

    Returns
    -------
    Path
        Of the file of cells in it.

    Raises
    ------
    InputError
        If ``folder`` is a file, or holds cells of other settings, which the message names, or of
        unknown ones.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder}: is a file; a folder is needed for the tables, e.g. -o {folder}-tables.")
    folder.mkdir(parents=True, exist_ok=True)
    path, cells = folder / _SETTINGS, folder / _CELLS
    if path.exists():
        before = _fixed(path)
        now = json.loads(json.dumps(settings["fixed"]))
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if names:
            there = ", ".join(f"{name} {json.dumps(before.get(name))[:60]}" for name in names)
            wanted = ", ".join(f"{name} {json.dumps(now.get(name))[:60]}" for name in names)
            raise InputError(
                f"{path}: is of a run with {there}, which cannot be gone on with {wanted}: figures of both "
                f"would stand in one table. Give another folder, e.g. -o {folder}-2, or those settings."
            )
    elif cells.exists():
        raise InputError(
            f"{folder}: has {_CELLS}, but no {_SETTINGS} that says what they depend on; give another folder, "
            f"e.g. -o {folder}-2."
        )
    write_settings(folder, settings)
    return cells


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write what a run depends on and how long it took."""
    with replacing(folder / _SETTINGS) as file:
        file.write((json.dumps(settings, indent=1) + "\n").encode())


def _fixed(path: Path) -> dict[str, Any]:
    try:
        found = json.loads(path.read_text(encoding="utf-8"))["fixed"]
        if isinstance(found, dict):
            return found
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{path}: does not say what the run in this folder depends on; give another folder.")
