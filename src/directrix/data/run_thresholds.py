"""Thresholds of runs as a value that a file keeps, and runs as LETOR text of steps."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from directrix.data.blocks import open_data, readable
from directrix.data.letor_write import letor_comment, replacing, shortest, write_letor
from directrix.data.run_scores import FORMS, Form, RunScores
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.types import Array, Float64Array

__all__ = ["RunThresholds", "write_runs"]

_FORMAT = "directrix-thresholds/1"


@dataclass(frozen=True, eq=False)
class RunThresholds:
    """What turns runs into steps: for other topics the same columns come from the same value.

    Parameters
    ----------
    form : {"score", "percentile", "minmax"}
        What the thresholds cut, see `RunScores.queries`.
    tags : tuple of str (n_runs,)
        Names of the runs, in the order of the columns.
    values : list of float64 arrays (n_runs,)
        Ascending thresholds of each run.

    Raises
    ------
    InputError
        If there is no such form, or the thresholds are not finite and ascending, one row a run.
    """

    form: Form
    tags: tuple[str, ...]
    values: Sequence[Float64Array]

    def __post_init__(self) -> None:
        rows = [np.array(row, dtype=np.float64) for row in self.values]
        good = [row.ndim == 1 and np.isfinite(row).all() and (np.diff(row) > 0.0).all() for row in rows]
        if self.form not in FORMS or len(rows) != len(self.tags) or not all(good):
            raise InputError(
                f"RunThresholds: form {self.form!r}, {len(rows)} rows for {len(self.tags)} runs, rows "
                f"{[row for row, fine in enumerate(good) if not fine]} are not finite and ascending; needed "
                f"is one of {', '.join(FORMS)} and such a row for each run. Take RunThresholds.of(scores)."
            )
        object.__setattr__(self, "values", rows)

    @classmethod
    def of(cls, scores: RunScores, bins: int = 50, form: Form = "score") -> RunThresholds:
        """Take `RunScores.thresholds` for scores; k / (bins + 1) for the forms that lie in [0, 1].

        Parameters
        ----------
        scores : RunScores
            Of the training topics.
        bins : int >= 1
            Thresholds a run, at most.
        form : {"score", "percentile", "minmax"}
            The even ones are those of Yue et al. (2007), Section 5.2.1.
        """
        if form == "score":
            return cls(form, scores.tags, scores.thresholds(bins))
        bins = whole(bins, "bins")
        return cls(form, scores.tags, [np.arange(1, bins + 1) / (bins + 1)] * len(scores.tags))

    @property
    def n_features(self) -> int:
        """Number of columns: thresholds of all runs."""
        return sum(map(len, self.values))

    def steps(self, scores: RunScores) -> Array:
        """Number of thresholds below each value, int64 (n_docs, n_runs); 0 where not retrieved.

        Raises
        ------
        InputError
            If the runs are others, or in another order.
        """
        if scores.tags != self.tags:
            pairs = enumerate(zip(scores.tags, self.tags, strict=False))
            shorter = min(len(scores.tags), len(self.tags))
            place = next((i for i, (given, own) in pairs if given != own), shorter)
            raise InputError(
                f"the thresholds are those of {len(self.tags)} runs, number {place + 1} of them "
                f"{', '.join(self.tags[place : place + 1]) or 'missing'}; given are {len(scores.tags)}, "
                f"there {', '.join(scores.tags[place : place + 1]) or 'none'}. The same runs in the same "
                f"order are needed: {' '.join(self.tags)}."
            )
        x = scores.queries(self.form).features
        found = [np.searchsorted(row, x[:, f].astype(np.float64)) for f, row in enumerate(self.values)]
        return np.where(np.isnan(scores.scores), 0, np.stack(found, axis=1))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the value as JSON; numbers read back to the same bits."""
        runs = [
            {"run": tag, "thresholds": row.tolist()} for tag, row in zip(self.tags, self.values, strict=True)
        ]
        with replacing(path) as file:
            file.write(
                (json.dumps({"format": _FORMAT, "form": self.form, "runs": runs}, indent=1) + "\n").encode()
            )

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunThresholds:
        """Read what `write` wrote, and check it.

        Raises
        ------
        InputError
            If the file cannot be read, or is no such file.
        """
        with readable(Path(path)), open_data(Path(path)) as file:
            text = file.read()
        try:
            content = json.loads(text)
            if content["format"] != _FORMAT:
                raise ValueError(f"its format is {content['format']!r}, not {_FORMAT!r}")
            runs = content["runs"]
            return cls(
                content["form"], tuple(str(run["run"]) for run in runs), [_numbers(run) for run in runs]
            )
        except (ValueError, LookupError, TypeError) as error:
            raise InputError(
                f"{path}: is no file of thresholds ({type(error).__name__}: {error}); give one that "
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
    """Write runs as LETOR text: their values in a form, or the steps that these reach.

    Parameters
    ----------
    scores : RunScores
        Topics are the query identifiers, documents the comments.
    path : path
        As for `write_letor`.
    thresholds : RunThresholds, or None
        Feature ``p`` is 1 where the value exceeds the p-th threshold, counted over all runs; zeros are left
        out, as sparse files do, but the last feature is in the first row, as ``p:0`` if need be. None: the
        values themselves.
    form : {"score", "percentile", "minmax"}
        Of the values; with thresholds theirs holds.

    Raises
    ------
    InputError
        If a topic is no integer, which the format needs, or a file cannot be written.

    Notes
    -----
    Of steps only their numbers are held, O(n_docs n_runs); each row is put together from texts made once.
    """
    topics = _integers(scores.query_ids)
    if thresholds is None:
        write_letor(replace(scores.queries(form), query_ids=tuple(topics)), path)
        return
    starts = np.cumsum([0, *map(len, thresholds.values)]).tolist()
    texts = [_prefixes(start + 1, len(row)) for start, row in zip(starts, thresholds.values, strict=False)]
    steps = thresholds.steps(scores)
    labels = shortest(scores.labels)
    width = starts[-1]
    seen = bool(len(steps)) and any(steps[0, f] == len(row) for f, row in _last(thresholds))
    with replacing(path) as file:
        for q, topic in enumerate(topics):
            first, last = int(scores.qptr[q]), int(scores.qptr[q + 1])
            lines = []
            for i, row in enumerate(steps[first:last].tolist(), start=first):
                cells = "".join([texts[f][count] for f, count in enumerate(row)])
                tail = f" {width}:0" if i == 0 and width and not seen else ""
                lines.append(f"{labels[i]} qid:{topic}{cells}{tail}{letor_comment(scores.doc_ids[i], i)}\n")
            file.write("".join(lines).encode("utf-8", "surrogateescape"))


def _last(thresholds: RunThresholds) -> list[tuple[int, Float64Array]]:
    """The run that owns the last feature."""
    return [(f, row) for f, row in enumerate(thresholds.values) if len(row)][-1:]


def _prefixes(first: int, count: int) -> list[str]:
    """Texts of the first 0, 1, ..., count features of a run, all 1."""
    texts = [""]
    for feature in range(first, first + count):
        texts.append(f"{texts[-1]} {feature}:1")
    return texts


def _integers(topics: Sequence[str]) -> list[int]:
    try:
        numbers = [int(topic) for topic in topics]
    except ValueError:
        numbers = []
    if len(set(numbers)) < len(topics) or not all(-(2**63) <= number < 2**63 for number in numbers):
        raise InputError(
            f"the topics ({', '.join(topics[:3])}, ...) are not all different integers of 64 bits, which "
            "files of this format need; rename the topics in runs and judgements to numbers."
        )
    return numbers
