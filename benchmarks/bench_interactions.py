"""1,000,000 synthetic events into labeled queries with features, seconds by the clock and of processor time.

    python -m benchmarks interactions

50,000 users and 20,000 items, whose popularity follows a power law; sessions of five events. Features: nine
of earlier events, two of items, one of users; ten negatives are drawn for each query.
"""

from __future__ import annotations

import time

import numpy as np

import directrix as dx

N, N_USERS, N_ITEMS = 1_000_000, 50_000, 20_000


def main() -> None:
    rng = np.random.default_rng(0)
    session = np.repeat(np.arange(N // 5), 5)
    events = {
        "user": rng.integers(0, N_USERS, N // 5)[session],
        "item": np.minimum((rng.pareto(1.0, N) * 50).astype(np.int64), N_ITEMS - 1),
        "time": 1.7e9 + rng.integers(0, 30 * 86400, N // 5)[session] + rng.integers(0, 600, N),
        "event": rng.choice(["view", "click", "cart", "purchase"], N, p=[0.7, 0.22, 0.05, 0.03]),
        "session": session,
    }
    items = {"item": np.arange(N_ITEMS), "price": rng.random(N_ITEMS), "weight": rng.random(N_ITEMS)}
    users = {"user": np.arange(N_USERS), "age": rng.random(N_USERS)}
    for by in ("session", "day"):
        start, cpu = time.perf_counter(), time.process_time()
        q = dx.data.from_interactions(events, by=by, negatives=10, item_features=items, user_features=users)
        wall, cpu = time.perf_counter() - start, time.process_time() - cpu
        print(f"by {by}: {wall:.1f} s, of processor time {cpu:.1f} s; {q}", flush=True)


if __name__ == "__main__":
    main()
