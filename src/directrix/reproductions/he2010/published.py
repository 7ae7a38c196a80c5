"""Values as printed in the paper."""

from __future__ import annotations

TRAINING_MAP = {("TD2003", 300.0): (0.3372, 0.3652)}
"""Training MAP of ApproxRank-MAP from one start and with 30, by collection and alpha: Sect. 6.3."""
BOUNDS = {0.02: 1000.0, 0.01: 0.02}
"""Of SoftRank's coefficient by sigma, after Theorem 2: N = 200, L = 3, delta = .1."""
