"""Pipes, devices, links and full disks: nothing is lost or replaced without a word."""

import errno
import os
import re
import stat
import threading
from pathlib import Path

import pytest

import directrix as dx
from directrix.data.atomic import replacing
from directrix.data.files import open_data, readable

LINES = "2 qid:1 1:0.5\n0 qid:1 1:1\n"


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    # open at both ends, so that nothing here waits for ever
    handle = os.open(path, os.O_RDWR | os.O_NONBLOCK)
    os.write(handle, LINES.encode())
    yield path
    os.close(handle)


@pytest.mark.parametrize("read", [dx.read_letor, dx.read_trec_qrels, dx.read_trec_run])
def test_a_pipe_is_refused_before_anything_is_taken_from_it(pipe, read):
    with pytest.raises(dx.InputError, match=r"pipe is a pipe or a device; a regular file is needed"):
        read(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(handle, 1000) == LINES.encode()
    os.close(handle)


def test_standard_input_is_not_read():
    with pytest.raises(
        dx.InputError, match=r"standard input is read by commands only.*Write it to a file first"
    ):
        dx.read_letor("-")


def test_group_sizes_may_be_compressed_and_damaged(tmp_path):
    (tmp_path / "a.txt").write_text("2 1:0.5\n0 1:1\n")
    (tmp_path / "sizes").write_bytes(b"\x1f\x8b\x08")
    with pytest.raises(dx.InputError, match="sizes: the compressed data are damaged"):
        dx.read_letor(tmp_path / "a.txt", groups=tmp_path / "sizes")


@pytest.mark.parametrize("error", [OSError(5, "x"), EOFError("x"), ValueError("x"), MemoryError()])
def test_every_way_of_failing_to_read_is_one_error(error):
    with pytest.raises(dx.InputError, match=r"^a\.txt"), readable(Path("a.txt")):
        raise error


def test_an_open_file_is_decompressed(tmp_path):
    with replacing(tmp_path / "a.txt.xz") as file:
        file.write(b"text")
    with open_data(tmp_path / "a.txt.xz") as file:
        assert file.read() == b"text"


def test_a_link_stays_a_link_and_its_target_is_replaced(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    link.symlink_to("target.txt")
    with replacing(link) as file:
        file.write(b"new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["link.txt", "target.txt"]


def test_a_pipe_stays_a_pipe_and_is_written_to(tmp_path):
    path, found = tmp_path / "pipe", []
    os.mkfifo(path)
    reader = threading.Thread(target=lambda: found.append(path.read_bytes()), daemon=True)
    reader.start()
    with replacing(path) as file:
        assert stat.S_ISFIFO(path.stat().st_mode)
        file.write(b"text")
    assert stat.S_ISFIFO(path.stat().st_mode)
    reader.join(10)
    assert found == [b"text"]


def test_a_full_disk_is_not_taken_for_a_missing_folder(tmp_path):
    message = re.escape(f"check `df -h {tmp_path}`")
    with pytest.raises(dx.InputError, match=message), replacing(tmp_path / "a.txt"):
        raise OSError(errno.ENOSPC, "No space left on device")
    assert list(tmp_path.iterdir()) == []
