"""Signals, and too little memory or too few processes: one line, a documented status, nothing left."""

import errno
import os
import resource
import signal
import subprocess
import sys
import threading
import time
from concurrent.futures.process import BrokenProcessPool

import numpy as np
import pytest
from tests.commands import run

import directrix as dx
from directrix import threads
from directrix.cli.limits import Stopped, check_address_space, shortage, stoppable
from directrix.errors import InputError
from directrix.search.clock import Clock


@pytest.mark.parametrize(("name", "status"), [("SIGHUP", 129), ("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_a_command_with_one_line(files, tmp_path, monkeypatch, name, status):
    def work(*_, **__):
        os.kill(os.getpid(), getattr(signal, name))
        time.sleep(60)  # another thread may get it first

    monkeypatch.setattr("directrix.rankers.model_file.read_model", work)
    ignored = signal.signal(getattr(signal, name), signal.SIG_DFL)  # by shells, in the background
    before = signal.getsignal(signal.SIGTERM)
    result = run("predict", files.model, files.train, "-o", tmp_path / "scores.txt")
    signal.signal(getattr(signal, name), ignored)
    assert result.exit_code == status
    assert result.stderr == f"stopped by {name}; every file is complete or as it was before\n"
    assert list(tmp_path.iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before


STOPPED = {
    "trees": ("YetiRank", (), 5),
    "a network": ("MLP", (), 5),
    "lbfgs": ("ApproxNDCG", (), 5),
    "coordinate ascent": ("CoordinateAscent", (), 2),
    "a search": ("auto", ("--folds", "2"), 5),
}


def train_until(monkeypatch, files, path, *options, step, signals):
    """Run `directrix train` with signals at the end of a step, as a progress bar sees it."""
    seen, watch = [], Clock.watch

    def watched(self, now):
        seen.append(now.iteration)
        if len(seen) == step:
            for number in signals:
                os.kill(os.getpid(), number)
                time.sleep(0.01)  # the handler runs between two instructions of Python
        return watch(self, now)

    monkeypatch.setattr(Clock, "watch", watched)
    return run("train", files.train, *options, "-o", path), seen


@pytest.mark.parametrize("which", STOPPED)
@pytest.mark.parametrize("has_valid", [True, False])
def test_a_signal_ends_a_training_after_its_step_and_keeps_the_best_model(
    files, tmp_path, monkeypatch, which, has_valid
):
    method, options, step = STOPPED[which]
    valid = ("--valid", files.valid) if has_valid else ()
    model = tmp_path / "m.json"
    options = ("--method", method, *valid, *(() if has_valid else options))
    result, seen = train_until(monkeypatch, files, model, *options, step=step, signals=[signal.SIGTERM])
    assert result.exit_code == 143, result.stderr
    assert len(seen) == step  # no step follows, and no training on all queries
    lines = result.stderr.splitlines()
    assert lines[-1] == "stopped by SIGTERM; every file is complete or as it was before"
    assert any(line.startswith(f"saved: {model}") for line in lines)
    assert ("not trained again on all" in result.stderr) == (not has_valid)
    scores = dx.load(model).predict_queries(dx.read_letor(files.valid))
    assert np.isfinite(scores).all()
    assert sorted(tmp_path.iterdir()) == [model]


def test_the_kept_model_is_that_of_a_training_with_as_many_steps(files, tmp_path, monkeypatch):
    options = ("--method", "ApproxNDCG", "--valid", files.valid, "--set", "alpha=3", "--set", "l2=1e-4")
    result, _ = train_until(
        monkeypatch, files, tmp_path / "m.json", *options, step=4, signals=[signal.SIGINT]
    )
    assert result.exit_code == 130
    short = dx.method("ApproxNDCG").ranker(alpha=3.0, l2=1e-4, max_iter=3)  # the start is reported too
    short.fit_queries(dx.read_letor(files.train))
    assert dx.load(tmp_path / "m.json").coef_.tobytes() == short.coef_.tobytes()


def test_a_second_signal_ends_at_once(files, tmp_path, monkeypatch):
    twice = [signal.SIGTERM, signal.SIGINT]
    result, seen = train_until(
        monkeypatch, files, tmp_path / "m.json", "--method", "YetiRank", step=5, signals=twice
    )
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1].startswith("stopped by SIGINT;")
    assert (len(seen), list(tmp_path.iterdir())) == (5, [])


def test_a_signal_before_the_first_step_leaves_no_model(files, tmp_path, monkeypatch):
    result, _ = train_until(
        monkeypatch, files, tmp_path / "m.json", "--method", "YetiRank", step=1, signals=[signal.SIGTERM]
    )
    assert (result.exit_code, list(tmp_path.iterdir())) == (143, [])
    assert "error" not in result.stderr


def test_a_signal_on_shards_keeps_the_model_and_what_resumes(files, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert run("cluster", "shard", files.train, "shards", "--shards", "3").exit_code == 0
    command = (
        "shards",
        "--valid",
        files.valid,
        "--method",
        "ListNet",
        "--cluster",
        "local:1",
        "-o",
        "m.json",
    )
    with monkeypatch.context() as patched:
        watch = Clock.watch

        def watched(self, step):
            if step.iteration == 2:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(0.01)
            return watch(self, step)

        patched.setattr(Clock, "watch", watched)
        assert run("train", *command).exit_code == 143
    assert (tmp_path / "m.json").exists()
    assert (tmp_path / "m.json.answers").exists()
    assert run("train", *command, "--resume").exit_code == 0
    resumed = dx.load(tmp_path / "m.json")
    assert run("train", *command).exit_code == 0
    assert dx.load(tmp_path / "m.json").coef_.tobytes() == resumed.coef_.tobytes()


def test_ctrl_c_while_the_command_is_imported_ends_it_quietly():
    code = """if True:
        import os, signal, sys
        class Finder:
            def find_spec(name, *_):
                if name == "directrix.cli.main":
                    os.kill(os.getpid(), signal.SIGINT)
        sys.meta_path.insert(0, Finder)
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a process in the background ignores it
        import runpy
        runpy.run_module("directrix", run_name="__main__")
    """
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_a_signal_within_a_finalizer_is_not_lost():
    class Finalized:
        def __del__(self):
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(1)  # another thread may get it first

    def work():
        with stoppable():
            Finalized()
            for _ in range(500):
                time.sleep(0.01)

    hook = sys.unraisablehook
    with pytest.raises(Stopped, match="15"):
        work()
    assert sys.unraisablehook is hook


def test_a_signal_that_a_library_turns_into_an_error_of_its_own_stops():
    def work():
        with stoppable():
            try:
                os.kill(os.getpid(), signal.SIGTERM)
                time.sleep(1)  # another thread may get it first
            except Stopped:
                raise ValueError("Invalid affine transformation matrix") from None

    with pytest.raises(Stopped, match="15"):
        work()


def test_what_nohup_ignores_stays_ignored():
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with stoppable():
            os.kill(os.getpid(), signal.SIGHUP)
            with pytest.raises(Stopped):
                os.kill(os.getpid(), signal.SIGTERM)
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_run_commands_without_handlers():
    problems = []

    def work():
        try:
            with stoppable():
                pass
        except ValueError as error:
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert problems == []


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError("Unable to allocate 3.2 GiB"), "memory ran out (Unable to allocate 3.2 GiB); "),
        (MemoryError(), "memory ran out; "),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), "memory ran out ([Errno 12] Cannot allocate"),
        (
            ImportError("x.so: failed to map segment from shared object"),
            "memory ran out (x.so: ",
        ),
        (OSError("Could not find/load shared object file"), "memory ran out (Could not find/load"),
        (OSError(errno.EAGAIN, "Resource temporarily unavailable"), "the system cannot start more processes"),
        (
            RuntimeError("can't start new thread"),
            "the system cannot start more processes or",
        ),
        (BrokenProcessPool("x"), "a worker process was killed, for lack of memory"),
    ],
)
def test_a_shortage_says_of_what_and_what_to_do(files, tmp_path, monkeypatch, error, message):
    def fail(*_, **__):
        raise error

    monkeypatch.setattr("directrix.search.search.AutoRanker.search", fail)
    result = run("train", files.train, "-o", tmp_path / "m.json")
    assert result.exit_code == 1
    assert result.stderr.startswith(f"error: {message}")
    assert "--jobs 1" in result.stderr
    assert result.stderr.count("\n") == 1


