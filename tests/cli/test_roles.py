"""Columns of a table: which are features, and what a model file knows of them."""

import json

import numpy as np
import pandas as pd
import pytest
from tests.commands import refused, succeed

import directrix as dx

pytest.importorskip("pyarrow")

COLUMNS = ("--qid-column", "search", "--label-column", "stars", "--doc-id-column", "sku")
QUICK = ("--method", "RankNet", "--set", "l2=0.01")
TEXTS = ["title", "published", "shop"]


@pytest.fixture(scope="module")
def products():
    """Rows of 40 searches with numbers, a text, a date and a category."""
    rng = np.random.default_rng(0)
    n = 400
    bm25, price = rng.normal(size=n), rng.uniform(1.0, 50.0, n)
    return pd.DataFrame(
        {
            "search": np.repeat([f"s{i}" for i in range(40)], 10),
            "sku": [f"p{i}" for i in range(n)],
            "stars": np.digitize(bm25 - 0.05 * price + rng.normal(size=n), [-2.0, 0.0]),
            "bm25": bm25,
            "price": price,
            "title": [f"product number {i}" for i in range(n)],
            "published": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "shop": rng.choice(["north", "south", "west"], n),
        }
    )


@pytest.fixture(scope="module")
def shop(products, tmp_path_factory):
    """A folder with the table, a linear model, and trees that split by shop."""
    folder = tmp_path_factory.mktemp("shop")
    products.to_csv(folder / "products.csv", index=False)
    train = ("train", folder / "products.csv", *COLUMNS)
    succeed(*train, "--exclude-columns", ",".join(TEXTS), *QUICK, "-o", folder / "linear.json")
    trees = ("--method", "YetiRank", "--set", "num_leaves=7", "--set", "l2=20.0")
    chosen = ("--exclude-columns", "title,published", "--categorical-columns", "shop")
    succeed(*train, *chosen, *trees, "-o", folder / "trees.json")
    return folder


def test_all_columns_without_numbers_are_one_error(shop):
    text = refused("train", shop / "products.csv", *COLUMNS, *QUICK)
    first = f"'title' (string, 'product number 0' at {shop}/products.csv:2)"
    assert f"{first}, 'published' (date32[day]), 'shop' (string" in text
    assert "--exclude-columns title,published,shop;" in text
    assert text.endswith("--categorical-columns shop --exclude-columns title,published.")


def test_a_frame_names_them_all(products):
    columns = {"qid": "search", "label": "stars", "doc_id": "sku"}
    with pytest.raises(dx.InputError, match=r"'title' \(.*'published' \(.*'shop' \("):
        dx.Queries.from_frame(products, **columns)


def test_labels_without_numbers_are_named_as_labels(shop):
    text = refused("train", shop / "products.csv", *COLUMNS[:2], "--label-column", "shop", *QUICK)
    assert "labels and features must be numbers, got 'shop'" in text
    assert "--label-column NAME" in text


def test_a_column_to_exclude_must_exist(shop):
    text = refused("train", shop / "products.csv", *COLUMNS, "--exclude-columns", "titel", *QUICK)
    assert "there is no column titel; did you mean 'title'?" in text


def test_a_model_file_knows_the_columns(shop, tmp_path):
    data, model = shop / "products.csv", shop / "linear.json"
    assert dx.load(model).feature_names_in_.tolist() == ["bm25", "price"]
    result = succeed("predict", model, data)
    assert "not features of the model, are left out: 'title', 'published', 'shop'\n" in result.stderr
    columns = ("--exclude-columns", ",".join(TEXTS), *COLUMNS)
    assert result.stdout == succeed("predict", model, data, *columns).stdout
    for command in (("evaluate", data, model), ("describe", model, data), ("explain", model, data)):
        assert succeed(*command).stdout == succeed(*command, *columns).stdout, command
    both = succeed("compare", data, model, shop / "trees.json", "-f", "json")
    assert {s["name"] for s in json.loads(both.stdout)["systems"]} == {"linear", "trees"}


def test_an_option_goes_before_the_model_file(shop, products, tmp_path):
    renamed = tmp_path / "renamed.csv"
    products.assign(user=products["search"], search="one").to_csv(renamed, index=False)
    run = ("predict", shop / "linear.json", renamed, "--run", "x")
    assert {line.split()[0] for line in succeed(*run).stdout.splitlines()} == {"one"}
    of_users = succeed(*run, "--qid-column", "user").stdout
    assert len({line.split()[0] for line in of_users.splitlines()}) == 40


def test_a_table_without_a_feature_of_the_model_names_it_alone(shop, products, tmp_path):
    products.rename(columns={"price": "cost"}).drop(columns=TEXTS).to_csv(tmp_path / "t.csv", index=False)
    text = refused("predict", shop / "linear.json", tmp_path / "t.csv")
    assert "got no 'price' but 'cost'." in text
    assert "bm25" not in text


