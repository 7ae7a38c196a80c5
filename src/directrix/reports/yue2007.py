"""Tables 6 to 11 of Yue et al. (2007), on TREC-7, and the page that shows them."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.experiments.significance import Paired
from directrix.experiments.yue2007.collection import ALL, WITHOUT_BEST
from directrix.experiments.yue2007.protocol import Settings
from directrix.experiments.yue2007.results import ColumnResult, Figure
from directrix.reports.tables import Table, Value, notes_once

__all__ = ["SOURCE", "page", "tables"]

SOURCE = (
    'Yue, Finley, Radlinski and Joachims (2007), "A support vector method for optimizing average\n'
    'precision", SIGIR, https://doi.org/10.1145/1277741.1277790'
)

_Published = tuple[tuple[float, str, float, str], ...]
_FIRST = ("basic", "plain + basic")
_PUBLISHED: dict[int, tuple[str, tuple[str, ...], _Published]] = {
    6: (
        "Comparison with base functions",
        _FIRST,
        (
            (0.242, "", 0.236, ""),
            (0.204, "39/11 **", 0.181, "37/13 **"),
            (0.199, "38/12 **", 0.174, "43/7 **"),
            (0.188, "34/16 **", 0.174, "38/12 **"),
        ),
    ),
    7: (
        "Comparison with base functions, all runs",
        (ALL,),
        (
            (0.290, "", 0.287, ""),
            (0.280, "28/22", 0.283, "29/21"),
            (0.269, "30/20", 0.251, "36/14 **"),
            (0.266, "30/20", 0.233, "36/14 **"),
        ),
    ),
    8: (
        "Comparison with base functions, trained without the best run",
        (WITHOUT_BEST,),
        (
            (0.284, "", 0.288, ""),
            (0.280, "27/23", 0.283, "31/19"),
            (0.269, "30/20", 0.251, "36/14 **"),
            (0.266, "30/20", 0.233, "35/15 **"),
        ),
    ),
    9: (
        "Comparison with previous SVM methods",
        _FIRST,
        (
            (0.242, "", 0.236, ""),
            (0.237, "29/21", 0.234, "24/26"),
            (0.147, "47/3 **", 0.155, "47/3 **"),
            (0.219, "39/11 **", 0.207, "43/7 **"),
            (0.113, "49/1 **", 0.153, "45/5 **"),
            (0.155, "48/2 **", 0.155, "48/2 **"),
        ),
    ),
    10: (
        "Comparison with previous SVM methods, all runs",
        (ALL,),
        (
            (0.290, "", 0.287, ""),
            (0.282, "29/21", 0.278, "35/15 **"),
            (0.213, "49/1 **", 0.222, "49/1 **"),
            (0.270, "34/16 **", 0.261, "42/8 **"),
            (0.133, "50/0 **", 0.182, "46/4 **"),
            (0.233, "47/3 **", 0.238, "46/4 **"),
        ),
    ),
    11: (
        "Comparison with previous SVM methods, trained without the best run",
        (WITHOUT_BEST,),
        (
            (0.284, "", 0.288, ""),
            (0.274, "31/19 **", 0.272, "38/12 **"),
            (0.215, "49/1 **", 0.211, "50/0 **"),
            (0.267, "35/15 **", 0.258, "44/6 **"),
            (0.133, "50/0 **", 0.174, "46/4 **"),
            (0.228, "46/4 **", 0.234, "45/5 **"),
        ),
    ),
}
_NOTES = (
    "MAP: mean over topics of the mean over trials, with all relevant documents of the judgements.",
    "W/L: topics on which SVMmap is higher/lower, and level where there are three numbers.",
    "**: p < .05, two-tailed Wilcoxon signed-rank test over the topics.",
    "TREC 9 and TREC 10: as published, of other topics, documents and runs; no figures to be met.",
)


_BY_C = "The mean over trials, whatever validation chose: what a choice without error could gain."

_PAGE = """# Yue et al. (2007) on TREC-7

{source}: SVMmap next to SVMs for the area under the ROC curve and for accuracy, and next to the runs
that their features are made of.

## What was done

- Data: {runs} runs of the ad hoc track of TREC-7 in four data sets, {topics} topics. The documents of a topic
  are the union of what the runs retrieved, at most 1,000 each.
- Features: [score > threshold] for up to {grid.bins} thresholds a run. Those of scores lie where the training
  topics are sensitive (`RunScores.thresholds`), those of percentiles (SVMacc3) and of scores scaled
  to 0..1 within their topic (SVMacc4) evenly within (0, 1).
- {settings.trials} trials, seed {settings.seed}: {settings.n_train} topics train, {settings.n_valid} choose
  C by MAP (the smallest of equals), the others test. Topics serve in each part equally often if the number of
  trials is a multiple of 10 (`directrix.experiments.trials`).
- C of SVMmap and SVMroc (1/2 |w|^2 + C/n sum xi): {hinge_c};
  to a gap of {grid.epsilon:g} of the mean hinge.
- C of the classification (1/2 |w|^2 + C times the sum over documents of the {loss}): {accuracy_c};
  of SVMacc2, where relevant documents weigh more, {balanced_c}.
