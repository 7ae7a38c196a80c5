"""What the paper says of local optima, checked on our certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

from directrix.experiments.donmez2009.certificates import GAIN_EPOCHS
from directrix.experiments.donmez2009.results import Found
from directrix.reports.donmez2009.published import MEASURES
from directrix.reports.donmez2009.tables import NETS, short
from directrix.reports.report import Claim, Verdict

__all__ = ["optimality_claims"]

_Cells = Mapping[tuple[str, str, str], Any]


def optimality_claims(found: Found) -> tuple[Claim, ...]:
    """Sections 5, 7.1 and 8; "does not hold" names the certificates that are missing."""
    return tuple(
        claim
        for claim in (
            *(_optimum(found, number, measure) for number, measure in enumerate(MEASURES, start=1)),
            _polished(found),
            _falls(found),
            _small(found),
            _one_weight(found),
            _higher(found),
            _random(found),
            *_early(found),
        )
        if claim is not None
    )


def _cells(found: Found, what: str) -> _Cells:
    """Certificates of one kind by (collection, net, measure), the measure by its short name."""
    return {
        (str(collection), str(model), short(str(measure))): one
        for (kind, collection, model, measure), one in found.certificates.items()
        if kind == what
    }


def _all(cells: _Cells, is_so: Callable[[Any], bool]) -> Verdict:
    return "holds" if all(is_so(one) for one in cells.values()) else "does not hold"


def _counts(cells: _Cells, *, measures: bool = False) -> str:
    return "; ".join(
        f"{collection}, {NETS[model]}{', ' + measure if measures else ''}: {one['n_rising']} of "
        f"{one['n_directions']} rise"
        + (f", by at most {one['largest_rise']:.5f}" if one["n_rising"] else "")
        + (f", {one['n_level']} level" if one["n_level"] else "")
        for (collection, model, measure), one in cells.items()
    )


def _is_optimum(one: Any) -> bool:
    return bool(one["is_local_optimum"])


def _optimum(found: Found, number: int, measure: str) -> Claim | None:
    cells = {key: one for key, one in _cells(found, "converged").items() if key[2] == measure}
    if not cells:
        return None
    level = 1.0 - found.settings.delta
    return Claim(
        f"Weights learned for {measure} are a local optimum with {level:.0%} confidence, single- and "
        "two-layer nets",
        f"Sect. 7.1, Fig. {number}",
        _all(cells, _is_optimum),
        _counts(cells) + ".",
    )


def _polished(found: Found) -> Claim | None:
    cells = _cells(found, "polished")
    if not cells:
        return None
    done = sum(_is_optimum(one) for one in cells.values())
    return Claim(
        "The measures can be optimised directly, to a local optimum (here not by LambdaRank alone, but by "
        "following rising directions from there)",
        "Sect. 8",
        _all(cells, _is_optimum),
        f"{done} of {len(cells)} polished weights are certified; {_counts(cells, measures=True)}.",
    )


def _falls(found: Found) -> Claim | None:
    cells = _cells(found, "converged")
    if not cells:
        return None

    def falls(one: Any) -> bool:
        return all(after < before for before, after in pairwise([0.0, *one["mean_change"]]))

    rising = [f"{c}, {NETS[m]}, {name}" for (c, m, name), one in cells.items() if not falls(one)]
    return Claim(
        "The measure falls smoothly as the weights move away from the learned ones",
        "Sect. 5 and 7.1",
        _all(cells, falls),
        "The mean over directions falls with every step"
        + (f", but for {'; '.join(rising)}." if rising else " for all measures, nets and data."),
    )


def _small(found: Found) -> Claim | None:
    cells, usual = _cells(found, "converged, small steps"), _cells(found, "converged")
    if not cells:
        return None
    same = all(_is_optimum(one) == _is_optimum(usual[key]) for key, one in cells.items())
    return Claim(
        "Results with steps of .001, .002, ... are consistent with those of .1, .2, ...",
        "Sect. 5, footnote 4",
        "holds" if same else "does not hold",
        f"Small steps: {_counts(cells, measures=True)}.",
    )


def _one_weight(found: Found) -> Claim | None:
    cells = _cells(found, "converged, one weight")
    if not cells:
        return None
    return Claim(
        "The gradient vanishes: moving one weight alone lowers the measure, for every weight",
        "Sect. 7.1",
        _all(cells, lambda one: one["n_rising"] == 0),
        f"Every weight up and down: {_counts(cells, measures=True)}.",
    )


def _higher(found: Found) -> Claim | None:
    cells = _cells(found, "converged")
    names = list(dict.fromkeys(collection for collection, _, _ in cells))
    if len(names) < 2:
        return None
    other, made = names[0], names[-1]
    pairs = {
        (model, measure): (cells[made, model, measure]["value"], cells[other, model, measure]["value"])
        for collection, model, measure in cells
        if collection == made
    }
    return Claim(
        "Training values are higher on the artificial data, which have less noise",
        "Sect. 7.1",
        "holds" if all(a > b for a, b in pairs.values()) else "does not hold",
        "; ".join(f"{NETS[model]}, {m}: {a:.3f}, {other} {b:.3f}" for (model, m), (a, b) in pairs.items())
        + ".",
    )


def _random(found: Found) -> Claim | None:
    cells = _cells(found, "random")
    if not cells:
        return None
    return Claim(
        "A net with random weights is not at a local optimum",
        "Sect. 8, Fig. 6",
        _all(cells, lambda one: one["n_rising"] > 0),
        _counts(cells) + ".",
    )


def _early(found: Found) -> list[Claim]:
    early = {f"epoch {n}": f"weights of epoch {n}" for n in (7, 12)}
    made = []
    for names, text in (
        (tuple(early), "Weights of epochs 7 and 12 are local optima of nDCG@10"),
        (("RR weights",), "Weights learned for MRR are a local optimum of nDCG@10"),
    ):
        parts = {name: _cells(found, name) for name in names}
        every = {
            (f"{c}, {name}", m, measure): one
            for name in names
            for (c, m, measure), one in parts[name].items()
        }
        if every:
            made.append(Claim(text, "Sect. 8", _all(every, _is_optimum), _counts(every) + "."))
    gains = {
        (f"{collection}, {what}", model, measure): series
        for what in (*early, "RR weights")
        for (collection, model, measure), series in _cells(found, f"gain from {what}").items()
    }
    if gains:
        made.append(
            Claim(
                "Learning for nDCG@10 that goes on from there improves its training value at once",
                "Sect. 8",
                _all(gains, lambda series: series[1] > series[0]),
                f"After one epoch, and best of {GAIN_EPOCHS}: "
                + "; ".join(
                    f"{name}: {series[1] - series[0]:+.4f}, {max(series[1:]) - series[0]:+.4f}"
                    for (name, _, _), series in gains.items()
                )
                + ".",
            )
        )
    return made
