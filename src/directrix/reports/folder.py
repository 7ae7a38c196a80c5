"""The folder of a run, with the settings that a resumed run must share."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from directrix.data.files import check_replaceable, readable, replacing
from directrix.errors import InputError

_SETTINGS, _CELLS = "settings.json", "cells.jsonl"


def check_folder(folder: Path, *names: str) -> None:
    """Reject a folder that is a file, or in which files cannot be written, before the work begins.

    ``names`` are files that will be written there in addition to those of every run. Nothing is created.
    """
    if folder.exists() and not folder.is_dir():
        raise InputError(f"{folder} is a file; a folder is needed, e.g. {folder}-2.")
    for name in (_SETTINGS, _CELLS, *names):
        path = folder / name
        # A folder that does not exist yet is made in the nearest one that does.
        while not path.parent.exists():
            path = path.parent
        check_replaceable(path)


def open_folder(folder: Path, settings: Mapping[str, Any]) -> Path:
    """Create a folder for a run, or open it to resume its run; return the file of its finished cells.

    ``settings`` are JSON, written to ``settings.json``. To resume a run, ``settings["fixed"]``, on which the
    results depend, must be the same. Raises `InputError` if the folder is a file, or contains cells of
    unknown settings, or of other settings, which the message names.
    """
    check_folder(folder)
    folder.mkdir(parents=True, exist_ok=True)
    path, cells = folder / _SETTINGS, folder / _CELLS
    if path.exists():
        before = _fixed(path)
        # In JSON a tuple is a list, as in the file.
        now = json.loads(json.dumps(settings["fixed"]))
        names = sorted(name for name in {*before, *now} if before.get(name) != now.get(name))
        if names:
            stored, current = (
                ", ".join(f"{name} {json.dumps(fixed.get(name))[:60]}" for name in names)
                for fixed in (before, now)
            )
            raise InputError(
                f"{path}: belongs to a run with {stored}, which cannot be resumed with {current}: one table "
                f"would mix figures of both. Give another folder, e.g. -o {folder}-2, or those settings."
            )
    elif cells.exists():
        raise InputError(
            f"{folder}: contains {_CELLS}, but not the {_SETTINGS} of that run; give another folder, e.g. "
            f"-o {folder}-2."
        )
    write_settings(folder, settings)
    return cells


def write_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Write the settings of a run, versions and time included."""
    with replacing(folder / _SETTINGS) as file:
        file.write((json.dumps(settings, indent=1) + "\n").encode())


def _fixed(path: Path) -> dict[str, Any]:
    with readable(path):
        content = path.read_bytes()
    try:
        fixed = json.loads(content)["fixed"]
        if isinstance(fixed, dict):
            return fixed
    except (ValueError, KeyError, TypeError):
        pass
    raise InputError(f"{path}: does not contain the settings of the run in this folder; give another folder.")
