"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.clicks.counterfactual import evaluate as evaluate
from directrix.clicks.gains import by_clicked_document as by_clicked_document
from directrix.clicks.gains import training_data as training_data
from directrix.clicks.interleaving import interleave as interleave
from directrix.clicks.log import Log as Log
from directrix.clicks.models import model as model
from directrix.clicks.online import ab_test as ab_test
from directrix.clicks.online import interleaving_test as interleaving_test
from directrix.clicks.position_bias import propensities as propensities
from directrix.clicks.simulation import simulate as simulate

__all__: list[str]
