"""Imports directrix with a switch in front of every ``raise``, so that a check can be left out."""

import ast
import builtins
import sys
from importlib.machinery import PathFinder, SourceFileLoader
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "directrix"
REACHED = set()
"""Checks that rejected something since it was cleared, as ``path:line``."""
_REMOVED = set()


def remove(check):
    """From now on, the check accepts everything."""
    _REMOVED.add(check)


def install():
    """Switch the modules that are imported from now on; compiled kernels stay as they are."""
    builtins._check_is_kept = _is_kept
    sys.meta_path.insert(0, _Finder)


def all_checks():
    """The text of each check: what must hold for its error to be raised, or the error."""
    checks = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        if "_kernels" not in path.parts:
            checks |= _switched(path)[1]
    return checks


def _is_kept(check):
    REACHED.add(check)
    return check not in _REMOVED


def _switched(path):
    switches = _Switches(path.relative_to(ROOT))
    tree = switches.visit(ast.parse(path.read_bytes()))
    return ast.fix_missing_locations(tree), switches.checks


class _Finder(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        spec = super().find_spec(name, path, target) if name.partition(".")[0] == "directrix" else None
        if spec and type(spec.loader) is SourceFileLoader and "_kernels" not in name:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    def get_code(self, fullname):
        return compile(_switched(Path(self.path).resolve())[0], self.path, "exec")


class _Switches(ast.NodeTransformer):
    """Puts ``if _check_is_kept("path:line"):`` in front of every raise of a new error.

    In an except branch the first error goes on instead: to ignore it is not what a missing check would do.
    """

    def __init__(self, path):
        self.path, self.checks, self.handles, self.condition = path, {}, False, ""

    def visit_Raise(self, node):
        if node.exc is None or "NotImplementedError" in ast.unparse(node):  # what a subclass must define
            return node
        check = f"{self.path}:{node.lineno}"
        self.checks[check] = self.condition or ast.unparse(node)
        test = ast.Call(ast.Name("_check_is_kept", ast.Load()), [ast.Constant(check)], [])
        switch = ast.If(test, [node], [ast.Raise()] if self.handles else [])
        return ast.copy_location(switch, node)

    def _visit_inside(self, node, **state):
        before = {name: getattr(self, name) for name in state}
        vars(self).update(state)
        node = self.generic_visit(node)
        vars(self).update(before)
        return node

    def visit_If(self, node):
        return self._visit_inside(node, condition=ast.unparse(node.test))

    def visit_ExceptHandler(self, node):
        return self._visit_inside(node, handles=True, condition=ast.unparse(node).partition(":")[0])

    def visit_FunctionDef(self, node):
        return self._visit_inside(node, handles=False, condition="")
