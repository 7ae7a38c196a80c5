"""The page of He and Liu (2010): Tables 3 to 11, numbers in sentences, and the verdicts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from directrix.experiments.crossval_result import CrossValidation
from directrix.experiments.significance import paired_t
from directrix.papers.claims import (
    OrderClaim,
    Ordering,
    ahead,
    check_ordering,
    p_value,
    scored,
    training_by_fold,
)
from directrix.papers.he2010 import (
    LISTNET,
    MAP,
    MEASURES,
    NDCG,
    OF_AP,
    ONE_START,
    QUICK,
    SHOWN,
    SMOOTH,
    STRUCTURAL,
    Agreement,
    Coefficients,
    Correlated,
    He2010,
    Sweep,
    Tendencies,
    TradeOff,
    example_bounds,
    parameter,
)
from directrix.papers.paper import Paper, Words, line, settings_rows
from directrix.reports.report import Claim, Figure, Panel, PerQuery, Section
from directrix.tables import PValue, Table, Value

WORDS = Words.of("he2010")
_BOUNDS: dict[float, float] = {example["sigma"]: example["bound"] for example in WORDS.published["bounds"]}
# A coefficient above this share of the range of the measure is not arbitrarily strong.
_WEAK = 0.1
# A coefficient is "very strong" below this share of the smallest "big" one.
_SMALL = 0.25
# Coefficients that differ by less are alike.
_CLOSE = 0.01
# In the paper, training values rise up to this alpha.
_KNEE = 250.0
_OF_NDCG = ("DORM", "SVMndcg")
_SHARPER = {"SoftRank": "sigma decreases", MAP: "alpha increases", NDCG: "alpha increases"}


def _claims(results: Tendencies) -> Iterator[Claim]:
    collections, sweep = results.collections.items(), results.settings.sweep
    for name, result in collections:
        yield _theorem_1(name, result, sweep)
    yield from _theorem_2(results.apart, sweep)
    yield from _theorems(results.apart, sweep)
    yield _theorem_4(results.weak)
    for name, result in collections:
        yield from _tendency(name, result.coefficients)
        yield from _trade_off(name, result.trade_off)
        yield from _ordered(name, result.compared, "training")
        yield from _cannot_always(name, result.compared)
        yield _best(name, result.compared)
        yield from _ordered(name, result.compared, "test")
    for name, result in collections:
        yield from (agreement_claim(name, agreement) for agreement in result.agreements)


def _theorem_1(name: str, result: Correlated, sweep: Sweep) -> Claim:
    """Compare the loss of every surrogate on every fold with its coefficient."""
    pairs = [(family, label) for family, surrogates in result.losses.items() for label in surrogates]
    losses, coefficients = (
        np.array([values[family][label] for family, label in pairs])
        for values in (result.losses, result.coefficients)
    )
    # The tolerance is above the rounding of means over queries.
    n_above = int((losses > coefficients + 1e-12).sum())
    at = np.unravel_index(losses.argmax(), losses.shape)
    return WORDS.fact(
        "theorem-1",
        holds=n_above == 0,
        name=name,
        models=sweep.models,
        n=len(pairs),
        n_folds=losses.shape[1],
        n_above=n_above or "none",
        loss=losses[at],
        coefficient=coefficients[at],
        mean=losses.mean(),
    )


def _theorem_2(apart: Mapping[str, Any], sweep: Sweep) -> Iterator[Claim]:
    """Compare the paper's two examples with bounds that are derived here."""
    labels = zip(sweep.families()["SoftRank"], apart["SoftRank"], strict=True)
    measured = {parameter(label): values["coefficient"] for label, values in labels}
    sigmas = [sigma for sigma, bound in _BOUNDS.items() if sigma in measured and bound < 1.0]
    if not sigmas:
        return

    def at(values: Mapping[float, float]) -> str:
        return " and ".join(f"{_two_digits(values[sigma])} at sigma = {sigma:g}" for sigma in sigmas)

    variance, flips = ({s: example_bounds(s)[i] for s in sigmas} for i in (0, 1))
    yield WORDS.fact(
        "theorem-2",
        holds=all(max(variance[s], flips[s], measured[s]) <= _BOUNDS[s] for s in sigmas),
        published=at(_BOUNDS),
        variance=at(variance),
        flips=at(flips),
        measured=at(measured),
    )


