"""trec_eval's own tests: every line of its expected outputs for the measures that exist here, in all files.

Files of usnistgov/trec_eval, printed to four decimals. Not covered, because no measure here computes them: G,
binG, ndcg_rel and Rndcg, which trec_eval calls experimental, utility, rbp_resid (higher is worse), gm_bpref,
and lines that describe a run: relstring, num_nonrel_judged_ret.
"""

import re

import numpy as np
import pytest

import directrix as dx
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
    r"bpref": "bpref",
    r"gm_map": "gm_map",
    r"infAP": "infAP",
    r"Rprec_mult_(\d\.\d+)": "Rprec(times={})",
    r"relative_P_(\d+)": "P(relative=True)@{}",
    r"set_relative_P": "set_P(relative=True)",
    r"set_F": "set_F",
    r"set_map": "set_map",
    r"num_q": "num_q",
    r"num_ret": "num_ret",
    r"num_rel": "num_rel",
    r"num_rel_ret": "NumRet(rel=1)",
    r"unj_(\d+)": "Judged@{}",
}


def translated(name, level=1):
    """Our name of one of trec_eval's measures, None if there is none."""
    for pattern, ours in NAMES.items():
        if match := re.fullmatch(pattern, name):
            ours = ours.format(*match.groups())
            if level > 1 and name == "rbp":
                return None  # the share of the highest grade, where there are several
            if level == 1 or name.startswith(("ndcg", "num_q", "unj")) or name == "num_ret":
                return ours
            ours = ours.replace("NumRet(rel=1)", "NumRet")
            head, at, cut = ours.partition("@")
            fields = head[:-1] + ", " if head.endswith(")") else head + "("
            return f"{fields}rel={level}){at}{cut}"
    return None


def expected_lines(path, level=1):
    lines = [line.split("\t") for line in path.read_text().splitlines()]
    lines = [(name.strip(), topic, value) for name, topic, value in lines]
    known = [(translated(name, level), name, topic, value) for name, topic, value in lines]
    return [(ours, name, topic, float(value)) for ours, name, topic, value in known if ours]


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
    ms = {ours: dx.measure(ours).under("trec_eval") for ours, *_ in lines}
    values = dx.evaluate(ms.values(), run=joined, per_query=True)
    topics = [str(topic) for topic in joined.query_ids]
    got = []
    for ours, name, topic, _ in lines:
        key = ms[ours].name
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
