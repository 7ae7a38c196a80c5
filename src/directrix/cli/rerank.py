"""``directrix rerank``: candidates in the order of a model."""

from __future__ import annotations

from typing import Annotated

from typer import Option

from directrix.cli import options, texts
from directrix.cli.files import check_writable
from directrix.cli.output import progress_bar
from directrix.errors import InputError


def rerank(
    model: options.ModelArgument,
    index: texts.IndexArgument,
    queries: texts.QueriesArgument,
    run: texts.CandidatesOption,
    output: texts.RunOutputOption = None,
    others: texts.WithOption = None,
    tag: Annotated[str, Option(help="Name of the run.")] = "directrix",
    query_field: texts.QueryFieldOption = None,
    id_column: texts.IdColumnOption = None,
) -> None:
    """Score candidates by a model that was trained on features of text, and write a run.

    Features are computed by name, only those of the model, with the same index as in training. `directrix
    evaluate QRELS RUN` and `directrix compare QRELS RUN RUN` say what was gained, and whether it is chance.
    """
    from directrix.data.trec.runs import Run
    from directrix.rankers.loading import load
    from directrix.text.documents import query_texts
    from directrix.text.index import Index

    check_writable(output, model, index, queries, run, *(others or ()))
    ranker = load(model)
    names = getattr(ranker, "feature_names_in_", None)
    if names is None:
        raise InputError(
            f"the model {model} was trained on features without names, so what they are is not known; train "
            "on a file of `directrix text-features` that ends in .parquet."
        )
    of = query_texts(queries, query_field, id_column)
    with progress_bar("queries") as report:
        features = Index.load(index).features(
            of, run, runs=texts.other_runs(others), names=list(map(str, names)), progress=report
        )
    texts.write_run(texts.tagged(Run.from_scores(features, ranker.predict_queries(features)), tag), output)
