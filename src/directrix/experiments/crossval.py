"""Methods compared on folds: settings are chosen by validation, and test values are reported."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from directrix import __version__
from directrix.data.queries import Queries
from directrix.errors import Advice, InputError, warn
from directrix.experiments.cells import Cell, run_cells
from directrix.experiments.crossval_result import CrossValidation, FoldResult, Tried, canonical
from directrix.experiments.splits import Split, repeated_queries
from directrix.fingerprint import fingerprint
from directrix.kernels import working_time
from directrix.measures.base import RankingMeasure, check_gains
from directrix.measures.convention import Convention
from directrix.measures.convention import convention as find_convention
from directrix.measures.evaluation import warn_lacking
from directrix.measures.names import listed
from directrix.measures.names import measure as parse_measure
from directrix.measures.prepared import Prepared
from directrix.parameters import seed_number, whole
from directrix.rankers.inputs import check_measurable, check_training, check_valid, goal_of
from directrix.rankers.means import mean_over_queries
from directrix.rankers.method import Method
from directrix.rankers.methods import method as find_method
from directrix.rankers.user_methods import imported, user_method
from directrix.search.choice import preferred
from directrix.search.clock import Clock
from directrix.search.folds import UNWEIGHTED, search_folds
from directrix.search.plan import Candidate, Plan, candidates_of, distinct
from directrix.search.training import refit, train_candidate
from directrix.search.trial import Trial
from directrix.tables import json_value
from directrix.types import Float64Array, FloatArray, Progress

# These fields say what a method trains, apart from its grid.
_PARTS = ("name", "model", "surrogate", "trainer", "fixed", "keeps")


@dataclass(frozen=True, eq=False)
class Entry:
    """A compared system: a method and the settings that are tried.

    Parameters
    ----------
    name : str
        Row of the tables, different for every entry.
    method : str, or surrogate, trainer, ranker, or the class of one
        Argument of `directrix.method`: a published method, "auto", ``"my_loss:MyLoss"``, or ``MyLoss``.
    settings : mapping, optional
        Fixed settings; they replace values of the grid.
    grid : mapping of setting to values, optional
        Replaces the method's own grid.
    measure : measure or str, optional
        Measure to train for and to choose by; None = ``cross_validate(select=)``.

    Examples
    --------
    >>> from directrix.experiments import Entry
    >>> entry = Entry("strong penalty", "ApproxNDCG", {"l2": 1e-2})
    >>> entry.name, dict(entry.settings)
    ('strong penalty', {'l2': 0.01})
    """

    name: str
    method: Any
    settings: Mapping[str, Any] = field(default_factory=dict)
    grid: Mapping[str, Any] | None = None
    measure: RankingMeasure | str | None = None

    @property
    def resolved(self) -> Method:
        """The method itself, even if ``method`` is its name."""
        return find_method(self.method)


def entry_of(method: Any) -> Entry:
    """Return the entry of a method's name or object, or the `Entry` that ``module:Name`` names."""
    named = imported(method) if isinstance(method, str) else ("", method)
    if named is None:
        return Entry(method, method)
    if isinstance(named[1], Entry):
        return named[1]
    made = user_method(named[1], named[0])
    return Entry(made.name, made)


