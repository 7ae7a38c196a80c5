"""Results of a cross-validation, by entry, fold, measure, query and candidate."""

from __future__ import annotations

import itertools
import json
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.errors import InputError, in_words
from directrix.experiments.significance.comparisons import (
    Comparisons,
    compare,
    paper_table,
    takes_all_pairs,
)
from directrix.experiments.significance.pairs import Significance, paired_t
from directrix.rankers.means import mean_over_queries
from directrix.tables import PValue, Table, Value, json_value
from directrix.types import Float64Array


@dataclass(frozen=True)
class Tried:
    """A candidate on one fold.

    Parameters
    ----------
    method : str
        Name of the method; one of several for the entry "auto".
    settings : mapping
    status : str
        Why training stopped, see `Result`; "failed" if it could not be trained on these data.
    chosen_by : float
        Mean of the choosing measure on the validation queries; NaN if training failed.
    train, valid, test : mapping of measure to float
        Means over queries; empty if it failed.
    steps : int
        Iterations, epochs, rounds or trees.
    seconds : float
        For training and evaluation.
    message : str
        Why training failed.
    """

    method: str
    settings: Mapping[str, Any]
    status: str
    chosen_by: float
    train: Mapping[str, float]
    valid: Mapping[str, float]
    test: Mapping[str, float]
    steps: int
    seconds: float
    message: str = ""


@dataclass(frozen=True, eq=False)
class FoldResult:
    """An entry on one fold.

    Parameters
    ----------
    tried : tuple of Tried
        All candidates, in order.
    chosen : int
        Position of the candidate that validation chose.
    values : float64 (n_measures, n_test_queries)
        Values of the chosen candidate on the test queries, NaN where undefined.
    top : tuple of tuple of (int, float)
        For each test query the first documents, as row in the query and score; () if not kept.
    """

    tried: tuple[Tried, ...]
    chosen: int
    values: Float64Array
    top: tuple[tuple[tuple[int, float], ...], ...] = ()


