"""Boosting of stumps and of features, pair by pair and query by query, as the papers write it."""

import numpy as np


def pairs_of(labels, qptr):
    """(i, j, q) with label i > label j in query q."""
    for q in range(len(qptr) - 1):
        for i in range(qptr[q], qptr[q + 1]):
            for j in range(qptr[q], qptr[q + 1]):
                if labels[i] > labels[j]:
                    yield i, j, q


def pair_weights(labels, qptr, query_weight, doc_weight, alike):
    """D of every pair: uniform over pairs, or over queries and their pairs, times weights."""
    weight = {}
    for i, j, q in pairs_of(labels, qptr):
        weight[i, j] = doc_weight[i]
        if alike:
            weight[i, j] /= sum(doc_weight[a] for a, _, other in pairs_of(labels, qptr) if other == q)
        weight[i, j] *= query_weight[q]
    total = sum(weight.values())
    return {pair: w / total for pair, w in weight.items()}


def stumps_of(X, thresholds):
    """h(x) of every threshold function, in the order of the parameters."""
    return [(X[:, f] > t).astype(float) for f, row in enumerate(thresholds) for t in row]


def rankboost(D, stumps, rounds, n_params, n_docs):
    """Freund et al. (2003), Figure 1 with the third method of Section 3.2; keeps D explicitly."""
    D = dict(D)
    params, losses, least = np.zeros(n_params), [], 1.0 / len(D)
    scores = np.zeros(n_docs)
    start = dict(D)
    for _ in range(rounds):
        losses.append(sum(d * np.exp(scores[j] - scores[i]) for (i, j), d in start.items()))
        r = np.array([sum(d * (h[i] - h[j]) for (i, j), d in D.items()) for h in stumps])
        best = int(np.argmax(abs(r)))
        alpha = 0.5 * np.log((1 + r[best] + least) / (1 - r[best] + least))
        params[best] += alpha
        scores += alpha * stumps[best]
        D = {(i, j): d * np.exp(-alpha * (stumps[best][i] - stumps[best][j])) for (i, j), d in D.items()}
        z = sum(D.values())
        D = {pair: d / z for pair, d in D.items()}
    losses.append(sum(d * np.exp(scores[j] - scores[i]) for (i, j), d in start.items()))
    return params, losses


def fidelity(D, scores):
    """Tsai et al. (2007), Eq. 5."""
    return sum(d * (1 - (1 / (1 + np.exp(scores[j] - scores[i]))) ** 0.5) for (i, j), d in D.items())


def frank(D, stumps, rounds, smooth, n_docs):
    """Tsai et al. (2007), Section 3.3: the step of each stump in closed form, the lowest loss wins."""
    params, scores, losses = np.zeros(len(stumps)), np.zeros(n_docs), []
    for _ in range(rounds):
        losses.append(fidelity(D, scores))
        won, lost = np.zeros(len(stumps)), np.zeros(len(stumps))
        for (i, j), d in D.items():
            e = np.exp(scores[j] - scores[i])
            w = d * e / (1 + e) ** 1.5
            for p, h in enumerate(stumps):
                won[p] += w * (h[i] - h[j] == 1)
                lost[p] += w * (h[i] - h[j] == -1)
        least = smooth * (won + lost).max()
        alpha = 0.5 * np.log((won + least) / (lost + least))
        loss = [fidelity(D, scores + a * h) for a, h in zip(alpha, stumps, strict=True)]
        best = int(np.argmin(loss))
        params[best] += alpha[best]
        scores += alpha[best] * stumps[best]
    losses.append(fidelity(D, scores))
    return params, losses


def adarank(measure, X, labels, qptr, rounds):
    """Xu & Li (2007), Figure 2."""
    m, params = len(qptr) - 1, np.zeros(X.shape[1])
    P = np.exp(-measure(np.zeros(len(X)), labels, qptr))
    P /= P.sum()
    for _ in range(rounds):
        E = [measure(X[:, f], labels, qptr) for f in range(X.shape[1])]
        f = int(np.argmax([sum(P[i] * E[f][i] for i in range(m)) for f in range(X.shape[1])]))
        params[f] += 0.5 * np.log(sum(P * (1 + E[f])) / sum(P * (1 - E[f])))
        P = np.exp(-measure(X @ params, labels, qptr))
        P /= P.sum()
    return params
