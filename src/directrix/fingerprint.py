"""Fingerprints: texts that change when a value, or the user's code in it, changes."""

from __future__ import annotations

import dis
import re
import sys
import sysconfig
from functools import cached_property
from hashlib import sha256
from operator import attrgetter
from types import CellType, CodeType, FunctionType, MappingProxyType, ModuleType
from typing import Any

# The `repr` of these types shows the whole value, so it needs no further analysis.
_PLAIN = (str, int, float, complex, bool, type(None), type(...))
# Code below these folders, or in a folder of installed packages, is not the user's. It counts by name
# only.
_LIBRARY = (sysconfig.get_path("stdlib"), sysconfig.get_path("platstdlib"))
_PACKAGES = re.compile(r"[/\\](site|dist)-packages[/\\]")


def fingerprint(value: Any) -> str:
    """Return 12 hexadecimal digits for the content of a value and for the user's code in it.

    The content is what a pickle would hold, in any process. Functions and classes of directrix, of Python and
    of installed packages count by name. All others, including lambdas and those of notebooks, count by their
    compiled code (without comments and line breaks), their defaults and closures, and the user's global
    values, functions and modules that they refer to. Files that such code reads do not count.

    Another version of Python compiles to other code, so the fingerprint differs.

    Examples
    --------
    >>> fingerprint(lambda labels: labels + 1) == fingerprint(lambda labels: labels + 1)  # a comment
    True
    >>> fingerprint(lambda labels: labels + 1) == fingerprint(lambda labels: labels + 2)
    False
    """
    return _digest(value, {})[:12]


def _digest(value: Any, known: dict[int, tuple[Any, str]]) -> str:
    """Return the SHA-256 of a value; ``known`` has those of objects, by identity, and keeps them alive."""
    if type(value) in _PLAIN:
        return sha256(f"{type(value).__name__} {value!r}".encode()).hexdigest()
    if type(value) is bytes:
        return sha256(value).hexdigest()
    if id(value) not in known:
        # A value that contains itself meets this text instead of recursing without end.
        known[id(value)] = value, "a circle"
        digests = [_digest(member, known) for member in _parts(value)]
        # The order of a set differs between processes, because the hashes of texts do.
        if isinstance(value, set | frozenset):
            digests.sort()
        known[id(value)] = value, sha256(" ".join([type(value).__name__, *digests]).encode()).hexdigest()
    return known[id(value)][1]


def _parts(value: Any) -> list[Any]:
    """Return the parts of a value."""
    if _is_installed(value):
        return [value.__module__, value.__qualname__]
    if isinstance(value, ModuleType):
        return [value.__name__]
    if isinstance(value, CodeType):
        # Line numbers and file names are left out, so moving a function does not change its
        # fingerprint.
        names = value.co_names, value.co_varnames, value.co_freevars
        return [value.co_code, value.co_exceptiontable, *names, value.co_consts]
    if isinstance(value, FunctionType):
        # An empty cell belongs to a variable that has not been assigned yet, and reading it would raise
        # an error.
        full = [cell.cell_contents for cell in value.__closure__ or () if cell != CellType()]
        used = _used(value.__code__, value.__globals__)
        return [value.__code__, value.__defaults__, value.__kwdefaults__, full, used]
    if isinstance(value, type):
        members = {name: member for name, member in sorted(vars(value).items()) if _counts(name, member)}
        return [value.__qualname__, type(value), value.__bases__, members]
    if isinstance(value, property | cached_property):
        return [value.fget if isinstance(value, property) else value.func]
    # A function compiled by Numba counts as its source and its options, because machine code differs by
    # processor.
    if isinstance(getattr(value, "py_func", None), FunctionType):
        return [value.py_func, getattr(value, "targetoptions", None)]
    # Static methods and `functools.cache` wrap the function that the user wrote.
    if hasattr(value, "__wrapped__"):
        return [value.__wrapped__]
    if type(value) in (dict, MappingProxyType):
        return [member for pair in value.items() for member in pair]
    return list(value) if type(value) in (tuple, list, set, frozenset) else _pickled(value)


def _pickled(value: Any) -> list[Any]:
    """Return the content that a pickle of an object would hold, without cached results."""
    kind = type(value)
    try:
        reduced = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001
        # An object that cannot be pickled, such as a lock or a file, may raise an error of any class.
        return [kind, re.sub(r" at 0x\w+", "", repr(value))]
    if isinstance(reduced, str):
        return [kind, reduced]
    make, arguments, state, items, pairs = (*reduced, None, None, None)[:5]
    if isinstance(state, dict):
        # A cached property appears in the state only after its first use, so it must not change the
        # fingerprint.
        kept = {name for name in state if isinstance(getattr(kind, str(name), None), cached_property)}
        state = {name: member for name, member in state.items() if name not in kept}
    return [kind, make, arguments, state, list(items or ()), list(pairs or ())]


def _is_installed(value: Any) -> bool:
    """Whether a name in an installed module means this function or class."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module not in sys.modules:
        return False
    try:
        if attrgetter(name)(sys.modules[module]) is not value:
            return False
    except AttributeError:
        # A function or class made within a function has no path from its module.
        return False
    return not _is_users(sys.modules[module])


def _is_users(module: ModuleType) -> bool:
    name, path = module.__name__, getattr(module, "__file__", None)
    if name.partition(".")[0] == "directrix" or name in sys.builtin_module_names:
        return False
    return not path or not (path.startswith(_LIBRARY) or _PACKAGES.search(path))


def _used(code: CodeType, scope: dict[str, Any]) -> dict[str, Any]:
    """Return the global values that code refers to, by name, including those of the user's modules."""
    used = {}
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and name in scope:
            used[name] = scope[name]
    modules = [member for member in used.values() if isinstance(member, ModuleType) and _is_users(member)]
    # The list grows while it is read: a package adds its module, and that a function in it.
    for module in modules:
        for name in {*code.co_names} & {*vars(module)}:
            used[f"{module.__name__}.{name}"] = member = vars(module)[name]
            if isinstance(member, ModuleType) and _is_users(member) and member not in modules:
                modules.append(member)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            used |= _used(constant, scope)
    return dict(sorted(used.items()))


def _counts(name: str, member: Any) -> bool:
    """Whether a member of a class counts: methods, and attributes without underscores on both sides."""
    is_method = isinstance(member, FunctionType | classmethod | staticmethod | property)
    return is_method or not (name.startswith("__") or name == "_abc_impl")
