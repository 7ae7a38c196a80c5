"""trec_eval's own tests: every line of its expected outputs for the measures that exist here, in all files.

Files of usnistgov/trec_eval, printed to four decimals. Not covered, because no measure here computes them: G,
binG, ndcg_rel and Rndcg, which trec_eval calls experimental, utility, rbp_resid (higher is worse), gm_bpref,
and lines that describe a run: relstring, num_nonrel_judged_ret.
"""

import re
from dataclasses import replace

import numpy as np
import pytest

import directrix as dx
from directrix.data.trec.join import join_trec

NOT_HERE = ("11pt", "G", "binG", "ndcg_rel", "Rndcg", "ndcg_1", "utility", "rbp_resid", "gm_bpref")
NOT_HERE += ("relstring", "num_nonrel", "runid")
FIELDS = {"ndcg": "nDCG(gain=linear)", "rbp": "RBP(p=0.9)"}


def ours_of(name, level=1):
    """Our measure of one of trec_eval's names, None if there is none."""
    if name.startswith(NOT_HERE) or (
        level > 1 and name == "rbp"
    ):  # then rbp adds up shares of the highest grade
        return None
    found = dx.measure(FIELDS.get(name) or re.sub(r"unj_(\d+)", r"Judged@\1", name)).under("trec_eval")
    is_of_level = getattr(found, "rel", None) is not None
    return replace(found, rel=level) if is_of_level else found


def expected_lines(path, level=1):
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    lines = [(ours_of(name.strip(), level), name.strip(), topic, value) for name, topic, value in lines]
    return [(ours, name, topic, float(value)) for ours, name, topic, value in lines if ours]


@pytest.mark.parametrize(
    ("file", "run", "qrels", "options", "n_lines"),
    [
        ("out.test", "results.test", "qrels.test", {}, 29),
        ("out.test.a", "results.test", "qrels.test", {}, 89),
        ("out.test.aq", "results.test", "qrels.test", {}, 350),
        ("out.test.aqc", "results.trunc", "qrels.test", {"queries": "judged"}, 338),
        ("out.test.aql", "results.test", "qrels.rel_level", {"level": 2}, 346),
        ("out.test.meas_params", "results.test", "qrels.test", {}, 76),
    ],
)
def test_every_line_of_a_known_measure(data_dir, tmp_path, file, run, qrels, options, n_lines):
    folder = data_dir / "trec_eval"
    cut = tmp_path / "run"  # results.trunc has words after the tag, which only trec_eval ignores
    cut.write_text(
        "".join(" ".join(line.split()[:6]) + "\n" for line in (folder / run).read_text().splitlines())
    )
    joined = join_trec(cut, folder / qrels, queries=options.get("queries", "both"))
    lines = expected_lines(folder / file, options.get("level", 1))
    if options.get("queries"):  # of no documents none is unjudged, and none judged
        lines = [line for line in lines if not line[1].startswith("unj")]
    values = dx.evaluate({ours for ours, *_ in lines}, run=joined, per_query=True)
    topics = [str(topic) for topic in joined.query_ids]
    got = []
    for ours, name, topic, _ in lines:
        key = ours.name
        value = values.mean[key] if topic == "all" else values[key][topics.index(topic)]
        got.append(1.0 - value if name.startswith("unj") else value)
    assert len(lines) == n_lines
    np.testing.assert_allclose(got, [value for *_, value in lines], rtol=0, atol=5.001e-5)


def test_the_mean_of_eleven_interpolated_precisions(data_dir):
    folder = data_dir / "trec_eval"
    names = [f"IPrec@{i / 10}" for i in range(11)]
    values = dx.evaluate(
        names, run=folder / "results.test", qrels=folder / "qrels.test", convention="trec_eval"
    )
    printed = next(
        line for line in (folder / "out.test.a").read_text().splitlines() if line.startswith("11pt_avg")
    )
    np.testing.assert_allclose(
        np.mean(list(values.values())), float(printed.split()[2]), rtol=0, atol=5.001e-5
    )
