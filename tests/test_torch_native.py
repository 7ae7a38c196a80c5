"""Surrogates by PyTorch's own operations: what kernels compute, in memory O(number of documents)."""

import pickle
import subprocess
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

import directrix as dx

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")
FORMULAS = pytest.importorskip("directrix.torch.formulas").FORMULAS

SIZES = [4, 1, 0, 9, 30, 3]
QPTR = np.concatenate([[0], np.cumsum(SIZES)])
SMOOTH = [
    "ApproxNDCG(alpha=3.0)",
    "ApproxNDCG(alpha=3.0, k=3, beta=2.0)",
    "ApproxNDCG(alpha=3.0, sigmoid='tanh')",
    "ApproxNDCG(alpha=3.0, sigmoid='arctan')",
    "ApproxNDCG(alpha=3.0, sigmoid='erf')",
    "ApproxPrecision(k=3, alpha=4.0)",
    "ApproxAP(alpha=5.0, beta=2.0)",
    "ApproxAP(alpha=500.0)",
    "ApproxRR(alpha=5.0, beta=2.0)",
    "ApproxRR(alpha=300.0)",
    "ApproxRR(alpha=5.0, sigmoid='erf')",
    "ApproxERR(alpha=5.0, l_max=3)",
    "ApproxERR(alpha=5.0, l_max=3, sigmoid='arctan')",
    "ApproxKendall(alpha=2.0)",
    "ApproxMeasure('RBP(p=0.7)', alpha=5.0)",
    "ApproxMeasure('nDCG@5', alpha=5.0)",
    "SmoothNDCG(sigma=0.3)",
    "SmoothNDCG(sigma=0.3, k=4)",
    "SmoothAP(sigma=0.3)",
    "SmoothAP(sigma=0.3, variant='direct')",
    "SoftNDCG(sigma=0.5)",
    "SoftNDCG(sigma=0.5, k=3)",
    "ListNet",
    "ListNet(target='shares')",
    "XENDCG(draw=3)",
    "ListMLE",
    "ListMLE(k=2)",
    "RankCosine",
    "RankCosine(target='labels', centered=True)",
    "RankNet",
    "RankSVM",
    "Regression",
    "Regression(intercept=False)",
    "Gumbel('ApproxNDCG(alpha=3.0)', samples=3)",
    "Gumbel('XENDCG', samples=2, draw=5)",
]
SMOOTH += [name for name in FORMULAS if name not in {text.partition("(")[0] for text in SMOOTH}]
"""Every formula, so that none is untested."""


def lists(kind="drawn", seed=0):
    rng = np.random.default_rng(seed)
    scores, labels = rng.standard_normal(QPTR[-1]), rng.integers(0, 4, QPTR[-1]).astype(float)
    if kind == "tied":
        scores = scores.round()
    elif kind == "all tied":
        scores[:] = 0.5
    elif kind == "no relevant document":
        labels[:] = 0.0
    elif kind == "far apart":
        scores *= 1e4
    return scores, labels


def of_loss(loss, scores, labels, **form):
    scores = scores.detach().clone().requires_grad_()
    found = loss(scores, labels, **form)
    return found.item(), torch.autograd.grad(found, scores)[0]


@pytest.mark.parametrize("kind", ["drawn", "tied", "all tied", "no relevant document", "far apart"])
@pytest.mark.parametrize("name", SMOOTH)
def test_values_and_slopes_are_those_of_the_kernels(name, kind):
    scores, labels = lists(kind)
    scores = torch.tensor(scores)
    wanted = of_loss(dx.torch.loss(name, backend="kernels"), scores, labels, qptr=QPTR)
    found = of_loss(dx.torch.loss(name, backend="torch"), scores, labels, qptr=QPTR)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9, atol=1e-12)
    size = float(wanted[1].abs().max())
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6, atol=1e-9 * max(size, 1e-3))


@pytest.mark.parametrize("name", SMOOTH)
def test_float32_gives_what_float64_gives_to_its_rounding(name):
    scores, labels = lists()
    scores = torch.tensor(scores).float()
    wanted = of_loss(dx.torch.loss(name, backend="kernels"), scores.double(), labels, qptr=QPTR)
    found = of_loss(dx.torch.loss(name, backend="torch"), scores, labels, qptr=QPTR)
    assert found[1].dtype == torch.float32
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-4)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-4, atol=1e-4 * float(wanted[1].abs().max()))


