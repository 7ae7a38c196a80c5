"""Compilation, linking and caching of kernels, and the survey that a diagnosis of the installation shows.

Compiled code goes to the folders that Numba uses: ``NUMBA_CACHE_DIR``, else ``__pycache__``, else the user's
cache. There is one file for each kernel, signature and processor, in this package's own format;
docs/decisions/kernels.md says why Numba's files do not suffice. Wheels contain such files for `BASELINE`,
which are read if no folder has one for this processor.
"""

from __future__ import annotations

import hashlib
import inspect
import logging
import os
import pickle
import sys
import time
import uuid
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache, cached_property, partial
from importlib import import_module
from multiprocessing import current_process
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numba
from numba.core import caching, codegen, compiler, event, registry, serialize
from numba.core.runtime import nrt
from numba.misc import appdirs

from directrix import __version__
from directrix.errors import warn


class _Library(codegen.JITCodeLibrary):
    """Compiled code of one kernel that calls its own copies of other kernels.

    Numba makes these copies weak symbols. If the process has compiled or loaded another symbol of the same
    name, the linker prefers it, although it was optimized for another caller and computes other last bits.
    """

    def _finalize_final_module(self) -> None:
        # Kernels that call this one link the clone, as in Numba. The loop gives the clone's functions a
        # linkage that allows duplicates, and the module's own copies of other kernels a private one.
        self._shared_module = self._final_module.clone()
        for shared, linked in zip(self._shared_module.functions, self._final_module.functions, strict=True):
            if linked.linkage.name == "external" and not linked.is_declaration:
                shared.linkage = "linkonce_odr"
            elif linked.linkage.name == "linkonce_odr":
                linked.linkage = "internal"
        super()._finalize_final_module()  # type: ignore[no-untyped-call]


class Compiler(compiler.Compiler):
    """Numba's compiler as used for kernels; see docs/decisions/kernels.md."""

    def define_pipelines(self) -> Any:
        """Return Numba's passes, which fill the library created here."""
        state = self.state
        state.library = _Library(state.targetctx.codegen(), state.func_id.func_qualname)  # type: ignore[no-untyped-call]
        state.library.enable_object_caching()
        return super().define_pipelines()  # type: ignore[no-untyped-call]


KERNELS: list[Any] = []
"""All kernels of the imported modules."""

BASELINE = "x86-64-v3"
"""Processor that the kernels of wheels are compiled for, as LLVM calls it."""
SHIPPED = "compiled"
"""Folder next to kernels that holds those of a wheel; ``python -m tools.wheel`` fills it."""
# These are features of `BASELINE`, as LLVM names them. A processor that lacks one cannot run the code
# of a wheel.
_NEEDS = frozenset(("+avx2", "+bmi", "+bmi2", "+f16c", "+fma", "+lzcnt", "+movbe"))

# Numba has no types for these names, and some of them are private.
_CONFIG: Any = numba.config
_FROM_PARTS: Any = compiler.CompileResult._rebuild
_DUMPS: Any = serialize.dumps
_RUNTIME: Any = nrt.rtsys
_EVENTS: Any = event
_SUBFOLDER: Any = caching._CacheLocator.get_suitable_cache_subpath
_APP_DIRS: Any = appdirs.AppDirs
_OPTIONS: dict[str, Any] = {"nogil": True, "error_model": "numpy", "pipeline_class": Compiler}
_PACKAGE = Path(__file__).parent
_SETTINGS = ("BOUNDSCHECK", "DEBUGINFO_DEFAULT", "LOOP_VECTORIZE", "OPT", "SLP_VECTORIZE", "USING_SVML")
"""Settings of Numba on which compiled code depends."""
_PYTHON = f"py{sys.version_info[0]}{sys.version_info[1]}{getattr(sys, 'abiflags', '')}"
_PATIENCE = 1.0
"""Seconds of compilation before the note."""
_LOGGER = logging.getLogger("directrix")
_warnings_given: set[str] = set()


