"""`Engine`: what an engine can run of what a search could train, known before the training."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from directrix.data.columns import column_list
from directrix.data.queries import Queries
from directrix.data.scale import fit_scale
from directrix.errors import InputError
from directrix.export.formula import Formula, Linear, Network, Summand, folded, inputs_of_scale
from directrix.export.target import ExportTarget, target
from directrix.models.lightgbm_text import CATEGORICAL, NAN
from directrix.models.trees import Trees
from directrix.rankers.scoring import check_finite
