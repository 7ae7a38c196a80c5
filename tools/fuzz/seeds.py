"""Valid files and texts to mutate, all made by the package itself."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import directrix as dx
from directrix.registry import MEASURES, SURROGATES, classes

_LETOR = b"""2 qid:1 1:0.5 2:-1.25 4:3e-2 # docid = GX001
0 qid:1 1:1 2:0 3:7 4:1 # docid = GX002 inc = 1 prob = 0.5

1 qid:1 3:.25
# a comment
0 qid:2 1:2 2:NULL 4:-0.0 #docid = GX001
1 qid:2 1:3 3:nan
3 qid:q-3 2:1e10 # docid=x
"""
_PLAIN = b"1 1:0.5 2:1\n0 1:0.25 3:2\n2 2:1\n0 1:1\n1 1:7 2:1 3:1\n"
_RUN = b"""301 Q0 FR940202-2-00150 104 2.129133 STANDARD
301 Q0 FR940104-0-00001 7 1.5 STANDARD
302 Q0 d-1 1 -3e2 STANDARD
302 Q0 d-2 2 -3e2 STANDARD
"""
_QRELS = b"301 0 FR940202-2-00150 1\n301 0 other 0\n302 0 d-1 2\n302 0 d-2 -1\n"
_SUBTOPICS = b"301 1 a 1\n301 2 a 0\n301 1 b 1\n302 1 a 2\n"
_CSV = b"qid,label,docno,f 1,f2\n7,1,a,0.5,1\n7,0,b,,2\n8,2,c,1e3,-3\n8,0,,4,5\n"
_QUOTED = b'"query_id","relevance","a","b"\r\n"x ""1""",1,2,3\r\nx2,0,4,5\r\n'
_JSON_LINES = b"""{"qid": "7", "label": 1, "docno": "a", "features": [0.5, 1.0]}
{"qid": "7", "label": 0, "docno": "b", "features": [1.5, 2]}
{"qid": "8", "label": 2, "docno": null, "features": [3, 4]}
"""
_JSON_COLUMNS = (
    b'{"topic": 1, "rel": 1, "bm25": 2.5, "tf": 1}\n{"topic": 1, "rel": 0, "bm25": null, "tf": 2}\n'
)
_CELLS = b"""{"key": ["Fold1", 0, "AP"], "seconds": 0.125, "result": {"value": 0.5, "each": [1, 0.25, null]}}
{"key": ["Fold1", 1], "seconds": 3, "result": [1, 2]}
{"key": ["Fold2", 0], "seconds": 0.0, "result": null}
"""


def letor() -> list[bytes]:
    return [_LETOR, _LETOR.replace(b"NULL", b"0").replace(b"nan", b"1"), _written(".txt")]


def groups() -> list[bytes]:
    """Sizes of the queries of `plain`."""
    return [b"2\n3\n", b"1\n1\n3\n", b"5\n"]


def plain() -> bytes:
    return _PLAIN


def run() -> list[bytes]:
    return [_RUN, _RUN.replace(b" ", b"\t")]


def qrels() -> list[bytes]:
    return [_QRELS, _SUBTOPICS, b"301 a 1\n301 b 0\n302 a 1\n", _written(".qrels")]


def scores() -> list[bytes]:
    return [b"0.5\n-1.25\n3e-2\n1\n0\n"]


def csv() -> list[bytes]:
    return [_CSV, _QUOTED, _CSV.replace(b",", b"\t")]


def json_lines() -> list[bytes]:
    return [_JSON_LINES, _JSON_COLUMNS]


def log() -> list[bytes]:
    """Logs of clicks with sessions, with counts, and as objects."""
    sessions = (
        b"session,query,doc,position,clicked,user,ranker,time\n1,q,a,1,0,u,A,5\n1,q,b,2,1,u,A,5\n"
        b"2,q,b,1,1,v,B,6\n2,q,a,2,0,v,B,6\n3,r,c,1,1,u,A,2026-01-01\n"
    )
    counts = b"query,doc,position,impressions,clicks\nq,a,1,30,12\nq,a,2,9,1\nq,b,2,20,3\nq,b,1,7,3\n"
    rows = b'{"session": 1, "query": 7, "doc": 1, "position": 1, "clicked": true}\n'
    return [sessions, counts, rows + rows.replace(b'"doc": 1, "position": 1', b'"doc": 2, "position": 2')]