class _Compilation(event.Listener):
    """Sums the seconds of compilation; nested compilations do not count twice."""

    def __init__(self) -> None:
        self._depth, self._begun, self._seconds = 0, 0.0, 0.0
        # Workers compile at the same time as the main process, whose note suffices.
        self._is_announced = current_process().name != "MainProcess"

    def on_start(self, event: Any) -> None:
        if not self._depth:
            self._begun = time.perf_counter()
        self._depth += 1
        self._announce(event)

    def on_end(self, event: Any) -> None:
        self._announce(event)
        self._depth -= 1
        if not self._depth:
            self._seconds += time.perf_counter() - self._begun

    def _announce(self, event: Any) -> None:
        """Log once, after a second, why the process takes so long; user functions do not count."""
        # Loops that Numba lifts out of a function have no cache.
        kept = getattr(event.data["dispatcher"], "_cache", None)
        if self._is_announced or not isinstance(kept, _KernelCache):
            return
        if self._seconds + time.perf_counter() - self._begun > _PATIENCE:
            self._is_announced = True
            takes = "this takes some seconds, or up to a minute for a search."
            if any(map(_can_write, kept.folders)):
                text = f"Compiling kernels, once: {takes} Later processes load them from the cache."
            else:
                text = f"Compiling kernels: {takes}"
            _LOGGER.warning(text)

    @property
    def is_running(self) -> bool:
        """Whether a kernel is being compiled."""
        return self._depth > 0

    def others(self) -> float:
        """Return the elapsed seconds without those of compilation."""
        return (self._begun if self._depth else time.perf_counter()) - self._seconds


_COMPILATION = _Compilation()
_EVENTS.register("numba:compile", _COMPILATION)


def is_compiling() -> bool:
    """Return whether this process compiles a kernel at the moment."""
    return _COMPILATION.is_running


def working_time() -> float:
    """Return the seconds of a clock like `time.perf_counter` that stops while kernels are compiled.

    Durations of training runs are its differences, so the first run is not charged for compilation.
    """
    return _COMPILATION.others()


