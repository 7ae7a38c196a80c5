"""Cells: each result is kept at once; a run that was killed goes on where it was."""

import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import pytest

import directrix
from directrix import InputError
from directrix.data.files import lock
from directrix.experiments.cells import Cell, run_cells, total_seconds
from directrix.threads import run_chunks
from tests.messages import rejects


def squared(x, marks):
    """A result, and a mark that it was computed."""
    with open(marks, "a") as file:
        file.write(f"{x}\n")
    return {"square": x * x}


def cells_of(marks, n=5):
    return [Cell(("square", x), squared, (x, str(marks))) for x in range(n)]


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_by_key_in_the_order_of_the_cells(tmp_path, n_jobs):
    found = run_cells(cells_of(tmp_path / "marks"), tmp_path / "cells.jsonl", n_jobs=n_jobs)
    assert list(found.items()) == [(("square", x), {"square": x * x}) for x in range(5)]
    lines = [json.loads(line) for line in (tmp_path / "cells.jsonl").read_text().splitlines()]
    assert sorted(line["key"][1] for line in lines) == [0, 1, 2, 3, 4]
    assert all(line["seconds"] >= 0 for line in lines)


def test_finished_cells_are_not_run_again(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    run_cells(cells_of(marks, 3), path)
    found = run_cells(cells_of(marks, 5), path)
    assert marks.read_text().split() == ["0", "1", "2", "3", "4"]
    assert found["square", 1] == {"square": 1}


def test_results_are_those_that_are_asked_for_whatever_the_file_has(tmp_path):
    path, cells = tmp_path / "cells.jsonl", cells_of(tmp_path / "marks")
    run_cells(cells, path)
    assert list(run_cells(cells[3:0:-1], path)) == [("square", 3), ("square", 2), ("square", 1)]


def test_a_line_cut_off_by_a_kill_is_dropped_and_its_cell_run_again(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    whole = run_cells(cells_of(marks), path)
    path.write_text(path.read_text()[:-7])
    assert run_cells(cells_of(marks), path) == whole
    assert marks.read_text().split() == ["0", "1", "2", "3", "4", "4"]
    assert all(json.loads(line) for line in path.read_text().splitlines())


def test_other_files_are_rejected_and_left_as_they_are(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text("my notes\n")
    with rejects(InputError):
        run_cells(cells_of(tmp_path / "marks"), path)
    assert path.read_text() == "my notes\n"


@pytest.mark.parametrize(
    "line",
    [
        '{"key": [[]], "seconds": 1, "result": 1}',
        '{"key": [1.5], "seconds": 1, "result": 1}',
        '{"key": ["a"], "result": 1}',
        '{"key": ["a"], "seconds": 1}',
        '{"key": ["a"], "seconds": "1", "result": 1}',
        '{"key": ["a"], "seconds": true, "result": 1}',
        '{"key": ["a"], "seconds": NaN, "result": 1}',
        '{"key": ["a"], "seconds": -1, "result": 1}',
        f'{{"key": ["a"], "seconds": 1{"0" * 400}, "result": 1}}',
        f'{{"key": ["a"], "seconds": 1{"0" * 9000}, "result": 1}}',
        f'{{"key": ["a"], "seconds": 0, "result": {"[" * 100_000}}}',
        "[" * 100_000,
        "null",
        "[]",
    ],
    ids=lambda line: line[:40],
)
def test_lines_that_were_changed_are_rejected(line, tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text(f'{{"key": ["b"], "seconds": 1, "result": 1}}\n{line}\n')
    for read in (lambda: run_cells([], path), lambda: total_seconds(path)):
        with rejects(InputError):
            read()


def test_a_last_line_that_is_none_of_ours_is_no_cut_off_cell(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    run_cells(cells_of(marks, 1), path)
    for text in ("my notes", "\xff"):
        path.write_bytes(before := path.read_bytes().split(b"\n")[0] + b"\n" + text.encode("latin-1"))
        with rejects(InputError):
            run_cells(cells_of(marks), path)
        assert path.read_bytes() == before


@pytest.mark.parametrize("n_kept", [0, 1, 8, 9, 30])
def test_a_line_may_be_cut_off_anywhere(tmp_path, n_kept):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    whole = run_cells(cells_of(marks, 2), path)
    first, second = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:n_kept])
    assert run_cells(cells_of(marks, 2), path) == whole
    assert path.read_bytes().splitlines()[0] == first.strip()
    assert len(path.read_bytes().splitlines()) == 2


def test_two_processes_never_add_to_one_file(tmp_path):
    """The second could take off a line that the first is writing."""
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"

    def second():
        with rejects(InputError):
            run_cells(cells_of(marks), path)

    run_cells(cells_of(marks, 2), path, progress=lambda *_: second())
    assert marks.read_text().split() == ["0", "1"]
    run_cells(cells_of(marks, 3), path)  # free again
    assert marks.read_text().split() == ["0", "1", "2"]


def test_progress_counts_what_was_there(tmp_path):
    path, said = tmp_path / "cells.jsonl", []
    run_cells(cells_of(tmp_path / "marks", 2), path)
    run_cells(cells_of(tmp_path / "marks", 4), path, progress=lambda *now: said.append(now))
    assert [now[:2] for now in said] == [(3, 4), (4, 4)]
    assert said[-1][2] == "0 s left"


def threads_used():
    seen = set()

    def work(_):
        time.sleep(0.005)  # long enough for the others to join
        seen.add(threading.get_ident())

    run_chunks(work, 50)
    return len(seen)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_cell_keeps_to_one_thread(tmp_path, n_jobs):
    before = directrix.set_threads(4)
    try:
        cells = [Cell(("threads", i), threads_used) for i in range(2)]
        assert set(run_cells(cells, tmp_path / "c", n_jobs=n_jobs).values()) == {1}
    finally:
        directrix.set_threads(before)


def test_a_crash_of_one_cell_keeps_the_finished_ones(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    bad = [*cells_of(marks, 2), Cell(("square", 9), squared, (None, str(marks)))]
    with pytest.raises(TypeError):
        run_cells(bad, path)
    assert len(path.read_text().splitlines()) == 2


SCRIPT = """
    import sys, time
    from directrix.experiments.cells import Cell, run_cells

    def slow(x):
        time.sleep(0.2)
        return x

    run_cells([Cell(("slow", x), slow, (x,)) for x in range(100)], sys.argv[1])
"""


def test_a_killed_process_leaves_its_finished_cells(tmp_path):
    path = tmp_path / "cells.jsonl"
    environment = {**os.environ, "PYTHONPATH": str(Path(directrix.__file__).parents[1])}
    running = subprocess.Popen([sys.executable, "-c", textwrap.dedent(SCRIPT), str(path)], env=environment)
    try:
        for _ in range(600):
            if path.exists() and path.read_text().count("\n") >= 2:
                break
            time.sleep(0.1)
    finally:
        running.send_signal(signal.SIGKILL)
        running.wait()
    n_done = path.read_text().count("\n")
    assert 2 <= n_done < 100
    found = run_cells([Cell(("slow", x), lambda x: -x, (x,)) for x in range(n_done + 3)], path)
    assert list(found.values()) == [*range(n_done), *(-x for x in range(n_done, n_done + 3))]


def test_cells_took_the_sum_of_their_seconds(tmp_path):
    path = tmp_path / "cells.jsonl"
    path.write_text(
        '{"key": ["a"], "seconds": 1.5, "result": 1}\n{"key": ["b"], "seconds": 2, "result": 2}\n'
    )
    assert total_seconds(path) == 3.5


def test_shards_share_the_cells_and_a_run_without_takes_them_over(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    run_cells(cells_of(marks, 1), path)
    found = [run_cells(cells_of(marks, 8), path, shard=(place, 3)) for place in (1, 2, 3)]
    assert [sorted(key[1] for key in one) for one in found] == [
        [0, 3, 6],  # the first was finished
        [0, 1, 3, 4, 6, 7],
        [*range(8)],
    ]
    assert marks.read_text().split() == ["0", "3", "6", "1", "4", "7", "2", "5"]
    parts = [tmp_path / f"cells-{place}-of-3.jsonl" for place in (1, 2, 3)]
    assert [part.read_bytes().count(b"\n") for part in parts] == [2, 3, 2]
    whole = run_cells(cells_of(marks, 9), path)
    assert list(whole) == [("square", x) for x in range(9)]
    assert marks.read_text().split()[8:] == ["8"]
    assert path.read_bytes().splitlines()[1:8] == [
        line for part in parts for line in part.read_bytes().splitlines()
    ]
    run_cells(cells_of(marks, 9), path)
    assert path.read_bytes().count(b"\n") == 9  # taken over once


def test_a_shard_that_is_still_at_work_is_waited_for(tmp_path):
    path, marks = tmp_path / "cells.jsonl", tmp_path / "marks"
    run_cells(cells_of(marks), path, shard=(1, 2))
    part = tmp_path / "cells-1-of-2.jsonl"
    with part.open("ab") as file:
        lock(file, "x")
        file.write(b'{"key": ["square", 9')  # it is writing
        file.flush()
        run_cells(cells_of(marks), path, shard=(2, 2))  # the other one may work
        for other in ({}, {"shard": (1, 2)}):
            with rejects(InputError):
                run_cells(cells_of(marks), path, **other)
    assert len(run_cells(cells_of(marks), path)) == 5
    assert sorted(marks.read_text().split()) == ["0", "1", "2", "3", "4"]


def test_files_of_shards_are_checked(tmp_path):
    (tmp_path / "cells-1-of-2.jsonl").write_text("not ours\n")
    for shard in (None, (2, 2)):
        with rejects(InputError):
            run_cells(cells_of(tmp_path / "marks"), tmp_path / "cells.jsonl", shard=shard)
