"""Find the conventions under which a measure has a given number."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from directrix.errors import InputError
from directrix.measures.base import RankingMeasure
from directrix.measures.convention import Convention
from directrix.measures.names import measure as parse_measure
from directrix.reconciliation.diagnosis import diagnose
from directrix.reconciliation.material import Material, material_of
from directrix.reconciliation.printed import Printed, highest_value, printed
from directrix.reconciliation.result import Between, Reconciliation, SettingMatch, Switch
from directrix.reconciliation.settings import (
    OWN,
    Computed,
    Space,
    compute,
    has_ties,
    rows_of_tools,
    space_of,
)
from directrix.types import Array, Int64Array, Progress

_MOST_MATCHES = 100  # that a result holds, each with other values of some query
_MOST_PAIRS = 3000  # settings of each of two numbers that are compared with one another


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

    Every point on which tools disagree is a switch. All combinations are evaluated; those count whose value v
    is printed as the number x with d decimals: :math:`|v - x| \le 0.5 \cdot 10^{-d}`.

    Parameters
    ----------
    value : str or float
        The number as it was printed; as text it keeps its last zeros: ``"0.4510"``. A number above every
        value of the measure is read as percent.
    measure : str or measure
        What the number is called, e.g. ``"nDCG@10"``.
    scores, labels, run, qrels, qid, qptr, group, doc_ids
        As for `directrix.evaluate`; labels may be NaN for documents that were not judged.
    convention : str or Convention, optional
        Setting from which switches are counted; default: the measure as it was given.
    start : str or float, optional
        Another number, e.g. one's own: the fewest switches from it to ``value`` are found too.
    progress : callable, optional
        Called with the number of finished parts, their total, and a name.

    Returns
    -------
    Reconciliation
        ``print`` shows it: the settings that give the number, tools first, then by the number of switches;
        the value of every tool; and what in the data makes numbers differ.

    Raises
    ------
    InputError
        If ``value`` is no number that the measure can have; or as `directrix.evaluate`.

    Notes
    -----
    The switches are the fields of the measure (cut-off: one less, one more, none), whether the ideal DCG is
    cut off at k, which queries are averaged, and whether documents count that were not retrieved or not
    judged. Those that the data cannot show are left out. Settings of the same documents share one sort: the
    time is that of some hundred measures, the memory that of a few copies of the ranking.

    Examples
    --------
    >>> found = reconcile("0.6590", "nDCG@3", [3.0, 2.0, 1.0, 1.0], [0, 2, 1, 0], group=[4])
    >>> print(found.answer[0])
    nDCG@3 = 0.6590: letor4, lightgbm, xgboost, xgboost NAME-, ranx NAME_burges give it by default.
    >>> [switch.words for switch in found.matches[0].switches]
    ['order of ties: order of the file instead of mean over all orders']
    """
    asked = parse_measure(measure)
    if convention is not None:
        asked = asked.under(convention)
    highest = highest_value(asked)
    number = printed(value, highest)
    origin = None if start is None else printed(start, highest, "start")
    arrays = {"qid": qid, "qptr": qptr, "group": group, "doc_ids": doc_ids}
    material = material_of(scores, labels, run, qrels, **arrays)
    _check_defined(asked, material)
    space = space_of(asked, material)
    found = compute(asked, space, material, progress)
    _check_values(asked, found)
    return _Search(asked, space, found, material).result(number, origin)


def _check_defined(measure: RankingMeasure, material: Material) -> None:
    if not material.both.any():
        raise InputError(
            "no query has both retrieved and judged documents, so no setting has a value; give scores that "
            "are not all -inf, and labels that are not all NaN."
        )
    measure.check_labels(float(material.labels.max(initial=0.0)))
    if measure.tie_rule == "trec" and material.doc_ids is None and has_ties(material):
        raise InputError(
            f"{measure.name}: documents of a query have the same score, and they have no ids by which "
            'ties="trec" orders them. Pass doc_ids=, or start from another rule: ties="expected".'
        )


def _check_values(measure: RankingMeasure, computed: Computed) -> None:
    if np.isnan(computed.means).all():
        raise InputError(
            f"{measure.name} is undefined for every query, under every setting; queries need documents of "
            "different labels. Look at the labels with numpy.unique(labels, return_counts=True)."
        )


