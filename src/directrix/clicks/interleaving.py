"""`interleave`: one list from the rankings of two or more rankers, and the credit of its clicks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from directrix.data.trec.join import run_of
from directrix.data.trec.runs import Run
from directrix.errors import NO_ITEMS, Advice, InputError, short_text
from directrix.parameters import check_choice, number, seed_number, whole
from directrix.tables import ShowsTables, Table, json_value
from directrix.types import Float64Array, Int64Array

# Steepness of probabilistic interleaving, as published: P(document) is proportional to rank^-3.
_TAU = 3.0
# Largest number of documents of an optimized list. There are up to 2^k lists, and each is a variable of the
# program.
_LONGEST = 16
# The linear program has this error, so a list with a smaller probability counts as impossible.
_ROUNDING = 1e-9

Rankings: TypeAlias = Sequence[Sequence[Hashable]]


class PossibleList(NamedTuple):
    """A list that optimized interleaving may show, its probability, and the credit of each document.

    A click supports the first ranker if its credit is positive, and the second if it is negative.
    """

    documents: tuple[Hashable, ...]
    probability: float
    credits: tuple[int, ...]


Draft: TypeAlias = tuple[dict[Hashable, int | None], Any, tuple[PossibleList, ...]]
"""The credited documents and their teams, their credits (n_docs, n_rankers), and a distribution."""


@dataclass(frozen=True, eq=False)
class InterleavedList(ShowsTables):
    """One list to show, and the credit of clicks; made by `interleave`.

    Parameters
    ----------
    method : str
    rankers : tuple of str
    documents : tuple
        Documents from the top.
    teams : tuple of str or None
        Ranker that contributed each document; None in optimized lists, and for documents without credit,
        which follow the end of a ranking.
    ranks : int64 (n_docs, n_rankers)
        Rank of each document in each ranking, 0 where it is absent.
    credits : float64 (n_docs, n_rankers)
        Credit for a click on each document; 0 in balanced lists, where it depends on the other clicks.
    distribution : tuple of PossibleList
        All lists that could be shown; () for other methods than "optimized".
    """

    method: str
    rankers: tuple[str, ...]
    documents: tuple[Hashable, ...]
    teams: tuple[str | None, ...]
    ranks: Int64Array
    credits: Float64Array
    distribution: tuple[PossibleList, ...]

    def credit(self, clicks: Any) -> dict[str, float]:
        """Return the credit of each ranker, given 0 or 1 for each of ``documents``, (n_docs,).

        Raises `InputError` if ``clicks`` are anything else.
        """
        try:
            clicked = np.asarray(clicks, dtype=np.float64)
        except (*NO_ITEMS, ValueError):
            clicked = np.full(1, np.nan)
        if clicked.shape != (len(self.documents),) or not np.isin(clicked, (0.0, 1.0)).all():
            raise InputError(
                f"clicks={short_text(clicks)}: clicks must be 0 or 1 for each of {len(self.documents)} "
                "documents; give e.g. [document in clicked for document in interleaved.documents]."
            )
        credits = self.credits
        # Clicks count down to the smallest depth at which one of the rankings has the lowest click.
        if self.method == "balanced":
            counted = [i for i in np.flatnonzero(clicked) if self.teams[i] is not None]
            depth = min(rank for rank in self.ranks[counted[-1]] if rank) if counted else 0
            credits = ((self.ranks > 0) & (self.ranks <= depth)).astype(np.float64)
        return dict(zip(self.rankers, (clicked @ credits).tolist(), strict=True))

    def tables(self) -> tuple[Table, ...]:
        """Return the list with its teams and credits, and the distribution where there is one."""
        heads = ("position", "document", "team", *(f"credit of {name}" for name in self.rankers))
        columns = range(1, len(self.documents) + 1), map(str, self.documents), self.teams
        rows = tuple((*row, *credits) for *row, credits in zip(*columns, self.credits.tolist(), strict=True))
        shown = Table(f"Interleaved list, {self.method}", heads, rows)
        note = f"Positive credits support {self.rankers[0]}, negative ones {self.rankers[1]}."
        possible = Table(
            "Lists that could be shown",
            ("list", "probability", "credits"),
            tuple((" ".join(map(str, d)), p, " ".join(map(str, c))) for d, p, c in self.distribution),
            notes=(note,),
        )
        return (shown, possible) if self.distribution else (shown,)

    def to_dict(self) -> dict[str, Any]:
        """Return the result in JSON types; documents are text."""
        lists = [
            possible._asdict() | {"documents": list(map(str, possible.documents))}
            for possible in self.distribution
        ]
        fields = vars(self) | {"documents": list(map(str, self.documents)), "distribution": lists}
        return dict(json_value(fields))


def interleave(
    a: Any, b: Any, method: str = "team-draft", *, others: Sequence[Any] = (), k: int = 10, seed: int = 0
) -> InterleavedList | dict[str, InterleavedList]:
    r"""Merge rankings into one list whose clicks tell which ranker is better.

    - ``"team-draft"``: in each round the rankers in random order add their best document that the list lacks;
      its clicks are credited to the ranker that added it.
    - ``"balanced"``: the rankings are merged by rank, a random one first. Credit is the number of clicks in
      the top d of each ranking, d the smallest depth at which one of them has the lowest click.
    - ``"probabilistic"``: for each position a random ranker r draws a document d that the list lacks, with
      P_r(d) proportional to rank^-3. A click gives every ranker the probability that it drew d,
      P_r(d) / sum_s P_s(d).
    - ``"optimized"``: the list is drawn from a distribution over all lists that continue with the next
      document of either ranking. A click gives rank_b(d) - rank_a(d) to ``a``, or the opposite to ``b``; an
      absent document has the rank after the last.

    Parameters
    ----------
    a, b : sequence of documents, best first, or Run, path or frame of a run
        Rankings of one query by two rankers, or their runs.
    method : {"team-draft", "balanced", "probabilistic", "optimized"}
    others : sequence
        Further rankings or runs, for "team-draft" (multileaving) and "probabilistic".
    k : int >= 1
        Number of documents to show; at most 16 for "optimized".
    seed : int >= 0
        Seed of the random choices; use a different one for each impression.

    Returns
    -------
    InterleavedList, or dict of query to InterleavedList
        The latter for runs, whose tags name the rankers; rankings are called A, B, ...

    Raises
    ------
    InputError
        If a ranking repeats a document, tags are the same, or an argument is out of range.

    Notes
    -----
    After the end of a shorter ranking, other documents follow by their best rank, without credit, which would
    favor longer rankings. Therefore random clicks, at any rate for each position, give all rankers the same
    expected credit, except with "balanced" (Radlinski and Craswell 2013).

    The distribution of "optimized" has expected credit 0 at every position and, among such distributions, the
    largest expected entropy of the winner for one click with probability proportional to 1 / position. It
    exists for all pairs of rankings of up to four documents, and for all longer ones that were tried. Ranks
    beyond the length of the shorter ranking do not count. Cost: a linear program of up to 2^k variables.

    Sources: Joachims (2002); Radlinski, Kurup and Joachims (2008), doi:10.1145/1458082.1458092; Hofmann,
    Whiteson and de Rijke (2011), doi:10.1145/2063576.2063618; Radlinski and Craswell (2013),
    doi:10.1145/2433396.2433429; multileaving Schuth et al. (2014), doi:10.1145/2661829.2661952.

    Examples
    --------
    >>> import directrix as dx
    >>> shown = dx.clicks.interleave(["d1", "d2"], ["d2", "d3"], seed=3)
    >>> shown.documents, shown.teams
    (('d2', 'd1', 'd3'), ('B', 'A', None))
    >>> shown.credit([0, 1, 0])
    {'A': 1.0, 'B': 0.0}
    """
    inputs = [a, b, *others]
    check_choice(method, "method", METHODS)
    if method in ("balanced", "optimized") and others:
        raise InputError(f"method={method!r} takes 2 rankings, got {len(inputs)}; type method='team-draft'.")
    k, seed = whole(k, "k", "interleave"), seed_number(seed)
    if method == "optimized":
        number(k, "k", "interleave", most=_LONGEST, example=10)
    if all(isinstance(ranking, list | tuple | np.ndarray) for ranking in inputs):
        names = tuple(chr(ord("A") + i) for i in range(len(inputs)))
        return _interleave([list(ranking) for ranking in inputs], names, method, k, (seed, 0))
    return _interleave_runs([run_of(run) for run in inputs], method, k, seed)


def _interleave_runs(runs: Sequence[Run], method: str, k: int, seed: int) -> dict[str, InterleavedList]:
    names = tuple(run.tag for run in runs)
    if len({*names}) < len(names):
        raise InputError(
            f"the runs have the tags {', '.join(names)}; each ranker needs its own.",
            Advice("run-name"),
        )
    # Documents with the same score are ranked as in `write_trec_run`.
    rankings = [
        {
            query: run.doc_ids[first:last][np.argsort(-run.scores[first:last], kind="stable")].tolist()
            for query, first, last in zip(run.query_ids, run.qptr[:-1], run.qptr[1:], strict=True)
        }
        for run in runs
    ]
    return {
        query: _interleave([ranking.get(query, []) for ranking in rankings], names, method, k, (seed, q))
        for q, query in enumerate(dict.fromkeys(query for run in runs for query in run.query_ids))
    }


def _interleave(
    rankings: Rankings, names: tuple[str, ...], method: str, k: int, seed: tuple[int, int]
) -> InterleavedList:
    places: list[dict[Hashable, int]] = []
    for name, ranking in zip(names, rankings, strict=True):
        try:
            places.append({document: rank for rank, document in enumerate(ranking, start=1)})
        except TypeError as error:
            raise InputError(f"ranking {name}: {error}; give names of documents.") from None
        if len(places[-1]) < len(ranking):
            raise InputError(
                f"ranking {name} has {len(ranking)} documents, {len(places[-1])} of them different; type "
                "list(dict.fromkeys(ranking))."
            )
    teams, credits, distribution = METHODS[method](rankings, k, np.random.default_rng(seed))
    best = {d: min(rank[d] for rank in places if d in rank) for ranking in rankings for d in ranking}
    # The documents after the end of a ranking follow by their best rank, without credit.
    rest = sorted(best.keys() - teams.keys(), key=lambda d: (best[d], [rank.get(d, 0) for rank in places]))
    documents = (*teams, *rest[: k - len(teams)])
    ranks = [[rank.get(d, 0) for rank in places] for d in documents]
    shape = len(documents), len(names)
    padded = np.zeros(shape)
    padded[: len(teams)] = np.reshape(credits, (-1, len(names)))
    return InterleavedList(
        method,
        names,
        documents,
        tuple(None if (team := teams.get(d)) is None else names[team] for d in documents),
        np.array(ranks, dtype=np.int64).reshape(shape),
        padded,
        distribution,
    )


def _team_draft(rankings: Rankings, k: int, rng: np.random.Generator) -> Draft:
    """Draft while all rankers can take part in any order, so that the order gives them equal chances.

    A ranker can take part if it has more documents left than there are others that could take one of these
    before it. Otherwise a round has as many picks as this ranker has documents, possibly none.
    """
    n = len(rankings)
    teams: dict[Hashable, int | None] = {}
    while len(teams) < k:
        left = [list(islice((d for d in ranking if d not in teams), n)) for ranking in rankings]
        rivals = [
            sum(not {*rest}.isdisjoint(other[: n - 1]) for other in left if other is not rest)
            for rest in left
        ]
        lengths = [len(rest) for rest in left]
        picks = min([n, *(size for size, others in zip(lengths, rivals, strict=True) if size <= others)])
        if not picks:
            break
        for ranker in rng.permutation(n)[: min(picks, k - len(teams))].tolist():
            teams[next(d for d in left[ranker] if d not in teams)] = ranker
    return teams, np.eye(n)[[team for team in teams.values() if team is not None]], ()


def _balanced(rankings: Rankings, k: int, rng: np.random.Generator) -> Draft:
    teams: dict[Hashable, int | None] = {}
    first = int(rng.integers(2))
    for depth in range(min(map(len, rankings))):
        for ranker in (first, 1 - first):
            teams.setdefault(rankings[ranker][depth], ranker)
    teams = dict(islice(teams.items(), k))
    return teams, np.zeros((len(teams), 2)), ()


def _probabilistic(rankings: Rankings, k: int, rng: np.random.Generator) -> Draft:
    documents = list(dict.fromkeys(d for ranking in rankings for d in ranking))
    column = {document: i for i, document in enumerate(documents)}
    weights = np.zeros((len(rankings), len(documents)))
    for row, ranking in zip(weights, rankings, strict=True):
        row[[column[d] for d in ranking]] = np.arange(1.0, len(ranking) + 1.0) ** -_TAU
    teams: dict[Hashable, int | None] = {}
    credits = []
    while len(teams) < k and weights.any(axis=1).all():
        chances = weights / weights.sum(axis=1, keepdims=True)
        ranker = int(rng.integers(len(rankings)))
        drawn = int(rng.choice(len(documents), p=chances[ranker]))
        teams[documents[drawn]] = ranker
        credits.append(chances[:, drawn] / chances[:, drawn].sum())
        weights[:, drawn] = 0.0
    return teams, credits, ()


def _optimized(rankings: Rankings, k: int, rng: np.random.Generator) -> Draft:
    """Draw from the most sensitive distribution over lists with expected credit 0 at each position."""
    from scipy.optimize import linprog
    from scipy.special import entr

    length = min(map(len, rankings))
    ranks = [{d: rank for rank, d in enumerate(ranking[:length], start=1)} for ranking in rankings]
    lists: list[tuple[Hashable, ...]] = [()]
    for _ in range(min(k, len({*ranks[0], *ranks[1]}))):
        nexts = [[next((d for d in rank if d not in top), None) for rank in ranks] for top in lists]
        lists = [
            (*top, d)
            for top, choices in zip(lists, nexts, strict=True)
            for d in dict.fromkeys(choices)
            if d is not None
        ]
    credits = [tuple(ranks[1].get(d, length + 1) - ranks[0].get(d, length + 1) for d in ds) for ds in lists]
    by_list = np.array(credits, dtype=np.float64)
    clicked = 1.0 / np.arange(1.0, by_list.shape[1] + 1.0)
    clicked /= clicked.sum()
    wins, losses = (by_list > 0.0) @ clicked, (by_list < 0.0) @ clicked
    # This is the entropy of the winner where there is one, times the probability that there is one.
    sensitivity = entr(wins) + entr(losses) - entr(wins + losses)
    constraints = np.vstack([by_list.T, np.ones(len(lists))])
    values = np.append(np.zeros(by_list.shape[1]), 1.0)
    chances = linprog(-sensitivity, A_eq=constraints, b_eq=values, method="highs").x.tolist()
    possible = [PossibleList(*row) for row in zip(lists, chances, credits, strict=True) if row[1] > _ROUNDING]
    shares = np.array([candidate.probability for candidate in possible])
    shown = possible[int(rng.choice(len(possible), p=shares / shares.sum()))]
    both = [(max(credit, 0), max(-credit, 0)) for credit in shown.credits]
    return dict.fromkeys(shown.documents), both, tuple(possible)


METHODS: dict[str, Callable[[Rankings, int, np.random.Generator], Draft]] = {
    "team-draft": _team_draft,
    "balanced": _balanced,
    "probabilistic": _probabilistic,
    "optimized": _optimized,
}
"""Methods of interleaving by name."""
