"""`RunThresholds`: thresholds of the scores of runs, and LETOR text with a feature for each of them."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from directrix.data.files import open_data, path_of, readable, replacing
from directrix.data.grouping import rows_of
from directrix.data.letor.write import integer_topics, letor_lines, write_letor
from directrix.data.trec.features import FORMS, Form, RunScores
from directrix.errors import InputError
from directrix.parameters import whole
from directrix.parsing import json_of
from directrix.schema import check
from directrix.types import Array, Float64Array

_FORMAT = "directrix-thresholds/1"
_CONTENT = {
    "format": frozenset({_FORMAT}),
    "form": frozenset(FORMS),
    "runs": [{"run": str, "thresholds": [float]}],
}
"""Form of the file, see `directrix.schema`."""


@dataclass(frozen=True, eq=False)
class RunThresholds:
    """Thresholds of several runs, which give the same columns for other topics.

    Raises `InputError` if the form is unknown, or the thresholds of a run are missing, not finite or not
    ascending.
    """

    form: Form
    """Form of the values, see `RunScores.queries`."""
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
        """Number of columns: the total number of thresholds."""
        return sum(map(len, self.values))

    def steps(self, scores: RunScores) -> Array:
        """Return the number of thresholds below each value, int64 (n_docs, n_runs); 0 if not retrieved.

        Raises `InputError` if the runs or their order differ.
        """
        if scores.tags != self.tags:
            raise InputError(
                f"the thresholds are those of the runs {' '.join(self.tags)}, and {' '.join(scores.tags)} "
                "were given; the same runs in the same order are needed."
            )
        # A value in float32 exceeds a threshold in float64 if it is larger as a float64.
        x = scores.queries(self.form).features
        steps = [np.searchsorted(row, x[:, f].astype(np.float64)) for f, row in enumerate(self.values)]
        return np.where(np.isnan(scores.scores), 0, np.stack(steps, axis=1))

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the thresholds as JSON; numbers read back to the same bits."""
        pairs = zip(self.tags, self.values, strict=True)
        runs = [{"run": tag, "thresholds": row.tolist()} for tag, row in pairs]
        text = json.dumps({"format": _FORMAT, "form": self.form, "runs": runs}, indent=1)
        with replacing(path) as file:
            file.write(f"{text}\n".encode())

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> RunThresholds:
        """Read a file of `write`; raises `InputError` if it cannot be read or holds something else."""
        with readable(path_of(path)), open_data(path_of(path)) as file:
            text = file.read()
        try:
            content = json_of(text)
            check(content, _CONTENT)
            runs = content["runs"]
            return cls(
                content["form"], tuple(run["run"] for run in runs), [run["thresholds"] for run in runs]
            )
        except ValueError as error:
            raise InputError(
                f"{path} is not a file of thresholds ({str(error).rstrip('.')}); give one "
                "that was written with features of training runs."
            ) from error


def write_runs(
    scores: RunScores,
    path: str | os.PathLike[str],
    thresholds: RunThresholds | None = None,
    form: Form = "score",
) -> None:
    """Write runs as LETOR text: their values in ``form``, or 1 for each threshold that they exceed.

    Topics become query identifiers, and documents become comments. With thresholds, whose form is used,
    feature ``p`` is 1 if the value exceeds the p-th of them, counted over all runs; zeros are omitted. Raises
    `InputError` if a topic is not an integer, which the format requires, or as in `write_letor`.
    """
    topics = integer_topics(scores.query_ids)
    if thresholds is None:
        write_letor(replace(scores.queries(form), query_ids=tuple(topics)), path)
        return
    from scipy.sparse import csr_array

    starts = np.cumsum([0, *map(len, thresholds.values)])
    with replacing(path) as file:
        for q, topic in enumerate(topics):
            of_topic = scores.take([q])
            steps = thresholds.steps(of_topic)
            # A value that exceeds some thresholds of a run exceeds the first ones, which are consecutive
            # columns.
            ones = rows_of(np.tile(starts[:-1], of_topic.n_docs), steps.ravel())
            entries = np.ones(len(ones), np.float32), ones, np.append(0, np.cumsum(steps.sum(axis=1)))
            features = csr_array(entries, shape=(of_topic.n_docs, int(starts[-1])))
            rows = replace(of_topic.queries(), features=features, feature_names=None, query_ids=(topic,))
            file.writelines(letor_lines(rows))