@pytest.mark.parametrize("name", ["ApproxNDCG", "SmoothAP(sigma=0.3)", "ListMLE", "Gumbel('RankNet')"])
def test_one_long_list_among_short_ones_is_not_padded_with_them(name, monkeypatch):
    from directrix.torch import formulas

    rng, shapes, whole = np.random.default_rng(0), [], formulas.padded_lists
    sizes = rng.permutation([700, 30, *[3] * 200, 0])
    qptr = np.concatenate([[0], np.cumsum(sizes)])
    scores, labels = torch.tensor(rng.standard_normal(qptr[-1])), rng.integers(0, 3, qptr[-1]).astype(float)

    def watched(scores, mask, *more):
        shapes.append(mask.size)
        return whole(scores, mask, *more)

    monkeypatch.setattr(formulas, "padded_lists", watched)
    wanted = of_loss(dx.torch.loss(name, backend="kernels"), scores, labels, qptr=qptr)
    found = of_loss(dx.torch.loss(name, backend="torch"), scores, labels, qptr=qptr)
    np.testing.assert_allclose(found[0], wanted[0], rtol=1e-9)
    np.testing.assert_allclose(found[1], wanted[1], rtol=1e-6, atol=1e-12)
    assert max(shapes) <= 4 * len(labels)


FAR = torch.tensor([0.0, 1e200], dtype=torch.float64)


def test_values_beyond_all_floats_are_refused_as_by_the_kernels():
    for backend in ("kernels", "torch"):
        with pytest.raises(dx.InputError, match=r"value of query 0 overflows"):
            dx.torch.loss("RankSVM", backend=backend)(FAR, [1.0, 0.0], qptr=[0, 2])


class Numpy:
    """A surrogate of functions of NumPy."""

    properties = frozenset()

    def value_and_grad(self, scores, labels, qptr):
        return np.zeros(len(qptr) - 1), np.zeros_like(scores)


def test_every_smooth_surrogate_has_a_formula_and_the_others_kernels():
    from directrix.registry import SURROGATES, classes
    from directrix.torch.formulas import has_formula

    smooth = {name for name, kind in classes(SURROGATES).items() if "smooth" in kind().properties}
    known = {"SmoothNDCG", "SmoothAP", "RankCosine"} | smooth
    assert all(has_formula(dx.surrogate(name)) for name in known)
    with pytest.raises(dx.InputError, match=r"YetiRank.*has no formula in PyTorch"):
        dx.torch.loss("YetiRank", backend="torch")
    with pytest.raises(dx.InputError, match=r"Numpy.*has no formula in PyTorch"):  # nor compiled kernels
        dx.torch.loss(Numpy(), backend="torch")
    scores, labels = lists()
    value = dx.torch.loss("YetiRank('nDCG@3', draw=1)")(torch.tensor(scores), labels, qptr=QPTR)
    wanted = dx.YetiRank("nDCG@3", draw=1).value_and_grad(scores, labels, QPTR)[0]
    np.testing.assert_allclose(value.item(), -wanted[np.diff(QPTR) > 0].mean(), rtol=1e-12)


