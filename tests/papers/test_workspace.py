"""Collections that a data folder holds or lacks."""

import pytest

from directrix.errors import InputError
from directrix.experiments.splits import letor_splits
from directrix.papers.workspace import absent, read_collections
from tests.experiments.letor_folder import letor_folder
from tests.messages import rejects


@pytest.fixture(scope="module")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    for seed, name in enumerate(("OHSUMED", "TD2004")):
        letor_folder(folder / "letor" / name, seed=seed)
    return folder


def test_collections_are_read_in_the_order_of_the_paper(data):
    found = read_collections(data, ("TD2003", "TD2004", "OHSUMED"), n_folds=2)
    assert list(found) == ["TD2004", "OHSUMED"]
    assert [split.name for split in found["OHSUMED"].splits] == ["Fold1", "Fold2"]
    whole = letor_splits(data / "letor" / "OHSUMED")
    assert found["OHSUMED"].first.digest == whole[0].digest
    assert found["OHSUMED"].digest != found["TD2004"].digest
    assert list(read_collections(data, ("TD2004", "OHSUMED"), n_collections=1)) == ["TD2004"]


def test_what_is_missing_is_named():
    why = absent(["TD2003", "OHSUMED"], ["OHSUMED"])
    assert "`letor/TD2003/Fold1` is not in the data folder" in why["TD2003"]
    assert why["OHSUMED"] is None


def test_a_folder_without_collections(tmp_path):
    with rejects(InputError):
        read_collections(tmp_path, ("TD2003", "OHSUMED"))
