"""Statements of the paper about local optima, checked on our certificates."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any, NamedTuple

from directrix.reports.report import Claim
from directrix.reproductions.donmez2009.certificates import GAIN_EPOCHS
from directrix.reproductions.donmez2009.collection import ARTIFICIAL
from directrix.reproductions.donmez2009.protocol import Key, Results
from directrix.reproductions.donmez2009.settings import MEASURES, NETS
from directrix.reproductions.paper import paper

_PAPER = paper("donmez2009")
_Certificates = Mapping[Key, Any]
_NET, _MEASURE, _KIND = "{collection}, {net}", "{collection}, {net}, {measure}", "{collection}, {kind}, {net}"


class _Statement(NamedTuple):
    """A statement that holds if it is true of every certificate of some kinds, see `certificate_cells`."""

    key: str
    kinds: tuple[str, ...]
    is_true: Callable[[Any], bool]
    evidence: Callable[[_Certificates], str]

    def check(self, certificates: _Certificates, **values: Any) -> list[Claim]:
        """Return the claim; none without a certificate."""
        if not certificates:
            return []
        holds = all(map(self.is_true, certificates.values()))
        return [_PAPER.fact(self.key, holds=holds, evidence=self.evidence(certificates), **values)]


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


_LEARNED = _Statement("local-optimum", ("converged",), _is_optimum, _counts)
_TRAINED = (
    _Statement("polished", ("polished",), _is_optimum, _polished),
    _Statement("falls", ("converged",), _falls, _which_rise),
)
_ONE_WEIGHT = _Statement(
    "gradient",
    ("converged, one weight",),
    lambda certificate: certificate["n_rising"] == 0,
    lambda certificates: _counts(certificates, _MEASURE),
)
_NOT_TRAINED = (
    _Statement("random", ("random",), lambda certificate: certificate["n_rising"] > 0, _counts),
    _Statement("early", ("epoch 7", "epoch 12"), _is_optimum, lambda ones: _counts(ones, _KIND)),
    _Statement("mrr-weights", ("RR weights",), _is_optimum, lambda ones: _counts(ones, _KIND)),
    _Statement(
        "gains",
        ("gain from epoch 7", "gain from epoch 12", "gain from RR weights"),
        lambda series: series[1] > series[0],
        _gains,
    ),
)


def optimality_claims(results: Results) -> list[Claim]:
    """Check Sections 5, 7.1 and 8, as far as weights were tested; the evidence names the certificates."""
    claims, confidence = [], 1.0 - results.settings.delta
    for number, measure in enumerate(MEASURES, start=1):
        learned = {key: one for key, one in results.of_kind(*_LEARNED.kinds).items() if key[-1] == measure}
        claims += _LEARNED.check(learned, measure=measure, number=number, confidence=confidence)
    for (kind, model, measure), one in results.large.items():
        if kind != "converged":
            continue
        evidence, holds = _counts({(kind, ARTIFICIAL, model, measure): one}), _is_optimum(one)
        claims.append(
            _PAPER.fact("large", holds=holds, measure=measure, confidence=confidence, evidence=evidence)
        )
    for statement in _TRAINED:
        claims += statement.check(results.of_kind(*statement.kinds))
    claims += _small_steps(results)
    claims += _ONE_WEIGHT.check(results.of_kind(*_ONE_WEIGHT.kinds))
    claims += _higher(results)
    for statement in _NOT_TRAINED:
        claims += statement.check(results.of_kind(*statement.kinds))
    return claims


def _small_steps(results: Results) -> list[Claim]:
    usual = results.of_kind("converged")

    def is_consistent(item: tuple[Key, Any]) -> bool:
        key, one = item
        return _is_optimum(one) == _is_optimum(usual["converged", *key[1:]])

    small = results.of_kind("converged, small steps")
    holds = all(map(is_consistent, small.items()))
    return [_PAPER.fact("small-steps", holds=holds, evidence=_counts(small, _MEASURE))] if small else []


def _higher(results: Results) -> list[Claim]:
    """Compare OHSUMED with the artificial data."""
    converged = results.of_kind("converged")
    values = {
        f"{NETS[model]}, {measure}": (converged[kind, ARTIFICIAL, model, measure]["value"], one["value"])
        for (kind, collection, model, measure), one in converged.items()
        if collection == "OHSUMED"
    }
    shown = "; ".join(f"{name}: {a:.3f}, OHSUMED {b:.3f}" for name, (a, b) in values.items())
    holds = all(a > b for a, b in values.values())
    return [_PAPER.fact("higher", holds=holds, evidence=shown)] if values else []
