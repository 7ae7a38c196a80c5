"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.experiments.calibration import calibration_curve as calibration_curve
from directrix.experiments.card import model_card as model_card
from directrix.experiments.crossval import Entry as Entry
from directrix.experiments.crossval import cross_validate as cross_validate
from directrix.experiments.importance import permutation_importance as permutation_importance
from directrix.experiments.measure_matching import matching as matching
from directrix.experiments.optimality import polish as polish
from directrix.experiments.splits import Split as Split
from directrix.experiments.splits import k_fold_splits as k_fold_splits
from directrix.experiments.splits import letor_splits as letor_splits
from directrix.experiments.surrogate_error import approximation as approximation
from directrix.experiments.tendency_on_data import random_models as random_models
from directrix.experiments.tendency_on_data import surrogate_tendencies as surrogate_tendencies
from directrix.measures.evaluation import evaluate_conventions as evaluate_conventions
from directrix.measures.line_search import line_search as line_search
from directrix.rankers.measure_scorer import make_scorer as make_scorer
from directrix.reports.plots import plot_importance as plot_importance
from directrix.reports.plots import plot_training as plot_training
from directrix.reports.training import write_training_report as write_training_report

__all__: list[str]
