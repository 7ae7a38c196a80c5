"""Statements of the paper about local optima, checked on our certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from directrix.reports.report import Claim
from directrix.reproductions.claims import fact
from directrix.reproductions.donmez2009.certificates import GAIN_EPOCHS
from directrix.reproductions.donmez2009.collection import ARTIFICIAL
from directrix.reproductions.donmez2009.protocol import Key, Results
from directrix.reproductions.donmez2009.settings import MEASURES, NETS

_Certificates = Mapping[Key, Any]
_NET, _MEASURE, _KIND = "{collection}, {net}", "{collection}, {net}, {measure}", "{collection}, {kind}, {net}"


def optimality_claims(results: Results) -> list[Claim]:
    """Check Sections 5, 7.1 and 8, as far as weights were tested; the evidence names the certificates."""
    checked = (statement(results) for statement in _STATEMENTS)
    return [claim for claim in checked if claim is not None]


@dataclass(frozen=True)
class _Statement:
    """A statement that holds if it is true of every certificate.

    Parameters
    ----------
    text : str
        May contain ``{confidence}``.
    source : str
    kinds : tuple of str
        Of the certificates, see `certificate_cells`.
    is_true : callable
        Of one certificate.
    evidence : callable
        Describes all certificates.
    measure : str, optional
        Default: all measures.
    """

    text: str
    source: str
    kinds: tuple[str, ...]
    is_true: Callable[[Any], bool]
    evidence: Callable[[_Certificates], str]
    measure: str | None = None

    def __call__(self, results: Results) -> Claim | None:
        certificates = results.of_kind(*self.kinds)
        if self.measure is not None:
            certificates = {key: one for key, one in certificates.items() if key[-1] == self.measure}
        if not certificates:
            return None
        return fact(
            self.text.format(confidence=f"{1.0 - results.settings.delta:.0%}"),
            self.source,
            self.evidence(certificates) + ".",
            holds=all(map(self.is_true, certificates.values())),
        )


def _place(key: Key, form: str) -> str:
    kind, collection, model, measure = key
    return form.format(kind=kind, collection=collection, net=NETS[model], measure=measure)


def _counts(certificates: _Certificates, form: str = _NET) -> str:
    return "; ".join(
        f"{_place(key, form)}: {one['n_rising']} of {one['n_directions']} rise"
        + (f", by at most {one['largest_rise']:.5f}" if one["n_rising"] else "")
        + (f", {one['n_level']} level" if one["n_level"] else "")
        for key, one in certificates.items()
    )


def _is_optimum(certificate: Any) -> bool:
    return bool(certificate["is_local_optimum"])


def _falls(certificate: Any) -> bool:
    return all(after < before for before, after in pairwise([0.0, *certificate["mean_change"]]))


def _which_rise(certificates: _Certificates) -> str:
    rising = [_place(key, _MEASURE) for key, one in certificates.items() if not _falls(one)]
    exceptions = f", except for {'; '.join(rising)}" if rising else " for all measures, nets and data"
    return f"The mean over directions falls with every step{exceptions}"


def _polished(certificates: _Certificates) -> str:
    n_optima = sum(map(_is_optimum, certificates.values()))
    counts = _counts(certificates, _MEASURE)
    return f"{n_optima} of {len(certificates)} polished weights are certified; {counts}"


def _gains(certificates: _Certificates) -> str:
    gains = "; ".join(
        f"{collection}, {kind.removeprefix('gain from ')}: {series[1] - series[0]:+.4f}, "
        f"{max(series[1:]) - series[0]:+.4f}"
        for (kind, collection, _, _), series in certificates.items()
    )
    return f"After one epoch, and best of {GAIN_EPOCHS}: {gains}"


def _small_steps(results: Results) -> Claim | None:
    small = results.of_kind("converged, small steps")
    if not small:
        return None
    usual = results.of_kind("converged")
    return fact(
        "Results with steps of .001, .002, ... are consistent with those of .1, .2, ...",
        "Sect. 5, footnote 4",
        f"Small steps: {_counts(small, _MEASURE)}.",
        holds=all(
            _is_optimum(one) == _is_optimum(usual["converged", *key[1:]]) for key, one in small.items()
        ),
    )


def _higher(results: Results) -> Claim | None:
    """Compare OHSUMED with the artificial data."""
    converged = results.of_kind("converged")
    values = {
        f"{NETS[model]}, {measure}": (converged[kind, ARTIFICIAL, model, measure]["value"], one["value"])
        for (kind, collection, model, measure), one in converged.items()
        if collection == "OHSUMED"
    }
    if not values:
        return None
    return fact(
        "Training values are higher on the artificial data, which have less noise",
        "Sect. 7.1",
        "; ".join(f"{name}: {a:.3f}, OHSUMED {b:.3f}" for name, (a, b) in values.items()) + ".",
        holds=all(a > b for a, b in values.values()),
    )


_STATEMENTS: tuple[Callable[[Results], Claim | None], ...] = (
    *(
        _Statement(
            f"Weights learned for {measure} are a local optimum with {{confidence}} confidence, single- and "
            "two-layer nets",
            f"Sect. 7.1, Fig. {number}",
            ("converged",),
            _is_optimum,
            _counts,
            measure,
        )
        for number, measure in enumerate(MEASURES, start=1)
    ),
    _Statement(
        "The measures can be optimised directly, to a local optimum (here not by LambdaRank alone, but by "
        "following rising directions from there)",
        "Sect. 8",
        ("polished",),
        _is_optimum,
        _polished,
    ),
    _Statement(
        "The measure falls smoothly as the weights move away from the learned ones",
        "Sect. 5 and 7.1",
        ("converged",),
        _falls,
        _which_rise,
    ),
    _small_steps,
    _Statement(
        "The gradient vanishes: moving one weight alone lowers the measure, for every weight",
        "Sect. 7.1",
        ("converged, one weight",),
        lambda certificate: certificate["n_rising"] == 0,
        lambda certificates: f"Every weight up and down: {_counts(certificates, _MEASURE)}",
    ),
    _higher,
    _Statement(
        "A net with random weights is not at a local optimum",
        "Sect. 8, Fig. 6",
        ("random",),
        lambda certificate: certificate["n_rising"] > 0,
        _counts,
    ),
    _Statement(
        "Weights of epochs 7 and 12 are local optima of nDCG@10",
        "Sect. 8",
        ("epoch 7", "epoch 12"),
        _is_optimum,
        lambda certificates: _counts(certificates, _KIND),
    ),
    _Statement(
        "Weights learned for MRR are a local optimum of nDCG@10",
        "Sect. 8",
        ("RR weights",),
        _is_optimum,
        lambda certificates: _counts(certificates, _KIND),
    ),
    _Statement(
        "Further training for nDCG@10 from these weights improves its training value at once",
        "Sect. 8",
        ("gain from epoch 7", "gain from epoch 12", "gain from RR weights"),
        lambda series: series[1] > series[0],
        _gains,
    ),
)
