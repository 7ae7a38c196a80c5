"""Whether systems differ on the same queries: tests, intervals, corrections, letters, power."""

from directrix.experiments.significance.comparisons import Comparisons, Pair
from directrix.experiments.significance.corrections import adjust
from directrix.experiments.significance.display import letters
from directrix.experiments.significance.family import Tukey, randomised_tukey, tukey
from directrix.experiments.significance.fisher import randomisation
from directrix.experiments.significance.intervals import bootstrap_interval, t_interval
from directrix.experiments.significance.pairs import Paired, paired
from directrix.experiments.significance.power import detectable, effect_size
from directrix.experiments.significance.single import Significance, paired_t, sign_test, signed_rank
from directrix.experiments.significance.systems import compare

__all__ = [
    "Comparisons",
    "Pair",
    "Paired",
    "Significance",
    "Tukey",
    "adjust",
    "bootstrap_interval",
    "compare",
    "detectable",
    "effect_size",
    "letters",
    "paired",
    "paired_t",
    "randomisation",
    "randomised_tukey",
    "sign_test",
    "signed_rank",
    "t_interval",
    "tukey",
]