@pytest.mark.parametrize("backend", ["kernels", "torch"])
def test_compiled_in_one_graph_it_gives_the_same(backend):
    scores, labels = (torch.tensor(a) for a in lists())
    loss = dx.torch.loss("ApproxNDCG", backend=backend)
    rows = torch.randn(3, 7, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    grades, sizes = torch.ones(3, 7).cumsum(dim=1) % 3, torch.tensor([7, 0, 4])
    for given, form in (
        ((scores, labels), {"qptr": torch.tensor(QPTR)}),
        ((rows, grades), {"lengths": sizes}),
    ):
        twice = partial(lambda form, s, y: loss(2.0 * s, y, **form), form)
        compiled = torch.compile(twice, fullgraph=True, backend="aot_eager")
        wanted = of_loss(twice, *given)
        found = of_loss(compiled, *given)
        assert found[0] == wanted[0]
        torch.testing.assert_close(found[1], wanted[1], rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("backend", ["kernels", "torch"])
def test_operators_keep_the_contract_of_pytorch(backend):
    from directrix.torch.operator import _values_and_slope

    loss = dx.torch.loss("ApproxNDCG", backend=backend)
    scores, labels = (torch.tensor(a) for a in lists())
    args = scores.requires_grad_(), labels, torch.tensor(QPTR), loss._number
    torch.library.opcheck(_values_and_slope, args, test_utils=("test_schema", "test_faketensor"))


def test_nested_tensors_are_lists():
    scores, labels = (torch.tensor(a) for a in lists())
    parts = [t.split(SIZES) for t in (scores, labels)]
    nested, grades = (torch.nested.nested_tensor(list(p), layout=torch.jagged) for p in parts)
    loss = dx.torch.loss("ApproxAP")
    wanted = of_loss(loss, scores, labels, qptr=QPTR)
    for given in (grades, labels):
        leaf = nested.detach().clone().requires_grad_()
        found = loss(leaf, given)
        found.backward()
        assert found.item() == wanted[0]
        assert torch.equal(leaf.grad.values(), wanted[1])
    other = torch.nested.nested_tensor(list(labels.split([*SIZES[::-1]])), layout=torch.jagged)
    deep, few = (
        torch.nested.nested_tensor(rows, layout=torch.jagged)
        for rows in ([torch.ones(2, 3), torch.ones(1, 3)], [torch.ones(2), torch.ones(3)])
    )
    with pytest.raises(dx.InputError, match="scores are a nested tensor of 3 dimensions"):
        loss(deep, grades)
    with pytest.raises(dx.InputError, match="a nested tensor of as many queries"):
        loss(nested, few)
    with pytest.raises(dx.InputError, match="lengths of the queries differ"):
        loss(nested, other)
    with pytest.raises(dx.InputError, match="a nested tensor takes neither"):
        loss(nested, grades, qptr=QPTR)


@pytest.mark.parametrize("form", ["flat", "padded"])
@pytest.mark.parametrize("backend", ["kernels", "torch"])
def test_a_second_derivative_is_refused(backend, form):
    loss = dx.torch.loss("ApproxNDCG", backend=backend)
    labels = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    scores = torch.randn(2, 3, requires_grad=True)
    found = (
        loss(scores, labels) if form == "padded" else loss(scores.flatten(), labels.flatten(), qptr=[0, 3, 6])
    )
    (grad,) = torch.autograd.grad(found, scores, create_graph=True)
    with pytest.raises(dx.InputError, match="second derivative"):
        (grad**2).sum().backward()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_sums_are_in_float32_under_autocast(dtype):
    rng = np.random.default_rng(1)
    labels = torch.tensor(rng.integers(0, 2, 3000))
    layer = torch.nn.Linear(4, 1)
    X = torch.tensor(rng.standard_normal((3000, 4)), dtype=torch.float32)
    with torch.autocast("cpu", dtype=dtype):
        half = layer(X)[:, 0]
        found = dx.torch.loss("ApproxNDCG", backend="torch")(half, labels.to(dtype), qptr=[0, 3000])
    assert (half.dtype, found.dtype) == (dtype, torch.float32)
    wanted = dx.torch.loss("ApproxNDCG")(half.detach().double(), labels, qptr=[0, 3000])
    np.testing.assert_allclose(found.item(), wanted.item(), rtol=1e-6)


def test_a_loss_is_pickled_and_a_bad_score_is_named():
    loss = pickle.loads(pickle.dumps(dx.torch.loss("ApproxAP(alpha=3.0)", backend="torch")))
    scores, labels = lists()
    labels.flags.writeable = False  # as those of Queries
    wanted = dx.torch.loss("ApproxAP(alpha=3.0)", backend="torch")(torch.tensor(scores), labels, qptr=QPTR)
    assert loss(torch.tensor(scores), labels, qptr=QPTR).item() == wanted.item()
    scores[3] = np.nan
    with pytest.raises(dx.InputError, match=r"the first is nan at row 3 of query 0|nan at"):
        loss(torch.tensor(scores), labels, qptr=QPTR)
    with pytest.raises(dx.InputError, match=r"backend='gpu'"):
        dx.torch.loss("ApproxAP", backend="gpu")
    with pytest.raises(dx.InputError, match=r"labels"):
        loss(torch.zeros(2), [-1.0, 0.0], qptr=[0, 2])


MEMORY = """
import re, sys, torch, numpy as np, directrix as dx
n = 16_384
loss = dx.torch.loss(sys.argv[1], backend="torch")
labels = np.zeros(n); labels[::40] = 1.0
def run(n):
    scores = torch.randn(n, requires_grad=True)
    loss(scores, labels[:n], qptr=[0, n]).backward()
def peak():  # getrusage would start from the peak of the process that started this one
    return int(re.search(r"VmHWM:\\s+(\\d+)", open("/proc/self/status").read())[1]) / 1024
run(64)
before = peak()
run(n)
print(peak() - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
@pytest.mark.parametrize("name", ["ApproxNDCG", "SmoothNDCG"])
def test_memory_of_a_long_list_grows_with_documents_not_pairs(name):
    done = subprocess.run([sys.executable, "-c", MEMORY, name], capture_output=True, text=True, check=True)
    assert float(done.stdout) < 100.0  # MiB; one float32 matrix of n x n is 1,024


PROCESSES = """
import sys, numpy as np, torch, torch.distributed as dist, directrix as dx
rank, path, backend = int(sys.argv[1]), sys.argv[2], sys.argv[3]
dist.init_process_group("gloo", init_method=f"file://{path}", rank=rank, world_size=2)
rng = np.random.default_rng(0)
X, labels = torch.tensor(rng.standard_normal((60, 5))), torch.tensor(rng.integers(0, 3, 60))
ends = [0, 10, 12, 40, 45, 60]
torch.manual_seed(0)
net = torch.nn.Sequential(torch.nn.Linear(5, 4), torch.nn.Tanh(), torch.nn.Linear(4, 1)).double()
loss = dx.torch.loss("ApproxNDCG", backend=backend)
loss(net(X)[:, 0], labels, qptr=ends).backward()
wanted = [p.grad.clone() for p in net.parameters()]
net.zero_grad()
mine = [0, 1, 2, 3] if rank == 0 else [3, 4, 5]  # three queries, and two
qptr = np.array([ends[i] for i in mine])
part = slice(qptr[0], qptr[-1])
shared = torch.nn.parallel.DistributedDataParallel(net)
loss = dx.torch.loss("ApproxNDCG", backend=backend, distributed=True)
loss(shared(X[part])[:, 0], labels[part], qptr=qptr - qptr[0]).backward()
size = max(float(w.abs().max()) for w in wanted)  # that of the last bias is 0
print(max(float((p.grad - w).abs().max()) for p, w in zip(net.parameters(), wanted)) / size)
dist.destroy_process_group()
"""


@pytest.mark.slow
@pytest.mark.parametrize("backend", ["kernels", "torch"])
def test_two_processes_have_the_gradient_of_one(tmp_path, backend):
    command, meet = [sys.executable, "-c", PROCESSES], str(tmp_path / "meet")
    running = [
        subprocess.Popen([*command, str(rank), meet, backend], stdout=subprocess.PIPE, text=True)
        for rank in range(2)
    ]
    off = [float(process.communicate(timeout=300)[0]) for process in running]
    assert max(off) < 1e-6


def test_distributed_needs_processes():
    with pytest.raises(dx.InputError, match=r"init_process_group"):
        dx.torch.loss("ApproxNDCG", distributed=True)(torch.zeros(3), torch.zeros(3), qptr=[0, 3])


def test_a_measure_of_tensors_is_that_of_arrays():
    scores, labels = lists("tied")
    is_empty = np.diff(QPTR) == 0  # NaN: such a query has nothing to rank
    wanted = np.where(is_empty, np.nan, dx.measure("nDCG@3")(scores, labels, QPTR))
    rows, grades = torch.full((len(SIZES), 30), torch.nan), torch.zeros(len(SIZES), 30, dtype=torch.int64)
    mask = torch.arange(30) < torch.tensor(SIZES)[:, None]
    rows[mask], grades[mask] = torch.tensor(scores).float(), torch.tensor(labels).long()
    for form in ({"mask": mask}, {"lengths": SIZES}):
        found = dx.torch.measure("nDCG@3")(rows.requires_grad_(), grades, **form)
        assert not found.requires_grad
        np.testing.assert_array_equal(found.numpy(), wanted)
    flat = dx.torch.measure(dx.AP())(torch.tensor(scores).bfloat16(), labels, qptr=QPTR)
    np.testing.assert_array_equal(flat.numpy(), np.where(is_empty, np.nan, dx.AP()(scores, labels, QPTR)))
