"""One pass of expectation maximization for click models."""

from __future__ import annotations

import math

import numpy as np

from directrix.kernels import kernel


@kernel
def pass_over_cells(ptr, index, n, c, first, last, relevant, other, prior, attraction, updated, sums):
    r"""Update attractions, and collect sums for the clicks by group, from counts with a latent relevance.

    .. math:: P(c = 1) = r_i\, g_t + (1 - r_i)\, h_t

    for pair i and group t of a cell; g = ``relevant`` and h = ``other`` are the probabilities of a click on
    a relevant and on another document. Then r, g and h become means of the posterior relevance.

    Parameters
    ----------
    ptr : int64 (n_pairs + 1,)      boundaries of the cells of each pair
    index : int32 (n_cells,)        group of each cell: a position, or a position and the last click above
    n, c : float64 (n_cells,)       impressions and clicks, any weights >= 0
    first, last : int               the chunk of pairs
    relevant, other : float64 (n_groups,)
    prior : float64 (2,)            pseudo-counts of relevant and of other documents
    attraction : float64 (n_pairs,) r
    updated : float64 (n_pairs,)    out; the next r
    sums : float64 (5, n_groups)    out; by group: relevant clicks, relevant, clicks, impressions; then
                                    ``sums[4, 0]`` the log-likelihood of the chunk

    Notes
    -----
    O(n_cells). With h = 0 this is the position-based model of Richardson et al. (2007), or the user browsing
    model of Dupret & Piwowarski (2008), with examination summed out of the expectation.
    """
    value = 0.0
    for i in range(first, last):
        r, above, below = attraction[i], prior[0], prior[0] + prior[1]
        for j in range(ptr[i], ptr[i + 1]):
            t = index[j]
            p = r * relevant[t] + (1.0 - r) * other[t]
            clicked = relevant_clicks = rest = 0.0
            clicked = c[j]
            if clicked > 0.0:
                relevant_clicks = clicked * r * relevant[t] / p
                value += clicked * math.log(p)
            if n[j] > clicked:
                rest = (n[j] - clicked) * r * (1.0 - relevant[t]) / (1.0 - p)
                value += (n[j] - clicked) * math.log1p(-p)
            above += relevant_clicks + rest
            below += n[j]
            sums[0, t] += relevant_clicks
            sums[1, t] += relevant_clicks + rest
            sums[2, t] += clicked
            sums[3, t] += n[j]
        if below > 0.0:
            updated[i] = above / below
    sums[4, 0] += value


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
