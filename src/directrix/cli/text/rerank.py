"""``directrix text rerank``: candidates in the order of a model."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Annotated

from typer import Option

from directrix.cli import options
from directrix.cli.output import progress_bar, remark, write_run
from directrix.cli.reading import ModelMissingOption, check_writable, read_as_trained
from directrix.cli.text.inputs import (
    CandidatesOption,
    IdColumnOption,
    IndexArgument,
    OtherRunsOption,
    QueriesArgument,
    QueryFieldOption,
    other_runs,
)
from directrix.errors import InputError


def text_rerank_command(
    *,
    model: options.ModelArgument,
    index: IndexArgument,
    queries: QueriesArgument,
    run: CandidatesOption,
    output: options.RunOutputOption = None,
    others: OtherRunsOption = None,
    tag: Annotated[str, Option(help="Name of the run.")] = "directrix",
    missing: ModelMissingOption = None,
    query_field: QueryFieldOption = None,
    id_column: IdColumnOption = None,
) -> None:
    """Score candidates with a model that was trained on text features, and write a run.

    Only the features of the model are computed, by name; give the index of the training data. `directrix
    evaluate QRELS RUN` measures the result, and `directrix compare QRELS RUN RUN` tests the gain.
    """
    from directrix.data.trec.runs import Run, read_trec_run
    from directrix.rankers.model_file import read_model
    from directrix.text.documents import query_texts
    from directrix.text.index import Index

    options.check_tag("--tag", tag)
    check_writable(output, model, index, queries, run, *(others or ()))
    saved = read_model(model)
    if saved.feature_names is None:
        raise InputError(
            f"the model {model} was trained on features without names, so they are not known; train on "
            "a file of `directrix text features` that ends in .parquet."
        )
    texts, candidates = query_texts(queries, query_field, id_column), read_trec_run(run)
    more, names = other_runs(others, candidates), list(saved.feature_names)
    with progress_bar("queries") as report:
        read = partial(Index.load(index).features, texts, candidates, runs=more, names=names, progress=report)
        features = read_as_trained(lambda rule: read(missing=rule), [saved], missing)
    write_run(replace(Run.from_scores(features, saved.predict_queries(features)), tag=tag), output)
    if without := len(texts) - len(features.query_ids):
        remark(f"note: {without} of {len(texts)} queries of {queries} have no candidates in {run}")
