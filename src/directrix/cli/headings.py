"""The headings of ``--help``: the same option is under the same heading in every command.

Options without a heading come first: those that most users of a command need, at most ten.

>>> heading_of("jobs"), heading_of("qid_column"), heading_of("measure")
('Machine and seed', 'Columns of CSV, TSV, JSON lines, Parquet and Arrow', None)
"""

from __future__ import annotations

_COLUMNS = "Columns of CSV, TSV, JSON lines, Parquet and Arrow"
_BY_HEADING = {
    "Output": ("latex", "page", "force", "system_names", "names", "form"),
    "Candidates of the search": ("models", "scale", "by_query", "single", "simple", "engine"),
    "Constraints of the model": ("nonnegative", "monotone"),
    "Data": (
        *("missing", "by_position", "stream", "all_judged", "common_queries"),
        *("candidates", "user_features", "item_features", "pair_features"),
    ),
    "Machine and seed": ("jobs", "shard", "resume", "cluster", "threads", "seed"),
}
_BY_OPTION = {option: heading for heading, options in _BY_HEADING.items() for option in options}


def heading_of(option: str) -> str | None:
    """Return the heading of an option, by the name of its parameter; None for those that come first."""
    return _COLUMNS if option.endswith(("_column", "_columns")) else _BY_OPTION.get(option)