def events() -> list[bytes]:
    """Events with numbers, dates and text as times."""
    return [
        b"user,item,time,event\na,x,1,view\nb,y,2,click\na,y,90000,cart\nb,x,200000,purchase\na,x,3e5,view\n",
        b"user,item,time,session\n1,7,2026-01-01T10:00:00,1\n2,7,2026-01-02,2\n1,8,2026-01-03T10:00:00Z,3\n",
        b'{"user": 1, "item": 7, "time": 1.5}\n{"user": 1, "item": 8, "time": 90000}\n'
        b'{"user": 2, "item": 7, "time": 100000}\n',
    ]


def documents() -> list[bytes]:
    return [
        b"<DOC>\n<DOCNO>a</DOCNO>\n<TITLE>wings</TITLE>\n<TEXT><P>in a\nslipstream</TEXT>\n</DOC>\n",
        b"<top>\n<num> Number: 351\n<title> wings\n<desc> Description:\nheat\n</top>\n",
        b".I 1\n.T\nwings\n.X\n1 2\n.W\nin a slipstream\n.I 2\n.W\nheat\n",
        b'{"_id": "a", "title": "wings", "metadata": {"n": 1}}\n{"_id": "b", "text": "heat"}\n',
        b"docno,text\n7,wings\n8,heat\n",
    ]


def index() -> list[bytes]:
    from directrix.text import Index

    made = Index.build({"a": "Wings in a slipstream", "b": "heat", "c": ""}, analyzers=["none", "none+stop"])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "i.index"
        made.save(path)
        return [path.read_bytes()]


def responses() -> list[bytes]:
    """One response of each engine, whose features are logged in different forms."""
    log = {
        "hits": {"hits": [{"_id": "a", "fields": {"_ltrlog": [{"log": [{"name": "bm25", "value": 2.5}]}]}}]}
    }
    docs = {
        "response": {
            "docs": [{"id": "a", "[features]": "title=1.5,age=3"}, {"id": "b", "[features]": "age=7"}]
        }
    }
    child = {"fields": {"documentid": "id:x:y::a", "summaryfeatures": {"bm25(title)": 1.5, "age": 3}}}
    bodies = [log, docs, {"root": {"children": [child]}}]
    return [json.dumps({"qid": 1, **body}).encode() + b"\n" for body in bodies]


def cells() -> list[bytes]:
    return [_CELLS]


def arrow() -> list[bytes]:
    """Arrow IPC, Feather with compression, several batches, text and dictionary columns, columns by name."""
    import pyarrow as pa
    import pyarrow.feather
    import pyarrow.ipc

    files = [_written(".arrow")]
    for compression in ("uncompressed", "zstd"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, "a.feather")
            pyarrow.feather.write_feather(_table(pa), path, compression=compression, chunksize=3)
            files.append(path.read_bytes())
    return files


def parquet() -> list[bytes]:
    import pyarrow as pa
    import pyarrow.parquet

    files = [_written(".parquet")]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "a.parquet")
        pyarrow.parquet.write_table(_table(pa), path, row_group_size=3, compression="snappy")
        files.append(path.read_bytes())
    return files


def _table(pa: Any) -> Any:
    table = pa.table(
        {
            "qid": ["a", "a", "b", "b", "b"],
            "label": pa.array([1, 0, 2, 0, 1], pa.int8()),
            "docno": ["x", None, "z", "é", ""],
            "f one": pa.array([0.5, 1.5, None, 2.5, 3.5], pa.float32()),
            "f2": pa.array([1, 2, 3, 4, 5], pa.int64()),
        }
    )
    return table.set_column(0, "qid", table.column(0).dictionary_encode())


@cache
def _queries(n_features: int = 4) -> dx.Queries:
    return dx.data.make_linear(n_queries=6, docs_per_query=8, n_features=n_features, seed=0)[0]


def _written(suffix: str) -> bytes:
    from directrix.data.formats import named

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, f"seed{suffix}")
        form = named(path)
        assert form is not None
        with form.writing(path) as add:
            add(_queries())
        return path.read_bytes()


def linear() -> list[bytes]:
    scaled = [
        dx.LinearRanker(scale=kind, max_iter=2) for kind in ("query-minmax", "quantile", "raw+log", None)
    ]
    return [_saved(ranker) for ranker in scaled]


