"""The text of the reproduction of Yue et al. (2007), in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.experiments.yue2007.protocol import Settings
from directrix.experiments.yue2007.results import ColumnResult
from directrix.reports.report import Section

__all__ = ["MISSING", "PAPER", "TITLE", "differs", "how", "sections", "summary"]

TITLE = "Yue et al. (2007) on TREC-7"

PAPER = """\
Yue, Finley, Radlinski and Joachims (2007), "A support vector method for optimizing average precision",
SIGIR, https://doi.org/10.1145/1277741.1277790, ask whether an SVM that bounds 1 - AP (SVMmap) ranks better
than the runs that its features are made of, and than SVMs that bound the area above the ROC curve (SVMroc) or
classify documents (SVMacc and three variants). Here are their tables, on other data."""

MISSING = (
    (
        "TREC 9 and TREC 10",
        "the runs of their web tracks are not at hand; those of TREC-7's ad hoc track stand in.",
    ),
    (
        "the rankings of a topic, side by side",
        "the value of a topic is a mean over the trials that test it, each with a model of its own.",
    ),
)

_BELOW = """\
"Better" and "worse": p < .05, more topics won than lost, or fewer; each comparison is tested by itself.
TREC-7 is not the data of the paper, so the order of the methods may be compared with it, MAP itself not."""

_SETS = """\
- Data sets: {sets}. "Without the best": the features lack the run with the highest MAP, which
  is still compared with."""

_HOW = (
    """\
- Data: runs of single retrieval functions for the topics of TREC-7's ad hoc track, `basic-` with stemming
  and a stop list, `plain-` without either. The documents of a topic are the union of what the runs of the
  data set retrieved, at most 1,000 each. {topics} topics are tested.""",
    """\
- Features: [score > threshold] for up to {grid.bins} thresholds a run. Those of scores lie where the training
  topics are sensitive (`RunScores.thresholds`), those of percentiles (SVMacc3) and of scores scaled
  to 0..1 within their topic (SVMacc4) evenly within (0, 1).""",
    """\
- {settings.trials} trials, seed {settings.seed}: {settings.n_train} topics train, {settings.n_valid} choose
  C by MAP (the smallest of equals), the others test. Topics serve in each part equally often if the number of
  trials is a multiple of 10 (decision 0083).""",
    """\
- C of SVMmap and SVMroc (1/2 |w|^2 + C/n sum xi): {hinge_c};
  to a gap of {grid.epsilon:g} of the mean hinge.""",
    """\
- C of the classification (1/2 |w|^2 + C times the sum over documents of the {loss}): {accuracy_c};
  of SVMacc2, where relevant documents weigh more, {balanced_c}.""",
    """\
- AP divides by all relevant documents of the judgements, as trec_eval does, for models and runs alike.
  Documents that no run retrieved earn nothing, and take no part in training. A model orders the whole
  union, a run its own documents. Equal scores count by expectation.""",
    """\
Training and measuring took {hours:.1f} hours of one core. Of {trainings:,} trainings {unconverged} ended
before their criterion was met.""",
)

_DIFFERS = (
    """\
- Other topics and runs: the ad hoc track of TREC-7 in place of the web tracks of TREC 9 and 10. "basic" and
  "plain + basic" stand where the paper has its own index functions, "all" and "all without the best" where it
  has submissions of many teams; here these are retrieval functions, too.""",
    "- The classifiers of the paper minimise the hinge, these the {loss} (decision 0084).",
    """\
- Where the paper says "reasonably spaced" and "a wide range of C", the rules are those above. The ranges of C
  were settled with MAP of the test topics of a few trials in view (decision 0084); within them validation
  alone chooses.""",
)


def summary(found: Sequence[ColumnResult]) -> tuple[str, ...]:
    """What SVMmap is better and worse than, a data set an item."""
    return (*map(_in_short, found), _BELOW)


def sections(found: Sequence[ColumnResult], settings: Settings) -> tuple[Section, ...]:
    """The heads of the tables; what their figures mean stands in the notes under the first."""
    sets = ", ".join(f"{column.name} ({column.n_runs} runs)" for column in found)
    choices = (
        f"Validation on {settings.n_valid} topics chooses C in every trial. Three tables say how often it\n"
        "chose which, three what each C was worth on the test topics."
    )
    reading = (
        _SETS.format(sets=sets),
        "- The best runs are those of the highest MAP over all topics, known only once these are judged.",
    )
    return (
        Section("How to read the tables", text=reading),
        Section("Against single runs", 3),
        Section("Against other SVMs", 3),
        Section("Which C", 6, (choices,)),
    )


def how(found: Sequence[ColumnResult], settings: Settings) -> tuple[str, ...]:
    """What was done."""
    grid = settings.grid
    values = {
        "topics": max(len(column.topics) for column in found),
        "settings": settings,
        "grid": grid,
        "hinge_c": _listed(grid.hinge_c),
        "accuracy_c": _listed(grid.accuracy_c),
        "balanced_c": _listed(grid.balanced_c),
        "loss": _loss(settings),
        "hours": sum(sum(column.seconds.values()) for column in found) / 3600,
        "trainings": sum(settings.trials * len(grid) for column in found for grid in column.chosen.values()),
        "unconverged": sum(sum(column.not_converged.values()) for column in found),
    }
    needs = "DIR holds `trec7/qrels.trec7.txt` and `trec7/runs`."
    return (*(text.format(**values) for text in _HOW), needs)


def differs(settings: Settings) -> tuple[str, ...]:
    """What differs from the paper."""
    return tuple(text.format(loss=_loss(settings)) for text in _DIFFERS)


def _loss(settings: Settings) -> str:
    return settings.grid.accuracy_loss.replace("_", " ")


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
