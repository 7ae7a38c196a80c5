"""Compiled kernels are kept where they can be, shared by processes and users, and never trusted blindly."""

import json
import os
import platform
import re
import subprocess
import sys
import time
from collections import namedtuple
from pathlib import Path
from types import SimpleNamespace

import numba
import pytest
from numba.core import registry

import directrix
from directrix import kernels
from directrix.kernels import BASELINE, SHIPPED, all_kernels, kernel, remove_stale, survey

SMALL = """
from directrix.kernels import kernel
@kernel
def twice(x):
    return x + x
"""
USE = """
import json, logging, sys, time
logging.disable()  # a busy machine compiles for more than a second
sys.path.insert(0, {module!r})
import numpy as np
from small import twice
while time.time() < {start}:  # several processes begin together
    pass
for kind in {kinds!r}:
    assert twice(np.dtype(kind).type(2)) == 4
print(json.dumps([twice.stats.cache_misses.total(), twice.stats.cache_hits.total()]))
"""


def begin(folder, kinds, start=0.0):
    """Start a process that calls a kernel and keeps its code below the folder."""
    (folder.parent / "small.py").write_text(SMALL)
    return subprocess.Popen(
        [sys.executable, "-c", USE.format(module=str(folder.parent), kinds=kinds, start=start)],
        env={**os.environ, "NUMBA_CACHE_DIR": str(folder)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def use(folder, *kinds):
    """How many signatures a process compiled and found, and what it said."""
    process = begin(folder, kinds)
    out, said = process.communicate()
    assert process.returncode == 0, said
    return (*json.loads(out), said)


def test_processes_that_compile_at_once_spoil_nothing_and_later_ones_find_it(tmp_path):
    cache, start = tmp_path / "cache", time.time() + 1.5
    together = [begin(cache, kinds, start) for kinds in (["f4"], ["f8"], ["f8", "f4"])]
    for process in together:
        said = process.communicate()[1]
        assert process.returncode == 0, said
    assert use(cache, "f4", "f8") == (0, 2, "")
    assert len(list(cache.rglob("small.twice.*.nbc"))) == 2
    assert not list(cache.rglob("*.tmp"))


@pytest.mark.skipif(numba.version_info.short < (0, 67), reason="Numba < 0.67 names constants by address")
def test_the_same_calls_keep_the_same_bytes(tmp_path):
    """Two builds of a wheel are compared; addresses and the order of sets differ between processes."""
    files = []
    for folder in (tmp_path / "first", tmp_path / "second"):
        env = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
        code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); from small import filled; filled(3)"
        (tmp_path / "small.py").write_text(FILLED)
        subprocess.run([sys.executable, "-c", code], env=env, check=True)
        files.append({path.name: path.read_bytes() for path in folder.rglob("*.nbc")})
    assert len(files[0]) == 1
    assert files[0] == files[1]


FILLED = """
import numpy as np
from directrix.kernels import kernel
@kernel
def filled(n):
    return np.full(n, 2.0).sum()
"""


def test_code_for_another_processor_is_not_used(tmp_path, monkeypatch):
    use(tmp_path / "cache", "f8")
    monkeypatch.setenv("NUMBA_CPU_NAME", "nehalem")  # neither this processor nor that of `make processor`
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    assert use(tmp_path / "cache", "f8") == (1, 0, "")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="wheels have kernels for x86-64")
def test_kernels_of_a_wheel_serve_every_processor_that_has_their_instructions(tmp_path, monkeypatch):
    monkeypatch.setenv("NUMBA_CPU_NAME", BASELINE)
    monkeypatch.setenv("NUMBA_CPU_FEATURES", "")
    use(tmp_path / "cache", "f8")
    (tmp_path / SHIPPED).mkdir()
    for path in (tmp_path / "cache").rglob("*.nbc"):
        path.rename(tmp_path / SHIPPED / path.name)
    assert use(tmp_path / "empty", "f8") == (0, 1, "")  # as in an image that names its processor
    monkeypatch.setenv("NUMBA_CPU_NAME", "nehalem")
    assert use(tmp_path / "empty", "f8") == (1, 0, "")
    for name in ("haswell", "znver3"):
        monkeypatch.setenv("NUMBA_CPU_NAME", name)
        monkeypatch.setenv("NUMBA_CPU_FEATURES", "+sse4.2,+avx2,+bmi,+bmi2,+f16c,+fma,+lzcnt,+movbe")
        assert use(tmp_path / "empty", "f8") == (0, 1, "")
        assert use(tmp_path / "empty", "f4") == (1, 0, "")  # the wheel lacks it


