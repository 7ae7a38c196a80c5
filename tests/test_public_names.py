"""The public names: every one resolves, is documented, and is listed for type checkers.

After a change of the registry: ``python -m tests.test_public_names`` writes the stubs again, and the list of
all that users can call, type and read, which later versions keep.
"""

import importlib
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import directrix
from directrix.registry import (
    BY_TEXT,
    MEASURES,
    MODULES,
    NAMESPACES,
    PUBLIC,
    RANKERS,
    RESULTS,
    SURROGATES,
    TRAINERS,
)
from tests.interface import PATH, interface, listed

ROOT = Path(directrix.__file__).parent
TABLES = {"": PUBLIC, **NAMESPACES}
STUBS = {
    **TABLES,
    "torch": directrix.torch.NAMES,
}  # which are not imported here: PyTorch may not be installed
NAMES = [(namespace, name) for namespace, table in TABLES.items() for name in table]
CHECKED = {"measures": MEASURES, "surrogates": SURROGATES, "trainers": TRAINERS, "rankers": RANKERS}


def stub(namespace: str) -> str:
    """The stub of a namespace; "" is directrix itself."""
    title = "Public names for type checkers; written by tests/test_public_names.py."
    homes = sorted(STUBS[namespace].items(), key=lambda item: (item[1], item[0]))
    lines = [f'"""{title}"""', ""]
    lines += [f"from directrix.{home} import {name} as {name}" for name, home in homes]
    if not namespace:
        modules = [module for module in (*NAMESPACES, *MODULES) if module not in PUBLIC]
        lines += [f"from directrix import {module} as {module}" for module in modules]
    version = [] if namespace else ["__version__: str"]
    return "\n".join([*lines, "", *version, "__all__: list[str]", ""])


def stub_file(namespace: str) -> Path:
    """Where the stub of a namespace lies."""
    return ROOT / namespace / "__init__.pyi"


@pytest.mark.parametrize("namespace", STUBS)
def test_the_stub_lists_the_public_names(namespace):
    assert stub_file(namespace).read_text() == stub(namespace), "type `python -m tests.test_public_names`"


@pytest.mark.parametrize(("namespace", "name"), NAMES)
def test_a_public_name_is_defined_where_the_registry_says_and_is_documented(namespace, name):
    home = importlib.import_module(f"directrix.{TABLES[namespace][name]}")
    public = importlib.import_module(f"directrix.{namespace}".removesuffix("."))
    value = getattr(public, name)
    if not inspect.ismodule(value):  # `measures` and `cluster` are packages that can be called
        assert value is getattr(home, name)
    assert len(inspect.getdoc(value) or "") > 20


def example(namespace: str, name: str) -> bool:
    """Whether the docstring, or that of a class method which builds it, has an example that runs."""
    home = getattr(importlib.import_module(f"directrix.{TABLES[namespace][name]}"), name)
    builders = [each.__doc__ or "" for each in vars(home).values() if isinstance(each, classmethod)]
    return any(">>>" in text for text in (documentation(namespace, name), *builders))


def documentation(namespace: str, name: str) -> str:
    """Docstring where the name is defined: `measures` is also a package."""
    home = importlib.import_module(f"directrix.{TABLES[namespace][name]}")
    return getattr(home, name).__doc__ or ""


@pytest.mark.parametrize(("namespace", "name"), NAMES)
def test_a_public_name_has_an_example_or_names_the_function_that_returns_it(namespace, name):
    makers = re.findall(r"(?:Result of|made by|passed to) `(\w+)`", documentation(namespace, name))
    assert example(namespace, name) or any(example(*entry) for entry in NAMES if entry[1] in makers)


def listed_parameters(text: str) -> set[str]:
    """Names of the entries in the section of parameters of a docstring, and of a result's attributes."""
    sections = re.findall(r"^(?:Parameters|Attributes)\n-+\n(.*?)(?=^\w[^\n]*\n-+\n|\Z)", text, re.M | re.S)
    entries = (line.split(" : ")[0] for part in sections for line in re.findall(r"^\S[^\n]*$", part, re.M))
    return {name.strip(" *") for entry in entries for name in entry.split(",")}


def parameters(value: object) -> set[str]:
    """Names of the parameters of a function or of a class."""
    try:
        return {name for name in inspect.signature(value).parameters if name != "self" and name[0] != "_"}
    except (TypeError, ValueError):  # a module, or a class without a signature
        return set()


