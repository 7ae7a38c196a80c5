"""The interface as text: public names, signatures with defaults, commands, default values, formats of files.

`tests/golden/interface.txt` is the list of 1.0; ``python -m tests.test_public_names`` writes it again.
"""

import dataclasses
import inspect
import re
from collections.abc import Iterator
from enum import StrEnum
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

from typer.main import get_command

import directrix as dx
from directrix.cli.main import app
from directrix.registry import NAMESPACES, PUBLIC, RESULTS, SURROGATES, TRAINERS, load_class

PATH = Path(__file__).parent / "golden" / "interface.txt"
SOURCE = Path(dx.__file__).parent
_EMPTY = inspect.Parameter.empty


OPTIONAL = ("catboost", "pyterrier", "torch", "xgboost")
"""Packages that the core does not need; their lines begin with their name in brackets."""


def interface() -> list[str]:
    """Return the lines of the list, sorted; those of packages that are not installed are left out."""
    parts = (
        _names(),
        _boosters(),
        _torch(),
        _commands(get_command(app), "directrix"),
        _defaults(),
        _formats(),
    )
    return sorted({line for part in parts for line in part})


def listed() -> list[str]:
    """Return the lines of the file, without those of packages that are not installed."""
    absent = tuple(f"[{package}]" for package in OPTIONAL if find_spec(package) is None)
    return [line for line in PATH.read_text("utf-8").splitlines() if not line.startswith(absent)]


def _names() -> Iterator[str]:
    for namespace, table in {"": PUBLIC, **NAMESPACES}.items():
        for name, home in table.items():
            yield from _lines(f"directrix.{namespace}.{name}".replace("..", "."), home, name)
    for name, home in RESULTS.items():
        yield from _members(getattr(import_module(f"directrix.{home}"), name))


def _boosters() -> Iterator[str]:
    for package in ("catboost", "lightgbm", "pyterrier", "xgboost"):
        if find_spec(package) is not None:
            for name in import_module(f"directrix.interop.{package}").__all__:
                for line in _lines(f"directrix.interop.{package}.{name}", f"interop.{package}", name):
                    yield f"[{package}] {line}"


def _torch() -> Iterator[str]:
    if find_spec("torch") is not None:
        for name, home in dx.torch.NAMES.items():
            yield from (f"[torch] {line}" for line in _lines(f"directrix.torch.{name}", home, name))


def _lines(public: str, home: str, name: str) -> Iterator[str]:
    value = getattr(import_module(f"directrix.{home}"), name)
    if not callable(value):
        yield f"{public}: {type(value).__name__}"
    elif not inspect.isclass(value):
        yield public + _signature(value)
    else:
        bases = ", ".join(base.__name__ for base in _ours(value)[1:])
        yield f"{public}{_signature(value)}{bases and f' is a {bases}'}"
        yield from _members(value)


def _ours(value: type) -> list[type]:
    """Return a class and its bases, as far as they are classes of ours that have a name to read."""
    return [
        base for base in value.__mro__ if base.__module__.startswith("directrix") and base.__name__[0] != "_"
    ]


def _members(value: type) -> Iterator[str]:
    """Yield the fields of a class and its bases, and the documented methods and properties."""
    for owner in _ours(value):
        for name, member in vars(owner).items():
            function = getattr(member, "__func__", member)  # of a class method
            signature = _signature(function) if inspect.isfunction(function) else ""
            if name[0] != "_" and (signature or isinstance(member, property)) and function.__doc__:
                yield f"{owner.__name__}.{name}{signature}"
        fields = [f.name for f in dataclasses.fields(owner)] if dataclasses.is_dataclass(owner) else []
        for name in (*fields, *getattr(owner, "_fields", ())):
            yield from [f"{owner.__name__}.{name}"] if name[0] != "_" else []


def _signature(value: Any) -> str:
    try:
        signature = inspect.signature(value)
    except ValueError:  # an exception
        return "(...)"
    bare = [parameter.replace(annotation=_EMPTY) for parameter in signature.parameters.values()]
    return str(signature.replace(parameters=bare, return_annotation=_EMPTY))


def _commands(command: Any, name: str) -> Iterator[str]:
    """Yield the parameters of commands, with what their functions declare: versions of Typer differ."""
    for word, below in getattr(command, "commands", {}).items():
        yield from _commands(below, f"{name} {word}")
    declared = inspect.signature(command.callback).parameters if command.callback else {}
    hints = get_type_hints(command.callback) if command.callback else {}
    for parameter in (each for each in command.params if each.name in declared):
        names = "/".join((*parameter.opts, *parameter.secondary_opts))
        words = [names if names.startswith("-") else names.upper()]
        words += ["required"] if parameter.required else []
        words += ["many"] if parameter.multiple or parameter.nargs == -1 else []
        words += ["|".join(choices)] if (choices := _choices(hints.get(parameter.name))) else []
        if parameter.name in declared and (default := declared[parameter.name].default) not in (
            None,
            False,
            _EMPTY,
        ):
            words.append(f"= {default}")
        yield f"$ {name} {' '.join(words)}"


def _choices(hint: Any) -> list[str]:
    """Return the words that an option takes; none if it takes any text."""
    if isinstance(hint, type) and issubclass(hint, StrEnum):
        return [member.value for member in hint]
    if get_origin(hint) is Literal:
        return [str(choice) for choice in get_args(hint)]
    return [choice for part in get_args(hint) for choice in _choices(part)]


def _defaults() -> Iterator[str]:
    yield from (f"measure {name} = {dx.measure(name)!r}" for name in dx.measures())
    yield from (f"surrogate {name} = {dx.surrogate(name)!r}" for name in SURROGATES)
    for name in dx.measures.conventions():
        yield f"convention {name} = {dx.convention(name)!r}"
    for method in dx.methods():
        yield f"method {method.name}: {method.model}, selected by {method.selection}"
        yield f"method {method.name}: grid {dict(method.grid)}, fixed {dict(method.fixed)}"
    for name in TRAINERS:
        yield f"trainer {name}{_signature(load_class(TRAINERS, name))}"


def _formats() -> Iterator[str]:
    """Yield the names of formats, and the exit statuses."""
    sources = {path: path.read_text("utf-8") for path in SOURCE.rglob("*.py")}
    for text in sources.values():
        yield from (f"format {name}" for name in re.findall(r'= "(directrix(?:-\w+)?/\d+)"', text))
    for path, text in sources.items():
        if "cli" in path.parts:
            yield from (
                f"exit status {status}" for status in re.findall(r"(?:Exit\(|NOT_SHOWN = )(\d)", text)
            )