- AP divides by all relevant documents of the judgements, as trec_eval does, for models and runs alike.
  Documents that no run retrieved earn nothing, and take no part in training. A model orders the whole
  union, a run its own documents. Equal scores count by expectation.

## What differs from the paper

- Other topics and runs: the ad hoc track of TREC-7 in place of the web tracks of TREC 9 and 10. "basic"
  and "plain + basic" stand where the paper has its own index functions, "all" and "all without the
  best" where it has the submissions.
- The classifiers of the paper minimise the hinge, these the {loss}: decision 0084.
- Where the paper says "reasonably spaced" and "a wide range of C", the rules are those above.

## What was found

{tables}

Training took {hours:.1f} hours of one core; {unconverged} trainings ended before their criterion was met.

## To do it again

<!-- not run: needs the runs of TREC-7, and more time than a test has -->
```console
$ {command}
```

The command writes this page (`page.md`), the tables as text, JSON and LaTeX, every trial (`cells.jsonl`), and
what they depend on (`settings.json`). Stopped and started again it goes on where it was.
"""


def tables(found: Sequence[ColumnResult]) -> tuple[Table, ...]:
    """Tables 6 to 11, how often validation chose each C, and what each C is worth.

    Parameters
    ----------
    found : sequence of ColumnResult
        Of `directrix.experiments.yue2007.results.results`.

    Returns
    -------
    tuple of Table
    """
    by_name = {column.name: column for column in found}
    numbered = [_compared(number, by_name) for number in _PUBLISHED]
    kinds = [
        ("structural SVMs", ["SVMmap", "SVMroc"]),
        ("classification", ["SVMacc", "SVMacc3", "SVMacc4"]),
        ("balanced classification", ["SVMacc2"]),
    ]
    return (
        *numbered,
        *(_chosen(f"How often validation chose each C: {kind}", found, names) for kind, names in kinds),
        *(_by_c(f"MAP of the test topics at each C: {kind}", found, names) for kind, names in kinds),
    )


def page(found: Sequence[ColumnResult], settings: Settings, command: str) -> str:
    """The page of a reproduction, in Markdown.

    Parameters
    ----------
    found : sequence of ColumnResult
        As for `tables`.
    settings : Settings
        What they depend on.
    command : str
        Prints it again.
    """
    grid, total = settings.grid, sum(sum(column.seconds.values()) for column in found)
    return _PAGE.format(
        source=SOURCE,
        runs=max(column.n_runs for column in found),
        topics=max(len(column.topics) for column in found),
        settings=settings,
        grid=grid,
        hinge_c=_listed(grid.hinge_c),
        accuracy_c=_listed(grid.accuracy_c),
        balanced_c=_listed(grid.balanced_c),
        loss=grid.accuracy_loss.replace("_", " "),
        tables="\n\n".join(table.markdown() for table in notes_once(tables(found))),
        hours=total / 3600,
        unconverged=sum(sum(column.not_converged.values()) for column in found),
        command=command,
    )


def _compared(number: int, by_name: dict[str, ColumnResult]) -> Table:
    title, names, published = _PUBLISHED[number]
    columns = [by_name[name] for name in names]
    is_base = number <= 8
    lists = [[c.methods[0], *c.base] if is_base else list(c.methods) for c in columns]
    rows: list[tuple[Value, ...]] = []
    for i, line in enumerate(published[: len(lists[0])]):
        ours = [cell for figures in lists for cell in (figures[i].mean, _wins(figures[i].against))]
        nine, wins_nine, ten, wins_ten = line
        rows.append((lists[0][i].name, *ours, nine, wins_nine or None, ten, wins_ten or None))
    return Table(
        title=f"Table {number}: {title}",
        columns=("model", *["MAP", "W/L"] * (len(columns) + 2)),
        groups=(("", 1), *((name, 2) for name in (*names, "TREC 9", "TREC 10"))),
        rows=tuple(rows),
        notes=(*_NOTES, *(f"Runs of {c.name!r}: {_runs(c.base)}." for c in columns if is_base)),
    )


def _runs(base: Sequence[Figure]) -> str:
    return ", ".join(figure.run for figure in base)


def _wins(against: Paired | None) -> str | None:
    if against is None:
        return None
    counts = [against.wins, against.losses, *([against.ties] if against.ties else [])]
    return "/".join(map(str, counts)) + (" **" if against.p < 0.05 else "")


def _chosen(title: str, found: Sequence[ColumnResult], methods: Sequence[str]) -> Table:
    rows: list[tuple[Value, ...]] = []
    for column in found:
        for method in methods:
            counts = column.chosen[method].values()
            rows.append((column.name, method, *counts, column.seconds[method] / sum(counts)))
    heads = ("data set", "model", *(f"{c:g}" for c in found[0].chosen[methods[0]]), "seconds a trial")
    return Table(title, heads, tuple(rows), digits=1)


def _by_c(title: str, found: Sequence[ColumnResult], methods: Sequence[str]) -> Table:
    rows: list[tuple[Value, ...]] = [
        (column.name, method, *column.by_c[method].values()) for column in found for method in methods
    ]
    heads = ("data set", "model", *(f"{c:g}" for c in found[0].by_c[methods[0]]))
    return Table(title, heads, tuple(rows), notes=(_BY_C,))


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
