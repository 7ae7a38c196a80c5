"""A short campaign; `make faults` runs a long one."""

import sys

import pytest
from tools.faults.campaign import COMMANDS, PARALLEL, Campaign

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="forks, sessions and limits of Linux"),
]


@pytest.fixture(scope="module")
def campaign(tmp_path_factory):
    started = Campaign(tmp_path_factory.mktemp("faults"), seed=17)
    yield started
    started.close()


@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in PARALLEL])
def test_a_fault_leaves_the_old_or_the_new_output(campaign, name):
    campaign.problems.clear()
    for _ in range(3):
        campaign.run(name, by_signal=True)
    campaign.run(name, by_signal=False)
    assert campaign.problems == []
