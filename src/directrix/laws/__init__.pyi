"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.laws.bounds import ap_bound as ap_bound
from directrix.laws.bounds import generalization_bound as generalization_bound
from directrix.laws.bounds import ndcg_bound as ndcg_bound
from directrix.laws.bounds import noisy_rank_bounds as noisy_rank_bounds
from directrix.laws.bounds import rank_bounds as rank_bounds
from directrix.laws.bounds import smooth_ndcg_bound as smooth_ndcg_bound
from directrix.laws.bounds import smooth_ndcg_lipschitz as smooth_ndcg_lipschitz
from directrix.laws.check import LawBroken as LawBroken
from directrix.laws.check import check_surrogate as check_surrogate
from directrix.laws.cutting_planes import constraints_bound as constraints_bound
from directrix.laws.cutting_planes import ranking_radius as ranking_radius
from directrix.surrogates.approx import soft_ranks as soft_ranks

__all__: list[str]
