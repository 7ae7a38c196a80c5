# ruff: noqa: I001
"""Public names for type checkers; written by tests/test_public_names.py from `_HOME`."""

from directrix.data.audit import audit as audit
from directrix.data.letor import read_letor as read_letor
from directrix.data.letor_write import write_letor as write_letor
from directrix.data.queries import Queries as Queries
from directrix.data.scale import Scale as Scale
from directrix.data.scale import fit_scale as fit_scale
from directrix.data.split import k_folds as k_folds
from directrix.data.split import letor_folds as letor_folds
from directrix.data.split import split_queries as split_queries
from directrix.data.synthetic import make_cubic as make_cubic
from directrix.data.synthetic import make_linear as make_linear
from directrix.data.trec import Qrels as Qrels
from directrix.data.trec import Run as Run
from directrix.data.trec import join_trec as join_trec
from directrix.data.trec import read_trec_qrels as read_trec_qrels
from directrix.data.trec import read_trec_run as read_trec_run
from directrix.data.trec import write_trec_run as write_trec_run
from directrix.errors import InputError as InputError
from directrix.errors import MissingExtra as MissingExtra
from directrix.errors import NotConverged as NotConverged
from directrix.measures.cascade import ERR as ERR
from directrix.measures.cascade import RBP as RBP
from directrix.measures.convention import Convention as Convention
from directrix.measures.convention import convention as convention
from directrix.measures.convention import conventions as conventions
from directrix.measures.dcg import DCG as DCG
from directrix.measures.dcg import NDCG as NDCG
from directrix.measures.evaluation import Comparison as Comparison
from directrix.measures.evaluation import Evaluation as Evaluation
from directrix.measures.evaluation import evaluate as evaluate
from directrix.measures.evaluation import evaluate_conventions as evaluate_conventions
from directrix.measures.names import measure as measure
from directrix.measures.pairs import KendallTau as KendallTau
from directrix.measures.pairs import ROCArea as ROCArea
from directrix.measures.precision import AP as AP
from directrix.measures.precision import IPrec as IPrec
from directrix.measures.precision import Precision as Precision
from directrix.measures.precision import RPrecision as RPrecision
from directrix.measures.precision import RR as RR
from directrix.measures.precision import Recall as Recall
from directrix.measures.precision import Success as Success
from directrix.objectives.linear import linear_objective as linear_objective
from directrix.rankers.auto import AutoRanker as AutoRanker
from directrix.rankers.linear import LinearRanker as LinearRanker
from directrix.rankers.methods import method as method
from directrix.rankers.methods import methods as methods
from directrix.rankers.model_file import load as load
from directrix.rankers.search import search as search
from directrix.surrogates.approx import ApproxAP as ApproxAP
from directrix.surrogates.approx import ApproxNDCG as ApproxNDCG
from directrix.surrogates.approx import ApproxPrecision as ApproxPrecision
from directrix.surrogates.approx_cascade import ApproxERR as ApproxERR
from directrix.surrogates.approx_cascade import ApproxRR as ApproxRR
from directrix.surrogates.approx_pairs import ApproxKendall as ApproxKendall
from directrix.surrogates.bounds import ap_bound as ap_bound
from directrix.surrogates.bounds import ndcg_bound as ndcg_bound
from directrix.surrogates.bounds import rank_bound as rank_bound
from directrix.surrogates import laws as laws
from directrix.surrogates.names import surrogate as surrogate
from directrix.surrogates.positions import ApproxMeasure as ApproxMeasure
from directrix.surrogates.positions import soft_ranks as soft_ranks
from directrix.threads import get_threads as get_threads
from directrix.threads import set_threads as set_threads
from directrix.trainers.best import BestSoFar as BestSoFar
from directrix.trainers.lbfgs import LBFGS as LBFGS
from directrix.trainers.regression import regression_start as regression_start
from directrix.trainers.sgd import SGD as SGD

__version__: str
__all__: list[str]
_HOME: dict[str, str]