def _theorems(apart: Mapping[str, Any], sweep: Sweep) -> Iterator[Claim]:
    """Compare the coefficients of the made-up queries with their bounds; structural SVMs have none."""
    families = sweep.families()
    for family, source in (("SoftRank", "Theorem 2"), (MAP, "Theorem 3"), (NDCG, "Theorem 3")):
        coefficients = [surrogate["coefficient"] for surrogate in apart[family]]
        # The range of the measure is 1, so a bound above it says nothing.
        bounded = [s for s in apart[family] if s["bound"] is not None and s["bound"] <= 1.0]
        best = min(coefficients)
        is_within = all(s["coefficient"] <= s["bound"] + 1e-12 for s in bounded)
        yield WORDS.fact(
            "within-bound",
            holds=best < 1e-3 and is_within,
            family=family,
            source=source,
            best=best,
            label=list(families[family])[coefficients.index(best)],
            n=len(bounded),
            s="s" * (len(bounded) != 1),
            exceeded="none" if is_within else "at least one",
        )
    shares = {n: e["coefficient"] / e["range"] for n, e in zip(STRUCTURAL, apart["structural"], strict=True)}
    yield WORDS.fact("theorem-4", holds=min(shares.values()) > _WEAK, shares=_listed(shares, ".2f"))


def _theorem_4(weak: Sequence[Mapping[str, Any]]) -> Claim:
    """Check Lemma 3 on the queries of the proof: the measure rises, a structural surrogate falls."""
    structural = [query for query in weak if query["surrogate"] in STRUCTURAL.values()]
    falls = [query["rise"] > 0.0 > query["surrogate rise"] for query in structural]
    is_rise = [abs(query["coefficient"] - query["rise"]) < 1e-9 for query in structural]
    # The queries ascend in size, so the largest one is kept for each surrogate.
    last = {query["surrogate"]: query for query in structural}
    ap, ndcg = (last[STRUCTURAL[name]]["rise"] for name in ("SVMmap", "SVMndcg"))
    aps = [query["rise"] for query in structural if query["surrogate"] == STRUCTURAL["SVMmap"]]
    n_smaller = len(structural) // len(STRUCTURAL) - 1
    return WORDS.fact(
        "theorem-4-data",
        holds=all(falls) and all(is_rise) and aps == sorted(aps) and aps[-1] > 0.9,
        n_docs=structural[-1]["n_docs"],
        n_relevant=structural[-1]["n_relevant"],
        ap=ap,
        ndcg=ndcg,
        for_all=f", as on {n_smaller} smaller queries" if all(falls) else " on some",
    )


def _cannot_always(name: str, compared: CrossValidation) -> Iterator[Claim]:
    """Check that the mean of structural SVMs over the folds is not above that of ListNet."""
    for measure in MEASURES:
        base = training_by_fold(compared, LISTNET, measure)
        for method in OF_AP if measure == "AP" else _OF_NDCG:
            folds = training_by_fold(compared, method, measure)
            yield WORDS.fact(
                "cannot-always",
                holds=bool(folds.mean() <= base.mean()),
                name=name,
                method=method,
                measure=MEASURES[measure].name,
                mean=folds.mean(),
                base=base.mean(),
                n_above=int((folds > base).sum()),
                n_folds=len(base),
            )


def _tendency(name: str, coefficients: Coefficients) -> Iterator[Claim]:
    for family, sharper in _SHARPER.items():
        # The rows are surrogates from the smoothest to the sharpest, the columns are folds.
        folds = np.array(list(coefficients[family].values()))
        mean = folds.mean(axis=1)
        falls, fold_falls = np.diff(mean) <= 0.0, np.diff(folds, axis=0) <= 0
        yield WORDS.fact(
            "decreases",
            holds=bool(falls.all()),
            name=name,
            family=family,
            sharper=sharper,
            mean=mean,
            last=mean[-1],
            n=len(falls),
            n_falls=int(falls.sum()),
            n_fold_falls=int(fold_falls.sum()),
            n_fold_steps=fold_falls.size,
        )
    sharpest = {family: float(list(coefficients[family].values())[-1].mean()) for family in _SHARPER}
    large = coefficients["structural"]
    # The smallest coefficient of a structural SVM must be above the largest one of the smooth surrogate for
    # the same measure.
    margin = min(
        large[name].min() - coefficients[MAP if name in OF_AP else NDCG]["alpha=100"].max()
        for name in STRUCTURAL
    )
    means = {name: float(large[name].mean()) for name in STRUCTURAL}
    yield WORDS.fact("big", holds=margin > 0.0, name=name, means=_listed(means, ".3f"), margin=margin)
    least = min(means.values())
    is_strong = max(sharpest.values()) < _SMALL * least
    yield WORDS.fact("strong", holds=is_strong, name=name, sharpest=_listed(sharpest, ".3f"), least=least)
    by_beta = np.array([values.mean() for values in coefficients["beta"].values()])
    holds = bool(np.ptp(by_beta) < _CLOSE)
    yield WORDS.fact("beta", holds=holds, name=name, least=by_beta.min(), most=by_beta.max(), close=_CLOSE)


