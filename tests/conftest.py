"""Fixtures shared by all tests."""

import logging
import os
from pathlib import Path

import pytest
from hypothesis import settings

# No deadline: the first call of a kernel compiles it. In CI the same examples every time.
settings.register_profile("directrix", deadline=None, derandomize="CI" in os.environ)
settings.load_profile("directrix")

# without compiled kernels, the note that they are compiled would come into outputs that tests compare
logging.getLogger("directrix").setLevel(logging.ERROR)


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder of the real data: the environment variable DIRECTRIX_DATA, else ../shared/data."""
    folder = Path(os.environ.get("DIRECTRIX_DATA", Path(__file__).parents[2] / "shared" / "data"))
    if not (folder / "letor").is_dir():
        pytest.skip(f"no real data in {folder}; set DIRECTRIX_DATA to the folder that holds letor/")
    return folder
