"""trec_eval's own test: every line of its expected output for the measures that exist here.

Files results.test, qrels.test, out.test and out.test.aq of usnistgov/trec_eval, printed to
four decimals. Not covered, because no measure here computes them: bpref and gm_bpref (they
need to tell unjudged from irrelevant documents, labels do not), infAP, binG, G, ndcg_rel,
Rndcg, utility, Rprec_mult, relative_P, set_F, set_map, set_relative_P, rbp_resid, unj,
relstring and the counts num_*.
"""

import re

import numpy as np
import pytest

import directrix as dx
from directrix.data.trec.files import read_trec_qrels, read_trec_run
from directrix.data.trec.join import join_trec

NAMES = {
    r"map": "AP",
    r"map_cut_(\d+)": "AP@{}",
    r"Rprec": "Rprec",
    r"recip_rank": "RR",
    r"P_(\d+)": "P@{}",
    r"recall_(\d+)": "R@{}",
    r"success_(\d+)": "Success@{}",
    r"iprec_at_recall_(\d\.\d+)": "IPrec@{}",
    r"ndcg": "nDCG",
    r"ndcg_cut_(\d+)": "nDCG@{}",
    r"set_P": "P",
    r"set_recall": "R",
    r"rbp": "RBP(p=0.9)",
}


def translated(name):
    """Our name of one of trec_eval's measures, None if there is none."""
    for pattern, ours in NAMES.items():
        if match := re.fullmatch(pattern, name):
            return ours.format(*match.groups())
    return None


def expected_lines(path):
    lines = [line.split() for line in path.read_text().splitlines()]
    return [(translated(name), topic, float(value)) for name, topic, value in lines if translated(name)]


@pytest.fixture(scope="module")
def trec(data_dir):
    folder = data_dir / "trec_eval"
    return folder, join_trec(read_trec_run(folder / "results.test"), read_trec_qrels(folder / "qrels.test"))


def evaluated(joined, names):
    return dx.evaluate(
        names, joined.scores, joined.labels, qptr=joined.qptr, doc_ids=joined.doc_ids,
        convention="trec_eval", per_query=True,
    )  # fmt: skip


@pytest.mark.parametrize(("file", "n_lines"), [("out.test", 23), ("out.test.aq", 228)])
def test_every_line_of_a_known_measure(trec, file, n_lines):
    folder, joined = trec
    lines = expected_lines(folder / file)
    values = evaluated(joined, sorted({name for name, _, _ in lines}))
    topics = [str(topic) for topic in joined.query_ids]
    got = [
        values.mean[name] if topic == "all" else values[name][topics.index(topic)] for name, topic, _ in lines
    ]
    assert len(lines) == n_lines
    np.testing.assert_allclose(got, [value for _, _, value in lines], rtol=0, atol=5.001e-5)


def test_lines_that_are_means_of_other_measures(trec):
    """11pt_avg: mean of eleven interpolated precisions; gm_map: geometric mean of AP, at least 1e-5."""
    folder, joined = trec
    values = evaluated(joined, [f"IPrec@{i / 10}" for i in range(11)] + ["AP"])
    printed = {
        (w[0], w[1]): w[2] for w in (x.split() for x in (folder / "out.test.aq").read_text().splitlines())
    }
    eleven = np.mean([values.mean[f"IPrec@{i / 10}"] for i in range(11)])
    np.testing.assert_allclose(eleven, float(printed["11pt_avg", "all"]), rtol=0, atol=5.001e-5)
    geometric = np.exp(np.mean(np.log(np.maximum(values["AP"], 1e-5))))
    np.testing.assert_allclose(geometric, float(printed["gm_map", "all"]), rtol=0, atol=5.001e-5)
