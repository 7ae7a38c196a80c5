"""When correcting position bias helps: rankers trained on simulated clicks by estimator, next to full labels.

Synthetic data of a cubic law; a linear model with ApproxMeasure of DCG(gain=linear)@10 for every row;
sessions of the position-based model with known propensities; nDCG@10 on the labels of test queries. A weak
logging ranker is trained on 2 judged queries or 1 %, a strong one on all.
"""

from __future__ import annotations

import argparse
import warnings

import numpy as np

import directrix as dx
from directrix.clicks.simulation import EXAMINATION

ESTIMATORS = ("naive", "ips", "clipped", "policy-aware", "doubly-robust")
GOAL = dx.measure("DCG(gain=linear)@10")


def data(n_queries: int, seed: int) -> tuple[dx.Queries, dx.Queries]:
    """Training and test queries."""
    q = dx.data.make_cubic(n_queries=2 * n_queries, docs_per_query=25, n_features=20, seed=seed)
    return q.take(range(n_queries)), q.take(range(n_queries, 2 * n_queries))


def ranker() -> dx.LinearRanker:
    """Return the model of all rows."""
    return dx.LinearRanker(dx.ApproxMeasure(GOAL, alpha=3.0), l2=1e-3, max_iter=100)


def ndcg(fitted: dx.LinearRanker, q: dx.Queries) -> float:
    """Mean nDCG@10 on labels."""
    return float(np.mean(dx.NDCG(k=10)(fitted.predict_queries(q), q.labels, q.qptr)))


def main() -> None:
    """Print a table by logging ranker and eta: estimators by numbers of sessions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--sessions", type=int, nargs="+", default=[1_000, 10_000, 100_000])
    parser.add_argument("--etas", type=float, nargs="+", default=[0.0, 1.0, 2.0])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--policy", default="deterministic")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{given.queries} training queries of 25 documents, {given.policy} logging; mean nDCG@10 and its "
        f"standard error over {given.runs} runs"
    )
    for logger in ("weak", "strong"):
        for eta in given.etas:
            rows: dict[str, dict[int, list[float]]] = {name: {} for name in ESTIMATORS}
            base, sky = [], []
            for seed in range(given.runs):
                train, test = data(given.queries, seed)
                few = np.random.default_rng(seed).permutation(given.queries)[: max(2, given.queries // 100)]
                served = dx.LinearRanker(l2=1e-3).fit_queries(train.take(few) if logger == "weak" else train)
                base.append(ndcg(served, test))
                sky.append(ndcg(dx.LinearRanker(l2=1e-3).fit_queries(train), test))
                theta = (np.array(EXAMINATION) / EXAMINATION[0]) ** eta
                for n in given.sessions:
                    log = dx.clicks.simulate(
                        train, served, "PBM", n_sessions=n, seed=seed, eta=eta, policy=given.policy
                    )
                    for name in ESTIMATORS:
                        q = dx.clicks.training_data(log, train, name, propensities=theta)
                        rows[name].setdefault(n, []).append(ndcg(ranker().fit_queries(q), test))
            print(
                f"\n{logger} logging ranker ({np.mean(base):.3f}), eta {eta:g}; "
                f"full labels {np.mean(sky):.3f}"
            )
            print(f"{'sessions':14}" + "".join(f"{n:>16,}" for n in given.sessions))
            for name, by_n in rows.items():
                cells = (f"{np.mean(v):.3f} +-{np.std(v, ddof=1) / len(v) ** 0.5:.3f}" for v in by_n.values())
                print(f"{name:14}" + "".join(f"{cell:>16}" for cell in cells), flush=True)


if __name__ == "__main__":
    main()
