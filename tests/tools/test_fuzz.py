"""The short run of CI: the same inputs for every target each time; `make fuzz` tries others for an hour."""

import tracemalloc
from random import Random

import pytest
from tools.fuzz import mutators
from tools.fuzz.__main__ import table
from tools.fuzz.campaign import Campaign, input_of, repeated
from tools.fuzz.outcomes import BAD
from tools.fuzz.targets import TARGETS

INPUTS = 60  # of each target, times its weight: half a minute on two idle cores


@pytest.mark.slow
@pytest.mark.parametrize("part", dict.fromkeys(target.part for target in TARGETS.values()))
def test_nothing_crashes_hangs_or_is_accepted_without_a_reason(part, tmp_path):
    campaign = Campaign(tmp_path)
    campaign.run(
        [[name, 0, INPUTS * target.weight] for name, target in TARGETS.items() if target.part == part]
    )
    bad = sum(counts[outcome] for counts in campaign.counts.values() for outcome in BAD)
    assert not bad, table(campaign, 0, 0.0)


def test_every_input_can_be_made_again():
    assert input_of("run", 0, 7) == input_of("run", 0, 7) != input_of("run", 1, 7)


@pytest.mark.parametrize("value", [0, "x" * 100_000])
def test_json_of_copies_of_copies_is_cut_off(monkeypatch, value):
    """Before it takes memory: long texts as well as many numbers."""
    for _ in range(9):
        value = [value] * 300  # 300^9 numbers, in nine lists
    monkeypatch.setattr(mutators, "_changed", lambda *_: value)
    monkeypatch.setattr(mutators, "_MOST", 10_000)
    tracemalloc.start()
    try:
        assert max(len(mutators.of_json(Random(i), [b"{}"])) for i in range(4)) == 10_000
        assert tracemalloc.get_traced_memory()[1] < 20e6
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        ("traceback", "raise KeyError('x')"),
        ("crash", "import os; os.abort()"),
        ("hang", "import time; time.sleep(60)"),
        ("memory", "b'x' * (400 << 20)"),
    ],
)
def test_what_goes_wrong_is_seen(outcome, code, tmp_path, monkeypatch):
    # on a busy machine, errors may take long too
    monkeypatch.setattr("tools.fuzz.campaign.LONGEST", 2.0 if outcome == "hang" else 120.0)
    path = tmp_path / "input"
    path.write_text(code)
    assert repeated("self-test", path)[0] == outcome
