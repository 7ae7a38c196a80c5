"""The advice for Python: what to type, by the key of the advice.

An error or a warning ends with an `Advice` of `directrix.errors` where Python and a shell need other fixes.
It has a key and values. This table says it for Python, and that of `directrix.cli.advice` for a shell. A fix
that is the same in both is a sentence of the message, and has no key.

>>> PYTHON["folds"].format(most=3, default=5)
'Type at most folds=3, or leave it out for 5.'
"""

PYTHON = {
    # columns and files
    "column": "Type {call}, {key}=NAME).",
    "columns": "Type {call}, {key}=[NAME, ...]).",
    "log-columns": "Type {call}).",
    "list-column": "Leave it out, e.g. table.drop_columns({columns!r}), or append it to that.",
    "label-column": "Or name their column: label=NAME.",
    "session-column": 'Type Log.from_frame(frame, session="session").',
    "id-column": "Name one: id_column=NAME.",
    "query-field": "Name one: field=NAME.",
    "categorical-columns": "Encode or drop {columns}; `Queries.from_frame` takes features=[...]. If they "
    "are categories, it and `from_interactions` take categorical={columns}, and `fit` takes columns of a "
    "categorical type, e.g. X.astype({{NAME: 'category'}}).",
    "exclude-columns": "Leave them out: table.drop_columns({columns}).",
    "keep-categories": "Leave them out: table.drop_columns({columns}); for trees, keep categories: "
    "table.column(name).dictionary_encode().",
    "drop-nulls": "Drop such rows, e.g. table.filter(pyarrow.compute.is_valid(table[{name!r}])).",
    "drop-rows": "Drop such rows, e.g. frame.dropna().",
    "drop-documents": "Correct or drop such rows, e.g. frame.dropna(): a document without a row {lacks}.",
    "remove-one": "Remove one of them; of a frame: frame.drop_duplicates([...]).",
    "rename": "Rename it, e.g. name.replace(' ', '_').",
    "number-queries": "Number them first: Queries.from_arrays(X, y, qid=numpy.unique(qid, "
    "return_inverse=True)[1]).",
    "qid-of-lines": "Add qid:ID to every line, or give the number of lines of each query: "
    "groups='FILE.query'.",
    "qid-or-groups": "Leave out groups=, or remove the qid from every line.",
    "sizes-of-file": "Give the file that belongs to it: groups='...'.",
    "index-base": "If the file counts features from 0: index_base=0.",
    "rescale": "Rescale the feature; dtype=numpy.float64 holds values up to 1.8e308.",
    "doctor-missing": "{file} With missing='nan', trees take them as they are, and the scales standard, log, "
    "quantile and minmax fill them in every other model; missing='zero' reads them as 0.",
    "side-files": "`fit` takes weights as sample_weight, and directrix.clicks learns from positions of "
    "clicks.",
    "read-letor": "LETOR text is read by read_letor(path).",
    "convert": "Type directrix.data.write_parquet(directrix.read_letor({old!r}), path).",
    "convert-by-block": "directrix.write_shards(path, folder) rewrites LETOR text block by block.",
    "write-shards": "Write one: directrix.write_shards(data, folder).",
    "build-index": "Build one: Index.build(documents).save(path).",
    # what stays in files, and memory
    "in-memory": "Type directrix.data.read_parquet(path).",
    "in-memory-or-fewer": "Type directrix.data.read_parquet(path).",
    "in-memory-or-part": "For anything else type directrix.data.read_parquet(path), or take a part: "
    "q.take([0]).",
    "sort-by-qid": "Sort the table by qid, or read it into memory, where rows are grouped: "
    "directrix.data.read_parquet(path).",
    "stream": "Leave the features in the file: directrix.data.open_parquet(path), or take fewer of them: "
    "features=[...].",
    "one-table": "For anything else type directrix.data.read_parquet(folder).",
    "fewer-features": "Take fewer features: directrix.data.open_parquet(path, features=[...]).",
    "fewer-features-or-sparse": "Type sparse=True, or use fewer features.",
    "fewer-features-or-zeros": "Log fewer features, or type missing='zero'.",
    "negatives": "Type e.g. negatives=20.",
    "positions": "Type propensities(log, n_positions={n}).",
    "sessions": "Type e.g. n_sessions=100_000.",
    "checkpoint": "name another checkpoint.",
    "resume": "fit_shards(..., checkpoint=PATH) resumes, if it was called with a checkpoint before.",
    # missing and large values, and features
    "missing-values": "Type missing='nan', for trees and for models with a scale such as 'log', which fills "
    "it, or missing='zero', here or where the data are read.",
    "fill-missing": "Fill missing values first, e.g. numpy.nan_to_num(X).",
    "missing": "or type missing='nan' (trees read it as 0, a scale fills in the mean of the training data), "
    "in predict, load_scorer or Queries.from_arrays.",
    "missing-or-zero": "or type missing='nan' (trees read it as 0, a scale fills in the mean of the "
    "training data) or missing='zero', in predict, load_scorer or Queries.from_arrays.",
    "keep-missing": "Read the data with missing='nan'.",
    "scale-or-trees": "Type scale='log' or scale='standard', which fill in the mean of the training data, "
    "or use trees, which take it as it is: BoostedRanker(); or read it as 0: missing='zero'.",
    "trees-for-categories": "Train trees, which take categories and missing values: BoostedRanker() without "
    "a scale; or give each category a column of 0 and 1, e.g. pandas.get_dummies(frame).",
    "clip-column": "Clip the column, e.g. numpy.clip(X[:, {column}], -1e30, 1e30), or drop these rows.",
    "clip": "Clip the column, e.g. numpy.clip(X, -1e30, 1e30), or drop these rows.",
    "same-features": "Give the same features, e.g. by Queries.from_frame(frame, features=names) or "
    "read_letor(path, n_features=...).",
    "by-position": "Take them by position: dataclasses.replace(q, feature_names=None).",
    "grades": "Map them to grades, e.g. y = numpy.digitize(y, thresholds).",
    "look-at-labels": "Check labels and qid: numpy.unique(y), numpy.unique(qid, return_counts=True).",
    # measures and runs
    "doc-ids": 'Pass doc_ids=, or use another rule, e.g. ties="expected".',
    "conventions": "Omit the convention for those, or use evaluate_conventions, which omits them.",
    "measure": "Type measure='nDCG'.",
    "run-name": 'Type dataclasses.replace(run, tag="new").',
    "all-pairs": "Leave that out, or choose another test, e.g. test='randomization'.",
    # training and search
    "linear-ranker": "Type e.g. LinearRanker('ApproxNDCG').fit(X, y, qid=qid).",
    "ordered-valid": "Give eval_set (or valid) queries with documents of different labels, and check their "
    "qid or group.",
    "unconstrained": "Train it without, or give weights, ranker.coef_, to compare with all others.",
    "no-trainer": "The measure goes to fit, e.g. fit(X, y, qid=qid, measure='AP').",
    "calibrate": "Type ranker.calibrate(queries) with queries that were not trained on.",
    "method-of-entry": "Give its method, or a ranker with its settings, e.g. "
    "LinearRanker(MyLoss(weight=4.0)).",
    "constrained-method": "Type e.g. method='ApproxNDCG'.",
    "models": "Type e.g. models=['linear'].",
    "by-query": "Type by_query=True.",
    "folds": "Type at most folds={most}, or leave it out for {default}.",
    "jobs-or-budget": "Leave out n_jobs or time_budget.",
    "no-valid": "Leave them out: the choice is then made by cross-validation.",
    # experiments and exports
    "test-folds": "Type e.g. k={k}.",
    "another-folder": "Give another path, or remove the file.",
    "another-scale": "Train it with another scale, e.g. scale='standard', or with no scale.",
    "no-residual": "Or train with MLPRanker(residual=False).",
    "export-scores": "Or type ranker.calibrate(None) to export the scores.",
    "train-on-zeros": 'Or read missing features as 0 in training, too: Queries with missing="zero".',
    # clicks and interactions
    "biased": "Or biased=True, to see it with a note.",
    "trust-bias": "Type propensities=[alpha, beta] by position, or estimator='ips'.",
    "propensities": "Type e.g. propensities=[1.0, 0.7, ...].",
    "regression-em": "Type propensities(log, 'regression-em', features=queries).",
    "features": "Type features=queries.",
    "grade": "Type grades={{{kind}: 1, ...}}.",
    "by-session": 'Group by list, e.g. by="session", session=NAME of the column that tells lists apart.',
}