class _Search(NamedTuple):
    """Everything that was computed, and the questions to it."""

    measure: RankingMeasure
    space: Space
    computed: Computed
    material: Material

    def result(self, number: Printed, origin: Printed | None) -> Reconciliation:
        """Answer for a number."""
        means = self.computed.means
        tools = rows_of_tools(self.measure, self.space)
        rows = np.flatnonzero(number.within(means))
        is_cut = not len(rows) and bool(number.within(means, cut=True).any())
        if is_cut:
            rows = np.flatnonzero(number.within(means, cut=True))
        groups = self._groups(rows, tools)
        matches = tuple(
            self._match(members[0], tools, np.array(members)) for members in groups[:_MOST_MATCHES]
        )
        nearest = None
        if not matches:
            row = self._nearest(number)
            nearest = self._match(row, tools, np.array([row]))
        between = None if origin is None else self._between(origin, number, rows)
        return Reconciliation(
            self.measure.name,
            number.text,
            number.cut_interval if is_cut else number.interval,
            float(means[0]),
            int(self.material.both.sum()),
            len(self.material.rows_of_both()[0]),
            tuple((name, float(means[row]), bool(row in rows)) for name, row in tools.items()),
            len(means),
            len(rows),
            len(groups),
            matches,
            is_cut,
            nearest,
            between,
            diagnose(self.measure, self.material),
        )

    def _n_switches(self, row: int) -> Int64Array:
        """Number of switches from one setting to every other one."""
        return np.asarray(np.count_nonzero(self.space.codes != self.space.codes[row], axis=1))

    def _groups(self, rows: Int64Array, tools: dict[str, int]) -> list[list[int]]:
        """Settings that no query tells apart: those of tools first, then those with the fewest switches."""
        by_tool = set(tools.values())
        n_switches = self._n_switches(0)
        ordered = sorted(rows.tolist(), key=lambda row: (row not in by_tool, n_switches[row], row))
        groups: dict[int, list[int]] = {}
        for row in ordered:
            groups.setdefault(int(self.computed.signatures[row]), []).append(row)
        return list(groups.values())

    def _match(self, row: int, tools: dict[str, int], members: Int64Array) -> SettingMatch:
        same = set(members.tolist())
        exact = tuple(name for name, at in tools.items() if at in same)
        near, at = self._nearest_tools(tools, members)
        neighbors = members[self._n_switches(row)[members] == 1]
        free = (self.space.codes[neighbors] != self.space.codes[row]).any(axis=0)
        return SettingMatch(
            float(self.computed.means[row]),
            exact,
            self._switches(0, row),
            near,
            self._switches(tools[near[0]], at),
            len(members),
            tuple(axis.name for axis, is_free in zip(self.space.axes, free, strict=True) if is_free),
            tuple(self.space.setting(row).items()),
        )

    def _nearest_tools(self, tools: dict[str, int], members: Int64Array) -> tuple[tuple[str, ...], int]:
        """Return the tools with the fewest switches to one of ``members``, and that one; the own one last."""
        best = len(self.space.axes) + 1, "", 0
        for name, row in sorted(tools.items(), key=lambda tool: tool[0] == OWN):
            n_switches = self._n_switches(row)[members]
            at = int(np.argmin(n_switches))
            best = min(best, (int(n_switches[at]), name, int(members[at])), key=lambda found: found[0])
        _, nearest, member = best
        return tuple(name for name, row in tools.items() if row == tools[nearest]), member

    def _switches(self, before: int, after: int) -> tuple[Switch, ...]:
        old, new = self.space.setting(before), self.space.setting(after)
        return tuple(
            Switch.between(name, old[name], new[name], self.measure.symbol)
            for name in old
            if old[name] != new[name]
        )

    def _between(self, origin: Printed, number: Printed, rows: Int64Array) -> Between:
        """Return the fewest switches from a setting of one number to a setting of the other, ``rows``."""
        sources = np.flatnonzero(origin.within(self.computed.means))
        nearest = [self._nearest(origin), self._nearest(number)]
        ends = [
            self._few(found) if len(found) else np.array([near])
            for found, near in zip((sources, rows), nearest, strict=True)
        ]
        first, last = _closest(self.space.codes, *ends)
        return Between(
            origin.text,
            bool(len(sources) and len(rows)),
            self._switches(first, last),
            tuple(self.space.setting(first).items()),
            tuple(self.space.setting(last).items()),
        )

    def _nearest(self, number: Printed) -> int:
        """Row of the setting whose value is nearest; of several the one with the fewest switches."""
        gaps = np.abs(self.computed.means - number.value)
        return int(np.nanargmin(np.round(gaps, 12) + 1e-15 * self._n_switches(0)))

    def _few(self, rows: Int64Array) -> Int64Array:
        """Return the settings nearest to the one that was asked for."""
        return rows[np.argsort(self._n_switches(0)[rows], kind="stable")[:_MOST_PAIRS]]


def _closest(codes: Array, first: Int64Array, last: Int64Array) -> tuple[int, int]:
    """Return the rows, one of each list, that differ least; the earliest of those."""
    best = codes.shape[1] + 1, 0, 0
    for row in first.tolist():
        n = np.count_nonzero(codes[last] != codes[row], axis=1)
        at = int(np.argmin(n))
        best = min(best, (int(n[at]), row, int(last[at])), key=lambda found: found[0])
        if best[0] == 0:
            break
    return best[1], best[2]