@pytest.mark.parametrize("error", [RuntimeError("x"), ImportError("x"), ValueError("x"), OSError(2, "x")])
def test_other_errors_are_not_taken_for_a_shortage(error):
    assert shortage(error) is None


@pytest.mark.parametrize(("limit", "fits"), [(500_000_000, False), (2_000_000_000, True)])
def test_an_address_space_too_small_for_the_libraries_is_refused(monkeypatch, limit, fits):
    monkeypatch.setattr(resource, "getrlimit", lambda _: (limit, limit))
    if fits:
        check_address_space()
        return
    with pytest.raises(InputError, match=r"^0\.5 GB of address space .* Type `ulimit -v unlimited`"):
        check_address_space()


def test_where_no_threads_can_be_started_one_does_not_work_for_all(monkeypatch):
    products = []

    def refuse(_):
        raise RuntimeError("can't start new thread")

    def multiply(*_):
        products.append(time.sleep(0.4))

    monkeypatch.setattr(resource, "getrlimit", lambda _: (2_000_000_000, 2_000_000_000))
    monkeypatch.setattr(threads, "_pool", None)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    monkeypatch.setattr(np, "dot", multiply)
    before = threads.set_threads(64)
    with pytest.warns(UserWarning, match="one thread is used"):
        check_address_space()
    threads.set_threads(before)
    assert len(products) <= 3  # of 8 * 64, within a second