def test_kernels_of_a_wheel_are_left_aside_on_request(made, tmp_path, monkeypatch):
    monkeypatch.setattr(kernels, "BASELINE", registry.cpu_target.target_context.codegen().magic_tuple()[1])
    monkeypatch.setattr(kernels, "_baseline", lambda processor: processor)
    monkeypatch.setattr(kernels._KernelCache, "shipped", tmp_path)
    monkeypatch.setattr(kernels._KernelCache, "reads_shipped", True)
    made(tmp_path)(1.0)  # fills the folder
    again = made(tmp_path / "empty")
    assert (again(1.0), *counts(again)) == (2.0, 0, 1)
    kernels.ignore_shipped()
    native = made(tmp_path / "empty")
    assert (native(1.0), *counts(native)) == (2.0, 1, 0)


def test_code_of_other_settings_is_not_used(tmp_path, monkeypatch):
    """Else a check of all bounds would run code that checks none, and every later run code that does."""
    use(tmp_path / "cache", "f8")
    monkeypatch.setenv("NUMBA_BOUNDSCHECK", "1")
    assert use(tmp_path / "cache", "f8") == (1, 0, "")


def test_where_nothing_can_be_kept_all_works_and_it_is_said_once(tmp_path):
    (tmp_path / "file").write_text("no folder can be made below a file")
    compiled, found, said = use(tmp_path / "file", "f4", "f8")
    assert (compiled, found) == (2, 0)
    assert said.count("compiled kernels cannot be kept") == 1
    assert "NUMBA_CACHE_DIR" in said


def twice(x):
    return x + x


@pytest.fixture
def made(monkeypatch):
    """Make a kernel that keeps its code in the given folders; it is not in the list of all."""
    monkeypatch.setattr(kernels, "KERNELS", [])
    monkeypatch.setattr(kernels, "_warnings_given", set())

    def make(*folders):
        one = kernel(twice)
        one._cache.folders = list(folders)
        return one

    return make


def test_who_waits_is_told_once_and_not_if_all_is_kept(made, tmp_path, monkeypatch, caplog):
    caplog.set_level("WARNING", "directrix")  # a command that ran before may have raised it
    monkeypatch.setattr(kernels, "_PATIENCE", 0.0)
    monkeypatch.setattr(kernels._COMPILATION, "_is_announced", False)
    numba.njit(twice)(1.0)  # a function of the user
    assert not caplog.messages
    one = made(tmp_path)
    assert [one(1.0), one(1)] == [2.0, 2]
    assert [message.partition(",")[0] for message in caplog.messages] == ["Compiling kernels"]
    monkeypatch.setattr(kernels._COMPILATION, "_is_announced", False)
    made(tmp_path)(1.0)
    assert len(caplog.messages) == 1
    (tmp_path / "file").write_text("no folder can be made below a file")
    with pytest.warns(UserWarning, match="cannot be kept"):
        made(tmp_path / "file" / "below")(1.0)
    assert "Later" in caplog.messages[0]
    assert "Later" not in caplog.messages[1]


COMMAND = """
import sys
from directrix import kernels
from directrix.cli.main import app
kernels._PATIENCE, sys.stderr.isatty = 0.0, lambda: {is_terminal}
app(["evaluate", "qrels", "run"])
"""


