"""The loss for PyTorch: minus the mean of the surrogate, with its gradient, however queries are given."""

import subprocess
import sys
from itertools import pairwise

import numpy as np
import pytest

import directrix as dx

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")

SIZES = [4, 1, 7, 3]
QPTR = np.concatenate([[0], np.cumsum(SIZES)])
SURROGATE = dx.ApproxNDCG(alpha=3.0)


def ragged(dtype=torch.float64, seed=0):
    rng = np.random.default_rng(seed)
    scores = torch.tensor(rng.standard_normal(QPTR[-1]), dtype=dtype, requires_grad=True)
    return scores, torch.tensor(rng.integers(0, 3, QPTR[-1]))


def padded(values, fill):
    rows = torch.full((len(SIZES), max(SIZES)), fill, dtype=values.dtype)
    for q, n in enumerate(SIZES):
        rows[q, :n] = values[QPTR[q] : QPTR[q + 1]]
    return rows


MASK = np.arange(max(SIZES)) < np.array(SIZES)[:, None]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", ["ApproxNDCG(alpha=3.0)", "ApproxAP(alpha=3.0)", "ApproxKendall"])
def test_value_and_gradient_are_those_of_the_surrogate(name, dtype):
    scores, labels = ragged(dtype)
    found = dx.torch.loss(name)(scores, labels, qptr=QPTR)
    (3.0 * found).backward()
    value, grad = dx.surrogate(name).value_and_grad(scores.detach().numpy(), labels.numpy(), QPTR)
    assert found.shape == ()
    assert found.dtype == scores.grad.dtype == dtype
    np.testing.assert_allclose(found.item(), -value.mean(), rtol=1e-6)
    np.testing.assert_allclose(scores.grad, -3.0 * grad / len(SIZES), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("form", ["lengths", "mask", "mask of torch", "list", "list of arrays"])
def test_padded_masked_and_listed_queries_give_the_same_bits(form):
    scores, labels = ragged()
    expected = dx.torch.loss(SURROGATE)(scores, labels, qptr=torch.tensor(QPTR))
    (slope,) = torch.autograd.grad(expected, scores)
    fill = float("nan")  # padding must not be looked at
    if form.startswith("list"):
        given = [scores[a:b] for a, b in pairwise(QPTR)]
        grades = [labels[a:b] for a, b in pairwise(QPTR)]
        how = {}
        if form == "list of arrays":
            grades = [np.asarray(grade, dtype=np.float64) for grade in grades]
    else:
        given, grades = padded(scores, fill), padded(labels, -1)
        how = {
            "lengths": {"lengths": torch.tensor(SIZES)},
            "mask": {"mask": MASK},
            "mask of torch": {"mask": torch.tensor(MASK)},
        }[form]
    found = dx.torch.loss(SURROGATE)(given, grades, **how)
    (got,) = torch.autograd.grad(found, scores)
    assert found.item() == expected.item()
    assert torch.equal(got, slope)


def test_a_mask_need_not_be_at_the_end_and_without_one_all_are_documents():
    scores = torch.tensor([[1.0, 2.0, 0.5], [0.0, 1.0, 3.0]], dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[1.0, 0.0, 2.0], [0.0, 1.0, 0.0]])
    loss = dx.torch.loss(SURROGATE)
    listed = loss([scores[0, [0, 2]], scores[1, 1:]], [labels[0, [0, 2]], labels[1, 1:]])
    masked = loss(scores, labels, mask=[[True, False, True], [False, True, True]])
    assert masked.item() == listed.item()
    assert loss(scores, labels).item() == loss(list(scores), list(labels)).item()
    (grad,) = torch.autograd.grad(masked, scores)
    assert grad[0, 1] == grad[1, 0] == 0.0
    assert grad[0, 0] != 0.0


def test_one_query_is_stated():
    scores, labels = ragged()
    one = dx.torch.loss(SURROGATE)(scores, labels, qptr=[0, 15])
    for of_tensors in (dx.torch.loss(SURROGATE), dx.torch.measure("AP")):
        with pytest.raises(dx.InputError, match=r"or qptr=\[0, 15\] if all documents belong to one query"):
            of_tensors(scores, labels)
    assert one.item() == -SURROGATE.value_and_grad(scores.detach().numpy(), labels.numpy(), [0, 15])[0][0]


@pytest.mark.parametrize("name", ["ApproxNDCG(alpha=3.0)", "ApproxAP(alpha=3.0)", "ApproxERR(alpha=3.0)"])
def test_gradcheck(name):
    scores, labels = ragged()
    loss = dx.torch.loss(name)
    assert torch.autograd.gradcheck(lambda s: loss(s, labels, qptr=QPTR), (scores,), eps=1e-6, atol=1e-7)
    rows = padded(scores.detach(), 0.0).requires_grad_()
    grades = padded(labels, 0)
    assert torch.autograd.gradcheck(lambda s: loss(s, grades, lengths=SIZES), (rows,), eps=1e-6, atol=1e-7)


