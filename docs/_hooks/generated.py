"""Pages and pictures that are generated when the site is built, so that they are never out of date.

The reference lists every public name under its layer, the command line page is what ``--help``
prints, the scripts in docs/figures draw the pictures, and files from elsewhere in the repository
(changelog, contributing, benchmark figures) are copied.
"""

import importlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
LAYERS = {
    "data": "Data",
    "measures": "Measures",
    "surrogates": "Surrogates",
    "laws": "Laws and bounds",
    "models": "Models",
    "objectives": "Objectives",
    "trainers": "Trainers",
    "rankers": "Rankers",
    "clicks": "Clicks",
    "search": "Search",
    "experiments": "Experiments",
    "reports": "Reports",
    "cluster": "Clusters",
    "text": "Text",
    "fusion": "Fusion of runs",
    "diversity": "Diversity and exposure",
    "reconciliation": "Reconciliation",
    "export": "Exports",
    "interop": "Boosters and PyTerrier",
    "torch": "PyTorch",
    "types": "Contracts",
    "threads": "Threads",
    "errors": "Errors",
}
SHARED = {  # members that all names of a layer inherit, shown once
    "measures": {"measures.base.RankingMeasure": "__call__, prepare, under, name"},
    "surrogates": {
        "surrogates.approx.ApproxRank": "at",
        "surrogates.smooth.SmoothRank": "at",
        "surrogates.base.KernelSurrogate": "value_and_grad, prepare, fill",
        "surrogates.base.MeasureSurrogate": "measure",
    },
    "rankers": {
        "rankers.base.Ranker": "fit, fit_queries, predict, score",
        "rankers.base.Ranker": "save",
    },
}

COPIED = {
    "changelog.md": "CHANGELOG.md",
    "contributing.md": "CONTRIBUTING.md",
    "benchmarks.md": "benchmarks/RESULTS.md",
}


def on_files(files: Files, config: Any, **_: object) -> Files:
    """Add the generated files to those of docs/; called by MkDocs."""
    for uri, content in generated():
        files.append(File.generated(config, uri, content=content))
    return files


def generated() -> Iterator[tuple[str, str | bytes]]:
    """Address and content of every generated page and picture."""
    for layer, title in LAYERS.items():
        yield f"reference/{layer}.md", reference(layer, title)
    yield "reference/cli.md", command_line()
    for page, source in COPIED.items():
        yield page, local_links_as_code((ROOT / source).read_text(encoding="utf-8"))
    for script in sorted((ROOT / "docs" / "figures").glob("*.py")):
        yield f"figures/{script.stem}.svg", picture(script)


def reference(layer: str, title: str) -> str:
    """One page of the reference: the public names that are defined in this layer."""
    from directrix.registry import BY_TEXT, MEASURES, NAMESPACES, PUBLIC, RESULTS, SURROGATES

    tables = {"directrix": PUBLIC, **{f"directrix.{name}": table for name, table in NAMESPACES.items()}}
    tables["Results that these functions return"] = RESULTS
    tables["directrix.measure(text), directrix.surrogate(text)"] = {
        name: home for name, home in {**MEASURES, **SURROGATES}.items() if name in BY_TEXT
    }
    defined = {
        public: [f"directrix.{home}.{name}" for name, home in table.items() if home.split(".")[0] == layer]
        for public, table in tables.items()
    }
    if layer in ("types", "torch"):
        defined = {f"directrix.{layer}": members(layer)}
    if layer == "text":
        defined["directrix.text.formulas"] = members("text.formulas")
    if layer == "interop":
        parts = [f"{layer}.{part}" for part in ("lightgbm", "xgboost", "catboost", "pyterrier")]
        defined = {f"directrix.{part}": members(part) for part in parts}
    intro = (importlib.import_module(f"directrix.{layer}").__doc__ or "").strip()
    sections = [
        (f"## Names of `{public}`\n\n" if public.startswith("directrix") else f"## {public}\n\n")
        + "\n\n".join(f"::: {name}" for name in names)
        for public, names in defined.items()
        if names
    ]
    entries = "\n\n".join(sections)
    entries += "\n\n## Base classes\n\nMembers that the classes above inherit." if layer in SHARED else ""
    for home, shown in SHARED.get(layer, {}).items():
        entries += f"\n\n::: directrix.{home}\n    options:\n      members: [{shown}]"
    return f"# {title}\n\n{intro}\n\n{entries}\n"


def members(module: str) -> list[str]:
    """Full names of the public members of a module."""
    return [f"directrix.{module}.{name}" for name in importlib.import_module(f"directrix.{module}").__all__]


def command_line() -> str:
    """Every command with the arguments and options of its parser."""
    from typer.main import get_command

    from directrix.cli.main import app

    group: Any = get_command(app)
    parts = ["# Command line", "Results go to standard output, notes and progress to standard error."]
    parts += [
        "| exit status | meaning |\n|---|---|\n| 0 | fine |\n| 1 | the data cannot be used |\n"
        "| 2 | wrong usage |\n| 130 | interrupted |",
        "`--threads` may also stand before the command: `directrix --threads 1 train ...`.",
    ]
    for name, command in commands(group):
        parts += [f"## directrix {name}", (command.help or "").strip()]
        parts.append(parameters(name, command))
    return "\n\n".join(parts) + "\n"


def commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command and its words; those of groups follow each other."""
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        else:
            yield f"{before}{name}", command


def parameters(name: str, command: Any) -> str:
    """Usage line and table of one command."""
    with command.make_context(name, [], resilient_parsing=True) as context:
        usage = " ".join(piece for param in command.get_params(context) for piece in argument(param))
        rows = [param.get_help_record(context) for param in command.get_params(context)]
    lines = [
        f"```text\ndirectrix {name} [OPTIONS] {usage}".rstrip() + "\n```",
        "",
        "| argument or option | meaning |",
        "|---|---|",
    ]
    for row in rows:
        if row is not None:
            option, text = (cell.replace("|", " or ").replace("\n", " ") for cell in row)
            lines.append(f"| `{option.strip()}` | {text.strip()} |")
    return "\n".join(lines)


def argument(param: Any) -> list[str]:
    """Text of an argument in the usage line; empty for an option."""
    if param.param_type_name != "argument":
        return []
    text = param.metavar or (param.name.upper() + ("..." if param.nargs == -1 else ""))
    return [text if param.required else f"[{text}]"]


def picture(script: Path) -> bytes:
    """Run the ``draw`` of a script and return its figure as SVG."""
    import matplotlib as mpl

    mpl.use("svg")
    mpl.rcParams.update({"svg.hashsalt": "directrix", "svg.fonttype": "path", "font.size": 11})
    sys.path.insert(0, str(script.parent))
    figure = importlib.import_module(script.stem).draw()
    out = io.BytesIO()
    figure.savefig(out, format="svg", metadata={"Date": None}, bbox_inches="tight", facecolor="white")
    return out.getvalue()


def local_links_as_code(text: str) -> str:
    """Links to files of the repository, which the site does not have, become plain file names."""
    return re.sub(r"\[([^\]]+)\]\((?!https?:|#)[^)]*\)", r"\1", text)
