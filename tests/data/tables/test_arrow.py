"""Parquet and Arrow files: what is written reads back to the same bits; what is wrong is named."""

import re
import time
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tests.data.examples import assert_same, random_queries
from tests.messages import rejects

import directrix as dx
from directrix.data import memory
from directrix.data.columns import ColumnNames
from directrix.data.file import DataFile
from directrix.data.stored import RawRows
from directrix.data.tables import files
from directrix.data.tables.files import FORMS as READERS
from directrix.data.tables.read import open_parquet, read_parquet
from directrix.data.tables.write import write_parquet
from directrix.errors import InputError

FORMS = (".parquet", ".arrow", ".feather")


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("ids", [int, "query {}".format])
def test_what_was_written_reads_back_to_the_same_bits(tmp_path, form, dtype, ids):
    q = random_queries(1, dtype=dtype, ids=ids)
    write_parquet(q, tmp_path / f"data{form}")
    assert_same(q, read_parquet(tmp_path / f"data{form}"))


@pytest.mark.parametrize("form", FORMS)
def test_features_of_a_list_are_chosen_by_name(tmp_path, form):
    q, path = random_queries(1), tmp_path / f"data{form}"
    categories = (None, ("x", "y"), None, None, ("z",))
    write_parquet(replace(q, feature_names=(*"abcde",), categories=categories), path)
    for names, places in (("ca", [2, 0]), ("be", [1, 4])):
        kept = tuple(categories[place] for place in places)
        expected = replace(q, features=q.features[:, places].copy(), feature_names=(*names,))
        read = read_parquet(path, features=[*names])
        assert_same(expected, read)
        assert read.categories == (kept if any(kept) else None)
        opened = open_parquet(path, features=[*names])
        assert (opened.feature_names, opened.categories) == (read.feature_names, read.categories)
        assert opened.features[:].tobytes() == read.features.tobytes()
    excluded = DataFile(path, ColumnNames(excluded=("d", "docid", "a"))).queries()
    assert (excluded.feature_names, excluded.doc_ids is None) == ((*"bce",), False)
    assert_same(read_parquet(path), read_parquet(path, features="features"))
    with pytest.raises(InputError, match="no column z; the columns are a, b, c, d, e"):
        read_parquet(path, features=["a", "z"])
    with pytest.raises(InputError, match="two columns have the name 'a'"):
        read_parquet(path, features=["a", "a"])


def test_sparse_features_are_written_dense(tmp_path):
    import scipy.sparse as sp

    dense = np.random.default_rng(0).random((30, 7), dtype=np.float32)
    X = sp.csr_array(dense * (dense < 0.2))
    write_parquet(dx.Queries.from_arrays(X, np.zeros(30), group=[30]), tmp_path / "data.arrow")
    assert (read_parquet(tmp_path / "data.arrow").features == X.toarray()).all()


def table(**changed):
    columns = {
        "qid": ["b", "a", "b"],
        "label": [1, 0, 2],
        "bm25": pa.array([1.5, 2.5, 3.5], pa.float32()),
        "clicks": pa.array([10, 20, 30], pa.int16()),
    }
    return pa.table({name: c for name, c in (columns | changed).items() if c is not None})


def test_a_column_a_feature_is_read_with_its_name_and_rows_are_grouped(tmp_path):
    pq.write_table(table(docid=["x", None, "y"]), tmp_path / "data.parquet")
    q = read_parquet(tmp_path / "data.parquet")
    assert q.feature_names == ("bm25", "clicks")
    assert q.features.dtype == np.float32
    assert q.features.tolist() == [[1.5, 10.0], [3.5, 30.0], [2.5, 20.0]]
    assert (q.query_ids, q.qptr.tolist(), q.labels.tolist()) == (("b", "a"), [0, 2, 3], [1.0, 2.0, 0.0])
    assert (q.rows.tolist(), q.doc_ids.tolist()) == ([0, 2, 1], ["x", "y", None])


