"""Tables of the reproduction of Chapelle and Wu (2010)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from directrix.experiments.chapelle2010.paths import PathResult, SmoothingPath
from directrix.experiments.chapelle2010.plan import LETOR3, Plan
from directrix.experiments.chapelle2010.results import Results, whole_path
from directrix.experiments.crossval import CrossValidation
from directrix.experiments.significance import compare
from directrix.reports.tables import Table, Value

__all__ = [
    "LINEAR",
    "PUBLISHED",
    "TRUNCATED",
    "compared_table",
    "rivals",
    "tables_of",
    "title_of",
    "truncations",
]

LINEAR = "SmoothNDCG"
TRUNCATED = "SmoothNDCG, k = "
_FOLDS = 5  # of LETOR
_SHOWN = ("nDCG@1", "nDCG@3", "nDCG@5", "nDCG@10", "AP")
# AP and nDCG@10 of LETOR's web site, after Liu (2011); the text of the paper at hand has no digits of these
PUBLISHED: Mapping[str, Mapping[str, tuple[float, float | None]]] = {
    "OHSUMED": {
        "Regression": (0.422, 0.411),
        "RankSVM": (0.433, 0.414),
        "RankBoost": (0.441, 0.430),
        "FRank": (0.444, 0.443),
        "ListNet": (0.446, 0.441),
        "AdaRank-MAP": (0.449, 0.443),
        "AdaRank-NDCG": (0.450, 0.450),
        "SVMMap": (0.445, 0.432),
    },
    "MQ2008": {
        "RankSVM": (0.470, None),
        "RankBoost": (0.478, None),
        "ListNet": (0.478, None),
        "AdaRank-MAP": (0.476, None),
        "AdaRank-NDCG": (0.482, None),
    },
}
_RULES = (
    "Means over the test folds, by the rules of LETOR 3.0's script (convention letor3): discount 1 at "
    "ranks 1 and 2, "
    "ties in the order of the file."
)


def rivals(found: CrossValidation) -> tuple[str, ...]:
    """The baselines among the entries."""
    return tuple(name for name in found.entries if not name.startswith(LINEAR))


def title_of(name: str) -> str:
    """Where the paper shows a collection."""
    if name == "OHSUMED":
        return "Figure 3, OHSUMED"
    return f"Figure 4, {name}" if name in LETOR3 else f"{name}, which is not in the paper"


def truncations(found: CrossValidation) -> dict[str, str]:
    """From the cut-off that was trained with, as text, to the entry; 50 is the usual one."""
    rows = {name.removeprefix(TRUNCATED): name for name in found.entries if name.startswith(TRUNCATED)}
    every = {**rows, "50": LINEAR}
    return {k: every[k] for k in sorted(every, key=lambda k: np.inf if k == "all" else int(k))}


def tables_of(found: Results, plan: Plan) -> tuple[Table, ...]:
    """All tables, in the order of the paper."""
    first = found.compared[found.first]
    return (
        _annealing(found.paths[whole_path(plan)], plan),
        *(compared_table(name, each) for name, each in found.compared.items()),
        _truncated(first),
        _paths(found.paths, plan),
        *_extended(found),
        _settings(first),
    )


def compared_table(name: str, found: CrossValidation) -> Table:
    """SmoothNDCG and its rivals, best first, beside the figures of LETOR if all folds were run."""
    is_whole = len(found.folds) == _FOLDS
    published = PUBLISHED.get(name, {}) if is_whole else {}  # else other queries
    entries = [LINEAR, *rivals(found)]
    ordered = sorted(entries, key=lambda entry: -found.mean(entry, "nDCG@10"))
    values = {entry: found.values(entry, "nDCG@10") for entry in entries}
    tested = {pair.first: pair.adjusted for pair in compare(values, against=LINEAR).pairs}
    rows: list[tuple[Value, ...]] = []
    for entry in ordered:
        ours = [found.mean(entry, measure) for measure in _SHOWN]
        theirs = published.get(entry, (None, None))
        gap = None if theirs[1] is None else ours[3] - theirs[1]
        rows.append((entry, *ours, tested.get(entry), *theirs, gap))
    return Table(
        title=f"{title_of(name)}: test queries",
        columns=("method", *_SHOWN, "p @10", "AP", "nDCG@10", "ours - theirs"),
        groups=(("", 1), ("ours", len(_SHOWN) + 1), ("published", 3)),
        rows=tuple(rows),
        notes=(
            _RULES,
            f"p @10: nDCG@10 against SmoothNDCG over {len(found.query_ids)} queries, paired t-test, Holm's "
            f"correction.",
            "Published: LETOR's web site after Liu (2011), approximate; the text of the paper that we have "
            "lacks its figures.",
        ),
        digits=4,
    )


def _truncated(found: CrossValidation) -> Table:
    rows: list[tuple[Value, ...]] = []
    entries = truncations(found)
    values = {entry: found.values(entry, "nDCG@10") for entry in entries.values()}
    pairs = compare(values, against=LINEAR).pairs if len(values) > 1 else ()
    p = {pair.first: pair.adjusted for pair in pairs}
    for k, entry in entries.items():
        measures = [found.mean(entry, measure) for measure in _SHOWN]
        rows.append((k, *measures, p.get(entry), found.train(entry, "nDCG@10")))
    return Table(
        title="Table 3: the cut-off k of SmoothNDCG in training",
        columns=("k", *_SHOWN, "p @10", "training nDCG@10"),
        groups=(("", 1), ("test", len(_SHOWN) + 1), ("", 1)),
        rows=tuple(rows),
        notes=(
            _RULES,
            "Penalty and sigma chosen by nDCG@50 on validation queries, whatever the cut-off.",
            _P,
        ),
        digits=4,
    )


_P = "p @10: nDCG@10 against k = 50, paired t-test, Holm's correction."


def _annealing(path: PathResult, plan: Plan) -> Table:
    sigmas: list[Value] = ["start", *(f"{sigma:g}" for sigma in path.sigmas)]
    means = [each.mean(axis=0) for each in (path.surrogate, path.train, path.valid)]
    test = path.test.mean(axis=1)
    chosen = [int((path.chosen == i).sum()) for i in range(len(sigmas))]
    return Table(
        title=f"Figure 2: nDCG@50 while sigma is halved, lambda = {plan.middle:g}",
        columns=("sigma", "objective", "training", "validation", "test", "chosen"),
        rows=tuple(
            (sigmas[i], *(float(mean[i]) for mean in means), float(test[i]), chosen[i])
            for i in range(len(sigmas))
        ),
        notes=(
            f"Means over {len(path.train)} folds after each round of {plan.iterations} conjugate-gradient "
            f"steps; "
            f"objective: SmoothNDCG@50 at sigma = {plan.sigma_last:g} less the penalty, on training queries.",
            "chosen: folds whose validation queries prefer this round. nDCG by directrix's own rules.",
        ),
        digits=4,
    )


def _paths(paths: Mapping[SmoothingPath, PathResult], plan: Plan) -> Table:
    same = [path for path in paths if path.l2 == plan.middle]
    ordered = sorted(same, key=lambda path: (path.first == path.last, -path.first))
    full = paths[ordered[0]]
    names = [("annealed from " if p.first != p.last else "alone at ") + f"{p.first:g}" for p in ordered]
    values = dict(zip(names, (paths[p].test[-1] for p in ordered), strict=True))
    tested = {each.first: each for each in compare(values, against=names[0]).pairs} if len(names) > 1 else {}
    rows: list[tuple[Value, ...]] = []
    for name, path in zip(names, ordered, strict=True):
        found = paths[path]
        rows.append(
            (
                name,
                float(found.surrogate[:, -1].mean()) if path.last == plan.sigma_last else None,
                float(found.train[:, -1].mean()),
                float(found.test[-1].mean()),
                tested[name].adjusted if name in tested else None,
                float(found.test_of_chosen.mean()),
                found.evaluations // len(found.train),
            )
        )
    return Table(
        title=f"Where annealing starts, and training without it, lambda = {plan.middle:g}",
        columns=("way", "objective", "training", "test", "p", "test, chosen", "evaluations"),
        rows=tuple(rows),
        notes=(
            f"Annealed to sigma = {plan.sigma_last:g}; alone: at that sigma only, as many steps as all "
            f"{len(full.sigmas)} rounds together. nDCG@50 at the end; objective as in Figure 2, where it "
            f"is the same.",
            f"p: test nDCG@50 against {names[0]}, paired t-test, Holm's correction. chosen: the round that "
            f"validation "
            "queries prefer, the start included. Evaluations: of value and gradient, a fold.",
        ),
        digits=4,
    )


def _extended(found: Results) -> list[Table]:
    first = found.compared[found.first]
    several = [(first, name) for name in first.entries if name.endswith(("network", "trees"))]
    several += [(found.mapped, name) for name in found.mapped.entries] if found.mapped else []
    if not several:
        return []
    values: dict[str, Any] = {name: each.values(name, "nDCG@10") for each, name in several}
    pairs = compare({**values, LINEAR: first.values(LINEAR, "nDCG@10")}, against=LINEAR).pairs
    p = {pair.first: pair.adjusted for pair in pairs}
    rows: list[tuple[Value, ...]] = [
        (name, *(each.mean(name, m) for m in _SHOWN), p.get(name), each.train(name, "nDCG@10"))
        for each, name in [(first, LINEAR), *several]
    ]
    return [
        Table(
            title="Section 6: non-linear rankers, trained for SmoothNDCG",
            columns=("model", *_SHOWN, "p @10", "training nDCG@10"),
            groups=(("", 1), ("test", len(_SHOWN) + 1), ("", 1)),
            rows=tuple(rows),
            notes=(
                _RULES,
                "The paper names these models; the text that we have shows no trial of them. "
                + _P.replace("k = 50", LINEAR),
            ),
            digits=4,
        )
    ]


def _settings(found: CrossValidation) -> Table:
    hidden = ("sigma_first", "sigma_last", "cg_iter")

    def text(settings: Mapping[str, Any]) -> str:
        shown = {name: value for name, value in settings.items() if name not in hidden}
        return " ".join(f"{k}={v:g}" if isinstance(v, float) else f"{k}={v}" for k, v in shown.items()) or "-"

    return Table(
        "What validation chose, and seconds of all trainings",
        ("method", *found.folds, "seconds"),
        tuple((entry, *map(text, found.selected(entry)), found.seconds(entry)) for entry in found.entries),
        digits=1,
    )
