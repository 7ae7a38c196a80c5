"""The keys of ``--format json`` are part of the interface: `tests/golden/json_keys.json` lists them.

``INTERFACE=write python -m pytest tests/cli/test_json_keys.py`` writes the list again.
"""

import json
import os
from pathlib import Path

import pytest
from tests.commands import run, succeed

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
    "lab certify": "lab certify {model} {test} -m AP --eps .3 --delta .3 --exact",
    "lab certify --polish": "lab certify {model} {test} -m AP --eps .3 --delta .3 --polish -o {polished}",
    "lab tendency": "lab tendency {test} --models 3 -s ApproxNDCG,ListNet",
    "lab crossval": "lab crossval {train} --method Regression,ListNet --folds 3 --jobs 1 -m AP -o {cv}",
    "lab reproduce": "lab reproduce some2010 --data {folder} -o {folder}/reproduced",
    "runs fuse": "runs fuse {run} {other} --qrels {qrels} -m AP",
    "runs reconcile": "runs reconcile {test} {model} -m AP --value 1.5",
    "clicks describe": "clicks describe {log}",
    "clicks model": "clicks model {log} --model PBM",
    "clicks propensities": "clicks propensities {log} --method random-top --resamples 20",
    "clicks train": "clicks train {log} {test} --propensities 1,.5 -m DCG@2 --method ApproxMeasure -o {ips}",
    "clicks evaluate": "clicks evaluate {log} {model} --features {test} --propensities 1,.5 -m DCG@2",
    "clicks interleave": "clicks interleave {run} {other} --method optimized -k 2",
}
PREPARED = (
    "train {train} --valid {valid} --method Regression -o {folder}/other.json",
    "predict {model} {test} --run model -o {run}",
    "predict {folder}/other.json {test} --run other -o {other}",
    "convert {test} {qrels}",
    "clicks simulate {test} -o {log} --sessions 300 --positions 2 --policy shuffle",
)
PLACES = {"commit"}
"""Keys that depend on the machine."""


def keys(value, above="") -> set[str]:
    """Return the paths of all keys, such as ``rows[].name``."""
    if isinstance(value, list):
        return {key for each in value for key in keys(each, f"{above}[]")}
    if not isinstance(value, dict):
        return {above}
    return {key for name in value.keys() - PLACES for key in keys(value[name], f"{above}.{name}".lstrip("."))}


@pytest.mark.usefixtures("asked")  # the paper some2010
@pytest.mark.filterwarnings("ignore:these intervals are unreliable")  # eight queries
def test_no_key_is_gone(files, tmp_path):
    names = {
        "ips": "ips.json",
        "polished": "polished.json",
        "cv": "cv",
        "run": "a.run",
        "other": "b.run",
        "qrels": "test.qrels",
        "log": "log.csv",
    }
    of = vars(files) | {"folder": tmp_path} | {name: tmp_path / file for name, file in names.items()}
    for line in PREPARED:
        succeed(*line.format(**of).split())
    found = {}
    for name, line in COMMANDS.items():
        result = run(*line.format(**of).split(), "--format", "json")
        assert result.exit_code in (0, 3), result.stderr  # 3: reconcile found no setting
        found[name] = sorted(keys(json.loads(result.stdout)))
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