def cross_validate(  # noqa: PLR0913 - all but the first three are optional and by name
    splits: Sequence[Split],
    entries: Any,
    measures: Sequence[RankingMeasure | str] | RankingMeasure | str = ("nDCG@10", "AP"),
    *,
    select: RankingMeasure | str | None = None,
    convention: Convention | str | None = None,
    path: str | os.PathLike[str] | None = None,
    seed: int = 0,
    n_jobs: int | None = None,
    progress: Progress | None = None,
    keep_top: int = 0,
) -> CrossValidation:
    """Train methods on folds, choose their settings by validation, and report values on test queries.

    The class of the result, `CrossValidation`, says how candidates are trained and chosen, and the cost.

    Parameters
    ----------
    splits : sequence of Split
        Folds, from `letor_splits` or `k_fold_splits`, or your own.
    entries : Entry, or what `directrix.method` takes, or a sequence of them
        Compared systems; a method has its own grid. ``"my_module:Name"`` may also be an `Entry`.
    measures : measure or str, or a sequence of them
        Measures to report.
    select : measure or str, optional
        Measure to train for and to choose by; default the first of ``measures``.
    convention : Convention or str, optional
        Compute measures as this tool does; a measure object in ``select`` is not changed.
    path : path, optional
        File of finished training runs, created if it does not exist; runs in it are not repeated.
    seed : int >= 0
        Seed of stochastic trainers and inner folds.
    n_jobs : int, optional
        Number of parallel training runs; -1 = all cores, None = as ``joblib.parallel_config`` says.
    progress : callable, optional
        Called after every training run with the number of finished ones, their total, and the time left.
    keep_top : int >= 0
        Number of documents to keep of every test query, see `CrossValidation.top`.

    Raises
    ------
    InputError
        If the data, a method or a setting cannot be used, or if on some fold no candidate of an entry could
        be trained. A candidate that cannot be trained where others can is reported as failed.

    Examples
    --------
    >>> import directrix as dx
    >>> splits = dx.experiments.k_fold_splits(dx.data.make_linear(12, 8, 3)[0], 3)
    >>> result = dx.experiments.cross_validate(splits, ["Regression", "RankCosine"], ["AP", "nDCG@5"])
    >>> result.mean("Regression", "AP") > 0.8, len(result.values("RankCosine", "nDCG@5"))
    (True, 12)
    """
    tasks, names = _tasks(splits, entries, measures, select, convention, seed, keep_top)
    with tempfile.TemporaryDirectory() as folder:
        kept = Path(folder, "cells.jsonl") if path is None else path
        cells = [cell for task in tasks for cell in task.cells()]
        finished = run_cells(cells, kept, n_jobs=n_jobs, progress=progress)
    results: dict[str, list[FoldResult]] = {}
    for task in tasks:
        results.setdefault(task.entry, []).append(task.result(finished, names))
    return CrossValidation(
        measures=tuple(names),
        folds=tuple(split.name for split in splits),
        query_ids=tuple(query for split in splits for query in split.test.query_ids),
        convention="default" if convention is None else find_convention(convention).name,
        results=results,
        select=names[0] if select is None else select if isinstance(select, str) else select.name,
    )


def train_shard(
    shard: tuple[int, int], splits: Sequence[Split], entries: Any, measures: Any, *, path: Path, **rest: Any
) -> tuple[int, int]:
    """Train the share of one of several jobs that write to one folder; see `run_cells`.

    ``shard`` is the number of the job, from 1, and the number of jobs. The other arguments are those of
    `cross_validate`, which takes over the finished runs. Returns the number of finished training runs, and
    their total.
    """
    how = {name: rest.pop(name, None) for name in ("n_jobs", "progress")}
    cells = [cell for task in _tasks(splits, entries, measures, **rest)[0] for cell in task.cells()]
    return len(run_cells(cells, path, shard=shard, **how)), len(cells)


def _tasks(
    splits: Sequence[Split],
    entries: Any,
    measures: Any,
    select: RankingMeasure | str | None = None,
    convention: Convention | str | None = None,
    seed: int = 0,
    keep_top: int = 0,
) -> tuple[list[_Task], list[str]]:
    """Check the arguments of `cross_validate`; return its tasks and the names of the measures."""
    tool = None if convention is None else find_convention(convention)
    is_one = isinstance(entries, str) or not isinstance(entries, Sequence)
    compared = list(map(entry_of, [entries] if is_one else entries))
    wanted, names = listed(measures)
    reported = tuple(reported_measure(measure, tool, always=True) for measure in wanted)
    _check_names(splits, compared, names)
    if tool is not None:
        warn_lacking(tool, names, list(reported), "Leave out those, or the convention.", stacklevel=4)
    seed_number(seed)
    whole(keep_top, "keep_top", least=0)
    plans = [plan_entry(entry, select or wanted[0], tool, seed) for entry in compared]
    for split in splits:
        _check_data(split, plans)
    return [
        _Task(entry.name, plan, split, reported, keep_top)
        for split in splits
        for entry, plan in zip(compared, plans, strict=True)
    ], names