def test_the_index_of_pandas_is_no_feature(tmp_path):
    table().to_pandas().iloc[[2, 0]].to_parquet(tmp_path / "data.parquet")
    assert read_parquet(tmp_path / "data.parquet").feature_names == ("bm25", "clicks")


def test_a_folder_is_read_in_the_order_of_names(tmp_path):
    q = random_queries(3)
    for name, part in (("b.parquet", range(20, 40)), ("a.arrow", range(20)), (".hidden.parquet", range(3))):
        write_parquet(q.take(part), tmp_path / name)
    (tmp_path / "README").write_text("not data")
    assert_same(q, read_parquet(tmp_path))
    assert open_parquet(tmp_path).features[:].tobytes() == q.features.tobytes()


@pytest.mark.parametrize(("missing", "expected"), [("zero", [0.0, 0.0, 3.5]), ("nan", [np.nan, np.nan, 3.5])])
def test_missing_features(tmp_path, missing, expected):
    pq.write_table(table(qid=[1, 1, 1], bm25=[None, np.nan, 3.5]), tmp_path / "data.parquet")
    np.testing.assert_array_equal(
        read_parquet(tmp_path / "data.parquet", missing=missing).features[:, 0], expected
    )


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        (
            {"qid": None},
            r"no column qid, .* columns are label, bm25, clicks. Type .*read_parquet\(path, qid=NAME\)",
        ),
        ({"label": None}, r"no column label, relevance, rel or grade; the columns are qid, bm25, clicks"),
        ({"label": ["x", "y", "z"]}, r"must be numbers, got 'label' \(string\)"),
        ({"label": [0.0, -1.0, 2.0]}, r"-1.0 at .*row 1, column 'label'; labels are finite and >= 0"),
        ({"label": [0.0, np.nan, 2.0]}, r"nan at .*row 1, column 'label'"),
        ({"label": [0, 1, None]}, r"row 2, column 'label': it is null"),
        ({"qid": ["a", None, "b"]}, r"row 1, column 'qid': it is null"),
        ({"qid": [0.5, np.nan, 1.0]}, r"row 1, column 'qid': it is nan"),
        ({"bm25": [0.5, np.nan, 1.0]}, r"nan at .*row 1, 'bm25'; .* missing='zero'"),
        ({"bm25": [0.5, None, 1.0]}, r"nan at .*row 1, .bm25.;"),
        ({"bm25": [0.5, 1.0, np.inf]}, r"inf at .*row 2, 'bm25'; .* Clip the column"),
        ({"qid": [[1], [1], [2]]}, r"column 'qid' is list<.*>; an integer or text per row is needed"),
        ({"docid": [[1], [1], [2]]}, r"column 'docid' is list<.*>; an integer or text per row is needed"),
        ({"bm25": ["x", "y", "z"]}, r"features must be numbers, got 'bm25' \(string\)"),
        ({"features": [[1.0], [2.0], [3.0]]}, r"'bm25' next to a list column 'features'"),
        (
            {"features": [[1.0], [2.0, 1.0], [3.0]], "bm25": None, "clicks": None},
            r"'features' is list<.*>; a list of numbers of one length",
        ),
    ],
)
def test_what_is_wrong_is_named_with_file_row_and_column(tmp_path, changed, message):
    pq.write_table(table(**changed), tmp_path / "data.parquet")
    with pytest.raises(InputError, match=message) as caught:
        read_parquet(tmp_path / "data.parquet")
    assert str(tmp_path / "data.parquet") in str(caught.value)


def test_lists_with_nulls_and_nan_are_refused(tmp_path):
    kind = pa.list_(pa.float32(), 2)
    for features, message in (
        ([[1.0, 2.0], None, [1.0, 1.0]], "row 1, column 'features': it is null"),
        ([[1.0, 2.0], [1.0, 1.0], [0.0, None]], "row 2, feature 2; finite"),
    ):
        changed = {"features": pa.array(features, kind), "bm25": None, "clicks": None}
        with pa.OSFile(str(tmp_path / "d.arrow"), "w") as f, pa.ipc.new_file(f, table(**changed).schema) as w:
            w.write_table(table(**changed))
        with pytest.raises(InputError, match=re.escape(message)):
            read_parquet(tmp_path / "d.arrow")


