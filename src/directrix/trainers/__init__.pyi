"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.trainers.adarank import AdaRank as AdaRank
from directrix.trainers.best import BestSoFar as BestSoFar
from directrix.trainers.boosting import Boosting as Boosting
from directrix.trainers.frank import FRank as FRank
from directrix.trainers.ir_svm import IRSVM as IRSVM
from directrix.trainers.prank import PRank as PRank
from directrix.trainers.rankboost import RankBoost as RankBoost
from directrix.trainers.regression import regression_start as regression_start
from directrix.trainers.simplex import SimplexSearch as SimplexSearch
from directrix.trainers.svm_acc import SVMAcc as SVMAcc

__all__: list[str]