def test_a_command_under_a_limit_is_refused_before_the_libraries_are_loaded(files):
    command = f"ulimit -v 500000; exec {sys.executable} -m directrix evaluate {files.test} {files.model}"
    ended = subprocess.run(["sh", "-c", command], capture_output=True, text=True, check=False, timeout=60)
    assert ended.returncode == 1
    assert ended.stderr.startswith("error: 0.512 GB of address space are allowed")


def test_commands_let_blas_start_no_threads(files):
    code = "import sys, os; sys.argv[1:] = ['methods']; from directrix.cli.main import app; app()"
    report = "import atexit, os; atexit.register(lambda: print(os.environ['OPENBLAS_NUM_THREADS']));"
    environment = {name: value for name, value in os.environ.items() if name != "OPENBLAS_NUM_THREADS"}
    for chosen, expected in (({}, "1"), ({"OPENBLAS_NUM_THREADS": "3"}, "3")):
        ended = subprocess.run(
            [sys.executable, "-c", report + code],
            capture_output=True,
            text=True,
            check=True,
            env=environment | chosen,
            timeout=60,
        )
        assert ended.stdout.splitlines()[-1] == expected


@pytest.mark.parametrize(
    ("redirected", "message"),
    [
        (">&-", "error: standard output is closed, so the result is lost. Type a file after `>`."),
        (
            "> /dev/full",
            "error: standard output was not written (No space left on device); there must be space for all "
            "of it: check `df -h`.",
        ),
        (
            "> large",
            "error: standard output was not written (File too large); there must be space for all of it: "
            "check `ulimit -f`, the size limit of files.",
        ),
    ],
)
def test_a_result_that_cannot_be_written_is_an_error(redirected, message, tmp_path):
    command = f'ulimit -f 0; exec "{sys.executable}" -m directrix methods {redirected}'
    ended = subprocess.run(
        ["/bin/bash", "-c", command],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (ended.returncode, ended.stderr) == (1, f"{message}\n")


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize(("name", "blocks"), [("", 1), ("ApproxNDCG", 0)])
def test_a_result_of_which_a_part_can_be_written_is_an_error(name, blocks, unbuffered, tmp_path):
    # unbuffered, Python drops what a write leaves over; buffered, it tries again at its end, with status 120
    ended = subprocess.run(
        ["/bin/bash", "-c", f'ulimit -f {blocks}; exec "{sys.executable}" -m directrix methods {name} > cut'],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
        env=os.environ | {"PYTHONUNBUFFERED": unbuffered},
        timeout=60,
    )
    assert ended.returncode == 1
    assert ended.stderr.splitlines()[-1].startswith("error: standard output was not written (File too large)")


def run_with_full(stream, folder, *arguments):
    """Run directrix in a folder with a standard stream that takes no byte."""
    streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-m", "directrix", *arguments]
    with open("/dev/full", "w") as full:
        streams[stream] = full
        return subprocess.run(command, cwd=folder, text=True, check=False, timeout=60, **streams)


def test_help_that_cannot_be_written_ends_with_one_line(tmp_path):
    ended = run_with_full("stdout", tmp_path, "--help")
    assert ended.returncode == 1
    assert ended.stderr == "error: the output cannot be written: No space left on device; check the disk.\n"


def test_notes_that_cannot_be_written_do_not_stop_a_training(tmp_path):
    lines = [f"{row % 3} qid:{row // 6} 1:{row * 7 % 11} 2:{row * 5 % 13}\n" for row in range(60)]
    (tmp_path / "train.txt").write_text("".join(lines))
    ended = run_with_full("stderr", tmp_path, "train", "train.txt", "--method", "ListNet", "-o", "m.json")
    assert ended.returncode == 0
    assert dx.load(tmp_path / "m.json").measure_.name == "nDCG@10"


def test_redirected_output_stays_redirected_without_buffers():
    code = (
        "import contextlib, sys\n"
        "from directrix.cli.main import app\n"
        "with contextlib.redirect_stdout(sys.stderr):\n"
        "    app(['methods'], standalone_mode=False)\n"
    )
    environment = os.environ | {"PYTHONUNBUFFERED": "1"}
    command = [sys.executable, "-c", code]
    ended = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=60)
    assert ended.stdout == ""
    assert "ApproxNDCG" in ended.stderr
