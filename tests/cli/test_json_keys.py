"""The keys of ``--format json`` are part of the interface: `tests/golden/json_keys.json` lists them.

``INTERFACE=write python -m pytest tests/cli/test_json_keys.py`` writes the list again.
"""

import json
import os
from pathlib import Path

import pytest
from tests.commands import succeed

PATH = Path(__file__).parents[1] / "golden" / "json_keys.json"
COMMANDS = {
    "evaluate": "evaluate {test} {model} -m AP --per-query --intervals",
    "compare": "compare {test} {model} {scores} -m AP",
    "train": "train {train} --valid {valid} --method Regression -o {folder}/regression.json",
    "calibrate": "calibrate {model} {valid} -o {folder}/calibrated.json",
    "describe": "describe {model} {test}",
    "explain": "explain {model} {test} -m AP",
    "methods": "methods ApproxNDCG",
    "doctor": "doctor",
    "doctor files": "doctor {train} {test}",
}
PLACES = {"commit"}
"""Keys that depend on the machine."""


def keys(value, above="") -> set[str]:
    """Return the paths of all keys, such as ``rows[].name``."""
    if isinstance(value, list):
        return {key for each in value for key in keys(each, f"{above}[]")}
    if not isinstance(value, dict):
        return {above}
    return {key for name in value.keys() - PLACES for key in keys(value[name], f"{above}.{name}".lstrip("."))}


def test_no_key_is_gone(files):
    found = {}
    for name, line in COMMANDS.items():
        words = [word.format(**vars(files)) for word in line.split()]
        found[name] = sorted(keys(json.loads(succeed(*words, "--format", "json").stdout)))
    if os.environ.get("INTERFACE") == "write":
        PATH.write_text(json.dumps(found, indent=1) + "\n")
    listed = json.loads(PATH.read_text())
    gone = [f"{name}: {key}" for name in listed for key in listed[name] if key not in found.get(name, ())]
    new = [f"{name}: {key}" for name in found for key in found[name] if key not in listed.get(name, ())]
    if gone or new:
        pytest.fail(
            f"Keys that are gone break scripts (docs/versioning.md); keep them until the next major: {gone}. "
            f"New keys break none: {new}. To accept them: INTERFACE=write python -m pytest {__file__}",
            pytrace=False,
        )
