"""Data flow one way: a module imports only from the layers to its left, and no modules import in a circle."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import directrix

ROOT = Path(directrix.__file__).parent
LAYERS = [
    "registry",
    "lazy",
    "fingerprint",
    "advice",
    "errors",
    "parsing",
    "types",
    "schema",
    "parameters",
    "tables",
    "threads",
    "kernels",
    "data",
    "measures",
    "surrogates",
    "laws",
    "torch",
    "models",
    "objectives",
]
LAYERS += [
    "trainers",
    "rankers",
    "export",
    "clicks",
    "search",
    "experiments",
    "reports",
    "cluster",
    "text",
    "fusion",
    "diversity",
    "reconciliation",
    "papers",
    "interop",
    "cli",
    "__main__",
]


def module_of(path: Path) -> str:
    return ".".join(("directrix", *path.relative_to(ROOT).with_suffix("").parts)).removesuffix(".__init__")


def imports(source: str, modules: set[str], path: str = "") -> set[str]:
    """Modules that a text imports, also inside functions and for type checkers."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            full = {f"{node.module}.{alias.name}" for alias in node.names}
            names |= {name if name in modules else str(node.module) for name in full}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
    return names & modules - {"directrix"}


def circle(graph: dict[str, set[str]]) -> list[str]:
    """The modules of one circle, each of which imports the one before it; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def graph() -> dict[str, set[str]]:
    paths = {module_of(path): path for path in ROOT.rglob("*.py")}
    return {module: imports(path.read_text(), {*paths}, str(path)) for module, path in paths.items()}


def test_every_module_imports_only_from_its_left():
    wrong = []
    for module, imported in graph().items():
        if module == "directrix":
            continue
        layer = module.split(".")[1]
        assert layer in LAYERS, f"{module} is in no layer; add it to LAYERS"
        allowed = LAYERS[: LAYERS.index(layer) + 1]
        wrong += [f"{module} imports {name}" for name in imported if name.split(".")[1] not in allowed]
    assert not wrong


def test_no_modules_import_in_a_circle():
    assert not circle(graph())


def test_a_circle_is_seen_inside_functions_and_for_type_checkers_too():
    modules = {"directrix.a", "directrix.b", "directrix.c"}
    texts = {
        "directrix.a": "def work():\n    from directrix import b",
        "directrix.b": "if TYPE_CHECKING:\n    from directrix.c import Name",
        "directrix.c": "import directrix.a",
    }
    assert {*circle({name: imports(text, modules) for name, text in texts.items()})} == modules
    texts["directrix.c"] = "import directrix"
    assert not circle({name: imports(text, modules) for name, text in texts.items()})
