"""Configurations of search engines for a combination of runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from directrix.errors import InputError
from directrix.text.fusion.combination import Combination


def configuration(engine: str, names: tuple[str, ...], combination: Combination) -> tuple[str, list[str]]:
    """Return the text of a configuration, and what it does otherwise than the combination.

    Raises `InputError` if the engine is unknown or has nothing near the combination.
    """
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}.")
    if combination.kind == "run":
        best = names[combination.weights.index(max(combination.weights))]
        raise InputError(
            f"the best is the run {best} alone, which needs no configuration. To have one choose another "
            "method, e.g. --method 'RRF, c = 60'."
        )
    differs = []
    if combination.kind == "combmnz":
        differs.append("the engine does not multiply by the number of runs that have the document (CombMNZ)")
    text, more = ENGINES[engine](names, combination)
    return text, [*differs, *more]


def _open_search(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    weights = {"weights": [round(weight, 6) for weight in c.weights]}
    if c.kind == "rrf":
        combine = {"technique": "rrf", "rank_constant": max(1, round(c.constant)), "parameters": weights}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combine}}
        notes = _new_weights(c, "OpenSearch")
    else:
        technique, notes = _nearest(c, {"min-max": "min_max", "z-score": "z_score"})
        processor = {
            "normalization-processor": {
                "normalization": {"technique": technique},
                "combination": {"technique": "arithmetic_mean", "parameters": weights},
            }
        }
    order = f"queries of the hybrid query in this order: {', '.join(names)}"
    return _json({"description": order, "phase_results_processors": [processor]}), notes


def _elasticsearch(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    if c.kind == "rrf":
        retrievers: list[dict[str, Any]] = [
            {"retriever": {name: "REPLACE"}, "weight": round(weight, 6)}
            for name, weight in zip(names, c.weights, strict=True)
        ]
        retriever: dict[str, Any] = {
            "rrf": {"retrievers": retrievers, "rank_constant": max(1, round(c.constant))}
        }
        return _json({"retriever": retriever}), _new_weights(c, "Elasticsearch")
    normaliser, notes = _nearest(c, {"min-max": "minmax", "none": "none"})
    retrievers = [
        {"retriever": {name: "REPLACE"}, "weight": round(weight, 6), "normalizer": normaliser}
        for name, weight in zip(names, c.weights, strict=True)
    ]
    return _json({"retriever": {"linear": {"retrievers": retrievers}}}), notes


def _vespa(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    if c.kind == "rrf":
        terms = [
            f"{weight:.6g} * reciprocal_rank({_word(name)}, {c.constant:g})"
            for name, weight in zip(names, c.weights, strict=True)
        ]
        notes: list[str] = []
    else:
        normaliser, notes = _nearest(c, {"min-max": "normalize_linear", "none": ""})
        terms = [
            f"{weight:.6g} * {normaliser}({_word(name)})" if normaliser else f"{weight:.6g} * {_word(name)}"
            for name, weight in zip(names, c.weights, strict=True)
        ]
    functions = "".join(
        f"    function {_word(name)}() {{\n        expression: REPLACE\n    }}\n" for name in names
    )
    text = (
        f"rank-profile fused {{\n{functions}    global-phase {{\n        expression: {' + '.join(terms)}\n"
        "        rerank-count: 1000\n    }\n}"
    )
    return text, [
        *notes,
        "Vespa normalises over the documents of the global phase, not over those of each run",
    ]


def _qdrant(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    prefetch = [{"query": f"REPLACE: {name}", "using": name, "limit": 1000} for name in names]
    if c.kind == "rrf":
        # Qdrant counts ranks from 0
        rrf: dict[str, Any] = {"k": max(1, round(c.constant) + 1)}
        if len(set(c.weights)) > 1:
            rrf["weights"] = [round(weight, 6) for weight in c.weights]
        return _json({"prefetch": prefetch, "query": {"rrf": rrf}, "limit": 10}), _new_weights(c, "Qdrant")
    terms = [{"mult": [round(weight, 6), f"$score[{i}]"]} for i, weight in enumerate(c.weights)]
    notes = (
        []
        if c.normaliser == "none"
        else [f"a formula of Qdrant weighs the scores themselves, not {c.normaliser}"]
    )
    return _json({"prefetch": prefetch, "query": {"formula": {"sum": terms}}, "limit": 10}), notes


def _weaviate(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    if len(names) != 2:
        raise InputError(
            f"Weaviate's hybrid search has two sources, and there are {len(names)} runs. Give two."
        )
    if c.kind == "rrf":
        fusion, notes = (
            "rankedFusion",
            [] if c.constant == 60.0 else [f"Weaviate's constant is 60, not {c.constant:g}"],
        )
    else:
        fusion, notes = _nearest(c, {"min-max": "relativeScoreFusion"})
    text = _json({"alpha": round(c.weights[1], 6), "fusionType": fusion})
    return text, [*notes, f"alpha is the weight of the vectors, here of {names[1]}"]


def _new_weights(c: Combination, engine: str) -> list[str]:
    is_weighted = len(set(c.weights)) > 1
    return [f"older versions of {engine} have RRF with equal weights only"] if is_weighted else []


def _nearest(c: Combination, known: dict[str, str]) -> tuple[str, list[str]]:
    """Return the engine's name of a normaliser, that of min-max for one that it lacks."""
    if c.normaliser in known:
        return known[c.normaliser], []
    note = (
        f"the engine has no normaliser {c.normaliser}; min-max is written, for which other weights are best: "
        "choose --method 'linear, min-max'"
    )
    return known["min-max"], [note]


def _word(name: str) -> str:
    return "".join(letter if letter.isalnum() else "_" for letter in name)


def _json(value: Any) -> str:
    return json.dumps(value, indent=2)


ENGINES: dict[str, Callable[[tuple[str, ...], Combination], tuple[str, list[str]]]] = {
    "opensearch": _open_search,
    "elasticsearch": _elasticsearch,
    "vespa": _vespa,
    "qdrant": _qdrant,
    "weaviate": _weaviate,
}
"""Engines by name."""