@dataclass(frozen=True, eq=False, repr=False)
class CrossValidation:
    """Result of `cross_validate`.

    Parameters
    ----------
    measures, folds : tuple of str
        Names, as they were given.
    query_ids : tuple of hashable
        Test queries of all folds, fold after fold.
    convention : str
        Convention of the measures; "default" is directrix's own.
    results : mapping of entry to sequence of FoldResult
        One for each fold.
    select : str
        Measure that chose the settings.

    Notes
    -----
    A candidate is trained and evaluated as in `AutoRanker`: methods that keep their best step also choose it
    on the validation queries. Among equal candidates the earliest is chosen. Test queries choose nothing.

    Cost: entries x folds x candidates training runs; joblib writes large arrays to disk once, for all
    processes.

    References
    ----------
    Qin, Liu, Xu & Li (2010), LETOR, doi:10.1007/s10791-009-9123-y, Sect. 4: folds and their means.
    """

    measures: tuple[str, ...]
    folds: tuple[str, ...]
    query_ids: tuple[Hashable, ...]
    convention: str
    results: Mapping[str, Sequence[FoldResult]]
    select: str = ""

    @property
    def entries(self) -> tuple[str, ...]:
        """Names of the compared systems, as they were given."""
        return tuple(self.results)

    def __str__(self) -> str:
        """Return the `tables` as text."""
        return "\n\n".join(table.text() for table in self.tables())

    def __repr__(self) -> str:
        """Return what was compared; ``print`` shows the tables."""
        return f"CrossValidation(entries={self.entries}, measures={self.measures}, folds={self.folds})"

    def folds_of(self, entry: str, measure: str) -> tuple[float, ...]:
        """Mean over the test queries of every fold; NaN where the measure is undefined for all."""
        at = self._measure(measure)
        return tuple(mean_over_queries(result.values[at]) for result in self._entry(entry))

    def mean(self, entry: str, measure: str) -> float:
        """Mean over folds of the means over test queries, as reported by LETOR."""
        return mean_over_queries(np.array(self.folds_of(entry, measure)))

    def values(self, entry: str, measure: str) -> Float64Array:
        """Value of every test query, in the order of ``query_ids``; NaN where undefined."""
        at = self._measure(measure)
        return np.concatenate([result.values[at] for result in self._entry(entry)])

    def train(self, entry: str, measure: str) -> float:
        """Mean over folds of the training value of the chosen candidate."""
        return self._mean_of_chosen("train", entry, measure)

    def valid(self, entry: str, measure: str) -> float:
        """Mean over folds of the validation value of the chosen candidate, which is biased by the choice."""
        return self._mean_of_chosen("valid", entry, measure)

    def selected(self, entry: str) -> tuple[dict[str, Any], ...]:
        """Settings that validation chose, fold by fold; with ``method`` if the entry has several methods."""
        selected = []
        for result in self._entry(entry):
            chosen = result.tried[result.chosen]
            several = len({trial.method for trial in result.tried}) > 1
            selected.append({**({"method": chosen.method} if several else {}), **chosen.settings})
        return tuple(selected)

    def candidates(self, entry: str, fold: str) -> list[Tried]:
        """All candidates of an entry on a fold, in the order they were given."""
        if fold not in self.folds:
            raise InputError(f"there is no fold {fold!r}; the folds are {', '.join(self.folds)}.")
        return list(self._entry(entry)[self.folds.index(fold)].tried)

    def top(self, entry: str) -> tuple[tuple[tuple[int, float], ...], ...]:
        """First documents of every test query, as row in the query and score; () without ``keep_top``."""
        return tuple(query for result in self._entry(entry) for query in result.top)

    def seconds(self, entry: str) -> float:
        """Total time of all candidates of an entry."""
        return math.fsum(trial.seconds for result in self._entry(entry) for trial in result.tried)

    def against_first(self) -> dict[tuple[str, str], Significance | None]:
        """Compare every other entry with the first by the paired t-test over queries.

        The tests are by entry and measure; None with fewer than two queries.
        """
        tests: dict[tuple[str, str], Significance | None] = {}
        first, *others = self.entries
        for entry, measure in itertools.product(others, self.measures):
            try:
                tests[entry, measure] = paired_t(self.values(entry, measure), self.values(first, measure))
            except InputError:
                tests[entry, measure] = None
        return tests

    def compare(
        self, *, test: str = "paired-t", correction: str | None = "auto", all_pairs: bool = False
    ) -> dict[str, Comparisons]:
        """Compare all pairs of entries, or each with the first, over all test queries by each measure.

        ``test`` and ``correction`` are those of `directrix.compare`; Tukey's tests need ``all_pairs=True``.
        """
        if takes_all_pairs(test) and not all_pairs:
            raise InputError(
                f"test={test!r} compares all pairs, not each entry with the first. Type all_pairs=True."
            )
        against = None if all_pairs else self.entries[0]
        results = {}
        for measure in self.measures:
            values = {entry: self.values(entry, measure) for entry in self.entries}
            result = compare(values, test=test, correction=correction, against=against)
            results[measure] = replace(result, means={e: self.mean(e, measure) for e in self.entries})
        return results

    def latex(self, **how: Any) -> str:
        r"""Return a LaTeX table of entries by measures, with the best in bold and the test in the caption.

        It needs ``\usepackage{booktabs}``. ``how`` holds options of `compare`: by default a paired t-test
        against the first entry with Holm's correction for the number of entries.
        """
        queries = f"the test queries of {self.folds[0]}"
        if len(self.folds) > 1:
            queries = f"test queries, mean over {len(self.folds)} folds"
        what = (
            f"{in_words(self.measures)} on {queries}. Settings were chosen by {self.select} on validation "
            "queries."
        )
        return paper_table(self.compare(**how), what)

    def tables(self) -> tuple[Table, Table]:
        """Return the values with a test against the first entry, and the settings that validation chose."""
        tests, several = self.against_first(), len(self.entries) > 1
        rows: list[tuple[Value, ...]] = []
        for entry, measure in itertools.product(self.entries, self.measures):
            test = tests.get((entry, measure))
            p = (None if test is None else PValue(test.p),) if several else ()
            rows.append((entry, measure, self.mean(entry, measure), *self.folds_of(entry, measure), *p))
        notes = [
            "mean: over the folds of their means over test queries.",
            f"Settings chosen by {self.select} on validation queries.",
            "Measured on the documents of the data: relevant ones without a row, as those that no run "
            "retrieved, do not count.",
        ]
        n = sorted({test.n for test in tests.values() if test is not None})
        if n:
            over = f"{n[0]} test queries" if len(n) == 1 else f"{n[0]} to {n[-1]} defined queries"
            first = self.entries[0]
            notes.append(f"p: two-sided paired t-test against {first} over {over}, not adjusted.")
        for entry, fold in itertools.product(self.entries, self.folds):
            chosen = self._entry(entry)[self.folds.index(fold)]
            if (one := chosen.tried[chosen.chosen]).status == "not_finite":
                kept = f"step {one.steps}" if one.steps else "the start"
                notes.append(
                    f"{entry}, {fold}: training ended because the loss was not finite; {kept} was kept."
                )
        figures = Table(
            f"Test queries, convention {self.convention}",
            ("method", "measure", "mean", *self.folds, *(("p",) if several else ())),
            tuple(rows),
            notes=tuple(notes),
            digits=4,
        )
        settings = Table(
            "Settings that validation chose",
            ("method", *self.folds),
            tuple((entry, *map(settings_text, self.selected(entry))) for entry in self.entries),
        )
        return figures, settings

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types: a row for each entry and measure, and the tests; NaN as None."""
        tests = [
            {
                "method": entry,
                "measure": measure,
                "difference": None if test is None else test.difference,
                "p": None if test is None else test.p,
            }
            for (entry, measure), test in self.against_first().items()
        ]
        return {
            "convention": self.convention,
            "select": self.select,
            "folds": list(self.folds),
            "queries": len(self.query_ids),
            "query_ids": list(map(str, self.query_ids)),
            "significance": {"test": "paired-t", "against": self.entries[0], "rows": tests},
            "rows": [
                {
                    "method": entry,
                    "measure": measure,
                    "mean": json_value(self.mean(entry, measure)),
                    "folds": json_value(self.folds_of(entry, measure)),
                    "selected": [
                        json.loads(canonical(hyperparameters)) for hyperparameters in self.selected(entry)
                    ],
                    "seconds": round(self.seconds(entry), 3),
                    "values": json_value(self.values(entry, measure)),
                }
                for entry in self.entries
                for measure in self.measures
            ],
        }

    def _mean_of_chosen(self, field: str, entry: str, measure: str) -> float:
        self._measure(measure)
        chosen = (result.tried[result.chosen] for result in self._entry(entry))
        return mean_over_queries(np.array([getattr(tried, field)[measure] for tried in chosen]))

    def _entry(self, entry: str) -> Sequence[FoldResult]:
        if entry not in self.results:
            raise InputError(f"there is no entry {entry!r}; the entries are {', '.join(self.entries)}.")
        return self.results[entry]

    def _measure(self, measure: str) -> int:
        if measure not in self.measures:
            raise InputError(f"{measure!r} was not measured; the measures are {', '.join(self.measures)}.")
        return self.measures.index(measure)


def settings_text(settings: Mapping[str, Any]) -> str:
    """Write settings in one line, "-" if there are none."""
    return " ".join(f"{name}={shown(value)}" for name, value in settings.items()) or "-"


def shown(value: object) -> str:
    """Write the value of a setting."""
    return f"{value:g}" if isinstance(value, float) else str(value)


def canonical(settings: Mapping[str, Any]) -> str:
    """Return settings as JSON in one form: names sorted, tuples as lists, objects as their ``repr``."""

    def text(value: Any) -> Any:
        return value.tolist() if isinstance(value, np.ndarray | np.generic) else repr(value)

    return json.dumps(dict(settings), sort_keys=True, default=text)