def test_files_that_are_none(tmp_path):
    text, cut = tmp_path / "text.parquet", tmp_path / "cut.arrow"
    text.write_text("1 qid:1 1:1\n")
    write_parquet(random_queries(4), cut)
    cut.write_bytes(cut.read_bytes()[:-100])
    for path, message in (
        (text, "is neither a Parquet nor an Arrow IPC file .* write it again"),
        (cut, "cannot be read as a Parquet or Arrow file"),
        (tmp_path / "absent.parquet", "does not exist"),
        (tmp_path / "empty", "is a folder without"),
    ):
        (tmp_path / "empty").mkdir(exist_ok=True)
        with pytest.raises(InputError, match=message):
            read_parquet(path)
    pq.write_table(table().slice(0, 0), tmp_path / "rows.parquet")
    with rejects(InputError):
        read_parquet(tmp_path / "rows.parquet")


def test_files_of_a_folder_must_have_the_same_columns(tmp_path):
    pq.write_table(table(), tmp_path / "a.parquet")
    pq.write_table(table(clicks=None), tmp_path / "b.parquet")
    with rejects(InputError):
        read_parquet(tmp_path)


@pytest.mark.parametrize(
    ("q", "name", "message"),
    [
        (random_queries(0), "data.csv", "its ending says neither Parquet nor Arrow"),
        (random_queries(0, ids=lambda q: q if q else "none"), "d.arrow", "integers of 64 bits or all text"),
        (random_queries(0).take([]), "d.parquet", "there are no rows"),
        (random_queries(0, ids=lambda q: q + 0.5), "d.parquet", r"query \d+\.5 is not of type int64"),
        (random_queries(0, ids=lambda q: q + 2**64), "d.arrow", "integers of 64 bits or all text"),
        (random_queries(0, n_features=0), "d.arrow", "there are no features"),
    ],
)
def test_what_cannot_be_written_leaves_the_old_file(tmp_path, q, name, message):
    (tmp_path / name).write_text("old")
    with pytest.raises(InputError, match=message):
        write_parquet(q, tmp_path / name)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [(name, "old")]


def test_without_pyarrow_the_message_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    monkeypatch.setitem(__import__("sys").modules, "pyarrow.ipc", None)
    with pytest.raises(dx.MissingExtra, match=r'pip install "directrix\[arrow\]"'):
        write_parquet(random_queries(0), tmp_path / "data.parquet")


def test_open_reads_the_same_rows_as_read(tmp_path):
    q = random_queries(5, n_queries=300, n_features=60)
    for form, raw in ((".arrow", True), (".parquet", False)):
        path = tmp_path / f"data{form}"
        write_parquet(q, path)
        s = open_parquet(path)
        assert isinstance(s.features.source, RawRows) is raw
        assert "in a file" in repr(s)
        assert (s.labels.tolist(), s.qptr.tolist()) == (q.labels.tolist(), q.qptr.tolist())
        assert s.features[17:940].tobytes() == q.features[17:940].tobytes()
        assert s.features[3:5].tobytes() == q.features[3:5].tobytes()  # back to the front
        some = [7, 8, 9, 250, 3]
        part, expected = s.take(some), q.take(some)
        assert part.features[:].tobytes() == expected.features.tobytes()
        assert part.take([4, 0]).features[:].tobytes() == q.take([3, 7]).features.tobytes()
        assert part.labels.tolist() == expected.labels.tolist()