@pytest.mark.parametrize("is_terminal", [True, False])
def test_a_command_says_so_once_on_a_terminal_and_in_a_log(is_terminal, tmp_path):
    (tmp_path / "qrels").write_text("1 0 d1 1\n1 0 d2 0\n")
    (tmp_path / "run").write_text("1 Q0 d1 1 2 tag\n1 Q0 d2 2 1 tag\n")
    done = subprocess.run(
        [sys.executable, "-c", COMMAND.format(is_terminal=is_terminal)],
        cwd=tmp_path,
        env={**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr.startswith("Compiling kernels, once"), done.stderr
    assert done.stderr.count("Compiling") == 1, done.stderr


def counts(one):
    return one.stats.cache_misses.total(), one.stats.cache_hits.total()


def change_a_byte(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


HARMS = {"cut": lambda whole: whole[: len(whole) // 2], "changed": change_a_byte, "empty": lambda _: b""}


@pytest.mark.parametrize("harm", HARMS.values(), ids=HARMS)
def test_a_damaged_file_is_compiled_anew(made, tmp_path, harm):
    made(tmp_path)(1.0)
    (file,) = tmp_path.iterdir()
    file.write_bytes(harm(file.read_bytes()))
    after = made(tmp_path)
    assert after(1.0) == 2.0
    assert counts(after) == (1, 0)
    later = made(tmp_path)
    assert later(1.0) == 2.0
    assert counts(later) == (0, 1)


def test_the_user_s_folder_stands_in_and_that_is_said_once(made, tmp_path):
    (tmp_path / "blocked").write_text("")
    one = made(tmp_path / "blocked" / "__pycache__", tmp_path / "of the user")
    with pytest.warns(UserWarning, match=re.escape(f"kept in {tmp_path}: ")) as said:
        assert [one(1.0), one(1)] == [2.0, 2]
    assert len(said) == 1
    assert len(list((tmp_path / "of the user").glob("*.nbc"))) == 2
    kernels._warnings_given.clear()  # as in a later process: the folder exists, and a warning is an error
    assert made(*one._cache.folders)(1j) == 2j


def test_code_that_cannot_be_written_is_read_without_a_word(made, tmp_path, monkeypatch):
    """As in an image: root compiled it, another user runs it."""
    made(tmp_path)(1.0)

    def refuse(*_):
        raise PermissionError

    monkeypatch.setattr(kernels, "_write", refuse)
    one = made(tmp_path, tmp_path / "of the user")
    assert one(1.0) == 2.0
    assert counts(one) == (0, 1)


def test_a_folder_below_one_of_another_user_is_passed_over(made, tmp_path, monkeypatch):
    """As where HOME still names that of root: to ask for what lies in it is refused."""
    foreign, is_dir, exists = tmp_path / "root", Path.is_dir, Path.exists

    def refused(look):
        def ask(path, **settings):
            if foreign in path.parents:
                raise PermissionError(13, "Permission denied", str(path))
            return look(path, **settings)

        return ask

    monkeypatch.setattr(Path, "is_dir", refused(is_dir))
    monkeypatch.setattr(Path, "exists", refused(exists))
    one = made(foreign / "cache" / "numba", tmp_path / "own")
    with pytest.warns(UserWarning, match="are kept in"):
        assert one(1.0) == 2.0
    assert [kernels._can_write(folder) for folder in one._cache.folders] == [False, True]


def test_a_user_without_a_home_gets_no_folder_of_that_name(monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", "~/.cache")  # what Python makes of ~ then
    monkeypatch.setattr(kernels._CONFIG, "CACHE_DIR", "")
    assert [folder.name for folder in all_kernels()[0]._cache.__class__(twice).folders] == ["__pycache__"]


def test_fields_of_another_order_are_another_signature(made, tmp_path):
    files = [
        made(tmp_path)._cache._file((numba.typeof(namedtuple("Spec", names)(1.0, 2.0)),), "cpu")
        for names in ("a b", "b a", "a b")
    ]
    assert files[0] == files[2] != files[1]


def test_stale_files_are_counted_and_removed(monkeypatch, tmp_path):
    monkeypatch.setattr(kernels._CONFIG, "CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(kernels, "KERNELS", [])
    one = kernel(twice)
    monkeypatch.setattr(kernels, "all_kernels", lambda: [one])
    folder = one._cache.folders[0]
    folder.mkdir()
    python = kernels._PYTHON
    stale = [folder / f"approx.f-12.{python}.nbi", folder / f"approx.f.{python}.0123456789ab.cpu.sig.nbc"]
    current = folder / f"{one._cache.name}.{kernels._stamp()}.cpu.sig.nbc"
    foreign = folder / "approx.f.py27.0123456789ab.cpu.sig.nbc"
    for path in (*stale, current, foreign):
        path.write_text("x")
    assert sorted(survey().stale) == sorted(stale)
    assert remove_stale() == 2
    assert sorted(folder.iterdir()) == sorted([current, foreign])


REACHED = """
from directrix.cli.compiling import compile_step, steps
from directrix.kernels import all_kernels
for step in steps():
    compile_step(step)
kernels = {id(made): made for made in all_kernels()}
left = list(kernels)
reached = [made for made in kernels.values() if made.signatures]
for made in reached:  # grows: what a kernel calls lies in its code, and is not loaded by itself
    left = [key for key in left if key != id(made)]
    called = (made.py_func.__globals__.get(name) for name in made.py_func.__code__.co_names)
    reached += [one for one in called if id(one) in left and one not in reached]
print(len(kernels), *(kernels[key].py_func.__module__ + "." + kernels[key].__name__ for key in left))
"""


@pytest.mark.slow
def test_compiling_all_leaves_no_kernel_out():
    done = subprocess.run([sys.executable, "-c", REACHED], capture_output=True, text=True, check=True)
    n_kernels, *left = done.stdout.split()
    assert int(n_kernels) > 150
    assert left == [], "a step of directrix/cli/compiling.py has to call these"


def test_every_kernel_is_made_by_the_one_decorator():
    """Otherwise Numba caches it (docs/decisions/kernels.md), and `directrix doctor` does not list it."""
    for path in Path(directrix.__file__).parent.rglob("*.py"):
        if path.name != "kernels.py" or path.parent.name != "directrix":
            assert not re.search(r"\b(njit|jit|vectorize|guvectorize|cfunc)\(", path.read_text()), path


def test_a_kernel_takes_options_of_numba(made):
    options = kernel(fastmath=True)(twice).targetoptions
    assert (options["fastmath"], options["nogil"], options["error_model"]) == (True, True, "numpy")


def test_the_time_of_work_stands_still_while_kernels_are_compiled(monkeypatch):
    now = iter([10.0, 11.0, 11.5, 13.0, 14.0, 20.0])
    monkeypatch.setattr(kernels, "time", SimpleNamespace(perf_counter=now.__next__))
    compilation = kernels._Compilation()
    loop = SimpleNamespace(data={"dispatcher": None})
    assert compilation.others() == 10.0
    compilation.on_start(loop)  # at 11
    compilation.on_start(loop)  # a kernel that it calls
    assert compilation.others() == 11.0
    compilation.on_end(loop)
    compilation.on_end(loop)  # at 11.5
    assert compilation.others() == 13.0 - 0.5
    assert compilation.others() - 12.5 == 1.0


def test_a_call_that_compiles_is_not_charged_for_it():
    function = numba.njit(lambda x: x + 1)
    begun, work = time.perf_counter(), kernels.working_time()
    assert function(1) == 2
    passed, worked = time.perf_counter() - begun, kernels.working_time() - work
    assert 0.0 < worked < passed / 2


def test_kernels_of_modules_imported_under_other_folders_are_counted(monkeypatch, tmp_path):
    stores = [
        SimpleNamespace(_cache=SimpleNamespace(folders=[tmp_path / "a"][:n], name="f", shipped=tmp_path))
        for n in (1, 0)
    ]
    stores[0]._cache.folders.append(tmp_path / "b")
    monkeypatch.setattr(kernels, "all_kernels", lambda: stores)
    assert [place[0] for place in survey().places] == [
        str(tmp_path / "_kernels_*"),
        str(tmp_path / "_kernels_*"),
    ]
