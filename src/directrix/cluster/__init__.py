"""Clusters that answer questions about shards: processes of this machine, or Dask.

The package can be called: ``directrix.cluster("local", 4)``, see `connect.cluster`.
"""

from __future__ import annotations

from directrix.lazy import callable_package

callable_package(__name__)