def test_files_of_others_are_opened_too(tmp_path):
    """Compressed lists, and columns."""
    q = random_queries(6, n_queries=100)
    write_parquet(q, tmp_path / "own.arrow")
    with pa.memory_map(str(tmp_path / "own.arrow")) as mapped:
        own = pa.ipc.open_file(mapped).read_all()
    options = pa.ipc.IpcWriteOptions(compression="zstd")
    path = tmp_path / "small.arrow"
    with pa.OSFile(str(path), "w") as f, pa.ipc.new_file(f, own.schema, options=options) as writer:
        writer.write_table(own, max_chunksize=100)
    columns = {f"f{j}": q.features[:, j] for j in range(q.n_features)}
    pq.write_table(
        pa.table({"qid": own["qid"], "label": own["label"], **columns}),
        tmp_path / "c.parquet",
        row_group_size=70,
    )
    for path in (tmp_path / "small.arrow", tmp_path / "c.parquet"):
        s = open_parquet(path)
        assert not isinstance(s.features.source, RawRows)
        for first, last in ((0, q.n_docs), (333, 700), (120, 130)):
            assert s.features[first:last].tobytes() == q.features[first:last].tobytes()


@pytest.mark.parametrize("form", [".parquet", ".arrow"])
def test_rows_far_down_in_one_large_group_are_found(tmp_path, form, monkeypatch):
    """Others write a million rows as one group, of which batches are read: the third one first, here."""
    monkeypatch.setattr("directrix.data.tables.files._BATCH_BYTES", 0)
    n = 256 * 5 + 3
    columns = {"qid": np.arange(n) // 7, "label": np.zeros(n), "a": np.arange(n, dtype=np.float32)}
    if form == ".parquet":
        pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    else:
        with pa.ipc.new_file(tmp_path / "data.arrow", pa.table(columns).schema) as writer:
            writer.write_table(pa.table(columns))
    q = open_parquet(tmp_path / f"data{form}")
    for first, last in ((256 * 3, 256 * 4 + 9), (n - 1, n), (2, 5), (256 * 2 - 1, 256 * 2 + 1)):
        assert q.features[first:last].tolist() == [[row] for row in range(first, last)]


def test_what_is_wrong_with_a_feature_is_said_again(tmp_path):
    pq.write_table(table(qid=[1, 1, 2], clicks=[1.0, np.inf, 3.0]), tmp_path / "data.parquet")
    q = open_parquet(tmp_path / "data.parquet")
    for _ in range(2):
        with rejects(InputError):
            q.features[:]


@pytest.mark.parametrize("form", [".parquet", ".arrow"])
def test_stored_features_take_slices_and_positions_only(tmp_path, form):
    q = random_queries(11)
    write_parquet(q, tmp_path / f"data{form}")
    features = open_parquet(tmp_path / f"data{form}").features
    assert features[-3:].tobytes() == q.features[-3:].tobytes()
    assert features[np.int64(4)][:].tobytes() == q.features[4:5].tobytes()
    for rows in (slice(None, None, 2), slice(None, None, -1), np.ones(q.n_docs, dtype=bool), [0.0], (0, 1)):
        with rejects(InputError):
            features[rows]
    for rows in ([-1], [q.n_docs]):
        with pytest.raises(IndexError, match="rows"):
            features[rows]


def test_a_query_in_two_places_cannot_stay_in_a_file(tmp_path):
    pq.write_table(table(), tmp_path / "data.parquet")
    with rejects(InputError):
        open_parquet(tmp_path / "data.parquet")


def test_stored_features_refuse_to_become_a_matrix(tmp_path):
    q = random_queries(7)
    write_parquet(q, tmp_path / "data.arrow")
    s = open_parquet(tmp_path / "data.arrow")
    with rejects(InputError):
        np.asarray(s.features)
    with rejects(InputError):
        s.widened(9)


def test_a_file_that_changed_is_refused(tmp_path):
    for path in (tmp_path / "data.arrow", tmp_path / "data.parquet"):
        write_parquet(random_queries(8), path)
        s = open_parquet(path)
        write_parquet(random_queries(9), path)
        with rejects(InputError):
            s.features[:3]


def test_blocks_are_read_ahead_in_order(tmp_path, monkeypatch):
    q = random_queries(10, n_queries=200)
    write_parquet(q, tmp_path / "data.arrow")
    s = open_parquet(tmp_path / "data.arrow")
    monkeypatch.setattr("directrix.data.stored.BLOCK_BYTES", 4000)
    found = []
    for first, rows in s.features.blocks(s.qptr):
        assert not rows.flags.writeable  # kernels are compiled for that alone
        found.append((first, rows.copy()))
        time.sleep(0.002)  # for the reader, which must leave these rows alone
        assert rows.tobytes() == found[-1][1].tobytes()
    assert len(found) > 10
    assert {first for first, _ in found} <= set(q.qptr.tolist())
    assert np.concatenate([rows for _, rows in found]).tobytes() == q.features.tobytes()
    for _ in s.features.blocks(s.qptr):
        break  # whoever stops early leaves no thread behind


def ipc(path, columns, *, schema=None):
    batch = pa.record_batch(columns)
    with pa.ipc.new_file(path, schema or batch.schema) as writer:
        writer.write_batch(batch)


def offsets(*values):
    return np.array(values, dtype=np.int32).tobytes()


DAMAGED = {  # what the file holds, and what takes its place
    "offsets-outside": (offsets(0, 7, 14), offsets(0, 7, 2_000_000_000)),
    "offsets-fall": (offsets(0, 7, 14), offsets(0, 14, 7)),
    "offsets-negative": (offsets(0, 7, 14), offsets(-5, 7, 14)),
    "no-utf8": (b"query-a", b"query-\xff"),
    "codes-outside": (offsets(1, 0), offsets(1, 1_000_000)),
    "names-no-utf8": (b"feature", b"\xffeature"),
}


@pytest.mark.parametrize("reader", [read_parquet, open_parquet])
@pytest.mark.parametrize("case", DAMAGED)
def test_offsets_and_text_are_validated_before_they_are_followed(tmp_path, case, reader):
    qid = pa.array(["query-b", "query-a"])
    if case == "codes-outside":
        qid = pa.DictionaryArray.from_arrays(pa.array([1, 0], pa.int32()), qid)
    ipc(tmp_path / "data.arrow", {"qid": qid, "label": pa.array([0.5, 1.5]), "feature": pa.array([1.0, 2.0])})
    assert reader(tmp_path / "data.arrow").n_docs == 2
    content = (tmp_path / "data.arrow").read_bytes()
    assert content.count(DAMAGED[case][0])
    (tmp_path / "data.arrow").write_bytes(content.replace(*DAMAGED[case]))
    with rejects(InputError):
        reader(tmp_path / "data.arrow")


def test_a_list_size_that_the_file_cannot_hold_is_refused_without_memory(tmp_path):
    """3 becomes 855,638,019 in the schema: its names alone would take 50 GB."""
    rows = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(6, dtype=np.float32)), 3)
    ipc(tmp_path / "data.arrow", {"qid": pa.array([1, 1]), "label": pa.array([0, 1]), "features": rows})
    content = bytearray((tmp_path / "data.arrow").read_bytes())
    kind = pa.ipc.open_file(tmp_path / "data.arrow").schema.field("features").type
    assert kind.list_size == 3
    places = [m.start() for m in re.finditer(rb"\x03\0\0\0", bytes(content))]
    for place in places:
        changed = bytearray(content)
        changed[place + 3] = 51
        (tmp_path / "bad.arrow").write_bytes(changed)
        started = time.perf_counter()
        for reader in (read_parquet, open_parquet):
            try:
                assert reader(tmp_path / "bad.arrow").n_features in (1, 3)
            except InputError as error:
                assert "bad.arrow" in str(error)  # noqa: PT017
        assert time.perf_counter() - started < 5


