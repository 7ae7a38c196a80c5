"""Thresholds of runs as a value that a file keeps, and runs as LETOR text of steps."""

from __future__ import annotations

import json
import os
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from directrix.data.atomic import replacing
from directrix.data.files import open_data, path_of, readable
from directrix.data.letor.write import letor_comment, shortest, write_letor
from directrix.data.trec.scores import FORMS, Form, RunScores
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Array, Float64Array

_FORMAT = "directrix-thresholds/1"


@dataclass(frozen=True, eq=False)
class RunThresholds:
    """Thresholds of several runs. The same value gives the same columns for other topics.

    Raises `InputError` if the form is unknown, or the thresholds of a run are missing, not finite or not
    ascending.
    """

    form: Form
    """The values that the thresholds divide, see `RunScores.queries`."""
    tags: tuple[str, ...]
    """Names of the runs, in the order of the columns."""
    values: Sequence[Float64Array]
    """Ascending thresholds of each run."""

    def __post_init__(self) -> None:
        rows = [np.array(row, dtype=np.float64) for row in self.values]
        good = [row.ndim == 1 and np.isfinite(row).all() and (np.diff(row) > 0.0).all() for row in rows]
        if self.form not in FORMS or len(rows) != len(self.tags) or not all(good):
            raise InputError(
                f"RunThresholds: form {self.form!r}, {len(rows)} rows for {len(self.tags)} runs, rows "
                f"{[row for row, is_good in enumerate(good) if not is_good]} are not finite and ascending; "
                f"one of {', '.join(FORMS)} and one ascending row per run are needed. Type "
                "RunThresholds.of(scores)."
            )
        object.__setattr__(self, "values", rows)

    @classmethod
    def of(cls, scores: RunScores, bins: int = 50, form: Form = "score") -> RunThresholds:
        """Return `RunScores.thresholds` of the training topics, at most ``bins`` >= 1 of them per run.

        For the forms with values in [0, 1] they are k / (bins + 1), as in Yue et al. (2007), Section 5.2.1.
        """
        if form == "score":
            return cls(form, scores.tags, scores.thresholds(bins))
        bins = whole(bins, "bins")
        return cls(form, scores.tags, [np.arange(1, bins + 1) / (bins + 1)] * len(scores.tags))

    @property
    def n_features(self) -> int:
        """Number of columns: of thresholds over all runs."""
        return sum(map(len, self.values))

    def steps(self, scores: RunScores) -> Array:
        """Number of thresholds below each value, int64 (n_docs, n_runs); 0 where not retrieved.

        Raises `InputError` if the runs are others, or in another order.
        """
        if scores.tags != self.tags:
            pairs = enumerate(zip(scores.tags, self.tags, strict=False))
            shorter = min(len(scores.tags), len(self.tags))
            place = next((i for i, (given, expected) in pairs if given != expected), shorter)
            raise InputError(
                f"the thresholds are those of {len(self.tags)} runs, number {place + 1} of them "
                f"{', '.join(self.tags[place : place + 1]) or 'missing'}; of the {len(scores.tags)} given "
                f"runs it is {', '.join(scores.tags[place : place + 1]) or 'missing'}. The same runs in "
                f"the same order are needed: {' '.join(self.tags)}."
            )
        x = scores.queries(self.form).features
        steps = [np.searchsorted(row, x[:, f].astype(np.float64)) for f, row in enumerate(self.values)]
        return np.where(np.isnan(scores.scores), 0, np.stack(steps, axis=1))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the value as JSON; numbers read back to the same bits."""
        pairs = zip(self.tags, self.values, strict=True)
        runs = [{"run": tag, "thresholds": row.tolist()} for tag, row in pairs]
        text = json.dumps({"format": _FORMAT, "form": self.form, "runs": runs}, indent=1)
        with replacing(path) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunThresholds:
        """Read what `write` wrote; raises `InputError` if the file cannot be read or holds something else."""
        with readable(path_of(path)), open_data(path_of(path)) as file:
            text = file.read()
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {_FORMAT!r}")
            runs = content["runs"]
            return cls(content["form"], tuple(str(r["run"]) for r in runs), [_numbers(r) for r in runs])
        except (ValueError, LookupError, TypeError, OverflowError, RecursionError) as error:
            raise InputError(
                f"{path} is not a file of thresholds ({type(error).__name__}: {error}); give one that "
                "`directrix features` wrote."
            ) from error


def _numbers(run: dict[str, Any]) -> Float64Array:
    for value in run["thresholds"]:
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ValueError(f"{value!r} is no threshold")
    return np.array(run["thresholds"], dtype=np.float64)


def write_runs(
    scores: RunScores,
    path: str | os.PathLike[str],
    thresholds: RunThresholds | None = None,
    form: Form = "score",
) -> None:
    """Write runs as LETOR text: their values in ``form``, or 1 for each threshold that they exceed.

    Topics become query identifiers, documents become comments. With thresholds, whose form is used, feature
    ``p`` is 1 where the value exceeds the p-th of them, counted over all runs. Zeros are left out, but the
    first row always holds the last feature, as ``p:0`` if it is 0. Raises `InputError` if a topic is no
    integer, which the format needs, or as `write_letor`.

    Only the number of exceeded thresholds is held, O(n_docs n_runs); rows are joined from texts made once.
    """
    topics = integer_topics(scores.query_ids)
    if thresholds is None:
        write_letor(replace(scores.queries(form), query_ids=tuple(topics)), path)
        return
    starts = np.cumsum([0, *map(len, thresholds.values)]).tolist()
    texts = [_prefixes(start + 1, len(row)) for start, row in zip(starts, thresholds.values, strict=False)]
    steps, labels, width = thresholds.steps(scores), shortest(scores.labels), starts[-1]
    last_run = max((f for f, row in enumerate(thresholds.values) if len(row)), default=0)
    with replacing(path) as file:
        for q, topic in enumerate(topics):
            first, last = int(scores.qptr[q]), int(scores.qptr[q + 1])
            lines = []
            for i, row in enumerate(steps[first:last].tolist(), start=first):
                cells = "".join([texts[f][count] for f, count in enumerate(row)])
                is_short = i == 0 and width and row[last_run] < len(thresholds.values[last_run])
                tail = f" {width}:0" if is_short else ""
                lines.append(f"{labels[i]} qid:{topic}{cells}{tail}{letor_comment(scores.doc_ids[i], i)}\n")
            file.write("".join(lines).encode())


def _prefixes(first: int, count: int) -> list[str]:
    """Texts of the first 0, 1, ..., count features of a run, all 1."""
    texts = [""]
    for feature in range(first, first + count):
        texts.append(f"{texts[-1]} {feature}:1")
    return texts


def integer_topics(topics: Sequence[Hashable]) -> list[int]:
    """Return topics as the integers that LETOR text needs; `InputError` if they are none."""
    try:
        numbers = [int(str(topic)) for topic in topics]
    except ValueError:
        numbers = []
    if len(set(numbers)) < len(topics) or not all(-(2**63) <= number < 2**63 for number in numbers):
        raise InputError(
            f"the topics ({', '.join(map(str, topics[:3]))}, ...) are not all different integers of 64 bits, "
            "which files of this format need; rename the topics in runs and judgments to numbers."
        )
    return numbers
