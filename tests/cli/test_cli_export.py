"""``directrix export``: the file, what is said of it, and refusals."""

import pytest
from tests.commands import refused, run

from directrix.registry import TARGETS


@pytest.mark.parametrize("to", ["sql", "python", "solr", "vespa"])
def test_a_model_is_exported_and_verified_on_data(files, tmp_path, to):
    path = tmp_path / "out"
    result = run("export", files.model, path, "--to", to, "--check", files.test)
    assert (result.exit_code, result.stdout) == (0, "")
    saved, verified, *rest = result.stderr.splitlines()
    assert saved == f"saved: {path} ({path.stat().st_size:,} bytes)"
    assert verified.startswith("verified with ")
    assert verified.endswith(", same order in all queries")
    assert not rest or rest[0].startswith("note: ")


def test_without_data_drawn_rows_are_compared(files, tmp_path):
    result = run("export", files.model, tmp_path / "m.sql", "--to", "sql")
    assert ": 2,000 rows, largest difference" in result.stderr
    assert "order" not in result.stderr


@pytest.mark.parametrize("to", ["xgboost", "lightgbm", "elastic"])
def test_a_format_that_cannot_carry_the_model_names_one_that_can(files, tmp_path, to):
    assert "takes trees of plain features, and this model is a linear model; choose onnx" in refused(
        "export", files.model, tmp_path / "out", "--to", to
    )
    assert list(tmp_path.iterdir()) == []


def test_an_unknown_format_is_wrong_usage_that_lists_all(files, tmp_path):
    assert all(
        name in refused("export", files.model, tmp_path / "out", "--to", "pmml", status=2) for name in TARGETS
    )


def test_data_with_other_features_are_refused(files, tmp_path):
    other = tmp_path / "other.txt"
    other.write_text("1 qid:1 1:1 9:1\n0 qid:1 1:2 9:3\n")
    assert "--by-position" in refused(
        "export", files.model, tmp_path / "out", "--to", "sql", "--check", other
    )
    assert run("export", files.model, files.model, "--to", "sql").exit_code == 1  # the model stays