@pytest.mark.parametrize(
    "metadata", [b"[" * 100_000, b"9" * 10_000, b'["a", 1]', b'{"a": 1, "b": 2}', b'["a", "a"]', b"\xff"]
)
def test_names_in_metadata_that_are_no_names_are_refused(tmp_path, metadata):
    rows = pa.FixedSizeListArray.from_arrays(pa.array(np.ones(4)), 2)
    columns = {"qid": pa.array([1, 1]), "label": pa.array([0, 1]), "features": rows}
    schema = pa.record_batch(columns).schema.with_metadata({"directrix.feature_names": metadata})
    with pa.ipc.new_file(tmp_path / "data.arrow", schema) as writer:
        writer.write_batch(pa.record_batch(list(columns.values()), schema=schema))
    with rejects(InputError):
        read_parquet(tmp_path / "data.arrow")


def test_a_header_that_counts_other_rows_than_there_are_is_refused(tmp_path, monkeypatch):
    pq.write_table(table(), tmp_path / "data.parquet")
    parquet = READERS["parquet"]
    says = {
        5: "says 5 rows, and its data have 3",
        2: "says 2 rows, and its data have 3",
        -6: "it has -6 rows",
    }
    for n_rows, message in says.items():

        class Lying(parquet):
            def __init__(self, *given, n_rows=n_rows):
                super().__init__(*given)
                self.n_rows = n_rows

        monkeypatch.setitem(READERS, "parquet", Lying)
        with pytest.raises(InputError, match=message):
            read_parquet(tmp_path / "data.parquet")