def plan_entry(
    entry: Entry, select: RankingMeasure | str, tool: Convention | None = None, seed: int = 0
) -> Plan:
    """Return the plan of an entry, the same on every fold, before data are read.

    Candidates that cannot be trained where others can are reported as failed.
    Raises `InputError` if a setting does not exist, an axis is empty, or no candidate can be made.
    """
    measure = entry.measure or select
    trained_for = _trained_for(measure, tool)
    method = entry.resolved if entry.grid is None else _with_grid(entry, entry.grid, trained_for)
    candidates = distinct(candidates_of(method, trained_for, entry.settings, seed=seed)[0])
    errors = []
    for candidate in candidates:
        try:
            candidate.unfitted.check_parameters()
        except InputError as error:
            errors.append(error)
    if errors and len(errors) == len(candidates):
        raise errors[0]
    return Plan(reported_measure(measure, tool), tuple(candidates), seed=seed)


def _with_grid(entry: Entry, grid: Mapping[str, Any], measure: RankingMeasure) -> Method:
    """Return the method of an entry with the grid that replaces its own; settings replace values of it."""
    method = entry.resolved
    methods = method.parts(measure)
    if len(methods) > 1:
        names = ", ".join(single.name for single in methods)
        raise InputError(
            f"{entry.name}: a grid was given for {method.name!r}, which tries {names}, each with its own "
            "grid; give one entry per method."
        )
    axes = {name: values for name, values in grid.items() if name not in entry.settings}
    for name, values in axes.items():
        if isinstance(values, str) or not isinstance(values, Sequence | np.ndarray) or not len(values):
            raise InputError(
                f"{entry.name}: grid[{name!r}] is {values!r}; a list of values is needed, e.g. "
                f"grid={{{name!r}: [{values!r}]}}."
            )
    first = {name: values[0] for name, values in axes.items()}
    # The candidates are discarded: the call checks the settings before any training begins.
    candidates_of(method, measure, {**first, **entry.settings})
    plain = {
        name: tuple(value.item() if isinstance(value, np.generic) else value for value in values)
        for name, values in axes.items()
    }
    return replace(method, grid=plain)


def reported_measure(
    measure: RankingMeasure | str, tool: Convention | None, *, always: bool = False
) -> RankingMeasure:
    """Return a measure under the convention of a tool; a measure object only if ``always``."""
    parsed = goal_of(measure)
    return parsed.under(tool) if tool is not None and (always or isinstance(measure, str)) else parsed


def _trained_for(measure: RankingMeasure | str, tool: Convention | None) -> RankingMeasure:
    """Return the measure that methods train for: with gain, discount and denominators of the tool.

    The tool's rules for ties and for queries without relevant documents concern finished scores; LambdaRank
    cannot be trained for them.
    """
    reported = reported_measure(measure, tool)
    if tool is None or not isinstance(measure, str):
        return reported
    plain = parse_measure(measure)
    return replace(reported, **{n: getattr(plain, n) for n in ("ties", "empty") if hasattr(plain, n)})


def _check_names(splits: Sequence[Split], entries: Sequence[Entry], measures: Collection[str]) -> None:
    if not measures or not splits or not entries:
        raise InputError(
            f"{len(splits)} folds, {len(entries)} entries, {len(measures)} measures; at least one of each "
            "is needed."
        )
    for kind, compared in (("entry", entries), ("fold", splits)):
        names = [item.name for item in compared]
        twice = next((name for name in names if names.count(name) > 1), None)
        if twice is not None:
            raise InputError(
                f"{kind} {twice!r} is given {names.count(twice)} times; results are told apart by name: give "
                "different names, e.g. "
                + (f"Entry({twice + ' 2'!r}, method)." if kind == "entry" else f"{twice + ' 2'!r}.")
            )


