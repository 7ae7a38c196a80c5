"""Find the conventions under which a measure has a given number.

A printed number, its measure, and a ranking with labels go in. The settings that give the number come out:

>>> result = reconcile("0.6590", "nDCG@3", [3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0], group=[4])
>>> result.matches[0].switches[0].short
'ties=order'
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.names import measure as parse_measure
from directrix.reconciliation.diagnosis import diagnose
from directrix.reconciliation.material import Material, material_of
from directrix.reconciliation.printed import Printed, printed
from directrix.reconciliation.result import Between, Reconciliation, SettingMatch, Switch
from directrix.reconciliation.settings import OWN, Space, is_ordered_by_ids, rows_of_tools, space_of
from directrix.reconciliation.values import compute
from directrix.types import Array, Float64Array, Int64Array, Progress

# Largest number of matches in a result; each gives other values to some query.
_MOST_MATCHES = 100
# Settings of each of two numbers that are compared with one another, those with the fewest switches first.
_MOST_PAIRS = 3000


def reconcile(  # noqa: PLR0913 - all but the first four are optional and by name
    value: Any,
    measure: str | RankingMeasure,
    scores: Any = None,
    labels: Any = None,
    *,
    run: Any = None,
    qrels: Any = None,
    qid: Any = None,
    qptr: Any = None,
    group: Any = None,
    doc_ids: Any = None,
    convention: str | Convention | None = None,
    start: Any = None,
    progress: Progress | None = None,
) -> Reconciliation:
    r"""Find the conventions under which a measure of a ranking has the number that another tool printed.

    Every point on which tools disagree is a switch. All combinations are evaluated. Those match whose value v
    is printed as the number x with d decimals: :math:`|v - x| \le 0.5 \cdot 10^{-d}`.

    Parameters
    ----------
    value : str or float
        The number as it was printed; a text keeps trailing zeros: ``"0.4510"``. A number above the largest
        value of the measure is read as percent.
    measure : str or measure
        Name of the number, e.g. ``"nDCG@10"``.
    scores, labels, run, qrels, qid, qptr, group, doc_ids
        As for `directrix.evaluate`; labels may be NaN for documents that were not judged.
    convention : str or Convention, optional
        Setting from which switches are counted. Default: the measure as it was given.
    start : str or float, optional
        Another number, e.g. your own; the fewest switches from it to ``value`` are found too.
    progress : callable, optional
        Called with the number of finished parts, their total, and a name.

    Returns
    -------
    Reconciliation
        ``print`` shows it: the settings that give the number, tools first, then by the number of switches;
        the value of every tool; and causes of differences in the data.

    Raises
    ------
    InputError
        If ``value`` is not a number that the measure can have; or as `directrix.evaluate`.

    Notes
    -----
    The switches are the fields of the measure (cut-off: one less, one more, none), whether the ideal DCG is
    cut off at k, which queries are averaged, and whether unretrieved or unjudged documents count. Switches
    without effect on the data are omitted. Settings of the same documents share one sort: the time is that of
    some hundred measures, and the memory that of a few copies of the ranking.

    Examples
    --------
    >>> found = reconcile("0.6590", "nDCG@3", [3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0], group=[4])
    >>> print(found.answer[0])
    nDCG@3 = 0.6590: letor4, lightgbm, xgboost, xgboost NAME-, ranx NAME_burges give it by default.
    >>> [switch.words for switch in found.matches[0].switches]
    ['order of ties: order of the file instead of mean over all orders']
    """
    named_measure = parse_measure(measure)
    asked = named_measure if convention is None else named_measure.under(convention)
    number = printed(value, asked)
    origin = None if start is None else printed(start, asked, "start")
    arrays = dict(scores=scores, labels=labels, qid=qid, qptr=qptr, group=group, doc_ids=doc_ids)
    material = material_of(run, qrels, arrays)
    _check_defined(asked, material)
    space = space_of(asked, material)
    means, signatures = compute(asked, space, material, progress)
    search = _Search(asked, space, means, signatures, rows_of_tools(asked, space))
    return search.result(number, origin, material)


def _check_defined(measure: RankingMeasure, material: Material) -> None:
    if not material.both.any():
        raise InputError(
            "no query has both retrieved and judged documents, so no setting has a value; give scores that "
            "are not all -inf, and labels that are not all NaN."
        )
    measure.check_labels(float(material.labels.max(initial=0.0)))
    if measure.tie_rule == "trec" and not is_ordered_by_ids(material):
        raise InputError(
            f"{measure.name}: documents of a query have the same score, and they have no ids by which "
            'ties="trec" orders them. Pass doc_ids=, or start from another rule: ties="expected".'
        )


class _Search(NamedTuple):
    """All settings with their values, and the row of each tool."""

    measure: RankingMeasure
    space: Space
    means: Float64Array
    # Settings that agree on all queries share a signature.
    signatures: Int64Array
    tools: dict[str, int]

    def result(self, number: Printed, origin: Printed | None, material: Material) -> Reconciliation:
        """Return the result for a number."""
        means = self.means
        # Digits that were cut off are tried only if no setting rounds to the number.
        is_cut = not number.within(means).any() and bool(number.within(means, cut=True).any())
        rows = np.flatnonzero(number.within(means, cut=is_cut))
        groups = self._groups(rows)
        return Reconciliation(
            measure=self.measure.name,
            number=number.text,
            interval=number.interval(cut=is_cut),
            value=float(means[0]),
            n_queries=int(material.both.sum()),
            n_docs=len(material.rows_of_both()[0]),
            tools=tuple((name, float(means[row]), bool(row in rows)) for name, row in self.tools.items()),
            n_settings=len(means),
            n_matches=len(rows),
            n_ways=len(groups),
            matches=tuple(self._match(np.array(group)) for group in groups[:_MOST_MATCHES]),
            is_cut=is_cut,
            nearest=None if groups else self._match(self._nearest(number)),
            between=None if origin is None else self._between(origin, number, rows),
            diagnosis=diagnose(self.measure, material),
        )

    def _groups(self, rows: Int64Array) -> list[list[int]]:
        """Settings that no query distinguishes: those of tools first, then those with the fewest switches."""
        by_tool, n_switches = set(self.tools.values()), self.space.n_switches(0)
        groups: dict[int, list[int]] = {}
        for row in sorted(rows.tolist(), key=lambda row: (row not in by_tool, n_switches[row], row)):
            groups.setdefault(int(self.signatures[row]), []).append(row)
        return list(groups.values())

    def _match(self, members: Int64Array) -> SettingMatch:
        """Describe the first of some settings under which all queries have the same values."""
        row, codes = int(members[0]), self.space.codes
        # The measure as it was given comes last, so of equally near tools another one is named.
        by_tool = [at for name, at in self.tools.items() if name != OWN] + [0]
        tool, at = _closest(codes, np.array(by_tool), members)
        neighbors = members[self.space.n_switches(row, members) == 1]
        is_free = (codes[neighbors] != codes[row]).any(axis=0)
        return SettingMatch(
            value=float(self.means[row]),
            tools=tuple(name for name, at in self.tools.items() if at in members),
            switches=self._switches(0, row),
            nearest_tools=tuple(name for name, at in self.tools.items() if at == tool),
            from_tool=self._switches(tool, at),
            n_settings=len(members),
            free=tuple(name for name, free in zip(self.space.axes, is_free, strict=True) if free),
            setting=self.space.setting(row),
        )

    def _switches(self, before: int, after: int) -> tuple[Switch, ...]:
        old, new, symbol = self.space.setting(before), self.space.setting(after), self.measure.symbol
        return tuple(Switch(name, old[name], new[name], symbol) for name in old if old[name] != new[name])

    def _between(self, origin: Printed, number: Printed, rows: Int64Array) -> Between:
        """Return the fewest switches from a setting of one number to a setting of the other, ``rows``."""
        sources = np.flatnonzero(origin.within(self.means))
        ends = [
            candidates[np.argsort(self.space.n_switches(0, candidates), kind="stable")[:_MOST_PAIRS]]
            for candidates in (
                sources if len(sources) else self._nearest(origin),
                rows if len(rows) else self._nearest(number),
            )
        ]
        first, last = _closest(self.space.codes, *ends)
        return Between(
            start=origin.text,
            is_exact=bool(len(sources) and len(rows)),
            switches=self._switches(first, last),
            before=self.space.setting(first),
            after=self.space.setting(last),
        )

    def _nearest(self, number: Printed) -> Int64Array:
        """Return the row of the nearest setting, with the fewest switches if there are several."""
        # Gaps that differ only by rounding are equal. The number of switches decides between them.
        gaps = np.round(np.abs(self.means - number.value), 12)
        return np.array([np.nanargmin(gaps + 1e-15 * self.space.n_switches(0))])


def _closest(codes: Array, first: Int64Array, last: Int64Array) -> tuple[int, int]:
    """Return the rows, one of each list, that differ least; the earliest of those."""
    best = codes.shape[1] + 1, 0, 0
    for row in first.tolist():
        n = np.count_nonzero(codes[last] != codes[row], axis=1)
        at = int(np.argmin(n))
        best = min(best, (int(n[at]), row, int(last[at])), key=lambda candidate: candidate[0])
        if best[0] == 0:
            break
    return best[1], best[2]