def test_scores_in_memory_are_not_copied():
    class Watch:
        def value_and_grad(self, scores, labels, qptr):
            self.address = scores.ctypes.data
            return np.zeros(len(qptr) - 1), np.zeros_like(scores)

    scores, labels = ragged(torch.float32)
    watch = Watch()
    dx.torch.loss(watch)(scores, labels, qptr=QPTR)
    assert watch.address == scores.data_ptr()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_computed_in_float32(dtype):
    scores, labels = ragged(dtype)
    found = dx.torch.loss(SURROGATE)(scores, labels, qptr=QPTR)
    found.backward()
    single = scores.detach().float().requires_grad_()
    expected = dx.torch.loss(SURROGATE)(single, labels, qptr=QPTR)
    expected.backward()
    assert (found.dtype, found.item()) == (torch.float32, expected.item())
    assert torch.equal(scores.grad, single.grad.to(dtype))


def test_a_network_learns_what_no_linear_ranker_can():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 2)).astype(np.float32)
    labels = (np.abs(X[:, 0]) < 0.4).astype(float)
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 8), torch.nn.Tanh(), torch.nn.Linear(8, 1))
    optimizer, loss = torch.optim.Adam(net.parameters(), lr=0.02), dx.torch.loss("ApproxNDCG(alpha=5.0)")
    qptr, features = np.arange(0, 401, 20), torch.from_numpy(X)
    first = None
    for _ in range(150):
        optimizer.zero_grad()
        found = loss(net(features).squeeze(1), labels, qptr=qptr)
        found.backward()
        optimizer.step()
        first = found.item() if first is None else first
    assert first > -0.75
    assert found.item() < -0.9


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs a GPU that PyTorch can use")
def test_scores_of_a_gpu_come_back_to_it():
    scores, labels = ragged(torch.float32)
    expected = dx.torch.loss(SURROGATE)(scores, labels, qptr=QPTR)
    expected.backward()
    there = scores.detach().cuda().requires_grad_()
    loss = dx.torch.loss(SURROGATE)
    found = loss(there, labels.cuda(), qptr=QPTR)
    found.backward()
    assert found.device == there.grad.device == there.device
    assert found.item() == expected.item()
    assert torch.equal(there.grad.cpu(), scores.grad)
    rows = loss(padded(there, 0.0).cuda(), padded(labels, 0).cuda(), lengths=torch.tensor(SIZES).cuda())
    assert rows.item() == expected.item()


S, Y = torch.zeros(2, 3), torch.zeros(2, 3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda f: f(S[0], Y[0, :2], qptr=[0, 3]), r"labels have shape \(2,\), scores \(3,\)"),
        (lambda f: f(S[None], Y[None]), r"scores: got shape \(1, 2, 3\); give scores \(n_queries, longest\)"),
        (lambda f: f(np.zeros(3), Y[0]), r"scores: got ndarray"),
        (lambda f: f(S, Y, qptr=[0, 2]), r"no qptr"),
        (lambda f: f(S, Y, lengths=[1, 2], mask=S > 0), r"either lengths or mask"),
        (lambda f: f(S, Y, lengths=[1, 4]), r"lengths=\[1, 4\].*from 0 to 3.*each of the 2 queries"),
        (lambda f: f(S, Y, lengths=[1]), r"lengths=\[1\]"),
        (lambda f: f(S, Y, lengths=[1.5, 2.0]), r"lengths=\[1\.5, 2\.0\]"),
        (lambda f: f(S, Y, mask=Y), r"mask has shape \(2, 3\) and type torch.float32; booleans"),
        (lambda f: f(S, Y, mask=(S > 0)[:, :2]), r"mask has shape \(2, 2\)"),
        (lambda f: f(S[0], Y[0], lengths=[3]), r"lengths and mask are for padded"),
        (lambda f: f(S[0], Y[0], qptr=[0, 2]), r"qptr"),
        (lambda f: f(S[0], Y[0], qptr=[0, 1.5, 3]), r"qptr .*integers"),
        (lambda f: f(S[0], ["a", "b", "c"], qptr=[0, 3]), r"labels hold a value that is not a number"),
        (lambda f: f(list(S), list(Y), lengths=[3, 3]), r"takes neither lengths"),
        (lambda f: f(list(S), list(Y)[:1]), r"list of 2 tensors; give a list of as many labels"),
        (lambda f: f(list(S), [Y[0], Y[1, :2]]), r"query 1 has scores of shape \(3,\) and labels of shape"),
        (lambda f: f([], []), r"empty list"),
        (lambda f: f(S[:0], Y[:0]), r"there is no query"),
        (
            lambda f: f(torch.zeros(3, dtype=torch.int64), Y[0], qptr=[0, 3]),
            r"torch\.int64.*\.float\(\)",
        ),
        (lambda f: f(S[0] / 0.0, Y[0], qptr=[0, 3]), r"scores: 3 of 3 cannot be used"),
        (lambda f: f(S[0], Y[0] - 1.0, qptr=[0, 3]), r"labels"),
        (lambda _: dx.torch.loss("ApproxNDGC"), r"ApproxNDCG"),
        (lambda _: dx.torch.loss(dx.ApproxNDCG), r"a surrogate is needed.*ApproxNDCG\(alpha=10\)"),
        (lambda _: dx.torch.loss(None), r"a surrogate is needed"),
    ],
)
def test_messages(call, message):
    with pytest.raises(dx.InputError, match=message):
        call(dx.torch.loss(SURROGATE))


