"""How kernels are compiled, and where compiled code is kept: `kernel`, and what `directrix doctor` shows.

The folders are Numba's: ``NUMBA_CACHE_DIR``, else ``__pycache__``, else the user's cache. The files are
ours, one for each kernel, signature and processor. Why Numba's own files do not do is decision 0115.
"""

from __future__ import annotations

import hashlib
import inspect
import os
import pickle
import sys
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numba
from numba.core import caching, compiler, registry, serialize
from numba.misc import appdirs

from directrix import __version__
from directrix.errors import warn

__all__ = ["KERNELS", "Place", "Survey", "all_kernels", "kernel", "remove_stale", "size_of", "survey"]

KERNELS: list[Any] = []
"""Every kernel of the modules that have been imported."""

_CONFIG: Any = numba.config
_FROM_PARTS: Any = compiler.CompileResult._rebuild
_DUMPS: Any = serialize.dumps
_SUBFOLDER: Any = caching._CacheLocator.get_suitable_cache_subpath
_APP_DIRS: Any = appdirs.AppDirs
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
_HERE = Path(__file__).parent
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML")
"""Settings of Numba on which compiled code depends."""
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
_said: set[str] = set()


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function as all kernels are: serial, without the GIL, division as in NumPy, kept on disk.

    Parameters
    ----------
    function : callable
        Takes arrays and numbers; of the level of a module in a ``_kernels``, for its name is part of the
        file's, and the sources there are what tells that code is old.
    **options
        Of ``numba.njit``: ``fastmath``, ``forceinline``.
    """
    if function is None:
        return partial(kernel, **options)
    made = numba.njit(**_OPTIONS, **options)(function)
    if not _CONFIG.DISABLE_JIT:
        made._cache = _Kept(function)
    KERNELS.append(made)
    return made


def all_kernels() -> list[Any]:
    """Import every module of every ``_kernels`` and return the kernels in them."""
    for path in sorted(_HERE.glob("*/_kernels/*.py")):
        if path.stem != "__init__":
            import_module(f"directrix.{path.parts[-3]}._kernels.{path.stem}")
    return KERNELS


class _Kept(caching.NullCache):
    """Compiled code of one kernel, as Numba's dispatcher asks for it and hands it over."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._source = inspect.getfile(function)
        self.name = f"{Path(self._source).stem}.{function.__qualname__}.{_PYTHON}"

    @cached_property
    def folders(self) -> list[Path]:
        """Where the code may lie, in the order of reading; the first that can be written is written."""
        below = _SUBFOLDER(self._source)
        if _CONFIG.CACHE_DIR:
            return [Path(_CONFIG.CACHE_DIR) / below]
        home = Path(_APP_DIRS("numba", appauthor=False).user_cache_dir)
        own = [] if home.parts[0] == "~" else [home / below]  # a user without a home
        return [Path(self._source).parent / "__pycache__", *own]

    @property
    def cache_path(self) -> str | None:
        return str(self.folders[0]) if self.folders else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        target_context.refresh()
        name = self._file(sig, target_context.codegen())
        for folder in self.folders:
            try:
                content = (folder / name).read_bytes()
            except OSError:
                continue
            code = content[32:]
            if hashlib.sha256(code).digest() == content[:32]:  # a damaged file is no file
                return _FROM_PARTS(target_context, *pickle.loads(code))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        if data.library.has_dynamic_globals:  # addresses of this process
            return
        code = _DUMPS(data._reduce())
        content, name = hashlib.sha256(code).digest() + code, self._file(sig, data.codegen)
        for folder in self.folders:
            try:  # above a folder of another user nothing may be looked at
                is_new = not folder.is_dir()
                _write(folder, name, content)
            except OSError:
                continue
            if is_new and folder != self.folders[0]:
                _say_once(f"compiled kernels are kept in {folder.parent}, for {_HERE} cannot be written.")
            return
        wanted = " and ".join(map(str, self.folders)) or str(Path(self._source).parent)
        _say_once(
            f"compiled kernels cannot be kept: {wanted} cannot be written. All works, but each "
            "process compiles anew, for seconds. Set NUMBA_CACHE_DIR to a folder that you can write to."
        )

    def _file(self, sig: Any, codegen: Any) -> str:
        # of a named tuple the names count too: compiled code knows its fields by their places
        signature = _short(repr([(repr(kind), getattr(kind, "fields", ())) for kind in sig]))
        return f"{self.name}.{_stamp()}.{_made_for(codegen)}.{signature}.nbc"


