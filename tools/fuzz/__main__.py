"""Fuzz the package, and print what became of the inputs.

    python -m tools.fuzz [--seconds 3600] [--seed 0] [--target letor,trees] [--jobs 2] [--out .fuzz]
    python -m tools.fuzz --inputs 300          the same number for each target, whatever the time
    python -m tools.fuzz --repeat FILE         one saved input again

The exit status is 1 if an input did what none should.
"""

from __future__ import annotations

import argparse
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tools.fuzz.campaign import Campaign, command, repeated, rounds
from tools.fuzz.outcomes import BAD, OUTCOMES
from tools.fuzz.targets import TARGETS


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=60.0, help="how long new batches begin; default 60")
    parser.add_argument("--inputs", type=int, help="number of inputs of each target, instead of a time")
    parser.add_argument("--seed", type=int, default=0, help="other seeds give other inputs; default 0")
    parser.add_argument(
        "--target", default="", help=f"some of {', '.join(TARGETS)}, or parts: readers, models, ..."
    )
    parser.add_argument("--jobs", type=int, default=2, help="processes at a time; default 2")
    parser.add_argument(
        "--out", type=Path, default=Path(".fuzz"), help="folder for the inputs that were found"
    )
    parser.add_argument("--repeat", type=Path, help="try one saved input again, alone")
    options = parser.parse_args()
    if options.repeat:
        outcome, why = repeated(options.repeat.name.partition("--")[0], options.repeat)
        print(f"{outcome}\n{why}".rstrip())
        return outcome in BAD
    wanted = [word for word in options.target.split(",") if word]
    names = [name for name, target in TARGETS.items() if not wanted or {name, target.part} & set(wanted)]
    if unknown := set(wanted) - set(TARGETS) - {target.part for target in TARGETS.values()}:
        parser.error(f"no target {', '.join(sorted(unknown))}")
    begun = time.monotonic()
    campaign = Campaign(
        options.out,
        options.seed,
        lambda text: print(f"{time.monotonic() - begun:6.0f} s {text}", file=sys.stderr),
    )
    if options.inputs:
        every = [[name, 0, options.inputs * TARGETS[name].weight] for name in names]
        plans = iter([part for start in range(options.jobs) if (part := every[start :: options.jobs])])
    else:
        weights = [TARGETS[name].weight for name in names]
        plans = rounds(campaign, names, begun + options.seconds, weights)
    with ThreadPoolExecutor(options.jobs) as pool:
        waiting = set()
        for plan in plans:
            waiting.add(pool.submit(campaign.run, plan))
            while len(waiting) >= options.jobs:
                done = {future for future in waiting if future.done()}
                for future in done:
                    future.result()
                waiting -= done
                time.sleep(0.05)
        for future in waiting:
            future.result()
    print(table(campaign, options.seed, time.monotonic() - begun))
    return any(count[outcome] for count in campaign.counts.values() for outcome in BAD)


def table(campaign: Campaign, seed: int, seconds: float) -> str:
    """Outcomes by target and together, then every kind of finding with the command that repeats it."""
    head = (
        f"{'part':8} {'target':18} {'inputs':>10}"
        + "".join(f" {name:>11}" for name in OUTCOMES)
        + f" {'slowest':>8}"
    )
    lines = [f"seed {seed}, {seconds:.0f} s", "", head]
    total = dict.fromkeys(OUTCOMES, 0)
    for name, target in TARGETS.items():
        if name not in campaign.counts:
            continue
        counts = campaign.counts[name]
        for outcome in OUTCOMES:
            total[outcome] += counts[outcome]
        cells = "".join(f" {counts[outcome]:11,}" for outcome in OUTCOMES)
        lines.append(
            f"{target.part:8} {name:18} {sum(counts.values()):10,}{cells} {campaign.slowest[name]:8.2f}"
        )
    cells = "".join(f" {total[outcome]:11,}" for outcome in OUTCOMES)
    slowest = max(campaign.slowest.values(), default=0.0)
    lines.append(f"{'together':27} {sum(total.values()):10,}{cells} {slowest:8.2f}")
    if campaign.kinds:
        lines += ["", "kinds of findings:"]
    for kind, count in campaign.kinds.most_common():
        lines += [
            f"{count:7,} x {kind}",
            *(f"            {command(path)}" for path in campaign.saved[kind][:1]),
        ]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
