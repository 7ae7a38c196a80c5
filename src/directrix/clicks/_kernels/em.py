"""One pass of expectation maximization for click models."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel


@kernel
def pass_over_cells(ptr, group, n, c, first, last, examination, prior, attraction, updated, relevant, value):
    r"""Update attractions, and collect the expected relevance by group, for P(click) = theta_t r_i.

    A document is relevant if it was clicked, and with probability r (1 - theta) / (1 - theta r) if not. The
    next r is the mean of its posterior relevance; the next theta is clicks / expected relevant impressions.

    Parameters
    ----------
    ptr : int64 (n_pairs + 1,)      boundaries of the cells of each pair
    group : int32 (n_cells,)        t: a position, or a position and the last click above
    n, c : float64 (n_cells,)       impressions and clicks, any weights >= 0
    first, last : int               the chunk of pairs
    examination : float64 (n_groups,)  theta
    prior : float64 (2,)            pseudo-counts of relevant and of other documents
    attraction : float64 (n_pairs,) r
    updated : float64 (n_pairs,)    out; the next r
    relevant : float64 (n_groups,)  out; expected relevant impressions, added
    value : float64 (1,)            out; log-likelihood of the chunk, added

    Notes
    -----
    O(n_cells). The position-based model of Richardson et al. (2007) and the user browsing model of Dupret &
    Piwowarski (2008), with examination summed out, which takes fewer passes.
    """
    total = 0.0
    for i in range(first, last):
        r, above, below = attraction[i], prior[0], prior[0] + prior[1]
        for j in range(ptr[i], ptr[i + 1]):
            theta, clicks = examination[group[j]], c[j]
            missed = n[j] - clicks
            expected = clicks
            if clicks > 0.0:
                total += clicks * math.log(theta * r)
            if missed > 0.0:
                expected += missed * r * (1.0 - theta) / (1.0 - theta * r)
                total += missed * math.log1p(-theta * r)
            above += expected
            below += n[j]
            relevant[group[j]] += expected
        if below > 0.0:
            updated[i] = above / below
    value[0] += total


@kernel
def pass_over_sessions(ptr, pair, click, first, last, attraction, satisfaction, perseverance, sums, of_chunk):
    r"""Collect the sums of one pass for the dynamic Bayesian network of Chapelle & Zhang (2009).

    A user examines a document, clicks with probability a, is then satisfied with probability s and stops, and
    goes on with probability gamma otherwise. Rows above the last click were examined. Below it, backward sums
    T_m = (1 - a_m)(1 - gamma + gamma T_{m+1}) give the probability that a user who examines row m clicks no
    more; a forward pass gives the posterior examination.

    Parameters
    ----------
    ptr : int64 (n_sessions + 1,)
    pair : int32 (n_rows,)
    click : bool (n_rows,)
    first, last : int                 the chunk of sessions, whole queries
    attraction, satisfaction : float64 (n_pairs,)
    perseverance : float              gamma
    sums : float64 (4, n_pairs)       out; clicks, examined, satisfied, last or earlier clicks
    of_chunk : float64 (3,)           out; went on, could go on, log-likelihood

    Notes
    -----
    O(n_rows).
    """
    longest = 1
    for s in range(first, last):
        longest = max(longest, ptr[s + 1] - ptr[s])
    silent = np.empty(longest + 1)
    for s in range(first, last):
        begin, end = ptr[s], ptr[s + 1]
        bottom = begin - 1
        for row in range(begin, end):
            if click[row]:
                bottom = row
        silent[end - begin] = 1.0
        for row in range(end - 1, bottom, -1):
            below = 1.0 - perseverance + perseverance * silent[row + 1 - begin]
            silent[row - begin] = (1.0 - attraction[pair[row]]) * below
        value = 0.0
        for row in range(begin, bottom + 1):
            i = pair[row]
            sums[1, i] += 1.0
            if click[row]:
                sums[0, i] += 1.0
                value += math.log(attraction[i])
            else:
                value += math.log1p(-attraction[i])
            if row < bottom:
                if click[row]:
                    sums[3, i] += 1.0
                    value += math.log1p(-satisfaction[i])
                value += math.log(perseverance)
                of_chunk[0] += 1.0
                of_chunk[1] += 1.0
        examined = 1.0
        if bottom >= begin and bottom < end - 1:
            i = pair[bottom]
            on = (1.0 - satisfaction[i]) * perseverance * silent[bottom + 1 - begin]
            total = satisfaction[i] + (1.0 - satisfaction[i]) * (1.0 - perseverance) + on
            sums[2, i] += satisfaction[i] / total
            sums[3, i] += 1.0
            examined = on / total
            of_chunk[0] += examined
            of_chunk[1] += 1.0 - satisfaction[i] / total
            value += math.log(total)
        elif bottom < begin:
            value += math.log(silent[0])
        for row in range(bottom + 1, end):
            sums[1, pair[row]] += examined
            if row < end - 1:
                on = perseverance * silent[row + 1 - begin]
                of_chunk[1] += examined
                examined *= on / (1.0 - perseverance + on)
                of_chunk[0] += examined
        of_chunk[2] += value