def _made_for(codegen: Any) -> str:
    """Changes with the processor, and with settings under which Numba makes other code."""
    return _short(repr([codegen.magic_tuple(), *(str(getattr(_CONFIG, name, None)) for name in _SETTINGS)]))


def _write(folder: Path, name: str, content: bytes) -> None:
    """Whole or not at all: others may read, or write the same, at this moment."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{name}.{uuid.uuid4().hex[:16]}.tmp"
    try:
        unfinished.write_bytes(content)
        unfinished.replace(folder / name)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _say_once(text: str) -> None:
    if text[:30] not in _said:
        _said.add(text[:30])
        warn(text, stacklevel=3)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _stamp() -> str:
    """Changes with the source of any kernel: the code of one holds that of others, of several files."""
    sources = sorted(_HERE.glob("*/_kernels/*.py"))  # none in a zip file, so the version counts too
    texts = [path.read_text(encoding="utf-8") for path in sources]
    return _short("\0".join([__version__, numba.__version__, repr(_OPTIONS), *texts]))


class Place(NamedTuple):
    """Folders that hold compiled code, one for each layer: how they are called, and what is in them.

    Parameters
    ----------
    folder : str
        With a star for what differs between layers.
    writable : bool
        Whether all of them can be written, or made.
    files, size : int
        Files for this processor, and their bytes.
    """

    folder: str
    writable: bool
    files: int
    size: int


class Survey(NamedTuple):
    """What is kept of the kernels as they are now, and what is left of others.

    Parameters
    ----------
    processor : str
        As LLVM calls it; code for another, or with other features or settings of Numba, is not used.
    kernels, compiled : int
        How many there are, and how many of them are kept for this processor.
    places : list of Place
        In the order of reading; the first that can be written is written.
    stale : list of Path
        Files that nothing reads any more: of other sources, or another version of Numba.
    """

    processor: str
    kernels: int
    compiled: int
    places: list[Place]
    stale: list[Path]


def survey() -> Survey:
    """Look at all folders where compiled kernels may lie; see `Survey`."""
    codegen = registry.cpu_target.target_context.codegen()
    current = f".{_stamp()}.{_made_for(codegen)}."
    kept = [made._cache for made in all_kernels() if not _CONFIG.DISABLE_JIT]
    places, named, stale = [], set(), []
    for rank in range(max((len(one.folders) for one in kept), default=0)):
        folders = sorted({one.folders[rank] for one in kept})
        files = [path for folder in folders for path in _files(folder)]
        here = [path for path in files if current in path.name]
        named |= {path.name[: path.name.index(current)] for path in here}
        stale += [path for path in files if f".{_stamp()}." not in path.name]
        writable = all(map(_can_write, folders))
        places.append(Place(_starred(folders[0]), writable, len(here), size_of(here)))
    compiled = sum(one.name in named for one in kept)
    return Survey(codegen.magic_tuple()[1], len(KERNELS), compiled, places, stale)


def remove_stale() -> int:
    """Remove what `Survey.stale` lists, as far as it can be removed; return how many files."""
    before = survey().stale
    for path in before:
        with suppress(OSError):
            path.unlink()
    return sum(not path.exists() for path in before)


def _files(folder: Path) -> Iterator[Path]:
    """Compiled code of this version of Python, Numba's own too."""
    return (path for path in folder.glob("*.nb[ic]") if f".{_PYTHON}." in path.name)


def size_of(paths: Iterable[Path]) -> int:
    """Bytes of all files that are still there: others may remove stale ones at this moment."""
    size = 0
    for path in paths:
        with suppress(OSError):
            size += path.stat().st_size
    return size


def _can_write(folder: Path) -> bool:
    with suppress(PermissionError):  # of a folder above it in which nothing may be looked at
        while not folder.exists():
            folder = folder.parent
        return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return False


def _starred(folder: Path) -> str:
    return str(
        _HERE / "*" / "_kernels" / folder.name if _HERE in folder.parents else folder.parent / "_kernels_*"
    )
