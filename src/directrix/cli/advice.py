"""The advice for a shell: what to type, by its key; `directrix.advice` says the same for Python.

An error or a warning of the library goes in, and its message in the words of the command line comes out:

>>> from directrix.errors import Advice, InputError
>>> message_of(InputError("6 folds of 3 queries.", Advice("folds", most=3, default=5)))
'6 folds of 3 queries. Type at most --folds 3, or leave it out for 5.'
"""

from collections.abc import Callable, Collection, Sequence

from directrix.data.columns import ROLES
from directrix.errors import Advice, InputError, one_line

_IN_FILE = "Name it so in the file, or add it."


def _column(call: str, key: str) -> str:
    role = ROLES[key]
    if not role.option:
        return _IN_FILE
    return f"Type {role.option} {'NAME,OTHER' if role.is_list else 'NAME'}."


def _keep_categories(columns: Sequence[str], categories: Sequence[str]) -> str:
    others = ",".join(name for name in columns if name not in categories)
    rest = f" --exclude-columns {others}" if others else ""
    return (
        f"Leave them out: --exclude-columns {','.join(columns)}; for trees, keep categories: "
        f"--categorical-columns {','.join(categories)}{rest}."
    )


SHELL: dict[str, str | Callable[..., str]] = {
    # columns and files
    "column": _column,
    "columns": _column,
    "log-columns": lambda call, keys: f"Type {' '.join(f'--{key}-column NAME' for key in keys)}.",
    "list-column": "Name the one to use: --feature-columns features.",
    "label-column": "Or name their column: --label-column NAME.",
    "session-column": "Type --session-column NAME.",
    "id-column": "Name one: --id-column NAME.",
    "query-field": "Name one: --query-field NAME.",
    "categorical-columns": "Type --categorical-columns {columns} if they are categories, for trees; else "
    "leave them out of the file, or of `directrix train --exclude-columns {columns}`.",
    "exclude-columns": "Leave them out: --exclude-columns {columns}.",
    "keep-categories": _keep_categories,
    "drop-nulls": "Drop such rows.",
    "drop-rows": "Correct or remove such rows.",
    "drop-documents": "Correct or remove such rows: a document without a row {lacks}.",
    "remove-one": "Remove one of them.",
    "rename": "Rename it, or keep a table: commands also read runs and qrels from CSV or Parquet.",
    "number-queries": "Number them first, or write Parquet or Arrow, which keep names.",
    "qid-of-lines": "Add qid:ID to every line, or write the number of lines of each query to a file of the "
    "same name with .query appended.",
    "qid-or-groups": "Move the .query file away, or remove the qid from every line.",
    "sizes-of-file": "Put the file that belongs to it in its place.",
    "index-base": "If the file counts features from 0, add 1 to each.",
    "rescale": "Rescale the feature.",
    "side-files": "`directrix train` reads weights, and `directrix clicks train` learns from positions of "
    "clicks.",
    "read-letor": "`directrix convert {name} {stem}.arrow` rewrites LETOR text.",
    "convert": "Type `directrix convert {old} {new}`.",
    "convert-by-block": "`directrix convert` rewrites LETOR text block by block.",
    "write-shards": "Write one: `directrix cluster shard DATA {folder}`.",
    "build-index": "Build one: `directrix text index DOCS -o {path}`.",
    # what stays in files, and memory
    "in-memory": "Type --no-stream.",
    "in-memory-or-fewer": "Type --no-stream, or name the other columns: --feature-columns NAME,OTHER.",
    "in-memory-or-part": "For anything else type --no-stream.",
    "sort-by-qid": "Sort the table by qid, or train with --no-stream.",
    "stream": "Type --stream, or name fewer of them: --feature-columns NAME,OTHER.",
    "one-table": "For anything else leave out --cluster: the folder is then read as one table.",
    "fewer-features": "Name fewer features: --feature-columns NAME,OTHER.",
    "fewer-features-or-sparse": "Use fewer features, or a machine with more memory.",
    "fewer-features-or-zeros": "Log fewer features, or leave out --missing nan.",
    "negatives": "Type e.g. --negatives 20.",
    "positions": "Type --positions {n}.",
    "sessions": "Type e.g. --sessions 100000.",
    "checkpoint": "name another model, next to which the checkpoint is.",
    "resume": "Then type the same command with --resume, which continues where it was interrupted.",
    # missing and large values, and features
    "missing-values": "Add --missing nan, for trees and for `directrix train --scale standard`, log, "
    "quantile or minmax, which fill it, or --missing zero.",
    "fill-missing": "Fill missing values first.",
    "missing": "or type --missing nan (trees read it as 0, a scale fills in the mean of the training data).",
    "missing-or-zero": "or type --missing nan (trees read it as 0, a scale fills in the mean of the "
    "training data) or --missing zero.",
    "keep-missing": "Leave out --missing zero.",
    "scale-or-trees": "Train with `directrix train --scale log` or standard, which fill in the mean of the "
    "training data, or with `directrix train --method YetiRank`, whose trees take it as it is; or read it as "
    "0: --missing zero.",
    "trees-for-categories": "Type --method YetiRank, whose trees take categories and missing values, or "
    "leave columns out: --exclude-columns NAME,OTHER.",
    "clip-column": "Clip the column, or drop these rows.",
    "clip": "Clip the column, or drop these rows.",
    "same-features": "Give data with the same features.",
    "by-position": "Give data with the same features.",
    "grades": "Map them to grades.",
    "look-at-labels": "Look at the labels and queries with `directrix doctor FILE`.",
    # measures and runs
    "doc-ids": "Add `# docid = X` to every line of the data, or break ties otherwise: AP(ties=expected).",
    "conventions": "Omit the convention for those, or type --convention all, which omits them.",
    "measure": "Type --measure nDCG.",
    "run-name": "Type --name for each.",
    "all-pairs": "Leave --against out, or choose another test, e.g. --test randomization.",
    # training and search
    "linear-ranker": "Type e.g. `directrix train --model linear --single`.",
    "ordered-valid": "Give --valid queries with documents of different labels, and check their qid.",
    "unconstrained": "Train without --nonnegative and --monotone.",
    "no-trainer": "Train without --set trainer=..., or choose a method of that trainer: `directrix methods`.",
    "calibrate": "Type `directrix calibrate MODEL DATA -o OUT` with data that were not trained on.",
    "method-of-entry": "Give its method and settings, e.g. --method my_loss:MyLoss --set weight=4.",
    "constrained-method": "Type e.g. --method ApproxNDCG.",
    "models": "Type e.g. --model linear.",
    "by-query": "Leave out --no-by-query.",
    "folds": "Type at most --folds {most}, or leave it out for {default}.",
    "jobs-or-budget": "Leave out --jobs or --time-budget.",
    "no-valid": "Leave out --valid: the choice is then made by cross-validation.",
    # experiments and exports
    "test-folds": "Type e.g. --folds {k}.",
    "another-folder": "Give another folder, e.g. -o {folder}-2, or remove its files *.jsonl.",
    "another-scale": "Train it again, e.g. by `directrix train --scale standard --no-by-query`.",
    "no-residual": "Or train with --set residual=False.",
    "export-scores": "Or export the model that `directrix calibrate` read.",
    "train-on-zeros": "Or read missing features as 0 in training, too: directrix train --missing zero.",
    "doctor-missing": "{file} With `directrix train --missing nan`, trees take them as they are, and "
    "`directrix train --scale standard`, log, quantile or minmax fill them in every other model; `directrix "
    "train --missing zero` reads them as 0.",
    # clicks and interactions
    "biased": "Or --biased, to see it with a note.",
    "trust-bias": "Write them with `directrix clicks propensities LOG --method trust -f json`.",
    "propensities": "Type e.g. --propensities 1,0.7,...",
    "regression-em": "Type `directrix clicks propensities LOG --method regression-em --features FILE`.",
    "features": "Type --features FILE.",
    "grade": "Type --grade {kind}=1, and so on for all kinds.",
    "by-session": "Group by list: --by session --session-column NAME, which tells lists apart.",
}
"""A template of the values, in which lists are separated by commas, or a function of them."""


def message_of(problem: BaseException, offered: Collection[str] | None = None) -> str:
    """Return the message of an error or a warning in the words of the command line.

    ``offered`` are the options of the command that runs; without them all may be named.
    """
    if isinstance(problem, InputError):
        return problem.text(in_shell(text, offered) for text in problem.advice)
    # A warning of the library may hold an advice, as the end of its text.
    advice = getattr(problem, "advice", "")
    return str(problem).removesuffix(advice) + in_shell(advice)


def in_shell(text: str, offered: Collection[str] | None = None) -> str:
    """Return text, or an advice in the words of the command line, with the options that are ``offered``."""
    if not isinstance(text, Advice):
        return text
    if text.key in ("column", "columns") and offered is not None:
        option = ROLES[str(text.values["key"])].option
        if option not in offered:
            return _IN_FILE
    template = SHELL[text.key]
    if callable(template):
        return one_line(template(**text.values))
    lists = {
        name: ",".join(map(str, value)) for name, value in text.values.items() if isinstance(value, list)
    }
    return one_line(template.format(**text.values | lists))
