"""Runs commands in forks of a process that has everything imported, each with one fault.

Reads one job a line from standard input, as JSON, and answers with a line: how the command ended, and after
how many events. The events that count time are calls of functions, as `sys.setprofile` sees them: so the same
job has its fault at the same moment every time, however busy the machine is.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import threading
import time

from tqdm import tqdm
from typer.main import get_command

from directrix.cli.main import app

COMMAND = get_command(app)
PATIENCE = 120  # seconds until a command counts as hanging


class Clock:
    """Counts events; at one of them a signal arrives."""

    def __init__(self, moment, number):
        self.events, self.moment, self.number = 0, moment, number

    def tick(self, *_):
        self.events += 1
        if self.events == self.moment:
            os.kill(os.getpid(), self.number)


def run(job, messages):
    """In the fork: one command, and nothing else of this process."""
    os.setsid()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)  # in the background shells let both be ignored
    signal.signal(signal.SIGINT, signal.default_int_handler)
    os.chdir(job["folder"])
    for descriptor in (1, 2):  # a pipe, which the limit of files does not concern
        os.dup2(messages, descriptor)
    if job.get("bytes") is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (job["bytes"], job["bytes"]))
    clock = Clock(job.get("moment"), job.get("signal"))
    sys.setprofile(clock.tick)
    try:
        COMMAND.main(job["arguments"], prog_name="directrix")
    finally:
        sys.setprofile(None)
        with contextlib.suppress(OSError), open(f"{job['folder']}/../events", "w") as file:
            file.write(str(clock.events))


def watch(child):
    """Wait for the end of a command and of the processes it started."""
    begun, status, left = time.monotonic(), None, True
    while time.monotonic() - begun < PATIENCE:
        if status is None:
            ended, code = os.waitpid(child, os.WNOHANG)
            if ended:
                status, begun = os.waitstatus_to_exitcode(code), time.monotonic() - PATIENCE + 15
        else:
            try:
                os.killpg(child, 0)
            except ProcessLookupError:
                left = False
                break
        time.sleep(0.005)
    if left:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
    return {"status": status, "left": left}


def main():
    tqdm.set_lock(threading.RLock())  # its own is shared by all forks, and stays locked when one is killed
    for line in sys.stdin:
        job = json.loads(line)
        if job.get("here"):  # so that the forks find kernels compiled and modules imported
            with contextlib.suppress(SystemExit), contextlib.redirect_stdout(sys.stderr):
                COMMAND.main(job["arguments"], prog_name="directrix")
            print("{}", flush=True)
            continue
        reading, writing = os.pipe()
        child = os.fork()
        if not child:
            run(job, writing)
            sys.exit()
        os.close(writing)
        answer = watch(child)
        os.set_blocking(reading, False)
        with open(f"{job['folder']}/../stderr", "wb") as file, contextlib.suppress(BlockingIOError):
            file.write(os.read(reading, 1 << 16))
        os.close(reading)
        print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
