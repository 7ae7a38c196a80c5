"""Public names for type checkers; written by tests/test_public_names.py."""

from directrix.data.audits import audit as audit
from directrix.data.interactions.build import from_interactions as from_interactions
from directrix.data.responses import read_responses as read_responses
from directrix.data.scale import Scale as Scale
from directrix.data.scale import fit_scale as fit_scale
from directrix.data.shards.queries import open_shards as open_shards
from directrix.data.split import k_folds as k_folds
from directrix.data.split import letor_folds as letor_folds
from directrix.data.split import split_queries as split_queries
from directrix.data.synthetic import make_cubic as make_cubic
from directrix.data.synthetic import make_linear as make_linear
from directrix.data.synthetic import make_texts as make_texts
from directrix.data.tables.read import open_parquet as open_parquet
from directrix.data.tables.read import read_parquet as read_parquet
from directrix.data.tables.write import write_parquet as write_parquet
from directrix.data.trec.features import runs_as_features as runs_as_features
from directrix.data.trec.join import join_trec as join_trec
from directrix.data.trec.runs import Qrels as Qrels
from directrix.data.trec.runs import Run as Run
from directrix.data.trec.runs import write_trec_run as write_trec_run

__all__: list[str]
