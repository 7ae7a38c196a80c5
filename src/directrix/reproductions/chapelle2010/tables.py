"""All tables, values of LETOR's web site next to ours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import compare
from directrix.reports.tables import Table, Value
from directrix.reproductions.chapelle2010.methods import LINEAR, rivals, truncations
from directrix.reproductions.chapelle2010.protocol import LETOR3, Results, whole_path
from directrix.reproductions.chapelle2010.published import published
from directrix.reproductions.reproduction import TableGroup
from directrix.reproductions.text import shown

_SHOWN = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "AP")
_RULES = (
    "Means over the test folds, by the rules of LETOR 3.0's script (convention letor3): discount 1 at "
    "ranks 1 and 2, ties in the order of the file."
)
_Shown = Mapping[str, tuple[CrossValidation, str]]  # entries of cross-validations by the name of the row


def title_of(name: str) -> str:
    """Say where the paper shows a collection."""
    if name == "OHSUMED":
        return "Figure 3, OHSUMED"
    return f"Figure 4, {name}" if name in LETOR3 else f"{name}, which is not in the paper"


def tables(results: Results) -> tuple[TableGroup, ...]:
    """Make all tables, in the order of the paper."""
    first = results.compared[results.first]
    cut_offs = _with_training(
        "Table 3: the cut-off k of SmoothNDCG in training",
        {k: (first, entry) for k, entry in truncations(first).items()},
        ("k", "50"),
        "Validation chose penalty and sigma by nDCG@50, whatever the cut-off. p @10: nDCG@10 against k = 50",
    )
    made = (
        _annealing(results),
        *(compared_table(name, one) for name, one in results.compared.items()),
        cut_offs,
        _paths(results),
        *_extended(results),
        _settings(first),
    )
    return (TableGroup("Tables", made),)


def compared_table(name: str, compared: CrossValidation) -> Table:
    """Make a table of SmoothNDCG and its rivals, best first, with LETOR's values if all folds were run."""
    theirs = published(name, compared)
    entries = sorted((LINEAR, *rivals(compared)), key=lambda entry: -compared.mean(entry, "nDCG@10"))
    rows: list[tuple[Value, ...]] = []
    for row, entry in zip(_measured({e: (compared, e) for e in entries}, LINEAR), entries, strict=True):
        ap, ndcg = theirs.get(entry, (None, None))
        rows.append((*row, ap, ndcg, None if ndcg is None else compared.mean(entry, "nDCG@10") - ndcg))
    return Table(
        title=f"{title_of(name)}: test queries",
        columns=("method", *_SHOWN, "p @10", "AP", "nDCG@10", "ours - theirs"),
        groups=(("", 1), ("ours", len(_SHOWN) + 1), ("published", 3)),
        rows=tuple(rows),
        notes=(
            _RULES,
            f"p @10: nDCG@10 against SmoothNDCG over {len(compared.query_ids)} queries, paired t-test, "
            "Holm's correction.",
            "Published: LETOR's web site after Liu (2011), approximate; the text of the paper that we have "
            "lacks its figures.",
        ),
        digits=4,
    )


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


def _with_training(title: str, rows: _Shown, head_and_reference: tuple[str, str], note: str) -> Table:
    head, reference = head_and_reference
    train = [compared.train(entry, "nDCG@10") for compared, entry in rows.values()]
    return Table(
        title=title,
        columns=(head, *_SHOWN, "p @10", "training nDCG@10"),
        groups=(("", 1), ("test", len(_SHOWN) + 1), ("", 1)),
        rows=tuple((*row, value) for row, value in zip(_measured(rows, reference), train, strict=True)),
        notes=(_RULES, f"{note}, paired t-test, Holm's correction."),
        digits=4,
    )


def _extended(results: Results) -> Sequence[Table]:
    first, mapped = results.compared[results.first], results.mapped
    rows = {name: (first, name) for name in first.entries if name.endswith(("network", "trees"))}
    rows |= {name: (mapped, name) for name in mapped.entries} if mapped else {}
    if not rows:
        return ()
    note = (
        "The paper names these models; the text that we have shows no trial of them. p @10: nDCG@10 against "
        f"{LINEAR}"
    )
    title = "Section 6: non-linear rankers, trained for SmoothNDCG"
    return (_with_training(title, {LINEAR: (first, LINEAR), **rows}, ("model", LINEAR), note),)


def _annealing(results: Results) -> Table:
    settings, path = results.settings, results.paths[whole_path(results.settings)]
    names = ["start", *(f"{sigma:g}" for sigma in path.sigmas)]
    means = [values.mean(axis=0) for values in (path.surrogate, path.train, path.valid)]
    means.append(path.test.mean(axis=1))
    return Table(
        title=f"Figure 2: nDCG@50 while sigma is halved, lambda = {settings.middle:g}",
        columns=("sigma", "objective", "training", "validation", "test", "chosen"),
        rows=tuple(
            (name, *(float(mean[i]) for mean in means), int((path.chosen == i).sum()))
            for i, name in enumerate(names)
        ),
        notes=(
            f"Means over {len(path.train)} folds after each round of {settings.iterations} "
            f"conjugate-gradient steps; objective: SmoothNDCG@50 at sigma = {settings.sigma_last:g} minus "
            "the penalty, on training queries.",
            "chosen: folds whose validation queries prefer this round. nDCG by directrix's own rules.",
        ),
        digits=4,
    )


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
    rows: list[tuple[Value, ...]] = []
    for name, path in named.items():
        result = paths[path]
        rows.append(
            (
                name,
                float(result.surrogate[:, -1].mean()) if path.last == settings.sigma_last else None,
                float(result.train[:, -1].mean()),
                float(result.test[-1].mean()),
                p.get(name),
                float(result.test_of_chosen.mean()),
                result.evaluations // len(result.train),
            )
        )
    return Table(
        title=f"Where annealing starts, and training without it, lambda = {settings.middle:g}",
        columns=("way", "objective", "training", "test", "p", "test, chosen", "evaluations"),
        rows=tuple(rows),
        notes=(
            f"Annealed to sigma = {settings.sigma_last:g}; alone: at that sigma only, with as many steps as "
            f"all {n_rounds} rounds together. nDCG@50 at the end; objective as in Figure 2, where it is the "
            "same.",
            f"p: test nDCG@50 against {reference}, paired t-test, Holm's correction. chosen: the round that "
            "validation queries prefer, the start included. Evaluations: of value and gradient, per fold.",
        ),
        digits=4,
    )


def _settings(compared: CrossValidation) -> Table:
    hidden = ("sigma_first", "sigma_last", "cg_iter")

    def text(settings: Mapping[str, Any]) -> str:
        return (
            " ".join(f"{key}={shown(value)}" for key, value in settings.items() if key not in hidden) or "-"
        )

    rows: list[tuple[Value, ...]] = [
        (entry, *map(text, compared.selected(entry)), compared.seconds(entry)) for entry in compared.entries
    ]
    heads = ("method", *compared.folds, "seconds")
    return Table("What validation chose, and seconds of all trainings", heads, tuple(rows), digits=1)