def kernel(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function of arrays and numbers: serial, without the GIL, with NumPy's division, cached.

    It must be defined at the top level of a module in a folder ``_kernels``: its name is part of the file
    name, and a change of any source in these folders makes the code stale. The options are those of
    ``numba.njit``: ``fastmath``, ``forceinline``.
    """
    if function is None:
        return partial(kernel, **options)
    compiled = numba.njit(**_OPTIONS, **options)(function)
    if not _CONFIG.DISABLE_JIT:
        compiled._cache = _KernelCache(function)
    KERNELS.append(compiled)
    return compiled


def all_kernels() -> list[Any]:
    """Import every module of every folder ``_kernels`` and return their kernels."""
    for path in sorted(_PACKAGE.glob("*/_kernels/*.py")):
        if path.stem != "__init__":
            import_module(f"directrix.{path.parts[-3]}._kernels.{path.stem}")
    return KERNELS


def ignore_shipped() -> None:
    """Compile all kernels for this processor from now on, even those that a wheel has for the baseline."""
    _KernelCache.reads_shipped = False


def compilations() -> tuple[int, int]:
    """Return the numbers of kernel signatures that this process compiled and that it read from disk."""
    stats = [compiled.stats for compiled in KERNELS]
    return sum(s.cache_misses.total() for s in stats), sum(s.cache_hits.total() for s in stats)


class _KernelCache(caching.NullCache):
    """Reads and writes compiled code of one kernel, with the methods that Numba's dispatcher calls."""

    reads_shipped: ClassVar[bool] = True

    def __init__(self, function: Callable[..., Any]) -> None:
        self._source = inspect.getfile(function)
        self.name = f"{Path(self._source).stem}.{function.__qualname__}.{_PYTHON}"
        # These are the files whose code this process uses.
        self.read: list[Path] = []

    @cached_property
    def folders(self) -> list[Path]:
        """Folders in the order of reading; code is written to the first that is writable."""
        below = _SUBFOLDER(self._source)
        if _CONFIG.CACHE_DIR:
            return [Path(_CONFIG.CACHE_DIR) / below]
        home = Path(_APP_DIRS("numba", appauthor=False).user_cache_dir)
        has_home = home.parts[0] != "~"
        return [Path(self._source).parent / "__pycache__", *([home / below] if has_home else [])]

    @property
    def cache_path(self) -> str | None:
        return str(self.folders[0]) if self.folders else None

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        # This suffices for code that is ready. Numba's `refresh`, which loads all that compiling
        # needs, takes longer than the rest of a short command.
        _RUNTIME.initialize(target_context)
        processor = target_context.codegen().magic_tuple()
        paths = [folder / self._file(sig, processor) for folder in self.folders]
        if self.reads_shipped and _runs_baseline(processor):
            paths.append(self.shipped / self._file(sig, _baseline(processor)))
        for path in paths:
            try:
                content = path.read_bytes()
            except OSError:
                continue
            code = content[32:]
            # A damaged file counts as missing: the kernel is compiled again, and the file replaced.
            if hashlib.sha256(code).digest() == content[:32]:
                self.read.append(path)
                return _FROM_PARTS(target_context, *pickle.loads(code))
        return None

    def save_overload(self, sig: Any, data: Any) -> None:
        # Such code contains addresses of this process, which mean nothing in another.
        if data.library.has_dynamic_globals:
            return
        fields = data._reduce()
        # The annotated source is dropped, because it has addresses of this process and would change the
        # hash.
        code = _DUMPS((*fields[:6], "", *fields[7:]))
        content, name = hashlib.sha256(code).digest() + code, self._file(sig, data.codegen.magic_tuple())
        for folder in self.folders:
            try:
                # `is_dir` is inside the block because it fails, too, in a folder of another user.
                is_new = not folder.is_dir()
                _write(folder, name, content)
            except OSError:
                continue
            if is_new and folder != self.folders[0]:
                _warn_once(f"compiled kernels are kept in {folder.parent}: {_PACKAGE} is not writable.")
            return
        tried = " and ".join(map(str, self.folders)) or str(Path(self._source).parent)
        _warn_once(
            f"compiled kernels cannot be kept: {tried} cannot be written. Results are the same, but every "
            "process spends seconds compiling. Set NUMBA_CACHE_DIR to a folder that you can write to."
        )

    @property
    def shipped(self) -> Path:
        """Folder of the files that came with a wheel."""
        return Path(self._source).parent / SHIPPED

    def _file(self, sig: Any, processor: _Processor) -> str:
        # The field names of a named tuple count too, because compiled code knows fields by
        # position.
        signature = _short(repr([(repr(kind), getattr(kind, "fields", ())) for kind in sig]))
        return f"{self.name}.{_stamp()}.{_made_for(processor)}.{signature}.nbc"


_Processor = tuple[str, str, str]
"""System, name and features, as LLVM calls them."""


def _made_for(processor: _Processor) -> str:
    """Return a text that changes with the processor, and with settings of Numba that change the code."""
    return _short(repr([processor, *(str(getattr(_CONFIG, name, None)) for name in _SETTINGS)]))


def _baseline(processor: _Processor) -> _Processor:
    """The processor of a process with ``NUMBA_CPU_NAME=x86-64-v3 NUMBA_CPU_FEATURES=``."""
    return processor[0], BASELINE, ""


def _runs_baseline(processor: _Processor) -> bool:
    """Whether a processor runs code for the baseline."""
    _, name, features = processor
    return name == BASELINE or _NEEDS.issubset(features.split(","))


def _write(folder: Path, name: str, content: bytes) -> None:
    """Write a file completely or not at all: other processes may read or write it at the same time."""
    folder.mkdir(parents=True, exist_ok=True)
    unfinished = folder / f"{name}.{uuid.uuid4().hex[:16]}.tmp"
    try:
        unfinished.write_bytes(content)
        unfinished.replace(folder / name)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise


def _warn_once(text: str) -> None:
    if text[:30] not in _warnings_given:
        _warnings_given.add(text[:30])
        warn(text, stacklevel=3)


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


@cache
def _stamp() -> str:
    """Return a text that changes with the source of any kernel: kernels contain code of others."""
    # In a zip file the list is empty, so the version counts, too.
    sources = sorted(_PACKAGE.glob("*/_kernels/*.py"))
    texts = [path.read_text(encoding="utf-8") for path in sources]
    return _short("\0".join([__version__, numba.__version__, repr(_OPTIONS), *texts]))


class CacheFolder(NamedTuple):
    """Folders that hold compiled code, one for each layer."""

    folder: str
    """Their path, with a star for the part that differs between layers."""
    writable: bool
    """Whether all of them can be written, or created."""
    files: int
    """Number of files for this processor."""
    size: int
    """Bytes of these files."""


class Survey(NamedTuple):
    """Compiled code on disk: that of the current kernels, and stale files."""

    processor: str
    """Its name in LLVM. Code for another processor, or for other settings of Numba, is not used."""
    kernels: int
    """Number of kernels."""
    compiled: int
    """Number of kernels that are kept for this processor."""
    shipped: int
    """Number of other kernels that a wheel has for `BASELINE`, and that this processor can run."""
    places: list[CacheFolder]
    """In the order of reading; code is written to the first that is writable."""
    stale: list[Path]
    """Files that are no longer read: from other sources, or another version of Numba."""


def survey() -> Survey:
    """Inspect all folders that may hold compiled kernels; see `Survey`."""
    processor = registry.cpu_target.target_context.codegen().magic_tuple()
    current = f".{_stamp()}.{_made_for(processor)}."
    stores = [compiled._cache for compiled in all_kernels() if not _CONFIG.DISABLE_JIT]
    places, names, stale = [], set(), []
    for rank in range(max((len(store.folders) for store in stores), default=0)):
        # Modules that were imported under another NUMBA_CACHE_DIR have another number of folders.
        folders = sorted({folder for store in stores for folder in store.folders[rank : rank + 1]})
        # The files are those for this version of Python, with Numba's own files.
        files = [path for f in folders for path in f.glob("*.nb[ic]") if f".{_PYTHON}." in path.name]
        usable = [path for path in files if current in path.name]
        names |= {path.name[: path.name.index(current)] for path in usable}
        stale += [path for path in files if f".{_stamp()}." not in path.name]
        folder = folders[0]
        is_inside = _PACKAGE in folder.parents
        starred = _PACKAGE / "*" / "_kernels" / folder.name if is_inside else folder.parent / "_kernels_*"
        places.append(CacheFolder(str(starred), all(map(_can_write, folders)), len(usable), size_of(usable)))
    compiled = sum(store.name in names for store in stores)
    shipped = 0
    if _runs_baseline(processor):
        version = f"{_stamp()}.{_made_for(_baseline(processor))}"
        others = [store for store in stores if store.name not in names]
        shipped = sum(any(store.shipped.glob(f"{store.name}.{version}.*")) for store in others)
    return Survey(processor[1], len(KERNELS), compiled, shipped, places, stale)


def remove_stale() -> int:
    """Remove the files of `Survey.stale` as far as permissions allow; return how many were removed."""
    before = survey().stale
    for path in before:
        with suppress(OSError):
            path.unlink()
    return sum(not path.exists() for path in before)


def size_of(paths: Iterable[Path]) -> int:
    """Return the bytes of all files that still exist: another process may be removing stale ones."""
    size = 0
    for path in paths:
        with suppress(OSError):
            size += path.stat().st_size
    return size


def _can_write(folder: Path) -> bool:
    # `exists` raises this error in a folder of another user.
    with suppress(PermissionError):
        while not folder.exists():
            folder = folder.parent
        return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
    return False