def _check_data(split: Split, plans: Sequence[Plan]) -> None:
    missing = any(c.unfitted.takes_missing for plan in plans for c in plan.candidates)
    try:
        check_training(split.train, split.valid, allow_missing=missing)
        check_valid(split.test, split.train, "the test data", allow_missing=missing)
        for goal in {plan.measure for plan in plans}:
            check_measurable(goal, split.train)
            if split.valid is not None:
                check_measurable(goal, split.valid)
    except InputError as error:
        raise error.at(split.name) from None
    if repeated := repeated_queries(split):
        warn(
            f"{split.name}: {len(repeated)} of {split.test.n_queries} test queries are also training or "
            f"validation queries, with the same features (e.g. {repeated[0]}). Leave them out of the test "
            "data: values on them show nothing about other queries.",
            stacklevel=4,
        )


class _Task(NamedTuple):
    """The candidates of an entry on one split: their trainings, and the choice between them."""

    entry: str
    plan: Plan
    split: Split
    measures: tuple[RankingMeasure, ...]
    keep_top: int

    def cells(self) -> list[Cell]:
        """Return a training for each candidate."""
        goal = self.plan.measure
        every = goal, self.plan.candidates[0].measure, *self.measures
        measures = {
            f"measure {measure.name}": fingerprint(measure) for measure in every if measure is not None
        }
        return [
            Cell(
                key,
                train_and_test,
                (self.split, candidate, goal, self.measures, self.keep_top),
                measures | _meanings(candidate),
            )
            for candidate, key in zip(self.plan.candidates, self._keys(), strict=True)
        ]

    def result(self, finished: Mapping[tuple[str | int, ...], Any], names: Sequence[str]) -> FoldResult:
        """Choose by validation; raises `InputError` if no candidate could be trained."""
        outcomes = [finished[key] for key in self._keys()]
        tried = tuple(
            _tried(candidate, outcome, names)
            for candidate, outcome in zip(self.plan.candidates, outcomes, strict=True)
        )
        trained = [i for i, candidate in enumerate(tried) if candidate.status != "failed"]
        if not trained:
            raise InputError(
                f"{self.entry}, {self.split.name}: none of {len(tried)} candidates could be trained: "
                f"{outcomes[0]['problem']}",
                *(Advice(key, **values) for key, values in outcomes[0]["advice"]),
            )
        trials = [
            Trial(self.plan.candidates[i], tried[i].chosen_by, values=_array(outcomes[i]["judged"]))
            for i in trained
        ]
        chosen = trained[trials.index(preferred(trials))]
        top = tuple(
            tuple((int(row), float(score)) for row, score in query)
            for query in outcomes[chosen].get("top", ())
        )
        return FoldResult(tried, chosen, _array(outcomes[chosen]["values"]), top)

    def _keys(self) -> list[tuple[str, ...]]:
        mark = self._mark()
        return [
            (self.entry, self.split.name, c.name, canonical(c.settings), mark) for c in self.plan.candidates
        ]

    def _mark(self) -> str:
        """Short digest of what figures depend on except settings: with other data a cell has another key."""
        candidates = self.plan.candidates
        methods = {c.name: c.method.describe() for c in candidates}
        described = [{name: method[name] for name in _PARTS} for method in methods.values()]
        for_all = repr(
            (self.plan.measure, candidates[0].measure, self.plan.seed, self.measures, self.keep_top)
        )
        depends = [__version__, self.split.digest, for_all, *map(canonical, described)]
        return hashlib.sha256("\n".join(depends).encode()).hexdigest()[:12]


def _meanings(candidate: Candidate) -> dict[str, str]:
    """Return fingerprints of a method, its surrogate and its trainer, by name."""
    method, parameters = candidate.method, dict[str, Any]()
    # A candidate without a ranker has this error as the result of its cell, so it is not raised here.
    with suppress(InputError):
        parameters |= vars(candidate.unfitted)
    meanings: dict[str, Any] = {}
    for kind in ("surrogate", "trainer"):
        made = parameters.pop(kind, None)
        meanings[f"{kind} {type(made).__name__}"] = getattr(method, kind), made
    meanings[f"method {method.name}"] = type(method), parameters
    return {name: fingerprint(meaning) for name, meaning in meanings.items()}


