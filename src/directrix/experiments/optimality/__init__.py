"""Local optimality of trained weights for the measure itself (Donmez, Svore & Burges 2009, Section 5)."""

from directrix.experiments.optimality.certificate import Certificate, ExactRise
from directrix.experiments.optimality.monte_carlo import certify
from directrix.experiments.optimality.polishing import Polished, polish

__all__ = ["Certificate", "ExactRise", "Polished", "certify", "polish"]
