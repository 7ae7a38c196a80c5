"""The exported SELECT in real databases: a server of PostgreSQL that the test starts, and DuckDB."""

import contextlib
import csv
import io
import os
import shutil
import subprocess
import tempfile
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from directrix.export.of_ranker import formula_of
from directrix.export.sql import TARGET, Sql, sql_table

from .conftest import MODELS


@pytest.fixture(scope="module")
def postgres():
    """A function that runs SQL in a server that listens on a socket in a new folder."""
    programs = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    found = shutil.which("initdb") or (programs and str(programs[-1]))
    if not found or not shutil.which("psql"):
        pytest.skip("PostgreSQL is not installed")
    folder = tempfile.mkdtemp(prefix="directrix-", dir="/tmp")  # names of sockets are short
    as_user = []
    if os.geteuid() == 0:  # the server refuses root
        shutil.chown(folder, "postgres")
        as_user = ["runuser", "-u", "postgres", "--"]
    initialise = [found, "-D", f"{folder}/data", "-U", "tester", "--auth=trust", "-E", "UTF8", "--no-sync"]
    subprocess.run([*as_user, *initialise], check=True, capture_output=True, cwd="/")
    settings = ("listen_addresses=", f"unix_socket_directories={folder}", "fsync=off")
    options = [word for setting in settings for word in ("-c", setting)]
    start = [*as_user, str(Path(found).with_name("postgres")), "-D", f"{folder}/data", *options]

    def run(sql):
        command = ["psql", "-h", folder, "-U", "tester", "-d", "postgres", "-qAt", "-v", "ON_ERROR_STOP=1"]
        return subprocess.run(
            [*command, "-f", "-"], input=sql, text=True, capture_output=True, check=True, timeout=60
        ).stdout

    server = subprocess.Popen(start, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, cwd="/")
    try:
        for _ in range(600):
            with contextlib.suppress(subprocess.CalledProcessError):
                run("SELECT 1")
                break
            time.sleep(0.1)
        yield run
    finally:
        server.terminate()
        server.wait(60)
        shutil.rmtree(folder)


def columns(formula, number, text):
    """Names and types of the table of features."""
    kinds = formula.categories or (None,) * formula.n_features
    return ", ".join(
        f"{Sql(formula).feature(f)} {number if kinds[f] is None else text}" for f in formula.used or [0]
    )


def hard_rows(formula, q):
    """Real rows, and rows with thresholds hit exactly."""
    X = q.features.copy()
    for part in formula.parts:
        for feature, threshold in zip(
            getattr(part.model, "feature", ()), getattr(part.model, "threshold", ()), strict=True
        ):
            if formula.categories is None:
                X[int(abs(threshold) * 1e6) % len(X), part.inputs[feature].feature] = threshold
    return X


def scores_of(ranker, q, X):
    return ranker.predict_queries(replace(q, features=X))


@pytest.mark.parametrize("name", MODELS)
def test_postgresql_scores_as_the_model(name, fitted, postgres):
    ranker, q = fitted(name)
    formula = formula_of(ranker)
    X = hard_rows(formula, q)
    _, rows = sql_table(formula, X)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([n, *row] for n, row in enumerate(rows))
    select = TARGET.write(formula).decode().rstrip()
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
        select = TARGET.write(formula).decode().rstrip()
        found = database.execute(f"SELECT score FROM ({select}) AS scored ORDER BY row_").fetchall()
    ours = scores_of(ranker, q, X)
    np.testing.assert_allclose([row[0] for row in found], ours, rtol=0, atol=1e-12 * np.abs(ours).max())
