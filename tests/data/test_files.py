"""Pipes, devices, links and full disks: nothing is lost or replaced without a word."""

import errno
import os
import re
import stat
import tempfile
import threading
from pathlib import Path

import pytest
from tests.messages import rejects

import directrix as dx
from directrix.data.files import check_replaceable, lock, open_data, open_locked, readable, replacing

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


@pytest.mark.parametrize("read", [dx.read_letor, dx.read_trec_run, dx.load, dx.text.Index.load])
def test_a_pipe_is_refused_before_anything_is_taken_from_it(pipe, read):
    with pytest.raises(dx.InputError, match=r"pipe is a pipe or a device; a regular file is needed"):
        read(pipe)
    handle = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    assert os.read(handle, 1000) == LINES.encode()
    os.close(handle)


def test_standard_input_is_not_read():
    with rejects(dx.InputError):
        dx.read_letor("-")


def test_group_sizes_may_be_compressed_and_damaged(tmp_path):
    (tmp_path / "a.txt").write_text("2 1:0.5\n0 1:1\n")
    (tmp_path / "sizes").write_bytes(b"\x1f\x8b\x08")
    with rejects(dx.InputError):
        dx.read_letor(tmp_path / "a.txt", groups=tmp_path / "sizes")


@pytest.mark.parametrize("error", [OSError(5, "x"), EOFError("x"), ValueError("x"), MemoryError()])
def test_every_way_of_failing_to_read_is_one_error(error):
    with rejects(dx.InputError), readable(Path("a.txt")):
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


def test_a_size_limit_is_not_taken_for_a_full_disk(tmp_path):
    with pytest.raises(dx.InputError, match="check `ulimit -f`"), replacing(tmp_path / "a.txt"):
        raise OSError(errno.EFBIG, "File too large")


@pytest.fixture
def folder(tmp_path):
    """A folder whose permissions count: for root, as another user."""
    if os.geteuid():
        yield tmp_path
        return
    for path in (tmp_path, *tmp_path.parents):
        if Path(tempfile.gettempdir()) in path.parents:
            path.chmod(0o755)
    os.chown(tmp_path, 65534, 65534)
    os.seteuid(65534)
    yield tmp_path
    os.seteuid(0)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.fixture(params=["without a name", "with a name"])
def unfinished(request, monkeypatch):
    """Both ways to hold what is written; not all file systems have the first."""
    if request.param == "with a name":
        monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    return request.param


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o755, 0o666])
def test_a_replaced_file_keeps_its_permissions(tmp_path, unfinished, mode):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(mode)
    with replacing(path) as file:
        file.write(b"new")
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == mode
    assert names(tmp_path) == ["a.txt"]


def test_a_new_file_follows_the_umask_which_is_never_changed(tmp_path, unfinished, monkeypatch):
    before = os.umask(0o027)
    try:
        with monkeypatch.context() as patched, replacing(tmp_path / "a.txt") as file:
            patched.delattr(os, "umask")  # that of all threads
            file.write(b"new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "a.txt").stat().st_mode) == 0o640


def test_nobody_else_reads_a_secret_while_it_is_written(tmp_path, monkeypatch):
    monkeypatch.delattr(os, "O_TMPFILE")
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "a.txt").chmod(0o600)
    with replacing(tmp_path / "a.txt"):
        assert {stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()} == {0o600}


