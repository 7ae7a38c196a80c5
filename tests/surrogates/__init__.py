"""What tests of surrogates share: one query, alone, and queries that are difficult to rank."""

import numpy as np
from hypothesis import strategies as st


def one(surrogate, scores, labels):
    """Value and gradient of one query."""
    value, grad = surrogate.value_and_grad(np.asarray(scores), labels, np.array([0, len(scores)]))
    return value[0], grad


@st.composite
def queries(draw, largest=12, *, spreads=(0.05, 1.0, 30.0, 1e4), levels=4, ties=True):
    """Scores and labels of one query: ties (if wanted), equal labels and wide scores included."""
    n, spread = draw(st.integers(1, largest)), draw(st.sampled_from(spreads))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    scores = rng.standard_normal(n) * spread
    if ties and draw(st.booleans()):
        scores = np.round(scores / spread) * spread
    return scores, rng.integers(0, draw(st.integers(1, levels)), size=n).astype(np.float64)