def _trade_off(name: str, trade: TradeOff) -> Iterator[Claim]:
    alphas = trade.alphas
    single, many = trade.one.mean(axis=1), trade.many.mean(axis=1)
    for stated in WORDS.published["steps"]:
        inside = (alphas >= stated["low"]) & (alphas <= stated["high"])
        # A trend needs two of the trained alphas within the interval of the statement.
        if inside.sum() < 2:
            continue
        x, y = alphas[inside], {"one": single, "many": many}[stated["start"]][inside]
        n_steps, n_as_stated = len(y) - 1, int((np.diff(y) * stated["sign"] > 0.0).sum())
        yield WORDS.fact(
            "steps",
            holds=n_as_stated == n_steps,
            name=name,
            text=stated["text"],
            x=x,
            y=y,
            last_x=x[-1],
            last_y=y[-1],
            highest=x[y.argmax()],
            n_as_stated=n_as_stated,
            n_steps=n_steps,
        )
    # The statement is about a knee inside the grid; a grid that ends at the knee cannot show it.
    at = int((alphas <= _KNEE).sum()) - 1
    if 0 < at < len(single) - 1:
        first, last = (int((trade.one[at] > trade.one[end]).sum()) for end in (0, -1))
        yield WORDS.fact(
            "trade-off",
            holds=bool(single[at] > max(single[0], single[-1])),
            name=name,
            one=single[[0, at, -1]],
            alphas=alphas[[0, at, -1]],
            first=first,
            last=last,
            n_folds=trade.one.shape[1],
        )
    inside = (alphas >= 50.0) & (alphas <= 400.0)
    is_better = trade.many[inside].mean(axis=0) > trade.one[inside].mean(axis=0)
    gains = 100.0 * (many[inside] / single[inside] - 1.0)
    values = {"name": name, "least": gains.min(), "most": gains.max(), "n_better": is_better.sum()}
    yield WORDS.fact("restarts", holds=bool(gains.mean() > 0.0), n_folds=len(is_better), **values)


def _ordered(name: str, compared: CrossValidation, part: Literal["test", "training"]) -> Iterator[Claim]:
    for stated in WORDS.published[part]:
        ordering = Ordering(**stated, part=part)
        if not ordering.collections or name in ordering.collections:
            yield check_ordering(ordering, name, compared, MEASURES[ordering.measure].name)


def _best(name: str, compared: CrossValidation) -> Claim:
    others = [entry for entry in compared.entries if not entry.startswith(MAP)]
    second = max((scored(compared, entry, "AP") for entry in others), key=lambda rival: rival.mean)
    claim = ahead(*WORDS.statement("best", name=name), scored(compared, MAP, "AP"), second)
    return replace(claim, evidence=f"best of the others: {second.name}; {claim.evidence}")


def agreement_claim(name: str, agreement: Agreement) -> OrderClaim:
    """Test Kendall's tau of the folds against 0."""
    test, training = (
        paired_t(agreement.by_fold[side], 0.0 * agreement.by_fold[side]) for side in ("test", "train")
    )
    return WORDS.claim(
        "agreement",
        test,
        tested=f"{test.n} folds",
        name=name,
        measure=MEASURES[agreement.measure].name,
        n=len(agreement.points),
        test=test,
        p=p_value(test.p),
        training=training,
        p_training=p_value(training.p),
    )


def _two_digits(value: float) -> str:
    """Write a number of any size with two digits, or as a whole number."""
    return f"{value:.0f}" if value >= 100.0 else f"{value:.2g}"


def _listed(values: Mapping[str, float], form: str) -> str:
    return ", ".join(f"{name} {value:{form}}" for name, value in values.items())