def network() -> list[bytes]:
    return [
        _saved(dx.MLPRanker("ApproxNDCG(alpha=5.0)", hidden=(3,), max_iter=1, random_state=0)),
        _saved(dx.MLPRanker(hidden=(2, 2), max_iter=1, scale=None, activation="tanh", random_state=0)),
    ]


def stumps() -> list[bytes]:
    return [_saved(dx.StumpRanker(max_iter=3, thresholds=4))]


def trees() -> list[bytes]:
    """Trees with and without categories."""
    model = json.loads(_saved(_boosted()))
    plain = json.dumps(model).encode()
    model["model"] |= {"categories": [[1, 3, 40], []]}
    for split, chosen in ((0, 0), (2, 1)):
        model["model"]["decision"][split] = 1
        model["model"]["threshold"][split] = chosen
    return [plain, json.dumps(model).encode()]


def ensemble() -> list[bytes]:
    parts = [dx.LinearRanker(max_iter=2), _boosted(), dx.StumpRanker(max_iter=2, thresholds=3)]
    return [_saved(dx.EnsembleRanker(parts))]


def oblivious() -> list[bytes]:
    return [_saved(dx.BoostedRanker(n_trees=3, num_leaves=4, random_state=0, patience=None))]


def calibrated() -> list[bytes]:
    """Models with both kinds of calibration."""
    made = []
    for kind in ("isotonic", "platt"):
        model = json.loads(_saved(dx.LinearRanker(max_iter=2)))
        steps = {"knots": [-1.0, 0.0, 2.5], "values": [0.1, 0.5, 0.5]} if kind == "isotonic" else {}
        model["calibration"] = {
            "slope": 2.0,
            "intercept": -0.5,
            "rel": 1.0,
            "knots": [],
            "values": [],
        } | steps
        made.append(json.dumps(model).encode())
    return made


def with_categories() -> bytes:
    """Trees on numbers and on names of categories."""
    model = json.loads(trees()[1])
    count = model["features"]["count"]
    model["features"] |= {
        "names": [f"f{i}" for i in range(count)],
        "categories": [["red", "blue", "7"] if i in _categorical(model) else None for i in range(count)],
        "missing": "nan",
    }
    return json.dumps(model).encode()


def _categorical(model: Any) -> set[int]:
    splits = zip(model["model"]["decision"], model["model"]["feature"], strict=True)
    return {feature for decision, feature in splits if decision & 1}


def rows() -> list[bytes]:
    """Lists of a scorer: rows, dicts and columns."""
    features = json.loads(with_categories())["features"]
    made = [[0.5 if names is None else word for names in features["categories"]] for word in ("red", None)]
    by_name = [dict(zip(features["names"], row, strict=True)) for row in made]
    columns = {name: [row[name] for row in by_name] for name in features["names"]}
    return [json.dumps(one).encode() for one in (made, by_name, columns)]


def _boosted() -> Any:
    return dx.BoostedRanker(n_trees=3, num_leaves=4, min_data_in_leaf=2, random_state=0, patience=None)


def _saved(ranker: Any) -> bytes:
    with warnings.catch_warnings(), tempfile.TemporaryDirectory() as folder:
        warnings.simplefilter("ignore")
        path = Path(folder, "model.json")
        ranker.fit_queries(_queries()).save(path)
        return path.read_bytes()


def texts(table: dict[str, str], *more: str) -> Callable[[], list[bytes]]:
    """Names and every ``repr`` of the classes of a table, and more."""

    def make() -> list[bytes]:
        made = []
        for name, kind in classes(table).items():
            made.append(name)
            try:
                made.append(repr(kind()))
            except TypeError:  # it has a parameter without default
                continue
        return [text.encode() for text in (*made, *more)]

    return make


measures = texts(
    MEASURES, "nDCG@10", "map(rel=2)@100", "P_5", "map_cut_100", "iprec_at_recall_0.10", "RBP(p=.8)@5"
)
surrogates = texts(
    SURROGATES, 'Lambda("AP(rel=2)@10")', "ApproxNDCG(50, k=10)", "ApproxMeasure('RR', alpha=5.0)"
)


def trainers() -> list[bytes]:
    made = [repr(kind()) for kind in (dx.LBFGS, dx.SGD, dx.Adam, dx.CuttingPlane, dx.CoordinateAscent)]
    made += [repr(dx.Anneal(dx.CG())), repr(dx.Restarts(dx.LBFGS(), n=2)), "lbfgs"]
    return [text.encode() for text in made]
