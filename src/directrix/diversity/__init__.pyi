"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.diversity.groups import exposure as exposure
from directrix.diversity.groups import raise_exposure as raise_exposure
from directrix.diversity.rerank import mmr as mmr
from directrix.diversity.rerank import novelty as novelty

__all__: list[str]