def test_columns_in_another_order_keep_their_categories(shop, products, tmp_path):
    data, model = shop / "products.csv", shop / "trees.json"
    expected = succeed("predict", model, data).stdout
    typed = products.drop(columns=["title", "published"]).astype({"shop": "category"})
    typed[typed.columns[::-1]].to_parquet(tmp_path / "reversed.parquet")
    assert succeed("predict", model, tmp_path / "reversed.parquet").stdout == expected
    q = dx.Queries.from_frame(typed[typed.columns[::-1]], qid="search", label="stars", doc_id="sku")
    dx.data.write_parquet(q, tmp_path / "lists.parquet")
    assert q.feature_names == ("shop", "price", "bm25")
    assert succeed("predict", model, tmp_path / "lists.parquet").stdout == expected


def test_explanations_show_categories_by_name(shop):
    data, model = shop / "products.csv", shop / "trees.json"
    names = {"north", "south", "west"}
    found = json.loads(succeed("explain", model, data, "-f", "json").stdout)
    (of_shop,) = [one for one in found["features"] if one["feature"] == "shop"]
    assert set(of_shop["dependence"]["values"]) == names
    table = succeed("explain", model, data).stdout
    assert any(
        line.split()[2] in names
        for line in table.splitlines()
        if line.startswith("shop  ") and "." in line.split()[1] and line.split()[2].isalpha()
    )
    query = json.loads(succeed("explain", model, data, "--query", "s1", "-f", "json").stdout)
    values = {f["value"] for d in query["documents"] for f in d["features"] if f["feature"] == "shop"}
    assert values
    assert values <= names
    pair = json.loads(
        succeed("explain", model, data, "--query", "s1", "--docs", "p10,p11", "-f", "json").stdout
    )
    sides = [one[side] for one in pair["features"] for side in ("above", "below") if one["feature"] == "shop"]
    assert set(sides) <= names


def test_missing_values_and_categories_are_refused_together(products, tmp_path):
    gaps = products.drop(columns=["title", "published"]).assign(
        price=products["price"].where(products.index > 3)
    )
    gaps.to_csv(tmp_path / "gaps.csv", index=False)
    given = ("--categorical-columns", "shop", "--missing", "nan")
    text = refused("train", tmp_path / "gaps.csv", *COLUMNS, *QUICK, *given)
    assert "'shop' holds categories" in text
    assert "4 values are missing, first of 'price'; LinearRanker takes neither" in text


def test_one_column_has_one_name_and_number():
    X = np.ones((4, 9))
    X[2, 8] = np.nan
    with pytest.raises(dx.InputError, match="nan at row 2, feature 9;"):
        dx.Queries.from_arrays(X, [0, 1, 0, 1], group=[4])
    q = dx.Queries.from_arrays(X, [0, 1, 0, 1], group=[4], missing="nan")
    with pytest.raises(dx.InputError, match="feature 9 is missing"):
        dx.LinearRanker().fit_queries(q)


@pytest.mark.parametrize("name", ["position", "Rank", "serp_rank"])
def test_a_position_among_the_features_is_a_note(products, tmp_path, name):
    q = products.drop(columns=TEXTS).assign(**{name: np.tile(np.arange(10), 40)})
    q.to_csv(tmp_path / "t.csv", index=False)
    result = succeed("train", tmp_path / "t.csv", *COLUMNS, *QUICK, "-o", tmp_path / "m.json")
    assert f"note: the feature {name} looks like the position in an earlier ranking" in result.stderr


def test_a_document_occurs_once_per_query(shop, products, tmp_path):
    pd.concat([products, products.iloc[3:4]]).to_csv(tmp_path / "again.csv", index=False)
    options = ("--exclude-columns", ",".join(TEXTS), *COLUMNS, *QUICK)
    for command in (
        ("train", tmp_path / "again.csv", *options),
        ("train", shop / "products.csv", "--valid", tmp_path / "again.csv", *options),
        ("evaluate", tmp_path / "again.csv", shop / "linear.json"),
    ):
        assert "query s0 has the document 'p3' twice" in refused(*command), command


def test_swapped_files_are_named(shop):
    data, model = shop / "products.csv", shop / "linear.json"
    for command in ("predict", "explain", "describe", "lab certify"):
        assert f"which holds csv. Swap them: {model} {data}." in refused(*command.split(), data, model), (
            command
        )
    assert "Give a file that `directrix train` wrote" in refused("predict", data, data)
    for arguments in (("predict", model, model), ("convert", data, shop / "no.txt", "--qrels", model)):
        assert f"{model} is JSON, as model files are, and not lines of data" in refused(*arguments)
