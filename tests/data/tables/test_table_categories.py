"""Columns of categories in files: found by type or by name, kept by conversions, refused elsewhere."""

import numpy as np
import pandas as pd
import pytest
from tests.messages import rejects
from typer.testing import CliRunner

import directrix as dx
from directrix.cli.main import app
from directrix.data import open_parquet, read_parquet, write_parquet

ROWS = pd.DataFrame(
    {
        "qid": [1, 1, 1, 2, 2, 2],
        "label": [1, 0, 0, 2, 0, 1],
        "shop": ["v", "u", None, "w", "u", "v"],
        "price": [0.5, 1.5, 2.5, 0.1, 0.2, 0.3],
    }
)
EXPECTED = [1.0, 0.0, np.nan, 2.0, 0.0, 1.0]


def command(*arguments):
    result = CliRunner().invoke(app, [str(a) for a in arguments])
    return result.exit_code, result.stdout + result.stderr


@pytest.fixture
def dictionary(tmp_path):
    path = tmp_path / "typed.parquet"
    ROWS.assign(shop=ROWS["shop"].astype("category")).to_parquet(path)
    return path


@pytest.fixture(params=["csv", "jsonl", "parquet"])
def text(request, tmp_path):
    path = tmp_path / f"text.{request.param}"
    {
        "csv": lambda: ROWS.to_csv(path, index=False),
        "jsonl": lambda: ROWS.to_json(path, orient="records", lines=True),
        "parquet": lambda: ROWS.to_parquet(path),
    }[request.param]()
    return path


def check(q):
    assert q.categories == (("u", "v", "w"), None)
    np.testing.assert_array_equal(q.features[:, 0], EXPECTED)
    np.testing.assert_allclose(q.features[:, 1], ROWS["price"])


def test_a_dictionary_is_a_category_and_stays_one(dictionary, tmp_path):
    q = read_parquet(dictionary, missing="nan")
    check(q)
    for name in ("again.parquet", "again.arrow"):
        write_parquet(q, tmp_path / name)
        check(read_parquet(tmp_path / name, missing="nan"))
        assert open_parquet(tmp_path / name).categories == q.categories
    status, _ = command("convert", dictionary, tmp_path / "new.arrow", "--missing", "nan")
    assert status == 0
    check(read_parquet(tmp_path / "new.arrow", missing="nan"))
    status, _ = command("convert", tmp_path / "new.arrow", tmp_path / "newer.parquet", "--missing", "nan")
    assert status == 0
    check(read_parquet(tmp_path / "newer.parquet", missing="nan"))


def test_text_is_a_category_if_it_is_named(text, tmp_path):
    status, said = command("convert", text, tmp_path / "new.arrow", "--missing", "nan")
    assert (status, "keep categories: --categorical-columns shop" in " ".join(said.split())) == (1, True)
    named = ("--categorical-columns", "shop", "--missing", "nan")
    status, said = command("convert", text, tmp_path / "new.arrow", *named)
    assert status == 0, said
    check(read_parquet(tmp_path / "new.arrow", missing="nan"))


def test_names_of_categories_may_be_numbers(tmp_path):
    path = tmp_path / "ids.csv"
    path.write_text("qid,label,shop\n1,1,007\n1,0,7\n1,0,\n")
    named = ("--categorical-columns", "shop", "--missing", "nan")
    assert command("convert", path, tmp_path / "ids.arrow", *named)[0] == 0
    assert read_parquet(tmp_path / "ids.arrow", missing="nan").categories == (("007", "7"),)


def test_a_model_of_one_file_scores_another(dictionary, text, tmp_path):
    model = tmp_path / "model.json"
    q = read_parquet(dictionary, missing="nan")
    dx.BoostedRanker(n_trees=3, min_data_in_leaf=1).fit_queries(q).save(model)
    of_typed, of_text = (
        command("evaluate", path, model, "--missing", "nan", "-m", "nDCG", "-f", "json", *more)
        for path, more in ((dictionary, ()), (text, ("--categorical-columns", "shop")))
    )
    assert of_typed == of_text
    assert of_typed[0] == 0


def test_where_categories_cannot_go(dictionary, tmp_path):
    for call, message in (
        (("convert", dictionary, tmp_path / "a.txt", "--missing", "nan"), "LETOR text has numbers alone"),
        (("train", dictionary, "--stream", "--method", "ListNet"), "cannot stay in the file"),
        (
            ("train", dictionary, "--method", "ListNet", "--scale", "log", "--missing", "nan"),
            "'shop' holds cat",
        ),
        (("train", dictionary, "--categorical-columns", "shp"), "no column shp; did you mean 'shop'"),
        (("train", dictionary, "--categorical-columns", ","), "-columns names no column; type"),
    ):
        status, said = command(*call, *(("-o", tmp_path / "m.json") if call[0] == "train" else ()))
        assert status in (1, 2)
        assert message in " ".join(said.replace("│", " ").split()), said
    assert not (tmp_path / "a.txt").exists()


@pytest.mark.parametrize("listed", ['{"a": 1}', '[["u"]]', '[["u", "u"], null]', "[" * 50_000, "[[1], null]"])
def test_damaged_names_in_metadata(listed, dictionary, tmp_path):
    import pyarrow as pa

    path = tmp_path / "a.arrow"
    write_parquet(read_parquet(dictionary, missing="nan"), path)
    with pa.memory_map(str(path)) as mapped:
        table = pa.ipc.open_file(mapped).read_all()
    metadata = table.schema.metadata | {b"directrix.categories": listed.encode()}
    with pa.ipc.new_file(str(tmp_path / "b.arrow"), table.schema.with_metadata(metadata)) as writer:
        writer.write_table(table.replace_schema_metadata(metadata))
    with rejects(dx.InputError):
        read_parquet(tmp_path / "b.arrow")
