"""One pass of PRank's perceptron over the documents, dense and CSR."""

from directrix.kernels import kernel


@kernel
def _correct(score, level, thresholds):
    """Move the thresholds that a document of this level is on the wrong side of; return errors and step of w.

    A document belongs above the first ``level`` thresholds; level r is predicted if r thresholds are at most
    the score. Errors are the number of levels between the two.
    """
    predicted, step = 0, 0
    for threshold in thresholds:
        predicted += score >= threshold
    if predicted != level:  # else nothing moves, even where a threshold is exactly reached
        for r in range(len(thresholds)):
            side = 1 if r < level else -1
            if (score - thresholds[r]) * side <= 0.0:
                thresholds[r] -= side
                step += side
    return abs(predicted - level), step


@kernel
def dense_pass(X, levels, order, w, thresholds):
    """Correct w and the thresholds, in place, after each document in this order; return the errors made.

    Parameters
    ----------
    X : float (n_docs, n_features)
    levels : int64 (n_docs,)        rank of the document's label among all labels, from 0
    order : int64 (n,)              documents in the order of their use
    w : float64 (n_features,)
    thresholds : float64 (n_levels - 1,)

    Returns
    -------
    int
        Sum of the errors of all predictions, each made before its correction.
    """
    total = 0
    for i in order:
        score = 0.0
        for f in range(len(w)):
            score += X[i, f] * w[f]
        errors, step = _correct(score, levels[i], thresholds)
        total += errors
        if step != 0:
            for f in range(len(w)):
                w[f] += step * X[i, f]
    return total


@kernel
def sparse_pass(data, indices, indptr, absent, levels, order, w, thresholds):
    """`dense_pass` for CSR rows, in which ``absent`` (n_features,) is the value of what is not stored.

    A row is ``absent`` and what its entries add to it, so a correction adds a multiple of ``absent`` to w.
    Only entries are touched: w lacks these multiples until the end, and ``base`` is their score.
    """
    total, missing, base, square = 0, 0.0, 0.0, 0.0
    for f in range(len(w)):
        base += absent[f] * w[f]
        square += absent[f] * absent[f]
    for i in order:
        score = base
        for p in range(indptr[i], indptr[i + 1]):
            f = indices[p]
            score += (data[p] - absent[f]) * (w[f] + missing * absent[f])
        errors, step = _correct(score, levels[i], thresholds)
        total += errors
        if step != 0:
            for p in range(indptr[i], indptr[i + 1]):
                f = indices[p]
                w[f] += step * (data[p] - absent[f])
                base += step * (data[p] - absent[f]) * absent[f]
            missing += step
            base += step * square
    for f in range(len(w)):
        w[f] += missing * absent[f]
    return total
