"""``python -m tools.removed``: leave out each check once, and tell whether a test fails."""

import argparse
import json
import multiprocessing
import os
import pkgutil
import signal
import sys
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from importlib import import_module

from tools.removed import switches

REACHED = switches.ROOT / ".removed.json"
# Tests of these start processes, in which nothing is switched.
SUITE = ["tests", "src", "--ignore=tests/tools", "--ignore=tests/project"]
QUIET = ["-q", "-p", "no:randomly", "-p", "no:cacheprovider", "--rootdir", str(switches.ROOT)]
LIMIT = 60  # seconds: without a check, some loops do not end


class Recorder:
    """Writes which tests reach each check, the quickest first."""

    def __init__(self):
        self.seconds, self.checks, self.failed = {}, {}, set()

    def pytest_runtest_logstart(self):
        switches.REACHED.clear()
        self.begun = time.monotonic()

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed.add(report.nodeid)

    def pytest_runtest_logfinish(self, nodeid):
        self.seconds[nodeid] = time.monotonic() - self.begun
        self.checks[nodeid] = sorted(switches.REACHED)

    def pytest_sessionfinish(self):
        seconds, checks = read() if REACHED.exists() else ({}, {})
        files = {_file(test) for test in self.seconds}
        seconds = {test: took for test, took in seconds.items() if _file(test) not in files} | self.seconds
        checks |= {test: [] if test in self.failed else reached for test, reached in self.checks.items()}
        REACHED.write_text(json.dumps([seconds, checks], indent=1))


def _file(test):
    return test.partition("::")[0]


def read():
    return json.loads(REACHED.read_text())


def reaching():
    """The tests that reach each check, the quickest first."""
    seconds, checks = read()
    tests = {}
    for test in sorted(seconds, key=seconds.get):
        for check in checks[test]:
            tests.setdefault(check, []).append(test)
    return tests


def in_fork(arguments, *, plugins=(), check=None, limit=None):
    """The exit status of pytest in a fork, where everything is imported; None after ``limit`` seconds."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(arguments, plugins, check))
    process.start()
    process.join(limit)
    if process.is_alive():
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.join()
        return None
    return process.exitcode


def _run(arguments, plugins, check):
    os.setsid()
    if check:
        switches.remove(check)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        os.dup2(1, 2)
    import pytest

    status = pytest.main([*QUIET, *arguments], plugins=plugins)
    os._exit(status)


def verdict(check, tests):
    """Whether one of the tests fails without the check."""
    if not tests:
        return "not executed"
    status = in_fork([*tests, "-x"], check=check, limit=LIMIT)
    return "does not end" if status is None else "seen" if status else "not seen"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tests", type=int, default=15, help="of each check, the quickest; default 15")
    parser.add_argument("--only", default="", help="checks whose path:line contains one of these")
    parser.add_argument("--record", nargs="*", help="first run these tests, or all, to see what they reach")
    parser.add_argument("--jobs", type=int, default=2)
    given = parser.parse_args()
    os.environ["CI"] = "true"  # Hypothesis draws the same examples every time
    switches.install()
    import directrix

    for module in pkgutil.walk_packages(directrix.__path__, "directrix."):
        if "torch" not in module.name and "__main__" not in module.name:
            import_module(module.name)
    if given.record is not None or not REACHED.exists():
        in_fork(given.record or SUITE, plugins=[Recorder()])
    tests = reaching()
    parts, everything = given.only.split(","), switches.all_checks()
    checks = {check: text for check, text in everything.items() if any(part in check for part in parts)}
    counts = Counter()
    chosen = [tests.get(check, [])[: given.tests] for check in checks]
    if in_fork(sorted({test for some in chosen for test in some})):
        sys.exit("these tests fail without any change: no verdict is possible")
    with ThreadPoolExecutor(given.jobs) as pool:
        for check, said in zip(checks, pool.map(verdict, checks, chosen), strict=True):
            counts[said] += 1
            if said != "seen":
                print(f"{said:<14}{check}: {checks[check]}", flush=True)
    print(f"{len(checks)} checks:", ", ".join(f"{n} {said}" for said, n in counts.items()))
    sys.exit(bool(counts.keys() - {"seen", "does not end"}))


if __name__ == "__main__":
    main()
