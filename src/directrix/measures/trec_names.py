"""trec_eval's names of measures as those of directrix."""

from __future__ import annotations

import re

_NAMES = {
    r"recip_rank": "RR",
    r"map_cut_(\d+)": "AP@{}",
    r"ndcg_cut_(\d+)": "nDCG(gain=linear)@{}",
    r"P_(\d+)": "P@{}",
    r"recall_(\d+)": "R@{}",
    r"success_(\d+)": "Success@{}",
    r"relative_P_(\d+)": "P(relative=True)@{}",
    r"Rprec_mult_([\d.]+)": "Rprec(times={})",
    r"iprec_at_recall_([\d.]+)": "IPrec@{}",
    r"gm_map": "GMAP",
    r"set_P": "P",
    r"set_relative_P": "P(relative=True)",
    r"set_recall": "R",
    r"set_F": "SetF",
    r"set_map": "SetAP",
    r"num_q": "NumQ",
    r"num_ret": "NumRet",
    r"num_rel": "NumRel",
    r"num_rel_ret": "NumRet(rel=1)",
}


def from_trec_eval(text: str) -> str:
    """Translate a name that trec_eval prints; any other text comes back as it is.

    map, Rprec, bpref and infAP need no translation. Neither has ndcg, which is directrix's nDCG, of
    exponential gains; ndcg_cut_10 has trec_eval's linear ones.

    Examples
    --------
    >>> from_trec_eval("iprec_at_recall_0.10"), from_trec_eval("AP@5")
    ('IPrec@0.10', 'AP@5')
    """
    for pattern, name in _NAMES.items():
        if match := re.fullmatch(pattern, text.strip(), re.IGNORECASE):
            return name.format(*match.groups())
    return text