def test_nothing_can_be_left_by_a_killed_process(tmp_path):
    with replacing(tmp_path / "a.txt") as file:
        file.write(b"new")
        assert names(tmp_path) == []
    assert names(tmp_path) == ["a.txt"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_a_replaced_file_keeps_its_owner_or_else_no_rights_of_its_group(tmp_path, unfinished, monkeypatch):
    path = tmp_path / "a.txt"
    path.write_text("old")
    path.chmod(0o664)
    os.chown(path, 4321, 8765)
    with replacing(path):
        pass
    assert (path.stat().st_uid, path.stat().st_gid) == (4321, 8765)

    def refused(*_):
        raise PermissionError

    monkeypatch.setattr(os, "fchown", refused)
    with replacing(path):
        pass
    assert path.stat().st_gid != 8765
    assert stat.S_IMODE(path.stat().st_mode) == 0o644


def test_a_read_only_file_is_not_replaced(folder):
    path = folder / "a.txt"
    path.write_text("old")
    path.chmod(0o400)
    for write in (check_replaceable, lambda p: replacing(p).__enter__()):
        with pytest.raises(dx.InputError, match=r"a\.txt is read-only .* type `chmod u\+w "):
            write(path)
    assert path.read_text() == "old"


def test_a_read_only_folder_is_noticed_before_the_work(folder, unfinished):
    (folder / "a.txt").write_text("old")
    folder.chmod(0o500)
    for name in ("a.txt", "new.txt"):
        with pytest.raises(dx.InputError, match=rf"{name} cannot be written \(Permission denied\)"):
            check_replaceable(folder / name)
    folder.chmod(0o700)
    assert (folder / "a.txt").read_text() == "old"


def test_a_device_that_cannot_be_written_is_noticed(monkeypatch):
    monkeypatch.setattr(os, "access", lambda *_, **settings: False)
    with pytest.raises(dx.InputError, match=r"/dev/full cannot be written \(Permission denied\)"):
        check_replaceable("/dev/full")


def test_a_check_leaves_everything_as_it_was(tmp_path, unfinished):
    (tmp_path / "a.txt").write_text("old")
    for name in ("a.txt", "new.txt"):
        check_replaceable(tmp_path / name)
    assert names(tmp_path) == ["a.txt"]
    assert (tmp_path / "a.txt").read_text() == "old"
    with rejects(dx.InputError):
        check_replaceable(tmp_path)


def test_other_hard_links_keep_the_old_contents(tmp_path):
    (tmp_path / "a.txt").write_text("old")
    os.link(tmp_path / "a.txt", tmp_path / "b.txt")
    with replacing(tmp_path / "a.txt") as file:
        file.write(b"new")
    assert [(tmp_path / name).read_text() for name in ("a.txt", "b.txt")] == ["new", "old"]


def test_a_name_may_be_as_long_as_the_system_allows(tmp_path, unfinished):
    with replacing(tmp_path / ("a" * 255)) as file:
        file.write(b"new")
    assert names(tmp_path) == ["a" * 255]


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_standard_output_that_is_a_file_keeps_what_others_wrote(capfd, name):
    os.write(1, b"first ")
    check_replaceable(name)
    with replacing(name) as file:
        file.write(b"second")
    os.write(1, b" third")
    assert capfd.readouterr().out == "first second third"


def test_a_pipe_without_a_reader_is_checked_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    check_replaceable(tmp_path / "pipe")


def test_a_second_process_is_refused(tmp_path):
    with (tmp_path / "file").open("ab") as first, (tmp_path / "file").open("ab") as second:
        lock(first, "name another.")
        with rejects(dx.InputError):
            lock(second, "name another.")


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: path.symlink_to("precious")])
def test_results_are_added_to_regular_files_only(tmp_path, make):
    """Opening a pipe would wait for ever, and a link leads to a file of others."""
    make(tmp_path / "file")
    (tmp_path / "precious").write_text("my thesis")
    with pytest.raises(dx.InputError, match="is a symbolic link, a pipe or a device"):
        open_locked(tmp_path / "file", "name another.")
    assert (tmp_path / "precious").read_text() == "my thesis"


def test_a_file_system_without_locks_is_used_without(tmp_path, monkeypatch):
    fcntl, asked = pytest.importorskip("fcntl"), []

    def without_locks(file, _):
        asked.append(file)
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr(fcntl, "flock", without_locks)
    with (tmp_path / "file").open("ab") as file:
        lock(file, "name another")
        assert asked == [file]
