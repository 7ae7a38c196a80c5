"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.measures.base import RankingMeasure as RankingMeasure
from directrix.measures.convention import Convention as Convention
from directrix.measures.convention import conventions as conventions
from directrix.measures.terms import Terms as Terms

__all__: list[str]