def _tables(results: Tendencies) -> tuple[Section, ...]:
    collections = results.collections.items()
    families = results.settings.sweep.families()
    bounds = []
    for sigma, values in zip(map(parameter, families["SoftRank"]), results.apart["SoftRank"], strict=True):
        numbers = (_BOUNDS.get(sigma), *example_bounds(sigma), values["coefficient"])
        bounds.append((_whole(sigma), *(None if n is None else _two_digits(n) for n in numbers)))
    trade_offs = []
    for name, result in collections:
        rows = []
        for alpha, single, many in zip(*result.trade_off, strict=True):
            means = (float(single.mean()), float(many.mean()))
            gain = 100.0 * (means[1] / means[0] - 1.0)
            rows.append((_whole(alpha), *means, gain, f"{int((many > single).sum())}/{len(single)}"))
        trade_offs.append(WORDS.table("trade-off", rows, name=name))
    numbered = (_performance(results, measure, part) for part in ("training", "test") for measure in MEASURES)
    appendix = (
        _over(results, "table-10", "sigma", "SoftRank"),
        _over(results, "table-11", "alpha", MAP, NDCG),
        _over(results, "beta", "beta", "beta"),
    )
    shown = [(title, [surrogate]) for title, surrogate in _shown(families).items()]
    made = (WORDS.table("theorem-2", bounds), _apart(results), _weak(results))
    return (
        Section("Tendency correlation", (_coefficients(results, "table-3", "method", shown),)),
        Section("The theorems on data made for them", made),
        Section("The trade-off: alpha and random restarts", tuple(trade_offs)),
        Section("Ranking performance", (*numbered, _chosen(results))),
        Section("Appendix: coefficients over all parameters", appendix),
    )


def _shown(families: Mapping[str, Any]) -> dict[str, tuple[str, str]]:
    """Return the surrogates of Table 3 by their names in tables."""
    pairs = ((family, label) for family, labels in SHOWN.items() for label in labels)
    return {_named(*pair): pair for pair in pairs if pair[1] in families[pair[0]]}


def _named(family: str, label: str) -> str:
    return label if family == "structural" else f"{family} {label}"


def _over(results: Tendencies, key: str, varied: str, *families: str) -> Table:
    """Make a table over all values of a parameter."""
    labels = results.settings.sweep.families()[families[0]]
    rows = [(_whole(parameter(label)), [(family, label) for family in families]) for label in labels]
    prefixes = [""] if varied == "beta" else [f"{family}, " for family in families]
    return _coefficients(results, key, varied, rows, prefixes)


def _coefficients(
    results: Tendencies,
    key: str,
    head: str,
    surrogates: Iterable[tuple[Value, Sequence[tuple[str, str]]]],
    prefixes: Sequence[str] = ("",),
) -> Table:
    """Make a table of coefficients on every fold, with their means; prefixes are of the collections."""
    collections, rows = results.collections, []
    for first, cells in surrogates:
        folds = [
            result.coefficients[family][label] for family, label in cells for result in collections.values()
        ]
        rows.append((first, *(float(value) for values in folds for value in (*values, values.mean()))))
    heads: list[tuple[str, Sequence[str]]] = [("", [head])]
    for prefix in prefixes:
        heads += [(prefix + name, (*result.compared.folds, "mean")) for name, result in collections.items()]
    return WORDS.table(key, rows, heads=heads)


def _weak(results: Tendencies) -> Table:
    made = {(query["n_relevant"], query["surrogate"]): query for query in results.weak}
    # Both groups, one of AP and one of nDCG, end with the smooth surrogate that they are compared with.
    groups = [
        [*(STRUCTURAL[name] for name in names), smooth]
        for names, smooth in zip((OF_AP, ("SVMndcg", "DORM")), SMOOTH, strict=True)
    ]
    rows = []
    for n_relevant in dict.fromkeys(n for n, _ in made):
        cells = []
        for names in groups:
            group = [made[n_relevant, name] for name in names]
            cells += [group[0]["rise"], *(query["surrogate rise"] for query in group)]
        rows.append((n_relevant, group[0]["n_docs"], *cells))
    return WORDS.table("weak", rows)


def _apart(results: Tendencies) -> Table:
    rows = []
    for family, surrogates in results.settings.sweep.families().items():
        if family == "beta":
            continue
        for label, values in zip(surrogates, results.apart[family], strict=True):
            bound = values["bound"]
            shown = None if bound is None else "> 1" if bound > 1.0 else _two_digits(bound)
            rows.append((_named(family, label), values["coefficient"], shown, values["range"]))
    return WORDS.table("apart", rows)


def _whole(value: float) -> float | int:
    return int(value) if float(value).is_integer() else float(value)


def _performance(results: Tendencies, measure: str, part: str) -> Table:
    collections = results.collections
    first = next(iter(collections.values())).compared
    columns = (MEASURES[measure].name, "- ListNet", *(["p"] if part == "test" else []))
    rows = []
    for entry in first.entries:
        if entry == ONE_START:
            continue
        cells: list[Value] = [entry]
        for result in collections.values():
            compared, is_base = result.compared, entry == LISTNET
            mean = compared.train if part == "training" else compared.mean
            value = mean(entry, measure)
            cells += [value, None if is_base else value - mean(LISTNET, measure)]
            if part == "test":
                values = (compared.values(name, measure) for name in (entry, LISTNET))
                cells.append(None if is_base else PValue(paired_t(*values).p))
        rows.append(cells)
    heads = [("", ["method"]), *((name, columns) for name in collections)]
    return WORDS.table(part, rows, heads=heads, measure=MEASURES[measure])