ALONE, GRADES = torch.tensor([0.3, 0.1, 0.2]), torch.tensor([1, 0, 2])
BOTH = torch.stack([ALONE, 2 * ALONE]), torch.stack([GRADES, GRADES])
WITHOUT_DOCUMENTS = {
    "lengths": lambda f: f(*BOTH, lengths=[3, 0]),
    "mask": lambda f: f(*BOTH, mask=torch.tensor([[True] * 3, [False] * 3])),
    "qptr": lambda f: f(ALONE, GRADES, qptr=[0, 3, 3]),
    "qptr, first": lambda f: f(ALONE, GRADES, qptr=[0, 0, 3]),
    "list": lambda f: f([ALONE, ALONE[:0]], [GRADES, GRADES[:0]]),
    "nested": lambda f: f(
        torch.nested.nested_tensor([ALONE, ALONE[:0]], layout=torch.jagged),
        torch.nested.nested_tensor([GRADES, GRADES[:0]], layout=torch.jagged),
    ),
}
NO_DOCUMENT = {
    "lengths": lambda f: f(*BOTH, lengths=[0, 0]),
    "mask": lambda f: f(*BOTH, mask=torch.zeros(2, 3, dtype=torch.bool)),
    "no columns": lambda f: f(BOTH[0][:, :0], BOTH[1][:, :0]),
    "qptr": lambda f: f(ALONE[:0], GRADES[:0], qptr=[0, 0]),
    "list": lambda f: f([ALONE[:0]], [GRADES[:0]]),
}


@pytest.mark.parametrize("backend", ["kernels", "torch"])
@pytest.mark.parametrize("call", WITHOUT_DOCUMENTS.values(), ids=WITHOUT_DOCUMENTS)
def test_a_query_without_documents_is_not_part_of_the_mean(call, backend):
    loss = dx.torch.loss(SURROGATE, backend=backend)
    alone = loss(ALONE, GRADES, qptr=[0, 3]).item()
    np.testing.assert_allclose(call(loss).item(), alone, rtol=1e-6)
    compiled = torch.compile(loss, backend="eager", dynamic=False)
    np.testing.assert_allclose(call(compiled).item(), alone, rtol=1e-6)
    values = call(dx.torch.measure("nDCG")).numpy()
    assert np.isnan(values).tolist() in ([False, True], [True, False])
    np.testing.assert_array_equal(values[~np.isnan(values)], dx.NDCG()(ALONE.numpy(), [1.0, 0, 2], [0, 3]))


def test_the_gradient_of_a_query_is_not_divided_by_queries_without_documents():
    leaf, other = (BOTH[0].clone().requires_grad_() for _ in range(2))
    dx.torch.loss(SURROGATE)(leaf, BOTH[1], lengths=[3, 0]).backward()
    dx.torch.loss(SURROGATE)(other[:1], BOTH[1][:1]).backward()
    assert torch.equal(leaf.grad, other.grad)


@pytest.mark.parametrize("call", NO_DOCUMENT.values(), ids=NO_DOCUMENT)
def test_a_batch_without_any_document_is_an_error(call):
    for loss in (dx.torch.loss(SURROGATE), torch.compile(dx.torch.loss(SURROGATE), backend="eager")):
        with pytest.raises(dx.InputError, match="no query has a document"):
            call(loss)
    assert np.isnan(call(dx.torch.measure("nDCG")).numpy()).all()


def test_the_package_does_not_import_torch_before_a_loss_is_made():
    code = (
        "import sys, directrix as dx; dx.torch.loss; print('torch' in sys.modules); "
        "dx.torch.loss('ApproxAP'); print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False", "True"]
