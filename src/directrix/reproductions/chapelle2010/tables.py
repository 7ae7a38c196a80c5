"""All tables, values of LETOR's web site next to ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import compare
from directrix.reports.crossval import settings_text
from directrix.reports.report import Section
from directrix.reproductions.chapelle2010.methods import FROM_SVM, LINEAR, rivals, truncations
from directrix.reproductions.chapelle2010.protocol import LETOR3, Results, whole_path
from directrix.reproductions.collection import has_all_folds
from directrix.reproductions.paper import beside, paper
from directrix.tables import Table, Value

_PAPER = paper("chapelle2010")
_SHOWN = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "AP")
_Shown = Mapping[str, tuple[CrossValidation, str]]  # entries of cross-validations by the name of the row


def title_of(name: str) -> str:
    """Say where the paper shows a collection."""
    if name == "OHSUMED":
        return "Figure 3, OHSUMED"
    return f"Figure 4, {name}" if name in LETOR3 else f"{name}, which is not in the paper"


def published(name: str, compared: CrossValidation) -> Mapping[str, Mapping[str, float]]:
    """Return LETOR's values of a collection; of fewer folds none, because these have other queries."""
    values: Mapping[str, Any] = _PAPER.published.get(name, {}) if has_all_folds(compared) else {}
    return values


def tables(results: Results) -> tuple[Section, ...]:
    """Make all tables, in the order of the paper."""
    first = results.compared[results.first]
    cut_offs = {k: (first, entry) for k, entry in truncations(first).items()}
    made = (
        _annealing(results),
        *(compared_table(name, one) for name, one in results.compared.items()),
        _with_training("cut-offs", cut_offs, "50"),
        _paths(results),
        _stopping(results),
        *_started(first),
        *_extended(results),
        _settings(first),
    )
    return (Section("Tables", made),)


def compared_table(name: str, compared: CrossValidation) -> Table:
    """Make a table of SmoothNDCG and its rivals, best first, with LETOR's values if all folds were run."""
    theirs = published(name, compared)
    entries = sorted((LINEAR, *rivals(compared)), key=lambda entry: -compared.mean(entry, "nDCG@10"))
    rows = []
    for row, entry in zip(_measured({e: (compared, e) for e in entries}, LINEAR), entries, strict=True):
        letor = theirs.get(entry, {})
        ndcg, _, difference = beside(letor.get("ndcg"), compared.mean(entry, "nDCG@10"))
        rows.append((*row, letor.get("ap"), ndcg, difference))
    return _PAPER.table("compared", rows, place=title_of(name), n=len(compared.query_ids))


def _measured(rows: _Shown, reference: str) -> list[tuple[Value, ...]]:
    """Return for every row its name, its test values, and p of nDCG@10 against the row of reference."""
    values = {name: compared.values(entry, "nDCG@10") for name, (compared, entry) in rows.items()}
    p = _adjusted(values, reference)
    return [
        (name, *(compared.mean(entry, measure) for measure in _SHOWN), p.get(name))
        for name, (compared, entry) in rows.items()
    ]


def _adjusted(values: Mapping[str, Any], reference: str) -> dict[str, float]:
    """Return p-values against one system, with Holm's correction."""
    pairs = compare(values, against=reference).pairs if len(values) > 1 else ()
    return {pair.first: pair.adjusted for pair in pairs}


def _with_training(key: str, rows: _Shown, reference: str) -> Table:
    train = [compared.train(entry, "nDCG@10") for compared, entry in rows.values()]
    measured = zip(_measured(rows, reference), train, strict=True)
    return _PAPER.table(key, [(*row, value) for row, value in measured])


def _extended(results: Results) -> Sequence[Table]:
    first, mapped = results.compared[results.first], results.mapped
    rows = {name: (first, name) for name in first.entries if name.endswith(("network", "trees"))}
    rows |= {name: (mapped, name) for name in mapped.entries} if mapped else {}
    return (_with_training("non-linear", {LINEAR: (first, LINEAR), **rows}, LINEAR),) if rows else ()


def _annealing(results: Results) -> Table:
    settings, path = results.settings, results.paths[whole_path(results.settings)]
    names = ["start", *(f"{sigma:g}" for sigma in path.sigmas)]
    means = [values.mean(axis=0) for values in (path.surrogate, path.train, path.valid)]
    means.append(path.test.mean(axis=1))
    rows = [
        (name, *(float(mean[i]) for mean in means), int((path.chosen == i).sum()))
        for i, name in enumerate(names)
    ]
    return _PAPER.table("annealing", rows, settings=settings, n_folds=len(path.train))


def _paths(results: Results) -> Table:
    settings, paths = results.settings, results.paths
    same = [path for path in paths if path.l2 == settings.middle]
    ordered = sorted(same, key=lambda path: (path.first == path.last, -path.first))
    n_rounds = len(paths[ordered[0]].sigmas)
    named = {
        ("annealed from " if path.first != path.last else "alone at ") + f"{path.first:g}": path
        for path in ordered
    }
    reference = next(iter(named))
    p = _adjusted({name: paths[path].test[-1] for name, path in named.items()}, reference)
    rows = []
    for name, path in named.items():
        result = paths[path]
        rows.append(
            (
                name,
                float(result.surrogate[:, -1].mean()) if path.last == settings.sigma_last else None,
                float(result.train[:, -1].mean()),
                float(result.test[-1].mean()),
                p.get(name),
                float(result.chosen_on_test.mean()),
                result.evaluations // len(result.train),
            )
        )
    return _PAPER.table("paths", rows, settings=settings, n_rounds=n_rounds, reference=reference)


def _stopping(results: Results) -> Table:
    """Make a table of the rules that stop an annealing: the paper's future work asks for one by theory."""
    path, theory = results.paths[whole_path(results.settings)], results.theory
    last = np.full(len(path.train), len(path.sigmas))
    rules = {
        "validation queries": path.chosen,
        "Theorem 1": path.stopped(theory.gaps),
        "the last round": last,
    }
    values = {name: path.on_test(rounds) for name, rounds in rules.items()}
    p = _adjusted(values, next(iter(rules)))
    rows = [
        (name, ", ".join(map(str, rounds)), float(values[name].mean()), p.get(name))
        for name, rounds in rules.items()
    ]
    return _PAPER.table(
        "stopping",
        rows,
        n=len(path.fold_of),
        first=theory.gaps[0],
        sigma=theory.gap_sigmas[0],
        step=theory.gaps[1] - theory.gaps[0],
    )


def _started(first: CrossValidation) -> Sequence[Table]:
    if FROM_SVM not in first.entries or "RankSVM" not in first.entries:
        return ()
    rows = {
        "regression": (first, LINEAR),
        "RankSVM": (first, FROM_SVM),
        "RankSVM itself": (first, "RankSVM"),
    }
    return (_with_training("starts", rows, "regression"),)


def _settings(compared: CrossValidation) -> Table:
    hidden = ("sigma_first", "sigma_last", "cg_iter", "start", "anneal")
    rows = []
    for entry in compared.entries:
        selected = compared.selected(entry)
        shown = [settings_text({k: v for k, v in of.items() if k not in hidden}) for of in selected]
        rows.append((entry, *shown, compared.seconds(entry)))
    return _PAPER.table("settings", rows, columns=("method", *compared.folds, "seconds"))
