"""A file that one process writes at a time."""

import errno

import pytest

from directrix.data.locks import lock
from directrix.errors import InputError

fcntl = pytest.importorskip("fcntl")


def test_a_second_process_is_refused(tmp_path):
    with (tmp_path / "file").open("ab") as first, (tmp_path / "file").open("ab") as second:
        lock(first, "name another")
        with pytest.raises(InputError, match=r"file: another process is writing to it.* or name another\."):
            lock(second, "name another")


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    asked = []

    def without_locks(file, _):
        asked.append(file)
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with (tmp_path / "file").open("ab") as file:
        lock(file, "name another")
        assert asked == [file]
