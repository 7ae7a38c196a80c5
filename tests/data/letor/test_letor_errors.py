import gzip
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.data.malformed import FILES, NEEDS_NO_ROOT, build
from tests.messages import rejects

import directrix as dx
from directrix.data import memory
from directrix.data.letor import parse as letor_parse
from directrix.data.letor.parse import FileBlocks

SUPERUSER = hasattr(os, "geteuid") and os.geteuid() == 0


@pytest.mark.parametrize("name", [name for name in FILES if not (SUPERUSER and name in NEEDS_NO_ROOT)])
def test_malformed_file_gives_its_message(name, tmp_path):
    path = tmp_path / "bad"
    build(name, path)
    with pytest.raises(dx.InputError, match=f"(?s){FILES[name][1]}"):
        dx.read_letor(path)


@pytest.mark.parametrize("block", [8, 100])
def test_lines_are_numbered_across_blocks(block, tmp_path, monkeypatch):
    monkeypatch.setattr(letor_parse, "FileBlocks", lambda path: FileBlocks(path, block))
    path = tmp_path / "a.txt"
    path.write_text("# comment\n" + "1 qid:1 1:0.5\n" * 20 + "\n1 qid:1 1:x\n" + "1 qid:1 1:0.5\n" * 20)
    with rejects(dx.InputError):
        dx.read_letor(path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dtype": np.int32}, "features are float32 or float64"),
        ({"missing": "drop"}, "choose 'error', 'zero' or 'nan'"),
        ({"index_base": 2}, "start at 1 or at 0"),
        ({"n_features": 2.5}, r"n_features=2\.5: n_features must be an integer >= 0"),
        ({"n_features": 1}, r"feature 2 occurs, but n_features=1; type n_features=2"),
        ({"groups": "absent.query"}, "absent.query does not exist"),
    ],
)
def test_unusable_options(options, message, tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("1 qid:1 1:1 2:2\n" if "groups" not in options else "1 1:1 2:2\n")
    with pytest.raises(dx.InputError, match=message):
        dx.read_letor(path, **options)


def test_qid_and_groups_exclude_each_other(tmp_path):
    (tmp_path / "sizes").write_text("1")
    (tmp_path / "a.txt").write_text("1 qid:1 1:1\n")
    with rejects(dx.InputError):
        dx.read_letor(tmp_path / "a.txt", groups=tmp_path / "sizes")


_VALID = b"".join(
    b"%d qid:%d 1:%d.25 2:-1e-3 3:0.1234567890123456789 # docid = d%d\r\n" % (i % 3, i // 4, i, i)
    for i in range(12)
)
_WORDS = "1|qid:1| 1:0.5|2:1e400|3:|#|# docid =|docid=| |:|nan|NULL|inf|-|.|1e|2147483648:1|1e-400|_"
_TOKENS = [*_WORDS.encode().split(b"|"), b"\n", b"\r", b"\t", b"9" * 25, b"\x00", b"\xff", b"\xef\xbb\xbf"]
_TOKENS += [b"\x1f\x8b", b"BZh", b"\xfd7zXZ\x00"]


@st.composite
def mutated(draw):
    text = draw(st.sampled_from([_VALID, b""]))
    for _ in range(draw(st.integers(1, 6))):
        a, b = sorted(draw(st.tuples(st.integers(0, len(text)), st.integers(0, len(text)))))
        text = (
            text[:a]
            + b"".join(draw(st.lists(st.sampled_from(_TOKENS), max_size=8)))
            + text[draw(st.sampled_from([a, b])) :]
        )
    return text


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    text=st.one_of(st.binary(max_size=300), mutated(), st.lists(st.sampled_from(_TOKENS)).map(b"".join)),
    block=st.sampled_from([1, 7, 64, 1 << 20]),
    sparse=st.sampled_from([None, True]),
    missing=st.sampled_from(["error", "zero", "nan"]),
)
@example(text=b"-1e-400:\n", block=7, sparse=True, missing="nan")
@example(text=b"1 qid:1 1:1\n" * 9 + b"1 qid:1 100000:1e-400 x\n", block=1 << 20, sparse=None, missing="zero")
def test_any_bytes_are_read_or_refused(text, block, sparse, missing, tmp_path, monkeypatch):
    path = tmp_path / "any"
    path.write_bytes(text)
    monkeypatch.setattr(letor_parse, "FileBlocks", lambda path: FileBlocks(path, block))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message=".*the last line has no newline")
        q, message = None, ""
        try:
            q = dx.read_letor(path, sparse=sparse, missing=missing)
        except dx.InputError as error:
            message = str(error)
    if q is None:
        assert path.name in message
        return
    assert q.n_docs == len(q.labels) == q.features.shape[0] > 0
    assert np.isfinite(q.labels).all()


