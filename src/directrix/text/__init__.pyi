"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.text.index import Index as Index

__all__: list[str]
