"""The result of `fuse`: the chosen combination, and all others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from directrix.data.grouping import object_array
from directrix.data.trec.pool import Pool
from directrix.data.trec.runs import Run
from directrix.errors import InputError, amount
from directrix.experiments.significance.comparisons import Pair
from directrix.fusion.combination import Chosen, Combination, pool_of, runs_of
from directrix.fusion.methods import BEST_RUN, RRF_60
from directrix.tables import PValue, Table, json_value


class Row(NamedTuple):
    """One way to combine the runs."""

    method: str
    value: float
    """Mean of the measure with the weights chosen on all queries."""
    tested: float
    """Mean over queries, each with the weights chosen on the other folds."""
    over_best_run: Pair
    """Gain over the run that is best on all queries, which favors the run slightly."""
    over_rrf: Pair
    combination: Combination | None
    """Combination chosen on all queries; None if it depends on the class of a query."""


@dataclass(frozen=True)
class Fusion:
    """The best combination of runs; made by `fuse`."""

    measure: str
    """Name of the measure."""
    names: tuple[str, ...]
    """Names of the runs."""
    method: str
    """Name of the chosen row, the one with the highest cross-validated value."""
    of_class: dict[str, Combination]
    """Combinations by class of query; "" for queries of no class."""
    interval: tuple[float, float] | None
    """Range of the second of two linear or RRF weights in which all values are optimal in sample; None if it
    is one point."""
    rows: tuple[Row, ...]
    """Every method."""
    runs: dict[str, float]
    """Mean of the measure of every single run."""
    n_queries: int
    """Number of judged queries."""
    n_folds: int
    """Number of folds for cross-validation."""
    seed: int
    """Seed of the folds and of the random starts."""

    @property
    def combination(self) -> Combination:
        """The combination for queries of no class."""
        return self.of_class[""]

    @property
    def weights(self) -> dict[str, float]:
        """The weight of each run."""
        return dict(zip(self.names, self.combination.weights, strict=True))

    def among(self, is_possible: Callable[[Combination], bool]) -> Fusion:
        """Choose the best combination for which a function is true, such as those of an engine.

        Returns the same result if the chosen one is among them, or if there is none.
        """
        if all(map(is_possible, self.of_class.values())):
            return self
        # A combination that depends on the class of a query has no single configuration.
        common = [(row, row.combination) for row in self.rows if row.combination is not None]
        possible = [(row, combination) for row, combination in common if is_possible(combination)]
        if not possible:
            return self
        row, combination = max(possible, key=lambda pair: pair[0].tested)
        return replace(self, method=row.method, of_class={"": combination}, interval=None)

    def apply(self, runs: Any, classes: Mapping[Any, Any] | None = None, tag: str = "fused") -> Run:
        """Combine runs of the same systems for any queries; documents are by decreasing score.

        Raises
        ------
        InputError
            If the systems are not those of `fuse`.
        """
        by_name = runs_of(runs)
        if set(by_name) != set(self.names):
            raise InputError(
                f"the runs are {', '.join(by_name)}; those of {', '.join(self.names)} are needed. Name them: "
                '{"bm25": run, ...}.'
            )
        pool = pool_of({name: by_name[name] for name in self.names})
        scores = Chosen(self.of_class).scores(pool, classes_of(pool, classes))
        # Documents are sorted by query, then by score; equal scores keep the order of the pool.
        query = np.repeat(np.arange(len(pool.query_ids)), np.diff(pool.qptr))
        rows = np.lexsort((-scores, query))
        # Documents that only runs of weight 0 retrieved have the score -inf, and are left out.
        rows = rows[np.isfinite(scores[rows])]
        qptr = np.searchsorted(query[rows], np.arange(len(pool.query_ids) + 1)).astype(np.int64)
        return Run(tag, pool.query_ids, qptr, object_array(pool.doc_ids[rows]), scores[rows])

    @property
    def verdict(self) -> str:
        """Sentence on whether the chosen method beats the best run, in cross-validation."""
        if self.method == BEST_RUN:
            return "your best run alone; no combination is used"
        # Only a gain whose interval excludes 0 is shown by the data.
        gain = next(row.over_best_run for row in self.rows if row.method == self.method)
        shown = "shown" if gain.differs and gain.difference > 0.0 else "not shown"
        return (
            f"{self.method}, {shown} to beat your best run (tested gain {gain.difference:.4f}, 95 % "
            f"{gain.interval_text}, p = {gain.p:.3f})"
        )

    def tables(self) -> tuple[Table, ...]:
        """Return the single runs and the methods as tables."""
        classes = sorted(self.of_class.keys() - {""})
        of_classes = "Queries of a class have its weights, all others those of the first column."
        single = Table(
            f"{self.measure} of single runs, {amount(self.n_queries, 'queries')}",
            ("run", self.measure, f"weight in {self.method}", *(f"class {name}" for name in classes)),
            tuple(
                (name, value, *(self.of_class[class_name].weights[i] for class_name in ("", *classes)))
                for i, (name, value) in enumerate(self.runs.items())
            ),
            digits=4,
            notes=(of_classes,) if classes else (),
        )
        gains = [
            [(pair.difference, *pair.interval, PValue(pair.p)) for pair in (row.over_best_run, row.over_rrf)]
            for row in self.rows
        ]
        heads = ("gain", "low", "high", "p")
        notes = [
            f"in sample: weights chosen on all queries; tested: in {self.n_folds} folds, each query with the "
            "weights chosen on the other folds, and in the row best run with the run that is best there. "
            "gain: of tested, over the run that is best on all queries. low, high: 95 % interval; p: "
            "two-sided paired t-test, of each pair alone.",
            f"chosen: {self.verdict}; the highest of several tested values is slightly too high.",
        ]
        # Two runs have one line of weights, whose best piece is an interval.
        if self.interval is not None:
            low, high = self.interval
            second = self.names[1]
            notes.append(
                f"Every weight of {second} between {low:.4f} and {high:.4f} gives the same value in "
                "sample; an exact search over all intervals of weights found no higher one."
            )
        methods = Table(
            f"{self.measure} of combinations",
            ("method", "in sample", "tested", *heads, *heads),
            tuple(
                (row.method, row.value, row.tested, *over_best, *over_rrf)
                for row, (over_best, over_rrf) in zip(self.rows, gains, strict=True)
            ),
            groups=(("", 3), ("over the best run", 4), (f"over {RRF_60}", 4)),
            notes=tuple(notes),
            digits=4,
        )
        return single, methods

    def __str__(self) -> str:
        return "\n\n".join(table.text() for table in self.tables())

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; values that are not finite are None."""
        rows = [
            {
                "method": row.method,
                "in_sample": row.value,
                "tested": row.tested,
                "over_best_run": row.over_best_run.to_dict(),
                "over_rrf": row.over_rrf.to_dict(),
                "combination": None if row.combination is None else row.combination.to_dict(),
            }
            for row in self.rows
        ]
        keys = ("measure", "names", "method", "interval", "runs", "n_queries", "n_folds", "seed")
        chosen = {name: combination.to_dict() for name, combination in self.of_class.items()}
        return dict(json_value({key: getattr(self, key) for key in keys} | {"chosen": chosen, "rows": rows}))


def classes_of(pool: Pool, classes: Mapping[Any, Any] | None) -> list[str]:
    """Return the class of every query; "" for queries without one."""
    class_of = {} if classes is None else {str(query): str(name) for query, name in classes.items()}
    return [class_of.get(query, "") for query in pool.query_ids]