def train_and_test(
    split: Split,
    candidate: Candidate,
    goal: RankingMeasure,
    measures: tuple[RankingMeasure, ...],
    keep_top: int,
) -> dict[str, Any]:
    """Train and evaluate one candidate.

    The result is JSON: ``status``, ``steps``, ``seconds`` of training and choosing, ``chosen_by`` (mean of
    the goal on the validation queries, whose values are ``judged``), ``train``, ``valid`` and ``test`` (a
    mean for each measure), ``values`` (for each measure the value of every test query), and ``top``. NaN is
    None. If the candidate cannot be trained on these data, ``failed`` says why, and ``problem`` does so
    without its ``advice`` by key.
    """
    train, begun, clock = split.train, working_time(), Clock()
    try:
        folds, _ = search_folds(train, split.valid, UNWEIGHTED, None, candidate.seed or 0)
        trained = train_candidate(candidate, folds, goal, clock)
        ranker = trained.rankers[-1]
        # Inner folds chose the candidate, so it is trained again on the whole training part.
        if folds[0].train is not train:
            ranker = refit(trained, train, UNWEIGHTED, goal, clock)
    except InputError as error:
        plain = [text for text in error.advice if not isinstance(text, Advice)]
        keyed = [(text.key, text.values) for text in error.advice if isinstance(text, Advice)]
        return {"failed": str(error), "problem": error.text(plain), "advice": keyed}
    seconds = round(working_time() - begun, 3)
    on_valid = [
        _values(measures, on_fold.predict_queries(fold.valid), fold.valid)
        for fold, on_fold in zip(folds, trained.rankers, strict=True)
    ]
    scores = ranker.predict_queries(split.test)
    values = _values(measures, scores, split.test)
    record = {
        "status": trained.status,
        "steps": trained.steps,
        "seconds": seconds,
        "chosen_by": json_value(trained.valid),
        "judged": json_value(trained.values),
        "train": _means(_values(measures, ranker.predict_queries(train), train)),
        "valid": _means([np.concatenate(by_fold) for by_fold in zip(*on_valid, strict=True)]),
        "test": _means(values),
        "values": json_value(values),
    }
    return record | ({"top": top_of(scores, split.test, keep_top)} if keep_top else {})


def _values(measures: tuple[RankingMeasure, ...], scores: Float64Array, q: Queries) -> list[Float64Array]:
    for measure in measures:
        check_gains(q, measure)
    return list(Prepared(measures, q.labels, q.qptr, q.doc_ids)(scores))


def _means(values: Iterable[Float64Array]) -> list[float | None]:
    return [json_value(mean_over_queries(per_query)) for per_query in values]


def top_of(scores: FloatArray, q: Queries, n: int) -> list[list[tuple[int, float]]]:
    """Return row in the query and score of the first documents of every query; ties are in row order."""
    top = []
    for low, high in zip(q.qptr[:-1], q.qptr[1:], strict=True):
        rows = np.argsort(-scores[low:high], kind="stable")[:n]
        top.append(list(zip(rows.tolist(), scores[low:high][rows].tolist(), strict=True)))
    return top


def _tried(candidate: Candidate, outcome: Mapping[str, Any], measures: Sequence[str]) -> Tried:
    means = {
        data: dict(zip(measures, _array(outcome[data]).tolist(), strict=True)) if data in outcome else {}
        for data in ("train", "valid", "test")
    }
    return Tried(
        method=candidate.name,
        settings=candidate.settings,
        status=outcome.get("status", "failed"),
        chosen_by=float(_array(outcome.get("chosen_by"))),
        **means,
        steps=outcome.get("steps", 0),
        seconds=outcome.get("seconds", 0.0),
        message=outcome.get("failed", ""),
    )


def _array(values: Any) -> Float64Array:
    # JSON stores NaN as null, which is None here and becomes NaN again.
    return np.array(values, dtype=np.float64)
