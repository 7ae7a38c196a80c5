"""`Engine`: whether a ranker can be exported to it, known before it is trained.

The name of a target goes in. Out comes a function that rejects rankers before their training::

    check = Engine.named("solr").checker(queries)
    check(MLPRanker(residual=True))
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from directrix.data.frames import Categories
from directrix.data.missing import missing_values
from directrix.data.scale import fit_scale
from directrix.export.formula import formula_from
from directrix.export.target import ExportTarget, target
from directrix.models.lightgbm_text import CATEGORICAL, LEFT, NAN, ZERO
from directrix.models.linear import LinearModel
from directrix.models.mlp import MLPModel
from directrix.models.stumps import StumpModel
from directrix.models.trees import Trees
from directrix.rankers.fitted import AnyModel, FittedModel
from directrix.types import Float64Array

# The trees of a check split at most this number of columns, because names are alike and formats limit the
# columns in use.
_MOST = 1000


@dataclass(frozen=True)
class Engine:
    """A program that must be able to run a ranker, by the name of its export target."""

    target: ExportTarget

    @classmethod
    def named(cls, text: str) -> Engine:
        """Return the engine of a target, with a version if needed."""
        return cls(target(text))

    @property
    def title(self) -> str:
        """Description for users."""
        return self.target.title

    @property
    def takes_ensembles(self) -> bool:
        """Whether it runs the mean of several models."""
        return not self.target.models

    def checker(self, q: Any) -> Callable[[Any], None]:
        """Return a function that raises `InputError` for a ranker whose model cannot be exported.

        It writes a small model of the same kind for the engine, and keeps no file. It does not see that a
        trained model is too large for a format. ``q`` are the training queries.
        """
        has_missing = q.missing == "nan" and missing_values(q) > 0
        passed: set[str] = set()

        def check(ranker: Any) -> None:
            parameters = vars(ranker)
            arguments = map(parameters.get, ("scale", "hidden", "residual", "lightgbm_params"))
            # Rankers with the same of these parameters write the same small model, so one check serves all.
            key = str([ranker.model_type, *arguments])
            if key in passed:
                return
            scale = fit_scale(
                parameters.get("scale"), np.vstack([np.zeros(q.n_features), np.ones(q.n_features)])
            )
            n_columns = q.n_features * (1 if scale is None else scale.n_columns)
            # This option of LightGBM sends zeros to the side of missing values, which few formats can say.
            takes_zeros = bool((parameters.get("lightgbm_params") or {}).get("zero_as_missing"))
            decision = ZERO | LEFT if takes_zeros else NAN if has_missing else 0
            model, params = _model(ranker, n_columns, q.categories, decision)
            of_data = q.n_features, q.feature_names, q.categories, q.missing
            formula = formula_from(
                FittedModel(ranker.model_type, model, params, *of_data, scale, training={})
            )
            self.target.content(formula)
            if has_missing:
                self.target.check_filled(formula)
            passed.add(key)

        return check


def _model(
    ranker: Any, n_columns: int, categories: Categories | None, decision: int
) -> tuple[AnyModel, Float64Array]:
    """Return a small model of the kind that a ranker trains, and its parameters.

    Trees have two splits for each column, at -1 and 1, or by one category.
    """
    if ranker.model_type == "linear":
        return LinearModel(), np.ones(n_columns)
    if ranker.model_type == "mlp":
        network = MLPModel((1,) * len(ranker.hidden), ranker.activation, ranker.residual)
        return network, np.ones(network.n_params(n_columns))
    columns = np.repeat(np.arange(min(n_columns, _MOST)), 2)
    n = len(columns)
    if ranker.model_type == "stumps":
        stumps = StumpModel([[-1.0, 1.0] if c < _MOST else [] for c in range(n_columns)])
        return stumps, np.ones(n)
    listed = categories or [None]
    by_set = np.array([listed[c % len(listed)] is not None for c in columns.tolist()])
    trees = Trees(
        n_columns,
        n_leaves=np.full(n, 2),
        feature=columns.astype(np.int32),
        threshold=np.where(by_set, 0.0, np.resize([-1.0, 1.0], n)),
        decision=np.where(by_set, CATEGORICAL, decision).astype(np.uint8),
        left=np.full(n, -1, np.int32),
        right=np.full(n, -2, np.int32),
        gain=np.zeros(n),
        leaf=np.resize([0.0, 1.0], 2 * n),
        count=np.ones(2 * n, np.uint32),
        categories=((0,),) if by_set.any() else (),
    )
    return trees, trees.leaf