def _chosen(results: Tendencies) -> Table:
    collections = results.collections
    rows = [(name, *row) for name, result in collections.items() for row in settings_rows(result.compared)]
    folds = next(iter(collections.values())).compared.folds
    return WORDS.table("chosen", rows, heads=[("", ("data", "method", *folds, "seconds"))])


def _figures(results: Tendencies) -> Iterator[Figure]:
    collections = results.collections.items()
    yield WORDS.figure(
        "coefficients", [p for name, result in collections for p in _lines(name, result.coefficients)]
    )
    panels = []
    for name, result in collections:
        trade = result.trade_off
        starts = {"restarts": trade.many, "one start": trade.one}
        curves = tuple(line(label, trade.alphas, values.mean(axis=1)) for label, values in starts.items())
        panels.append(Panel(name, curves, "alpha", "MAP of the training queries", x_scale="log"))
    yield WORDS.figure("trade-off", panels)
    panels = []
    for name, agreement in (
        (name, agreement) for name, result in collections for agreement in result.agreements
    ):
        by_method: dict[str, list[tuple[float, float]]] = {}
        for surrogate, point in agreement.points.items():
            by_method.setdefault(surrogate.partition(" ")[0], []).append(point)
        curves = tuple(
            line(method, [eps for eps, _ in points], [value for _, value in points], "points")
            for method, points in by_method.items()
        )
        shown = MEASURES[agreement.measure].name
        panels.append(Panel(f"{name}: {shown}", curves, "eps*", f"test {shown}"))
    yield WORDS.figure("agreement", panels)


def _lines(name: str, coefficients: Coefficients) -> Iterator[Panel]:
    for family in _SHARPER:
        surrogates = coefficients[family]
        x = [parameter(surrogate) for surrogate in surrogates]
        curves = [line(family, x, [values.mean() for values in surrogates.values()])]
        # A structural SVM has no such parameter, so it is a level line.
        for name_of_svm in OF_AP if family == MAP else _OF_NDCG:
            height = coefficients["structural"][name_of_svm].mean()
            curves.append(line(name_of_svm, (min(x), max(x)), (height, height), "dashed"))
        label = _SHARPER[family].partition(" ")[0]
        yield Panel(f"{name}: {family}", tuple(curves), label, "eps*", x_scale="log")


def _per_query(results: Tendencies) -> Iterator[PerQuery]:
    for result in results.collections.values():
        entries = [entry for entry in result.compared.entries if entry != ONE_START]
        yield from result.by_query(entries, {measure: measure for measure in MEASURES})


def _summary(results: Tendencies, claims: Sequence[Claim]) -> Iterator[str]:
    collections = results.collections.items()
    for name, result in collections:
        sharp = result.coefficients[MAP]
        first, last = next(iter(sharp)), list(sharp)[-1]
        structural = [float(values.mean()) for values in result.coefficients["structural"].values()]
        entries = [entry for entry in result.compared.entries if "," not in entry]
        means = {entry: result.compared.mean(entry, "AP") for entry in entries}
        best = max(means, key=means.__getitem__)
        yield from WORDS.section(
            "summary of a collection",
            name=name,
            first=sharp[first].mean(),
            first_label=first,
            last=sharp[last].mean(),
            last_label=last,
            least=min(structural),
            most=max(structural),
            best=best,
            highest=means[best],
            means=means,
            range=max(means.values()) - min(means.values()),
            gain=100.0 * (result.trade_off.many.mean() / result.trade_off.one.mean() - 1.0),
        )
    for name, result in collections:
        for agreement in result.agreements:
            yield from WORDS.section(
                "summary of agreement",
                name=name,
                n=len(agreement.points),
                measure=agreement.measure,
                tau=agreement.by_fold["test"].mean(),
                least=agreement.by_fold["test"].min(),
                most=agreement.by_fold["test"].max(),
            )


def _details(results: Tendencies) -> dict[str, Any]:
    sizes = {
        name: (len(result.collection.splits), len(result.compared.query_ids))
        for name, result in results.collections.items()
    }
    return {"data": "; ".join(f"{name}, {n} folds, {m} test queries" for name, (n, m) in sizes.items())}


PAPER = Paper(
    words=WORDS,
    full=He2010(),
    quick=QUICK,
    claims=_claims,
    tables=_tables,
    figures=_figures,
    summary=_summary,
    per_query=_per_query,
    details=_details,
)