def test_tables_that_do_not_fit_are_refused_before_they_are_made(tmp_path, monkeypatch):
    n_docs = 1_500_000
    columns = {"qid": np.zeros(n_docs, dtype=int), "label": np.zeros(n_docs), "f": np.zeros(n_docs)}
    pq.write_table(pa.table(columns), tmp_path / "data.parquet")
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 20)
    needed = "1,500,000 rows with 1 features would take 0.048 GB"
    with monkeypatch.context() as changed:
        changed.setattr(memory, "_NOT_ASKED", 1 << 20)
        with pytest.raises(InputError, match=rf"{needed}.*0.00105 GB are available.*open_parquet"):
            read_parquet(tmp_path / "data.parquet")


@pytest.mark.parametrize(
    ("name", "message"), [("bm25", "two columns .* 'bm25'; rename one"), ("label", "2 columns")]
)
def test_two_columns_of_one_name_are_refused(tmp_path, name, message):
    both = table().append_column(name, pa.array([1.0, 2.0, 3.0]))
    pq.write_table(both, tmp_path / "data.parquet")
    with pytest.raises(InputError, match=message):
        read_parquet(tmp_path / "data.parquet")


def test_a_folder_of_data_holds_no_folders(tmp_path):
    write_parquet(random_queries(3), tmp_path / "a.parquet")
    (tmp_path / "b.parquet").mkdir()
    with rejects(InputError):
        read_parquet(tmp_path)


def test_scaled_rows_that_stay_in_a_file_are_not_chosen(tmp_path):
    write_parquet(random_queries(7), tmp_path / "data.arrow")
    q = open_parquet(tmp_path / "data.arrow")
    scaled = replace(q.features, scale=lambda rows, qptr: rows, qptr=q.qptr)
    with pytest.raises(InputError, match="a choice of scaled rows needs them in memory"):
        scaled[[1, 2]]


def test_a_file_that_is_cut_while_it_is_read_is_refused(tmp_path):
    write_parquet(random_queries(7), tmp_path / "data.arrow")
    q = open_parquet(tmp_path / "data.arrow")
    short = [(row, path, 10**9) for row, path, _ in q.features.source.extents]
    with rejects(InputError):
        replace(q.features, source=replace(q.features.source, extents=tuple(short)))[:2]


def test_a_reader_that_is_left_ends_without_importing_anything(tmp_path, monkeypatch):
    write_parquet(random_queries(1), tmp_path / "data.parquet")
    batches = DataFile(tmp_path / "data.parquet").tables.batches(["qid"])
    next(batches)
    monkeypatch.setattr(files, "import_arrow", lambda: pytest.fail("nothing can be imported at the exit"))
    batches.close()
