"""check_loss: it finds each law broken by a loss that breaks it, and none in ours."""

import pytest

import directrix as dx

torch = pytest.importorskip("torch", reason="needs PyTorch: pip install torch")

OURS = ["ApproxNDCG", "ApproxAP", "SmoothNDCG", "RankNet", "ListNet", "LambdaLoss(k=5)"]


@pytest.mark.parametrize("name", OURS)
def test_ours_keep_them(name):
    dx.torch.check_loss(dx.torch.loss(name))


def of_pairs(scores, labels, mask, cut=None):
    """A right loss: RankNet's, summed up over pairs and divided by their number in each query."""
    pairs = (labels[:, :, None] > labels[:, None, :]) & mask[:, :, None] & mask[:, None, :]
    if cut is not None:
        top = scores.detach().masked_fill(~mask, -1e9).argsort(dim=1, descending=True).argsort(dim=1) < cut
        pairs = pairs & top[:, :, None] & top[:, None, :]
    cost = torch.nn.functional.softplus(scores[:, None, :] - scores[:, :, None])
    return torch.where(pairs, cost, 0.0).sum(dim=(1, 2)), pairs.sum(dim=(1, 2))


def right(scores, labels, mask):
    cost, pairs = of_pairs(scores, labels, mask)
    return (cost / pairs.clamp_min(1)).mean()


def of_all_pairs(scores, labels, mask):
    cost, pairs = of_pairs(scores, labels, mask)
    return cost.sum() / pairs.sum().clamp_min(1)


def nan_without_pairs(scores, labels, mask):
    cost, pairs = of_pairs(scores, labels, mask)
    return (cost / pairs).mean()


def within_the_first_k(scores, labels, mask):
    cost, pairs = of_pairs(scores, labels, mask, cut=5)
    return (cost / pairs.clamp_min(1)).mean()


def with_padding(scores, labels, mask):
    return right(scores, labels, torch.ones_like(mask))


def of_squares(scores, labels, mask):
    return ((scores - labels) ** 2 * mask).sum() / (
        mask.sum(dim=1, keepdim=True) * len(mask) + 0.0 * scores
    ).max()


def by_place(scores, labels, mask):
    return right(scores * torch.linspace(0.5, 1.5, scores.shape[1]), labels, mask)


def of_the_first_query(scores, labels, mask):
    cost, pairs = of_pairs(scores, labels, mask)
    return (cost / pairs.clamp_min(1))[0]


def without_slope(scores, labels, mask):
    still = scores - scores.detach()  # 0, with a slope
    return right(scores, labels, mask) + (scores.detach() * still * mask).sum(dim=1).mean()


def nan_without_ties(scores, labels, mask):
    return right(scores, labels, mask) + 0.0 * (0.0 * scores).sqrt().sum()


@pytest.mark.parametrize(
    ("loss", "law"),
    [
        (nan_without_ties, "slope"),
        (of_all_pairs, "lengths"),
        (nan_without_pairs, "finite"),
        (within_the_first_k, "below k"),
        (with_padding, "padding"),
        (of_squares, "shift"),
        (by_place, "order"),
        (of_the_first_query, "batch"),
        (without_slope, "slope"),
    ],
)
def test_each_law_is_found_broken(loss, law):
    dx.torch.check_loss(right)
    with pytest.raises(dx.laws.LawBroken, match=f"- {law}: ") as caught:
        dx.torch.check_loss(loss)
    assert law in caught.value.laws


def test_a_loss_that_fails_says_with_what():
    def fails(scores, labels, mask):
        raise RuntimeError("no such\nthing")

    with pytest.raises(dx.laws.LawBroken, match="slope: RuntimeError: no such\n"):
        dx.torch.check_loss(fails)
