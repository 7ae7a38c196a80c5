"""Conventions of other tools, as values of the fields of measures.

In: the name of a tool. Out: a `Convention`, which says how the tool computes a measure:

>>> from directrix import AP
>>> AP().under("lightgbm")
AP(k=None, rel=1, denominator='capped', ties='order', empty='one')
"""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import Any

from directrix.errors import InputError, short_text

Fields = tuple[tuple[str, Any], ...]


@dataclass(frozen=True)
class Convention:
    """A convention is the set of choices by which one tool's numbers differ from another's.

    Parameters
    ----------
    name : str
        Name of the tool.
    fields : tuple of (str, value)
        Fields set on every measure that has them.
    special : tuple of (str, tuple of (str, value))
        Fields set on one class of measures only, after ``fields``: ``("NDCG", (("empty", "one"),))``.
    note : str
        Behavior of the tool that no field expresses.
    measures : tuple of str, or None
        Short names of the measures that the tool has, with ``@`` where it takes a cut-off:
        ``("nDCG", "nDCG@", "AP")``. None: any measure.

    Examples
    --------
    >>> import directrix as dx
    >>> dx.measure("nDCG@10").under("trec_eval")
    NDCG(k=10, gain='linear', discount='log2', ties='trec', empty='zero')
    """

    name: str
    fields: Fields
    special: tuple[tuple[str, Fields], ...] = ()
    note: str = ""
    measures: tuple[str, ...] | None = None

    def has(self, measure: Any) -> bool:
        """Return whether the tool has this measure: only then does it print a number to compare with.

        Examples
        --------
        >>> from directrix import AP, NDCG
        >>> convention("gdeval").has(NDCG(k=20)), convention("gdeval").has(AP())
        (True, False)
        """
        cut = "" if getattr(measure, measure.at, None) is None else "@"
        return self.measures is None or measure.symbol + cut in self.measures

    def fields_for(self, measure: str, known: frozenset[str]) -> dict[str, Any]:
        """Return the fields to set on the measure class of this name, among the ``known`` ones.

        Examples
        --------
        >>> convention("lightgbm").fields_for("RR", frozenset({"k", "ties", "empty"}))
        {'ties': 'order', 'empty': 'zero'}
        """
        chosen = dict(self.fields) | dict(dict(self.special).get(measure, ()))
        return {key: value for key, value in chosen.items() if key in known}


def _fields(**fields: Any) -> Fields:
    return tuple(fields.items())


# Choices that several tools share, each for one class of measures.
_AT_K = ("Precision", _fields(denominator="k"))
_ALL_RELEVANT = ("Recall", _fields(denominator="relevant"))
_NDCG_ONE = ("NDCG", _fields(empty="one"))
_AP_ONE = ("AP", _fields(empty="one"))

# Names of measures that several tools have.
_NDCG = ("nDCG", "nDCG@")
_NDCG_AP = (*_NDCG, "AP", "AP@")
_LETOR = ("nDCG@", "P@", "AP")

# Measures of trec_eval that no other tool here has.
_TREC_ONLY = ("Bpref", "infAP", "GMAP", "SetF", "SetAP", "NumQ", "NumRet", "NumRel")

_PRESETS = (
    Convention(
        "trec_eval",
        _fields(ties="trec", gain="linear", discount="log2", empty="zero", denominator="relevant"),
        (_AT_K,),
        "averages over the queries that are both judged and in the run (with -c: over all judged)",
        (*_NDCG_AP, "RR", "P", "P@", "R", "R@", "Success@", "Rprec", "IPrec@", "RBP", *_TREC_ONLY),
    ),
    Convention(
        "gdeval",
        _fields(ties="trec", gain="exp", discount="log2", empty="zero", l_max=4),
        note="prints nDCG@k and ERR@k only",
        measures=("nDCG@", "ERR@"),
    ),
    Convention(
        "letor3",
        _fields(ties="order", gain="exp", discount="letor3", empty="zero", denominator="relevant"),
        (_AT_K,),
        "Eval-Score-3.0: ranks 1 and 2 weigh the same; prints nDCG@k, P@k and MAP",
        _LETOR,
    ),
    Convention(
        "letor4",
        _fields(ties="order", gain="exp", discount="log2", empty="zero", denominator="relevant"),
        (_AT_K,),
        "Eval-Score-4.0; prints nDCG@k, P@k and MAP",
        _LETOR,
    ),
    Convention(
        "sklearn",
        _fields(ties="expected", gain="linear", discount="log2", empty="zero"),
        (),
        "ndcg_score, dcg_score and roc_auc_score; average_precision_score counts all of a tied group as "
        "retrieved together, which is not a ranking of the documents",
        (*_NDCG, "DCG", "DCG@", "ROCArea"),
    ),
    Convention(
        "lightgbm",
        _fields(ties="order", gain="exp", discount="log2", empty="zero", denominator="capped"),
        (_NDCG_ONE, _AP_ONE, _AT_K, _ALL_RELEVANT),
        "ndcg and map only",
        _NDCG_AP,
    ),
    Convention(
        "xgboost",
        _fields(ties="order", gain="exp", discount="log2", empty="zero", denominator="capped"),
        (_NDCG_ONE, _AP_ONE, _AT_K, _ALL_RELEVANT),
        "ndcg and map; under the names ndcg- and map- queries without relevant documents count 0",
        _NDCG_AP,
    ),
    Convention(
        "catboost",
        _fields(ties="worst", gain="linear", discount="log2", empty="zero", denominator="capped"),
        (_NDCG_ONE, _AT_K, _ALL_RELEVANT),
        "NDCG:type=Base, DCG, MAP and MRR; NDCG:type=Exp is the same with gain='exp'",
        (*_NDCG_AP, "DCG", "DCG@", "RR", "RR@"),
    ),
    Convention(
        "ranx",
        _fields(ties="ranx", gain="linear", discount="log2", empty="zero", denominator="relevant"),
        (_AT_K,),
        "ndcg; ndcg_burges is the same with gain='exp'; its rbp adds up graded labels",
        (*_NDCG_AP, "DCG", "DCG@", "RR", "RR@", "P", "P@", "R", "R@", "Success", "Success@", "Rprec"),
    ),
)
_BY_NAME = {preset.name: preset for preset in _PRESETS}


def conventions() -> tuple[str, ...]:
    """Names of the presets.

    Examples
    --------
    >>> conventions()
    ('trec_eval', 'gdeval', 'letor3', 'letor4', 'sklearn', 'lightgbm', 'xgboost', 'catboost', 'ranx')
    """
    return tuple(_BY_NAME)


def convention(name: str | Convention) -> Convention:
    """Return the convention of this name; a `Convention` is returned unchanged.

    Parameters
    ----------
    name : str or Convention
        One of `conventions`, in any case; ``-`` may replace ``_``.

    Raises
    ------
    InputError
        If there is no such preset.

    Examples
    --------
    >>> convention("trec_eval").name
    'trec_eval'
    """
    if isinstance(name, Convention):
        return name
    key = str(name).strip().lower().replace("-", "_")
    if key in _BY_NAME:
        return _BY_NAME[key]
    near = difflib.get_close_matches(key, _BY_NAME, n=1, cutoff=0.5)
    raise InputError(
        f"convention {short_text(name)} is not known; the presets are {', '.join(_BY_NAME)}."
        + (f' Did you mean "{near[0]}"?' if near else "")
    )