def documented(value: object, name: str) -> list[tuple[str, set[str], set[str]]]:
    """Name, parameters and entries of a public name and of its methods that have a section of parameters."""
    members = [key for key in dir(value) if key[0] != "_"] if inspect.isclass(value) else []
    methods = [(f"{name}.{key}", one) for key in members if inspect.isroutine(one := getattr(value, key))]
    rows = []
    for title, one in [(name, value), *methods]:
        bases = inspect.getmro(one) if inspect.isclass(one) else [one]
        entries = set().union(*(listed_parameters(inspect.cleandoc(base.__doc__ or "")) for base in bases))
        rows += [(title, parameters(one), entries)] if "Parameters\n" in (one.__doc__ or "") else []
    return rows


@pytest.mark.parametrize(("namespace", "name"), NAMES)
def test_a_section_of_parameters_lists_all(namespace, name):
    """A paragraph that is filled again may take in the entry below it."""
    value = getattr(importlib.import_module(f"directrix.{TABLES[namespace][name]}"), name)
    for title, given, entries in documented(value, name):
        assert given <= entries, f"{title}: {sorted(given - entries)}"


@pytest.mark.parametrize(("table", "name"), [(table, name) for table in CHECKED for name in CHECKED[table]])
def test_every_field_of_a_measure_surrogate_trainer_or_ranker_is_documented(table, name):
    value = getattr(importlib.import_module(f"directrix.{CHECKED[table][name]}"), name)
    rows = documented(value, name)
    assert not parameters(value) or (rows and rows[0][0] == name), f"{name} has no section of parameters"
    for title, given, entries in rows:
        assert given <= entries, f"{title}: {sorted(given - entries)}"


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_names_the_function_that_returns_it(name):
    result = getattr(importlib.import_module(f"directrix.{RESULTS[name]}"), name)
    makers = re.findall(r"(?:Result of|made by) `(\w+)`", result.__doc__)
    assert [maker for maker in makers if maker in {public for _, public in NAMES}]


def test_a_name_is_public_in_one_place():
    names = [name for _, name in NAMES]
    twice = {name for name in names if names.count(name) > 1}
    assert twice <= {"evaluate"}  # rankings by judgments, and by clicks: the same question
    known = set(MEASURES) | set(SURROGATES) | set(TRAINERS) | set(RANKERS)
    assert known - {*BY_TEXT} - {"Boosting"} <= set(names)


def test_the_public_names_stay_few():
    assert len(directrix.__all__) <= 78
    assert sum(map(len, NAMESPACES.values())) <= 80


def test_names_are_listed_before_they_are_used():
    code = "import directrix; print(set(directrix.__all__) <= set(dir(directrix)), 'NDCG' in vars(directrix))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "False"]


def test_namespaces_are_loaded_on_first_use():
    code = "import directrix as dx; print('make_cubic' in dir(dx.data), dx.data.make_cubic.__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "make_cubic"]


@pytest.mark.parametrize("before", ["", "import directrix.measures.base; ", "dx.NDCG; "])
def test_the_package_of_the_measures_lists_them_when_called(before):
    names = "dx.measures() == dx.measures.names.measures(), dx.measures()[0]"
    code = f"import directrix as dx; {before}print({names})"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "nDCG"]


@pytest.mark.parametrize("namespace", TABLES)
def test_an_unknown_name_is_an_attribute_error(namespace):
    module = importlib.import_module(f"directrix.{namespace}".removesuffix("."))
    with pytest.raises(AttributeError, match="no attribute 'NDGC'"):
        _ = module.NDGC


BREAKING = """The interface differs from tests/golden/interface.txt; docs/versioning.md says what is breaking.

Lines that are gone or changed break what users have written. Keep the old name, argument, option, default or
format, with a DeprecationWarning that names the new one, until the next major version:
{gone}

New lines break nothing, unless they replace one above. To accept them: python -m tests.test_public_names
{new}
"""


def test_nothing_that_users_rely_on_has_changed():
    current, known = set(interface()), set(listed())
    gone, new = (
        "\n".join(f"  {line}" for line in sorted(part)) for part in (known - current, current - known)
    )
    if gone or new:
        pytest.fail(BREAKING.format(gone=gone or "  none", new=new or "  none"), pytrace=False)


if __name__ == "__main__":
    for each in STUBS:
        stub_file(each).write_text(stub(each))
    PATH.write_text("\n".join(interface()) + "\n", encoding="utf-8")
