"""Exports of calibrated models give the probabilities of ``predict_probability``, or refuse."""

import csv
import importlib.util
import io
from dataclasses import replace

import numpy as np
import pytest
from benchmarks.postgres import programs, server

import directrix as dx
from directrix.errors import InputError
from directrix.export.formula import formula_of
from directrix.export.sql import TARGET, sql_table
from directrix.export.target import target as find_target
from directrix.export.verification import verify
from directrix.rankers.calibration import Calibration
from directrix.registry import TARGETS
from tests.messages import rejects

from .conftest import data

Q = data(names=["size", "color", "price", "age", "votes"])
KEEP = [name for name in TARGETS if find_target(name).keeps_calibration]
RANKERS = {
    "linear": dx.LinearRanker(scale="standard", max_iter=20),
    "trees": dx.BoostedRanker(n_trees=20),
    "network": dx.MLPRanker(hidden=(4,), max_iter=20),
}
KINDS = {
    "isotonic": lambda ranker: ranker.calibrate(Q, "isotonic").calibration_,
    "platt": lambda ranker: ranker.calibrate(Q, "platt").calibration_,
    # exponents beyond the range of floats, and scores beyond both knots
    "steep": lambda ranker: Calibration(1e5, 1.0),
    "two knots": lambda ranker: Calibration(1e3, -5.0, 1.0, (0.1, 0.2), (0.0, 1.0)),
    "one knot": lambda ranker: Calibration(2.0, 0.0, 1.0, (0.1,), (0.25,)),
}


@pytest.fixture(scope="module")
def calibrated():
    """From names of a ranker and a calibration to the calibrated ranker."""
    fitted = {name: ranker.fit_queries(Q.take(range(1, Q.n_queries))) for name, ranker in RANKERS.items()}

    def of(name, kind):
        calibration = KINDS[kind](fitted[name])
        fitted[name].model_ = replace(fitted[name].model_, calibration=calibration)
        return fitted[name]

    return of


def assert_same(theirs, ranker, q=Q, rtol=1e-9):
    ours = ranker.calibration_(ranker.predict_queries(q))
    assert len(np.unique(ours)) > 1
    np.testing.assert_allclose(theirs, ours, rtol=rtol, atol=1e-300)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", RANKERS)
@pytest.mark.parametrize("to", KEEP)
def test_the_programs_read_the_probabilities(to, model, kind, calibrated, tmp_path):
    """By the same readers as scores; trees of ONNX are float32, so its probability is that of its score."""
    target = find_target(to)
    if target.reader is None:
        pytest.skip(f"nothing is installed that reads {to}")
    ranker = calibrated(model, kind)
    formula = formula_of(ranker)
    found = dx.export(ranker, tmp_path / "m", to=to, check=Q)
    assert found.n_other_order == 0
    q = replace(Q, features=Q.features.astype(np.float32).astype(float))
    scores, probabilities = target.read((tmp_path / "m").read_bytes(), formula, q.features).T
    np.testing.assert_allclose(probabilities, ranker.calibration_(scores), rtol=1e-9, atol=1e-15)
    if to != "onnx":
        assert_same(probabilities, ranker, q, rtol=1e-6)


@pytest.mark.parametrize("to", KEEP)
@pytest.mark.parametrize("kind", ["isotonic", "platt"])
def test_another_calibration_is_found(to, kind, calibrated):
    target, ranker = find_target(to), calibrated("linear", kind)
    if target.reader is None:
        pytest.skip(f"nothing is installed that reads {to}")
    formula = formula_of(ranker)
    wrong = formula._replace(calibration=replace(formula.calibration, intercept=0.01))
    if kind == "isotonic":
        values = tuple(0.9 * p for p in formula.calibration.values)
        wrong = formula._replace(calibration=replace(formula.calibration, values=values))
    with pytest.raises(InputError, match=r"rows have other probabilities; the first is row \d+ with"):
        verify(target.content(wrong), target, formula, ranker, Q)


def test_the_file_of_python_has_a_function_and_prints_both(calibrated, tmp_path):
    ranker = calibrated("trees", "isotonic")
    dx.export(ranker, tmp_path / "model.py", to="python")
    spec = importlib.util.spec_from_file_location("exported", tmp_path / "model.py")
    exported = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(exported)
    assert_same([exported.probability(row) for row in Q.features.tolist()], ranker)


def test_a_feature_called_probability_is_rejected_where_it_would_be_one_column(calibrated, tmp_path):
    q = data(names=["size", "Probability", "price", "age", "votes"])
    ranker = dx.LinearRanker(max_iter=5).fit_queries(q)
    assert dx.export(ranker, tmp_path / "m.sql", to="sql").n_rows
    with rejects(InputError):
        dx.export(ranker.calibrate(q.take(range(1, q.n_queries))), tmp_path / "m.sql", to="sql")


def test_formats_of_scores_alone_refuse(calibrated, tmp_path):
    ranker = calibrated("trees", "platt")
    for to in set(TARGETS) - set(KEEP):
        with pytest.raises(InputError, match=r"holds scores alone.*Choose onnx, vespa, sql or python"):
            dx.export(ranker, tmp_path / "model", to=to)
    with rejects(InputError):
        dx.export(ranker, tmp_path / "model", to="solr")
    assert not list(tmp_path.iterdir())
    ranker.calibrate(None)
    assert dx.export(ranker, tmp_path / "model", to="solr").n_rows


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("model", RANKERS)
def test_duckdb_gives_the_probabilities(model, kind, calibrated):
    duckdb = pytest.importorskip("duckdb")
    ranker = calibrated(model, kind)
    formula = formula_of(ranker)
    names, rows = sql_table(formula, Q.features)
    with duckdb.connect() as database:
        database.execute(f"CREATE TABLE features (row_ int, {', '.join(f'{name} double' for name in names)})")
        marks = ", ".join("?" * (1 + len(names)))
        database.executemany(
            f"INSERT INTO features VALUES ({marks})", [[n, *row] for n, row in enumerate(rows)]
        )
        select = TARGET.content(formula).decode()
        found = database.execute(f"SELECT probability FROM ({select}) ORDER BY row_").fetchall()
    assert_same([row[0] for row in found], ranker, rtol=1e-6)


@pytest.mark.slow
def test_postgresql_gives_the_probabilities(calibrated):
    if programs() is None:
        pytest.skip("PostgreSQL is not installed")
    with server() as run:
        for model in RANKERS:
            for kind in KINDS:
                ranker = calibrated(model, kind)
                formula = formula_of(ranker)
                names, rows = sql_table(formula, Q.features)
                text = io.StringIO()
                csv.writer(text, lineterminator="\n").writerows([n, *row] for n, row in enumerate(rows))
                columns = ", ".join(f"{name} double precision" for name in names)
                found = run(
                    f"CREATE TEMP TABLE features (row_ int, {columns});\n"
                    f"COPY features FROM STDIN WITH (FORMAT csv);\n{text.getvalue()}\\.\n"
                    f"SELECT probability FROM (\n{TARGET.content(formula).decode()}\n) AS s ORDER BY row_;"
                )
                assert_same(np.array(found.split(), float), ranker, rtol=1e-6)
