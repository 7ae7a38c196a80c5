"""What a reproduction is asked to do, and the folder of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directrix.experiments.cells import Progress
from directrix.reports.folder import open_folder

__all__ = ["Request"]


@dataclass(frozen=True)
class Request:
    """One call of ``directrix reproduce``.

    Parameters
    ----------
    name : str
        Of the reproduction, e.g. "qin2010".
    data : Path
        Folder of the data (``letor/``, ``trec7/``).
    folder : Path
        Of the tables, figures, pages and finished cells.
    quick : bool
        Few settings and trials: a look at the machinery, no result.
    seed : int
    jobs : int
        Cells at a time; -1 = one a core.
    command : str
        Does the same again.
    installation : mapping
        Versions, as JSON.
    progress : callable
        Takes what is counted ("trainings") and gives a context whose value is told of every finished cell.
    trials : int, optional
        For reproductions with random splits: how many.
    """

    name: str
    data: Path
    folder: Path
    quick: bool
    seed: int
    jobs: int
    command: str
    installation: Mapping[str, Any]
    progress: Callable[[str], AbstractContextManager[Progress]]
    trials: int | None = None

    def open(self, fixed: Mapping[str, Any], **more: Any) -> tuple[Path, dict[str, Any]]:
        """Make the folder, or open it to resume the run in it.

        Parameters
        ----------
        fixed : mapping
            JSON: all that the figures depend on (settings, seed, digest of the data); the version of
            directrix is added.
        **more
            Other settings, which may differ when the run is resumed.

        Returns
        -------
        Path, dict
            File of cells for `run_cells`, and the settings for the `Report`.

        Raises
        ------
        InputError
            If the folder holds a run of other settings.
        """
        fixed = {**fixed, "quick": self.quick, "seed": self.seed, "directrix": self.installation["directrix"]}
        settings = {"name": self.name, "fixed": fixed, **more, "installation": dict(self.installation)}
        return open_folder(self.folder, settings), settings
