"""Fitted rankers in the formats of other programs.

The package is callable: ``directrix.export(ranker, path, to="onnx")``; see `verification.export`.
"""

from directrix.lazy import callable_package

callable_package(__name__)
