"""The exported SELECT in real databases: a server of PostgreSQL that the test starts, and DuckDB."""

import csv
import io

import numpy as np
import pytest
from benchmarks.postgres import programs, server

from directrix.export.formula import formula_of
from directrix.export.sql import TARGET, quoted, sql_table

from .conftest import MODELS
from .rows import hard_rows, scores_of

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def postgres():
    """A function that runs SQL in a server of its own."""
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with server() as run:
        yield run


def columns(formula, number, text):
    """Names and types of the table of features."""
    kinds = formula.categories or (None,) * formula.n_features
    return ", ".join(
        f"{quoted(formula.name(f))} {number if kinds[f] is None else text}" for f in formula.used or [0]
    )


@pytest.mark.parametrize("name", MODELS)
def test_postgresql_scores_as_the_model(name, fitted, postgres):
    ranker, q = fitted(name)
    formula = formula_of(ranker)
    X = hard_rows(formula, q)
    _, rows = sql_table(formula, X)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([n, *row] for n, row in enumerate(rows))
    select = TARGET.content(formula).decode().rstrip()
    found = postgres(
        f"CREATE TEMP TABLE features (row_ int, {columns(formula, 'double precision', 'text')});\n"
        f"COPY features FROM STDIN WITH (FORMAT csv);\n{text.getvalue()}\\.\n"
        f"SELECT score FROM (\n{select}\n) AS scored ORDER BY row_;"
    )
    ours = scores_of(ranker, q, X)
    np.testing.assert_allclose(np.array(found.split(), float), ours, rtol=0, atol=1e-12 * np.abs(ours).max())


@pytest.mark.parametrize("name", MODELS)
def test_duckdb_scores_as_the_model(name, fitted):
    duckdb = pytest.importorskip("duckdb")
    ranker, q = fitted(name)
    formula = formula_of(ranker)
    X = hard_rows(formula, q)
    _, rows = sql_table(formula, X)
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE features (row_ int, {columns(formula, 'double', 'text')})")
        marks = ", ".join("?" * (1 + len(rows[0])))
        database.executemany(
            f"INSERT INTO features VALUES ({marks})", [[n, *row] for n, row in enumerate(rows)]
        )
        select = TARGET.content(formula).decode().rstrip()
        found = database.execute(f"SELECT score FROM ({select}) AS scored ORDER BY row_").fetchall()
    ours = scores_of(ranker, q, X)
    np.testing.assert_allclose([row[0] for row in found], ours, rtol=0, atol=1e-12 * np.abs(ours).max())
