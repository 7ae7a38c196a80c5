"""Sentences of the page, in Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from directrix.reports.report import Claim
from directrix.reproductions.text import listed
from directrix.reproductions.yue2007.claims import better
from directrix.reproductions.yue2007.protocol import Results
from directrix.reproductions.yue2007.results import DataSetResult

TITLE = "Yue et al. (2007) on TREC-7"

PAPER = """\
Yue, Finley, Radlinski and Joachims (2007), "A support vector method for optimizing average precision",
SIGIR, https://doi.org/10.1145/1277741.1277790, ask whether an SVM that bounds 1 - AP (SVMmap) ranks better
than the runs that its features are made of, and than SVMs that bound the area above the ROC curve (SVMroc) or
classify documents (SVMacc and three variants). Here are their tables, on other data."""

MISSING = (
    (
        "TREC 9 and TREC 10",
        "The runs of their web tracks are not at hand; those of TREC-7's ad hoc track replace them.",
    ),
    (
        "the rankings of a topic, side by side",
        "The value of a topic is a mean over the trials that test it, each with a model of its own.",
    ),
)

_BELOW = """\
"Better" and "worse": p < .05, and more topics won than lost, or fewer; each comparison is tested by itself.
TREC-7 is not the data of the paper: the order of the methods can be compared with the paper, MAP cannot."""

_HOW = (
    """\
- Data: runs of single retrieval functions for the topics of TREC-7's ad hoc track, `basic-` with stemming
  and a stop list, `plain-` without either. The documents of a topic are the union of what the runs of the
  data set retrieved, at most 1,000 each. {topics} topics are tested.""",
    """\
- Features: [score > threshold] for up to {grid.bins} thresholds per run. Thresholds of scores lie where the
  training topics are sensitive (`RunScores.thresholds`), those of percentiles (SVMacc3) and of scores scaled
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
    "DIR holds `trec7/qrels.trec7.txt` and `trec7/runs`.",
)

_DIFFERS = (
    """\
- Other topics and runs: the ad hoc track of TREC-7 replaces the web tracks of TREC 9 and 10. "basic" and
  "plain + basic" replace the paper's own index functions, "all" and "all without the best" replace the
  submissions of many teams. Here all runs are those of retrieval functions.""",
    "- The classifiers of the paper minimise the hinge, these the {loss} (decision 0084).",
    """\
- The paper says "reasonably spaced" and "a wide range of C"; our rules are those above. MAP of the test
topics
  of a few trials was known when the ranges of C were settled (decision 0084); within them validation alone
  chooses.""",
)


def summary(results: Results, claims: Sequence[Claim]) -> tuple[str, ...]:
    """Say on each data set what SVMmap is better and worse than."""
    return (*map(_of_data_set, results.data_sets), _BELOW)


def _of_data_set(data_set: DataSetResult) -> str:
    first, *others = *data_set.methods, *data_set.base[:1]
    kinds: dict[str, list[str]] = {"better than": [], "worse than": [], "no clear difference from": []}
    named = dict(zip(("holds", "does not hold", "not significant"), kinds.values(), strict=True))
    for system in others:
        name = f"{system.name.lower()} (`{system.run}`)" if system.run else system.name
        named[better(first, system)].append(f"{name} {system.mean:.3f}")
    shown = "; ".join(f"{kind} {', '.join(names)}" for kind, names in kinds.items() if names)
    return f"- **{data_set.name}**: {first.name} has MAP {first.mean:.3f}: {shown}."


def how(results: Results) -> tuple[str, ...]:
    """Describe data, protocol and settings."""
    settings, data_sets = results.settings, results.data_sets
    grid = settings.grid
    values = {
        "topics": max(len(one.topics) for one in data_sets),
        "settings": settings,
        "grid": grid,
        "hinge_c": listed(grid.hinge_c),
        "accuracy_c": listed(grid.accuracy_c),
        "balanced_c": listed(grid.balanced_c),
        "loss": _loss(results),
        "hours": sum(sum(one.seconds.values()) for one in data_sets) / 3600,
        "trainings": sum(
            settings.trials * len(counts) for one in data_sets for counts in one.chosen.values()
        ),
        "unconverged": sum(sum(one.not_converged.values()) for one in data_sets),
    }
    return tuple(text.format(**values) for text in _HOW)


def differs(results: Results) -> tuple[str, ...]:
    """Describe what differs from the paper."""
    return tuple(text.format(loss=_loss(results)) for text in _DIFFERS)


def _loss(results: Results) -> str:
    return results.settings.grid.accuracy_loss.replace("_", " ")
