"""The card of a model as tables, and as a page."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from directrix.reports.report import Report, Section
from directrix.tables import Table, Value, escaped_markdown

# The table shows this number of features, the most important ones.
_FEATURES = 20


def card_report(found: dict[str, Any], *, model: str, data: str | None, command: str) -> Report:
    """Return the report of a model card; ``model`` and ``data`` are names of the files."""
    sections = [Section("Model", (_model(found),)), Section("Training", (_training(found),))]
    if found["selection"] is not None or found["figures"] is not None:
        sections.append(Section("Figures", (_figures(found, data),)))
    if found["importance"] is not None:
        sections.append(Section("Features", (_features(found["importance"]),)))
    limits = Table("Known limits", ("no.", "limit"), tuple(enumerate(found["limits"], start=1)))
    sections.append(Section("Limits", (limits,)))
    measure = found["training"]["measure"]
    return Report(
        name="card",
        title=f"Model card of {model}",
        paper=escaped_markdown(
            f"{found['model']['class']} of {found['features']['count']} features, trained for {measure}."
        ),
        summary=(),
        command=command,
        sections=tuple(sections),
        settings={name: found[name] for name in ("file", "training")},
    )


def _listed(title: str, rows: Iterable[tuple[str, Any]]) -> Table:
    return Table(
        title, ("part", "content"), tuple((name, str(value)) for name, value in rows if value is not None)
    )


def _model(content: dict[str, Any]) -> Table:
    model, file = content["model"], content["file"]
    names = "" if content["features"]["names"] else ", without names"
    rows: list[tuple[str, Any]] = [
        ("file", f"{file['bytes']:,} bytes, written {file['date']}"),
        ("digest", file["digest"]),
        ("class", model["class"]),
        ("features", f"{content['features']['count']}{names}"),
        ("missing values", f"{content['features']['missing']}, as in its training"),
    ]
    for number, member in enumerate(model.get("members", [model]), start=1):
        head = f"member {number}" if "members" in model else "model"
        share = f"{member['weight']:.3g} of the score: {member['class']}, " if "members" in model else ""
        scale = "no scale" if member["scale"] is None else f"scale {member['scale']}"
        rows.append((head, f"{share}{member['size']}, {scale}"))
    return _listed("Model", rows)


def _training(content: dict[str, Any]) -> Table:
    record, model = content["training"], content["model"]
    data = record["data"]
    rows: list[tuple[str, Any]] = [
        ("measure", record["measure"]),
        ("convention", record["convention"]),
        ("data", f"{data.get('queries', '?')} queries, {data.get('documents', '?')} documents"),
        ("digest", data.get("digest")),
        ("missing", data.get("missing")),
        ("versions", ", ".join(f"{name} {number}" for name, number in record["versions"].items())),
    ]
    for number, member in enumerate(model.get("members", [model]), start=1):
        mark = f" {number}" if "members" in model else ""
        rows += [(f"{field}{mark}", member[field]) for field in ("surrogate", "trainer", "seed")]
        for name, limits in member["constraints"].items():
            # Limits are a text, or pairs of a feature and a text. Columns count from 0, as in Python.
            if not isinstance(limits, str):
                named = ((key if isinstance(key, str) else f"column {key}", text) for key, text in limits)
                limits = ", ".join(f"{key}: {text}" for key, text in named)
            rows.append((f"{name}{mark}", limits))
        rows.append((f"end{mark}", f"{member['status']}: {member['message']}"))
    return _listed("Training", rows)


def _figures(content: dict[str, Any], data: str | None) -> Table:
    rows: list[tuple[Value, ...]] = []
    choice, figures = content["selection"], content["figures"]
    if choice is not None:
        interval = choice["interval"] or (None, None)
        rows.append((content["training"]["measure"], choice["value"], *interval, choice["on"]))
    if figures is not None:
        on = f"{data}: {figures['queries']} queries, {figures['documents']} documents"
        rows += [(row["measure"], row["value"], *row["interval"], on) for row in figures["measures"]]
    heads = ("measure", "value", "low", "high", "on")
    notes = ("low, high: 95 % interval of the mean over queries (Student's t).",)
    return Table("Figures", heads, tuple(rows), notes=notes, digits=4)


def _features(importance: dict[str, Any]) -> Table:
    has_intervals = "interval" in next(iter(importance["features"]), {})
    rows: list[tuple[Value, ...]] = [
        (feature["feature"], feature["importance"], *feature.get("interval", ()))
        for feature in importance["features"][:_FEATURES]
    ]
    heads = ("feature", "importance", *(("low", "high") if has_intervals else ()))
    more = len(importance["features"]) - len(rows)
    note = f"importance: {importance['kind']}.{f' {more} more features are not shown.' if more else ''}"
    return Table("Features by importance", heads, tuple(rows), notes=(note,), digits=4)
