"""What a reproduction is asked to do, and the folder that it works in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from directrix.reports.folder import open_folder
from directrix.reproductions.runner import ProgressOf


@dataclass(frozen=True)
class Request:
    """One call of ``directrix reproduce``."""

    name: str  # of the reproduction, e.g. "qin2010".
    data: Path  # folder of the data (`letor/`, `trec7/`)
    folder: Path  # for the tables, figures, pages and finished cells
    # whether to run few settings and trials: this shows that everything works, and gives no results
    quick: bool
    seed: int
    jobs: int  # cells at a time; -1 = all cores
    command: str  # shell command that makes the same report
    installation: Mapping[str, Any]  # versions, as JSON
    progress: ProgressOf  # see `directrix.reproductions.runner.ProgressOf`
    trials: int | None = None  # number of random splits, for papers that have some

    def open(self, fixed: Mapping[str, Any], **free: Any) -> tuple[Path, dict[str, Any]]:
        """Make the folder, or resume the run in it.

        Parameters
        ----------
        fixed : mapping
            JSON: all that results depend on (settings, seed, digest of the data). The version of directrix
            is added.
        **free
            Other settings, which may differ when the run is resumed.

        Returns
        -------
        Path, dict
            File of finished cells, and the settings for the `Report`.

        Raises
        ------
        InputError
            If the folder holds a run of other settings.
        """
        fixed = {**fixed, "quick": self.quick, "seed": self.seed, "directrix": self.installation["directrix"]}
        settings = {"name": self.name, "fixed": fixed, **free, "installation": dict(self.installation)}
        return open_folder(self.folder, settings), settings
