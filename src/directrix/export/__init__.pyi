"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.export.verification import Verification as Verification

__all__: list[str]
