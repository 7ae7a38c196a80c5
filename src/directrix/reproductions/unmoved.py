"""Papers whose code is still in `directrix.experiments` and `directrix.reports`."""

from __future__ import annotations

import importlib
from typing import Any

from directrix.errors import InputError
from directrix.reports.report import Report

__all__ = ["UNMOVED", "Unmoved"]

UNMOVED = {"chapelle2010": False, "yue2007": True}
"""By name, whether a paper has random splits."""


class Unmoved:
    """A paper with a function ``reproduce``."""

    def __init__(self, name: str) -> None:
        self._name = name

    def settings(self, request: Any) -> None:
        """Check the number of trials."""
        if request.trials is not None and not UNMOVED[self._name]:
            raise InputError(
                f"--trials {request.trials}: {request.name} has no random splits whose number could be "
                "chosen; leave it out."
            )

    def reproduce(self, request: Any) -> Report:
        """Run and report."""
        report: Report = importlib.import_module(f"directrix.reports.{self._name}").reproduce(request)
        return report
