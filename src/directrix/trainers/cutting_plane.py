r"""Cutting planes: convex losses with a ridge penalty, to a proven distance from the optimum."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from numbers import Real
from typing import Any, ClassVar, Literal

from directrix.errors import InputError
from directrix.models.linear import LinearModel
from directrix.models.stumps import StumpModel
from directrix.objectives.objective import DataObjective
from directrix.objectives.penalty import L2
from directrix.parameters import number
from directrix.threads import one_blas_thread
from directrix.trainers.bundle import EachSlack, OneSlack, Proof, Slacks, check_solver
from directrix.trainers.loop import Loop, Settings, added_counts, data_objective
from directrix.types import Callback, Float64Array, Result


def in_rounds(
    objective: DataObjective,
    start: Float64Array,
    callback: Callback | None,
    epsilon: float,
    train: Callable[[DataObjective, Float64Array], Result],
) -> Result:
    """Convexify, train the convex loss, and repeat from there, until a round gains less than ``epsilon``.

    ``objective.convexified(params)`` is a convex loss nowhere below the original, and equal to it at the
    parameters. ``train`` minimizes it from there; a status other than "converged" ends the rounds.

    A step of the trace and of the callback is a round, and losses are those of ``objective``, which never
    increase. ``counts`` add up over the rounds; ``rounds`` is their number.
    """
    loop = Loop(start, callback)
    rounds: list[Result] = []
    with loop:
        value = loop.loss = objective.value_and_grad(loop.params)[0]
        loop.check(value)
        loop.step(loop.params, value)
        while True:
            result = train(objective.convexified(loop.params), loop.params)
            rounds.append(result)
            before, value = value, objective.value_and_grad(result.params)[0]
            loop.step(result.params, value)
            if result.status != "converged":
                loop.stop(result.status, f"round {len(rounds)}: {result.message}")
            # The convex loss is nowhere below the original, so a round can only lower it; a small gain is the
            # end.
            if before - value < epsilon:
                loop.stop("converged", f"round {len(rounds)} lowered the loss by less than {epsilon:g}")
    return replace(loop.result(), counts=added_counts(rounds) | {"rounds": len(rounds)})


@dataclass(frozen=True)
class CuttingPlane(Settings):
    r"""Cutting planes for convex surrogates of linear models: structural SVMs, RankSVM, ListNet, ...

    .. math:: \min_w \; \lambda \lVert w - w_c \rVert^2 + L(w),
              \qquad L(w) = -\frac{\sum_q v_q \, S_q(Xw)}{\sum_q v_q}

    A plane that touches L at one point is below it everywhere. The minimum of the highest of all planes so
    far, with the penalty, is a lower bound of the loss (``Result.dual``), and the lowest loss so far is an
    upper bound (``Result.value``). Training ends when they differ by no more than ``epsilon``.

    Parameters
    ----------
    epsilon : float > 0
        Absolute gap at convergence, in units of the surrogate (of the mean hinge).
    slack : {"one", "each"}
        "one": planes below the mean loss, one per step. "each": planes below the loss of every query,
        Algorithm 1 of Yue et al.; the optimum is the same, with a quadratic program for every plane.
    max_iter : int >= 1
        Planes with "one", passes over the queries with "each"; for rounds (see Notes), the limit of each.
    C : float > 0, optional
        The constant of the structural SVM :math:`\frac12\lVert w\rVert^2 + \frac Cn \sum_q \xi_q`, for an
        objective without a penalty: lambda = 1/(2 C). That problem is C times ours, plus C.
    step : float, 0 < step <= 1
        For "one": position of the next plane between the best parameters (0) and the model's minimum (1, the
        method as published). The default needs a quarter of the planes.

    Notes
    -----
    A step costs one gradient and one quadratic program in as many variables as there are planes, solved by
    PIQP. Planes that the last 50 solutions did not use are dropped. With "each", a pass costs a gradient and
    a program for every plane, in at least as many variables as queries: use it for a few hundred queries at
    most.

    The bound is for the loss of exact scores. Scores have the precision of the features, and planes are
    lowered by the possible rounding error: about 1e-7 of the scores' size for float32. So a gap of 1e-3
    cannot be reached for scores in the thousands (status "line_search"). An offset that all values of a
    feature share cancels in the gradient, so this estimate misses it; ``scale="standard"`` removes it.

    A callback receives the best step so far, so its loss never increases.

    With ``C`` the loss is the trainer's own (``Result.own_loss``): it has a penalty that the objective does
    not have. C times (value + 1) is the value of the structural SVM's objective.

    A surrogate with the property ``convexifiable`` is trained in rounds, the concave-convex procedure
    (Yuille & Rangarajan 2003; Yu & Joachims 2009): its non-convex part is fixed at the last parameters, and
    the convex rest is trained to ``epsilon``, until a round lowers the loss by less than that. A step is then
    a round, and there is no ``dual``, because the result depends on the start.

    References
    ----------
    Yue, Finley, Radlinski & Joachims (2007), Algorithm 1, doi:10.1145/1277741.1277790.
    Joachims, Finley & Yu (2009), Algorithm 3 and 4, doi:10.1007/s10994-009-5108-8.
    Teo, Vishwanathan, Smola & Le (2010), JMLR 11:311-365.
    Franc & Sonnenburg (2009), Algorithm 2 for ``step``, JMLR 10:2157-2192.

    Examples
    --------
    >>> import numpy as np, directrix as dx
    >>> q = dx.data.make_cubic(n_queries=20, docs_per_query=10, n_features=4, seed=0)
    >>> result = dx.CuttingPlane().minimize(dx.linear_objective(q, "RankSVM", l2=1e-3), np.zeros(4))
    >>> result.status, result.gap < 1e-3
    ('converged', True)
    """

    short_name: ClassVar[str] = "cutting-plane"
    budget: ClassVar[str] = "max_iter"
    models: ClassVar[tuple[type, ...]] = (LinearModel, StumpModel)

    epsilon: float = 1e-3
    slack: Literal["one", "each"] = "one"
    max_iter: int = 2000
    C: float | None = None
    step: float = 0.1

    # Once for the whole run; see `FullGradients`.
    @one_blas_thread()
    def minimize(self, objective: Any, start: Float64Array, *, callback: Callback | None = None) -> Result:
        """Minimize from ``start``, which does not affect the minimum; see `LBFGS.minimize`.

        The objective has a convex surrogate, a `LinearModel` or `StumpModel`, and l2 > 0 unless there is a
        ``C``.

        Returns
        -------
        Result
            With ``dual``, a lower bound of the loss. ``counts`` has iterations, oracle_calls (losses of
            single queries), qps (quadratic programs), added (planes) and planes (kept at the end). The
            trace has a column ``dual``.

        Raises
        ------
        InputError
            If the loss is not convex, has no penalty, or both the objective and ``C`` give one.
        MissingExtra
            If PIQP is not installed.
        """
        objective = self._penalized(self._convex(objective))
        check_solver()

        def train(convex: DataObjective, params: Float64Array, callback: Callback | None = None) -> Result:
            proof = Proof(convex, params, self.epsilon, self.max_iter, callback)
            return self._run(self._slacks(proof), proof)

        if "convex" in objective.surrogate.properties:
            result = train(objective, start, callback)
        else:
            result = in_rounds(objective, start, callback, self.epsilon, train)
        return replace(result, own_loss=self.C is not None)

    def path(
        self,
        objective: Any,
        start: Float64Array,
        *,
        l2: Iterable[float] | None = None,
        C: Iterable[float] | None = None,
    ) -> list[Result]:
        """Minimize for several strengths of the penalty in turn.

        Planes do not depend on the penalty, so each run begins with the planes and the best parameters of the
        runs before.

        Parameters
        ----------
        objective : DataObjective
            As for `minimize`; the strength of its penalty is ignored.
        start : float64 (n_params,)
            As for `minimize`.
        l2 : floats > 0
            Strengths lambda, in the order of training.
        C : floats > 0
            The same as lambda = 1/(2 C), in place of ``l2``.

        Returns
        -------
        list of Result
            One for each strength, with ``own_loss``, because the penalty is not that of the objective. Counts
            are those of each run, except for ``planes``.

        Raises
        ------
        InputError
            As `minimize`; if the loss is only convexifiable; or unless one of ``l2`` and ``C`` is given.
        """
        objective = self._convex(objective)
        if "convex" not in objective.surrogate.properties:
            raise InputError(
                f"CuttingPlane.path keeps planes, and those of {objective.surrogate!r} change whenever it is "
                "convexified again; call minimize for each strength."
            )
        numbers = l2 if C is None else C
        if self.C is not None or (l2 is None) == (C is None) or isinstance(numbers, Real):
            raise InputError(
                "CuttingPlane.path needs the strengths of the penalty, once: "
                "CuttingPlane().path(objective, start, C=[1.0, 10.0, 100.0]), or l2=[0.5, 0.05, 0.005]."
            )
        check_solver()
        name = "C" if l2 is None else "l2"
        values = [number(v, name, "CuttingPlane.path", above=0.0, example=1.0) for v in numbers or ()]
        strengths = [_strength_of(C) for C in values] if l2 is None else values
        results: list[Result] = []
        slacks: Slacks | None = None
        last: Proof | None = None
        for strength in strengths:
            penalty = L2(strength, objective.penalty.center)
            proof = Proof(objective.penalized(penalty), start, self.epsilon, self.max_iter)
            # The first strength makes the planes, which all others extend.
            if last is None or slacks is None:
                slacks = self._slacks(proof)
            elif last.has_loss:
                # The loss without the penalty does not change from run to run, so the best parameters so far
                # are offered at no cost.
                proof.offer(last.params, last.bare)
            results.append(replace(self._run(slacks, proof), own_loss=True))
            last = proof
        return results

    def _convex(self, objective: Any) -> DataObjective:
        """Return the objective if it is convex in the parameters, or convexifiable; else `InputError`."""
        accepted = data_objective(objective, self)
        if not {"convex", "convexifiable"} & accepted.surrogate.properties:
            raise InputError(
                f"CuttingPlane needs a convex loss, and that of {accepted.surrogate!r} is not; train it with "
                "another trainer, e.g. trainer='lbfgs' (LBFGS()), or take a convex surrogate, e.g. RankSVM()."
            )
        return accepted

    def _penalized(self, objective: DataObjective) -> DataObjective:
        strength = objective.penalty.strength
        if self.C is None:
            if strength > 0.0:
                return objective
            raise InputError(
                "l2=0: CuttingPlane needs a penalty, without which there may be no minimum; set l2=1/(2*C), "
                "e.g. l2=5e-3 for C = 100, or train with CuttingPlane(C=100.0)."
            )
        if strength > 0.0:
            raise InputError(
                f"l2={strength:g} and CuttingPlane(C={self.C:g}) are two strengths of one penalty; leave out "
                f"C, or set l2=0. C={self.C:g} is l2={_strength_of(self.C):g}."
            )
        return objective.penalized(L2(_strength_of(self.C), objective.penalty.center))

    def _slacks(self, proof: Proof) -> Slacks:
        return EachSlack(proof) if self.slack == "each" else OneSlack(proof, self.step)

    def _run(self, slacks: Slacks, proof: Proof) -> Result:
        # Slacks count over all strengths of a path, so the counts of this run are differences.
        added, qps = slacks.added, slacks.qps
        with proof:
            slacks.run(proof)
        counts = {"qps": slacks.qps - qps, "added": slacks.added - added, "planes": len(slacks.bundle)}
        return proof.proven(counts)


def _strength_of(C: float) -> float:
    return 1.0 / (2.0 * C)
