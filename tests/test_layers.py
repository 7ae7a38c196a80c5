"""Data flow one way: a module imports only from the layers to its left."""

import ast
from pathlib import Path

import directrix

ROOT = Path(directrix.__file__).parent
LAYERS = [
    "registry",
    "parsing",
    "errors",
    "types",
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
LAYERS += ["trainers", "rankers", "experiments", "reports", "reproductions", "export", "cli"]


def imports(path: Path) -> set[str]:
    """Layers that a file imports at run time (imports under ``if TYPE_CHECKING`` do not count)."""
    tree = ast.parse(path.read_text())
    guarded = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and "TYPE_CHECKING" in ast.dump(block.test)
        for node in ast.walk(block)
    }
    names = set()
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
        elif isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
    return {name.split(".")[1] for name in names if name.startswith("directrix.")} - {"__version__"}


def test_every_module_imports_only_from_its_left():
    wrong = []
    for path in ROOT.rglob("*.py"):
        layer = path.relative_to(ROOT).parts[0].removesuffix(".py")
        if layer == "__init__":
            continue
        assert layer in LAYERS, f"{path} is in no layer; add it to LAYERS"
        allowed = LAYERS[: LAYERS.index(layer) + 1]
        wrong += [f"{path.relative_to(ROOT)} imports {name}" for name in imports(path) if name not in allowed]
    assert not wrong
