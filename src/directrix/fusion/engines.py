"""Configurations of search engines for a combination of runs; users replace each REPLACE in them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from directrix.errors import InputError
from directrix.fusion.combination import Combination

# Number of documents of each run that an engine combines.
_DEPTH = 1000
# Largest number of queries in a hybrid query of OpenSearch.
_QUERIES = 5
_LACKS = "a document that one of the queries does not find gets 0 there, not the lowest score"


def configuration(engine: str, names: tuple[str, ...], combination: Combination) -> tuple[str, list[str]]:
    """Return the text of a configuration, and how the engine differs from the combination.

    Raises `InputError` if the engine is unknown or supports nothing similar.
    """
    _check(engine)
    if combination.kind == "run":
        best = names[combination.weights.index(max(combination.weights))]
        raise InputError(
            f"the best is the run {best} alone, which needs no configuration. To have one choose another "
            "method, e.g. 'RRF, c = 60'."
        )
    text, notes = ENGINES[engine](names, combination)
    if combination.kind == "combmnz":
        notes = [
            "the engine does not multiply by the number of runs that have the document (CombMNZ)",
            *notes,
        ]
    if 0.0 in combination.weights:
        notes = ["a query of weight 0 still adds its documents there; leave it out", *notes]
    return text, notes


def computes(engine: str, c: Combination) -> bool:
    """Return whether an engine computes exactly this combination; `configuration` writes the nearest one.

    Of weighted sums, engines compute those with min-max, in which a document that a run lacks has 0.
    """
    _check(engine)
    if 0.0 in c.weights:
        return False
    if c.kind == "rrf":
        return engine != "weaviate" and not (engine == "qdrant" and _is_weighted(c))
    return engine != "qdrant" and c.kind == "linear" and c.normalizer == "min-max"


def _check(engine: str) -> None:
    if engine not in ENGINES:
        raise InputError(f"there is no engine {engine!r}; choose one of {', '.join(ENGINES)}.")


def check_one_set_of_weights(of_class: Mapping[str, Combination]) -> None:
    """Raise `InputError` if the weights depend on the class of a query."""
    names = sorted(of_class.keys() - {""})
    if names:
        raise InputError(
            f"queries of the classes {', '.join(names)} have weights of their own, and a configuration holds "
            "one set of weights. Choose another method, e.g. 'linear, min-max'; the fusion as JSON has the "
            "weights of each class."
        )


def _open_search(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    if len(names) > _QUERIES:
        raise InputError(
            f"OpenSearch's hybrid query has at most {_QUERIES} queries, and there are {len(names)} runs. "
            f"Give {_QUERIES} or fewer."
        )
    weights = {"weights": [round(weight, 6) for weight in c.weights]}
    if c.kind == "rrf":
        combine = {"technique": "rrf", "rank_constant": max(1, round(c.constant))}
        more = {"parameters": weights} if _is_weighted(c) else {}
        processor: dict[str, Any] = {"score-ranker-processor": {"combination": combine | more}}
        notes = ["weights of RRF need an OpenSearch later than 3.0"] if more else []
    else:
        technique, notes = _nearest(c, {"min-max": "min_max", "z-score": "z_score"})
        if technique == "z_score":
            notes.append(
                "OpenSearch sets z-scores below 0, and those of documents that a query does not find, to "
                "about 0"
            )
        processor = {
            "normalization-processor": {
                "normalization": {"technique": technique},
                "combination": {"technique": "arithmetic_mean", "parameters": weights},
            }
        }
    notes.append("the text is the body of PUT _search/pipeline/NAME, for hybrid queries")
    order = f"queries of the hybrid query in this order: {', '.join(names)}"
    notes.append(
        "OpenSearch combines as many documents of each query as pagination_depth in the search request says; "
        "set it to the depth of the runs"
    )
    return _json({"description": order, "phase_results_processors": [processor]}), notes


def _elasticsearch(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    # Without this window, Elasticsearch combines 10 documents of each retriever.
    window = {"rank_window_size": _DEPTH}
    query = {"match": {"REPLACE": "REPLACE"}}
    plain: list[Any] = [{"standard": {"_name": name, "query": query}} for name in names]
    weighted: list[dict[str, Any]] = [
        {"retriever": retriever, "weight": round(weight, 6)}
        for retriever, weight in zip(plain, c.weights, strict=True)
    ]
    to_replace = (
        "replace the query of each retriever, whose _name is that of the run; for vectors write knn and its "
        "settings in place of standard"
    )
    if c.kind == "rrf":
        is_weighted = _is_weighted(c)
        rrf = {"retrievers": weighted if is_weighted else plain, "rank_constant": max(1, round(c.constant))}
        notes = ["weights of RRF need Elasticsearch 9.2 or later"] if is_weighted else []
        return _json({"retriever": {"rrf": rrf | window}}), [*notes, to_replace]
    normalizer, notes = _nearest(c, {"min-max": "minmax", "none": "none"})
    if normalizer == "none":
        notes.append(_LACKS)
    retrievers = [retriever | {"normalizer": normalizer} for retriever in weighted]
    return _json({"retriever": {"linear": {"retrievers": retrievers} | window}}), [*notes, to_replace]


def _vespa(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    # Functions are named by letters, digits and _, differently, and not like rank features.
    words: list[str] = []
    for name in names:
        word = "run_" + "".join(letter if letter.isascii() and letter.isalnum() else "_" for letter in name)
        words.append(word if word not in words else f"{word}_{len(words) + 1}")
    if c.kind == "rrf":
        template, notes = f"reciprocal_rank({{}}, {c.constant:g})", list[str]()
    else:
        template, notes = _nearest(c, {"min-max": "normalize_linear({})", "none": "{}"})
    pairs = zip(words, c.weights, strict=True)
    terms = [f"{weight:.6g} * {template.format(word)}" for word, weight in pairs]
    functions = "".join(f"    function {word}() {{\n        expression: REPLACE\n    }}\n" for word in words)
    text = (
        f"rank-profile fused {{\n{functions}    global-phase {{\n        expression: {' + '.join(terms)}\n"
        f"        rerank-count: {_DEPTH}\n    }}\n}}"
    )
    return text, [
        *notes,
        "replace each REPLACE by the rank feature of the run, e.g. bm25(text) or closeness(field, vector), "
        "and put the profile into the schema",
        f"Vespa ranks and normalizes the {_DEPTH} documents that its first phase ranks highest, "
        "not those of each run",
    ]


def _qdrant(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    prefetch = [{"query": f"REPLACE: {name}", "using": f"REPLACE: {name}", "limit": _DEPTH} for name in names]
    to_replace = "replace query by the query's vector, and using by the name of the vectors of that run"
    if c.kind == "rrf":
        # Qdrant counts ranks from 0.
        rrf: dict[str, Any] = {"k": max(1, round(c.constant) + 1)}
        is_weighted = _is_weighted(c)
        notes = [f"k needs Qdrant 1.16 or later{', weights 1.17' if is_weighted else ''}"]
        if is_weighted:
            # The weights are divided by their mean, so that equal ones would be 1, as without weights.
            mean = sum(c.weights) / len(c.weights)
            rrf["weights"] = [round(weight / mean, 6) for weight in c.weights]
            notes.append(
                "Qdrant divides ranks by the weights, 1 / (rank / weight + k - 1), and does not multiply; "
                "choose the method 'RRF, best c'"
            )
        return _json({"prefetch": prefetch, "query": {"rrf": rrf}, "limit": 10}), [*notes, to_replace]
    terms = [{"mult": [round(weight, 6), f"$score[{i}]"]} for i, weight in enumerate(c.weights)]
    notes = [_LACKS]
    if c.normalizer != "none":
        notes = [
            f"a formula of Qdrant weighs the scores themselves, not {c.normalizer}; "
            "choose the method 'linear, none'"
        ]
    return _json({"prefetch": prefetch, "query": {"formula": {"sum": terms}}, "limit": 10}), [
        *notes,
        to_replace,
    ]


def _weaviate(names: tuple[str, ...], c: Combination) -> tuple[str, list[str]]:
    if len(names) != 2:
        raise InputError(
            f"Weaviate's hybrid search has two sources, and there are {len(names)} runs. Give two."
        )
    if c.kind == "rrf":
        # Weaviate adds 60 to ranks that begin at 0.
        fusion, notes = "rankedFusion", [f"Weaviate's constant is 59, not {c.constant:g}"]
    else:
        fusion, notes = _nearest(c, {"min-max": "relativeScoreFusion"})
    text = f'hybrid: {{\n  query: "REPLACE"\n  alpha: {c.weights[1]:.6g}\n  fusionType: {fusion}\n}}'
    return text, [
        *notes,
        f"alpha is the weight of the vectors, here of {names[1]}",
        "replace REPLACE by the query; the text is an argument of a class in GraphQL's Get",
    ]


def _is_weighted(c: Combination) -> bool:
    return len(set(c.weights)) > 1


def _nearest(c: Combination, normalizers: dict[str, str]) -> tuple[str, list[str]]:
    """Return the engine's name of a normalizer, or of min-max if the engine lacks it."""
    if c.normalizer in normalizers:
        return normalizers[c.normalizer], []
    note = (
        f"the engine has no normalizer {c.normalizer}; min-max is written, for which other weights are best: "
        "choose the method 'linear, min-max'"
    )
    return normalizers["min-max"], [note]


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
