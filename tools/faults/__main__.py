"""``python -m tools.faults --runs 200 --seed 1``: faults in every command, and a table of what happened."""

import argparse
import sys
import tempfile
import time

from tools.faults.campaign import COMMANDS, PARALLEL, Campaign


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--runs", type=int, default=200, help="of each command; a tenth of it if it starts processes"
    )
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    begun = time.monotonic()
    problems: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        campaign = Campaign(folder, given.seed)
        for name in COMMANDS:
            runs = given.runs // 10 if name in PARALLEL else given.runs
            for number in range(runs):
                campaign.run(name, by_signal=number % 4 > 0)
            print(f"{name}: {runs} runs", *campaign.problems, sep="\n", file=sys.stderr)
            problems += campaign.problems
            campaign.problems.clear()
        campaign.close()
    print(f"{'fault':<12}{'stopped':>10}{'ended before':>14}")
    for kind in sorted({kind for kind, _ in campaign.outcomes}):
        stopped, undisturbed = (campaign.outcomes[kind, how] for how in ("stopped", "undisturbed"))
        print(f"{kind:<12}{stopped:>10}{undisturbed:>14}")
    total = campaign.outcomes.total()
    print(f"{total} runs in {time.monotonic() - begun:.0f} s, seed {given.seed}: {len(problems)} problems")
    sys.exit(bool(problems))


if __name__ == "__main__":
    main()
