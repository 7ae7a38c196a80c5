import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the real collections, which are not part of the project."""
    root = Path(__file__).resolve().parents[1]
    path = Path(os.environ.get("DIRECTRIX_DATA", root.parent / "shared" / "data"))
    if not path.is_dir():
        pytest.skip(f"real data: no folder {path}; set DIRECTRIX_DATA")
    return path
