"""Compiled functions of arrays, one file per family.

The last arguments of every ``..._chunk`` are ``scores``, float (n_docs,); ``qptr``, int64 (n_queries + 1,);
``first`` and ``last``: the queries first <= q < last are filled; and its output, ``value``, float64
(n_queries,), and ``grad``, float (n_docs,), in 1 / units of score.
"""
