"""Comparison of systems on the same queries: tests, intervals, corrections, letters, power."""

from directrix.experiments.significance.comparisons import Comparisons as Comparisons
from directrix.experiments.significance.comparisons import Pair as Pair
from directrix.experiments.significance.comparisons import compare as compare
from directrix.experiments.significance.family import Tukey as Tukey
from directrix.experiments.significance.family import adjust as adjust
from directrix.experiments.significance.family import letters as letters
from directrix.experiments.significance.family import randomized_tukey as randomized_tukey
from directrix.experiments.significance.family import tukey as tukey
from directrix.experiments.significance.pairs import Significance as Significance
from directrix.experiments.significance.pairs import bootstrap_interval as bootstrap_interval
from directrix.experiments.significance.pairs import detectable as detectable
from directrix.experiments.significance.pairs import effect_size as effect_size
from directrix.experiments.significance.pairs import paired_t as paired_t
from directrix.experiments.significance.pairs import randomization as randomization
from directrix.experiments.significance.pairs import sign_test as sign_test
from directrix.experiments.significance.pairs import signed_rank as signed_rank
from directrix.experiments.significance.pairs import t_interval as t_interval