def test_a_large_label_is_a_label_and_no_feature(tmp_path):
    """The number needs big integers to be rounded, and no limit of float32 applies to it."""
    label = b"1.000000000000000000000000000000000000000000001e308"
    (tmp_path / "a.txt").write_bytes(b"0 qid:1\t1:0\n0 qid:1 1:1\n" + label + b" qid:1 1:1\n")
    assert dx.read_letor(tmp_path / "a.txt").labels.tolist() == [0.0, 0.0, float(label)]


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_byte_order_mark_is_left_out(tmp_path, compress):
    (tmp_path / "a.txt").write_bytes(compress(b"\xef\xbb\xbf2 1:1\n0 1:0.5\n"))
    (tmp_path / "a.txt.query").write_bytes(compress(b"\xef\xbb\xbf2\n"))
    assert dx.read_letor(tmp_path / "a.txt").labels.tolist() == [2.0, 0.0]


def test_a_file_that_may_be_cut_in_its_last_number_is_read_with_a_warning(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"1 qid:1 1:0.5\n0 qid:1 1:0.2")
    with pytest.warns(UserWarning, match=r"a.txt:2: the last line has no newline.*`echo >> a.txt`"):
        assert dx.read_letor(path).n_docs == 2
    for end in (b" ", b" # docid = a"):  # its number is complete
        path.write_bytes(b"1 qid:1 1:0.5\n0 qid:1 1:0.2" + end)
        assert dx.read_letor(path).n_docs == 2


ATTACKS = {
    "blank-lines": (gzip.compress(b"\n" * 100_000_000), "has no data"),
    "bad-lines": (gzip.compress(b"x\n" * 20_000_000), "20,000,000 lines cannot be used"),
    "no-line-end": (gzip.compress(b"1 qid:1 1:1" + b" " * 300_000_000), "a line of more than 256 MiB"),
}
MEASURED = """
import sys, directrix as dx
from pathlib import Path
peak = lambda: int(next(l for l in open("/proc/self/status") if l.startswith("VmHWM")).split()[1]) >> 10
good, bad = Path(sys.argv[1]), Path(sys.argv[2])
good.write_text("1 qid:1 1:1\\n")
dx.read_letor(good)
before = peak()
try:
    dx.read_letor(bad)
except dx.InputError as error:
    print(peak() - before, error)
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="peaks are those of /proc")
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_refusal_takes_less_memory_than_the_content(tmp_path, attack):
    content, message = ATTACKS[attack]
    (tmp_path / "bad.gz").write_bytes(content)
    command = [sys.executable, "-c", MEASURED, tmp_path / "good.txt", tmp_path / "bad.gz"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    mebibytes, _, refusal = done.stdout.partition(" ")
    assert message in refusal
    assert int(mebibytes) < 500


@pytest.mark.parametrize("sparse", [False, None])
def test_features_that_do_not_fit_are_refused_before_they_are_made(tmp_path, sparse, monkeypatch):
    (tmp_path / "wide.txt").write_text("1 qid:1 1:1 2147483647:1\n0 qid:1 2147483647:2\n")
    monkeypatch.setattr(memory, "available_memory", lambda: 1 << 30)
    needed = "would take 17.18 GB of memory, and 1.07 GB are available"
    if sparse is False:
        with pytest.raises(
            dx.InputError, match=rf"2 lines with 2,147,483,647 features as dense rows {needed}.*sparse"
        ):
            dx.read_letor(tmp_path / "wide.txt", sparse=False)
    else:
        with pytest.raises(dx.InputError, match="a training on 2,147,483,647 features would take 68"):
            dx.LinearRanker().fit_queries(dx.read_letor(tmp_path / "wide.txt"))


def test_reading_stops_before_the_last_memory_is_used(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "a.gz", "wb", compresslevel=1) as file:
        file.write(b"1 qid:1 1:1\n" * 6_000_000)
    monkeypatch.setattr(memory, "available_memory", lambda: 100 << 20)
    with pytest.raises(dx.InputError, match=r"a.gz does not fit into memory: after 0.067 GB"):
        dx.read_letor(tmp_path / "a.gz")
