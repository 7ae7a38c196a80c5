"""A file that one process writes at a time."""

import errno
import os

import pytest

from directrix.data.files import lock, open_locked
from directrix.errors import InputError

fcntl = pytest.importorskip("fcntl")


def test_a_second_process_is_refused(tmp_path):
    with (tmp_path / "file").open("ab") as first, (tmp_path / "file").open("ab") as second:
        lock(first, "name another")
        with pytest.raises(InputError, match=r"file: another process is writing to it.* or name another\."):
            lock(second, "name another")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("precious")])
def test_results_are_added_to_regular_files_only(tmp_path, make):
    """Opening a pipe would wait for ever, and a link leads to a file of others."""
    make(tmp_path / "file")
    (tmp_path / "precious").write_text("my thesis")
    with pytest.raises(InputError, match="file is a symbolic link, a pipe or a device; results are added to"):
        open_locked(tmp_path / "file", "name another")
    assert (tmp_path / "precious").read_text() == "my thesis"


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    asked = []

    def without_locks(file, _):
        asked.append(file)
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with (tmp_path / "file").open("ab") as file:
        lock(file, "name another")
        assert asked == [file]
