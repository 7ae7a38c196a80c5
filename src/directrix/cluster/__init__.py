"""Clusters that work on shards: processes on this machine, or Dask.

The package is callable: ``directrix.cluster("local", 4)``; see `connect.cluster`.
"""

from __future__ import annotations

from directrix.lazy import callable_package

callable_package(__name__)
