"""The numbers by which a search decides; docs/decisions/selection.md has the measurements.

The order of training is successive halving (Jamieson & Talwalkar 2016, AISTATS; Li, Jamieson, DeSalvo,
Rostamizadeh & Talwalkar 2018, JMLR 18:185): all start with few resources, and the best third gets more. Here
resources are the settings of a method and the documents of the data.
"""

FOLDS = 5
"""Folds without validation data. One of five folds is also what a single holdout keeps back."""
FEWEST_TO_SPLIT = 10
"""Queries below which none is held out: one or two validation queries show nothing."""
ENOUGH_TO_HOLD_OUT = 1000
"""Queries from which on a single fold of 200 validation queries is enough."""

MANY_DOCS = 100_000
"""Training documents from which on methods are compared on a sample of the queries first."""
SAMPLE_DOCS = 60_000
"""Documents of such a sample. It shows which methods suit the data, but not how many leaves are best."""

SURVIVING = 1 / 3
"""Fraction of the methods whose other settings are tried; with less than this, "auto" took .38 to .56 of the
time of all settings and chose otherwise on one fold of MQ2008."""
FEWEST_SURVIVORS = 2
"""Methods that survive at least, if they are not clearly behind."""
FINALISTS = 3
"""Candidates trained on all of many documents: the default trees and at most two that are ahead of them."""

CLEARLY = 2.0
"""Standard errors, query by query, by which a candidate is clearly behind another."""
FEWEST_QUERIES = 10
"""Validation queries below which a standard error is not known well enough to drop or to average."""
MEMBERS = 4
"""Methods whose best candidates join an ensemble, next to the default trees and the bags. With five, the mean
over ten sets was .001 lower, and the worst of the sets with few queries .017."""

BAGS = 5
"""Copies of the best trees that differ by their noise, and are averaged."""
BAG_SHARES = {"subsample": 0.7, "feature_fraction": 0.6}
"""Fractions of documents and of features that a tree of a bag uses."""

UNSCORED = 0.05
"""Fraction of a time budget that is kept for evaluating the last run, and for choosing."""
UNUSED = 0.05
"""Fraction of a time budget below which no further trees are begun."""
FOR_SAMPLE = 1 / 3
"""Fraction of the remaining seconds that the runs on a sample may take."""
ENOUGH_DOCS = 10_000
"""Training documents from which on the default trees come first and may take all of a budget."""
FIRST_SHARE = 0.5
"""Fraction of it that they may take of fewer documents."""
LEAST_PART, MOST_PARTS = 0.5, 1.5
"""Parts of the seconds of a method's first setting: another is not begun with less than the first, and may
take the second. In two budgets over seven sets, this was .005 and .007 better than even shares."""

TIMED_TREES = 3
"""Trees after which it is known how many fit into the time."""
RATE, RATE_OF_MANY = 0.15, 0.3
"""Highest learning rates of trees for which time is short, with few and with many documents: of many
documents the first trees alone do not overfit."""
GROWTH = 40.0
"""Learning rate times number of trees that is never exceeded: the default trees stopped at 3 to 11 on 2,000
to 8,000 documents, at 9 to 31 on 108,000, and at 46 on 1,220,000."""
GROWTH_PER_ROOT = 60.0
"""The same per cube root of the millions of training documents."""
GROWTH_OF_FEW = 16.0
"""The same where fewer than 107 trees fit into the time."""
MARGIN = 1.5
"""Factor on the growth at which trees on the same documents stopped."""

BASELINE_FEATURES, BASELINE_DOCS = 1000, 60_000
"""Most features, and documents, on which the best single feature is chosen."""
