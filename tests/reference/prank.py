"""PRank as Figure 2 of Crammer and Singer (2001) writes it: one document after another."""

import math


def predict(x, w, b):
    """The lowest rank r with w x - b_r < 0; b holds b_1, ..., b_K, the last one infinite."""
    score = sum(wf * xf for wf, xf in zip(w, x, strict=True))
    return min(r for r in range(1, len(b) + 1) if score - b[r - 1] < 0)


def train(documents, n_labels):
    """Weights, thresholds b_1, ..., b_{K-1} and the sum of all rank losses, for pairs of x and rank y."""
    w, b, loss = [0.0] * len(documents[0][0]), [0.0] * (n_labels - 1) + [math.inf], 0
    for x, y in documents:
        predicted = predict(x, w, b)
        if predicted == y:
            continue
        loss += abs(predicted - y)
        score = sum(wf * xf for wf, xf in zip(w, x, strict=True))
        taus = []
        for r in range(1, n_labels):
            y_r = -1 if y <= r else 1
            taus.append(y_r if (score - b[r - 1]) * y_r <= 0 else 0)
        w = [wf + sum(taus) * xf for wf, xf in zip(w, x, strict=True)]
        b = [br - tau for br, tau in zip(b, taus, strict=False)] + [math.inf]
    return w, b[:-1], loss
