"""Checked claims of a paper as text."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from directrix.reports.report import Claim, Verdict

MARKS: dict[Verdict, str] = {"holds": "✓", "does not hold": "✗", "not significant": "≈", "not tested": "?"}
"""Sign before a verdict, so that it can be seen without color."""


def tally(claims: Sequence[Claim]) -> str:
    """Return the number of claims with each verdict, as a sentence.

    Examples
    --------
    >>> tally([Claim("A beats B", "Table 1", "holds", ""), Claim("A beats C", "Table 1", "holds", "")])
    'Claims checked: 2; holds: 2; does not hold: 0; not significant at this number of queries: 0.'
    """
    n = Counter(claim.verdict for claim in claims)
    untested = f"; not tested: {n['not tested']}" if n["not tested"] else ""
    return (
        f"Claims checked: {len(claims)}; holds: {n['holds']}; does not hold: {n['does not hold']}; "
        f"not significant at this number of queries: {n['not significant']}{untested}."
    )


def claims_text(claims: Sequence[Claim]) -> str:
    """Claims for a terminal: verdict, place and claim on one line, our figures on the next."""
    lines = [f"Claims of the paper. {tally(claims)}", ""]
    for claim in claims:
        verdict = f"{MARKS[claim.verdict]} {claim.judged}"
        lines += [f"{verdict:<17}  {claim.source}: {claim.text}", f"{'':<19}{claim.evidence}"]
    return "\n".join(lines)
