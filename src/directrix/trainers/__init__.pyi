"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.trainers.adarank import AdaRank as AdaRank
from directrix.trainers.regression import regression_start as regression_start
from directrix.trainers.stump_boosting import FRank as FRank
from directrix.trainers.stump_boosting import RankBoost as RankBoost
from directrix.trainers.svm_acc import SVMAcc as SVMAcc
from directrix.trainers.wrappers import BestSoFar as BestSoFar
from directrix.trainers.wrappers import Continuation as Continuation

__all__: list[str]
