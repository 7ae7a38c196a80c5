"""The search behind `directrix train`: candidates are trained on folds, and a measure chooses.

The package can be called: ``directrix.search(queries, method="ApproxNDCG")``, see `search.search`.
"""

from __future__ import annotations

from directrix.lazy import callable_package

callable_package(__name__)
