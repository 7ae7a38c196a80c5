"""The methods by name: the registry that `directrix methods`, ``--method`` and the reference read."""

from __future__ import annotations

import difflib

from directrix.errors import InputError, short_text
from directrix.rankers.baselines import BASELINES
from directrix.rankers.method import Auto, Method
from directrix.rankers.published import PUBLISHED

_BY_NAME: dict[str, Method] = {m.name: m for m in (*PUBLISHED, *BASELINES)}

_ALWAYS = ("ApproxNDCG-Quantile", "MLP", "Network", "YetiRank", "YetiRank-Percentile", "Regression")
_SUITS = {
    "NDCG": ("ApproxNDCG", "SmoothNDCG", "LambdaRank", *_ALWAYS),
    "AP": ("ApproxAP", "ApproxNDCG", "SmoothAP", "LambdaRank", *_ALWAYS),
    "Precision": ("ApproxNDCG", "ApproxPrecision", "LambdaRank", *_ALWAYS),
    "RR": ("ApproxNDCG", "ApproxRR", "LambdaRank", *_ALWAYS),
    "ERR": ("ApproxNDCG", "ApproxERR", "LambdaRank", *_ALWAYS),
    "KendallTau": ("ApproxKendall", "ApproxNDCG", *_ALWAYS),
    "others": ("ApproxNDCG", "SmoothNDCG", *_ALWAYS),
}
"""What "auto" tries, by class of measure, in an order of preference; see docs/decisions/selection.md."""

_AUTO = Auto(
    name="auto",
    source="the grids of the methods that suit the measure",
    cost="the sum of the costs of its methods",
    use_when="you do not want to choose: trains strong methods, keeps the best",
    tries={measure: tuple(_BY_NAME[name] for name in names) for measure, names in _SUITS.items()},
)
_METHODS = (_AUTO, *_BY_NAME.values())
_FOLDED = {m.name.lower(): m for m in _METHODS}


def methods() -> tuple[Method, ...]:
    """All methods, "auto" and a baseline first.

    Examples
    --------
    >>> [m.name for m in methods()][:4]
    ['auto', 'Regression', 'ApproxNDCG', 'ApproxAP']
    """
    return _METHODS


def method(name: str) -> Method:
    """Return the method of this name, any case.

    Parameters
    ----------
    name : str
        See `methods`. Several with commas between them are one to `search`, which chooses among them as
        among those of "auto".

    Raises
    ------
    InputError
        If no method has this name.

    Examples
    --------
    >>> method("ApproxAP").ranker(alpha=50.0, l2=1e-4)
    LinearRanker(l2=0.0001, surrogate=ApproxAP(alpha=50.0, beta=10.0, rel=1, sigmoid='logistic'))
    """
    if not isinstance(name, str):
        raise InputError(
            f"method {short_text(name)} is a {type(name).__name__}; give a name, e.g. method('auto')."
        )
    parts = [part.strip() for part in name.split(",") if part.strip()]
    if parts and "," in name:
        return _several([method(part) for part in parts])
    if name.lower() not in _FOLDED:
        near = difflib.get_close_matches(name.lower(), _FOLDED, n=1)
        meant = f"did you mean {_FOLDED[near[0]].name!r}? The" if near else "the"
        names = ", ".join(m.name for m in _METHODS)
        raise InputError(f"method {short_text(name)} is not known; {meant} methods are {names}.")
    return _FOLDED[name.lower()]


def _several(parts: list[Method]) -> Method:
    """Return one method that tries all of these."""
    unique = tuple(dict.fromkeys(parts))
    if len(unique) == 1:
        return unique[0]
    if _AUTO in unique:
        raise InputError("auto is no part of a list of methods: it tries several by itself. Give it alone.")
    return Auto(
        name=", ".join(part.name for part in unique),
        source="the grids of the methods",
        cost=_AUTO.cost,
        use_when="you want the best of these methods",
        tries={"others": unique},
        is_lenient=False,
    )
