"""The compiled batch norm: derivatives, PyTorch's own norm on the kept rows, and large offsets."""

import pytest
import torch

from osan.errors import OsanError
from osan.nn.norm import BagBatchNorm

relu = torch.nn.functional.relu


def make(rows, width, dtype=torch.float64):
    torch.manual_seed(rows)
    norm = BagBatchNorm(width, dtype=dtype)
    with torch.no_grad():
        norm.weight.copy_(torch.randn(width))
        norm.bias.copy_(torch.randn(width))
    return norm, torch.randn(rows, width, dtype=dtype) * 3 + 1, torch.rand(rows) < 0.7


@pytest.mark.parametrize("activation", [None, relu, torch.nn.functional.elu])
@pytest.mark.parametrize("masked", [False, True])
def test_gradients_are_derivatives(activation, masked):
    norm, h, kept = make(40, 3)

    def normalized(h, weight, bias):
        parameters = {"weight": weight, "bias": bias}
        return torch.func.functional_call(norm, parameters, (h, kept if masked else None, activation))

    inputs = tuple(t.detach().clone().requires_grad_() for t in (h, norm.weight, norm.bias))
    assert torch.autograd.gradcheck(normalized, inputs)


@pytest.mark.parametrize("activation", [None, relu])
@pytest.mark.parametrize("momentum", [0.1, None])
@pytest.mark.parametrize("rows", [2, 32, 100])
def test_kept_rows_are_normalized_as_by_pytorch(activation, momentum, rows):
    norm, h, kept = make(rows, 5)
    kept[:2] = True
    plain = torch.nn.BatchNorm1d(5, momentum=momentum, dtype=torch.float64)
    plain.load_state_dict(norm.state_dict())
    norm.momentum = momentum
    for step in (1, 2):
        mine, theirs = (step * h).requires_grad_(), (step * h).requires_grad_()
        out = norm(mine, kept, activation)
        expected = plain(theirs[kept]) if activation is None else activation(plain(theirs[kept]))
        assert torch.allclose(out[kept], expected, atol=1e-10, rtol=0)
        factor = torch.randn_like(out)
        (out * factor)[kept].sum().backward()
        (expected * factor[kept]).sum().backward()
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-10, rtol=0)
    for (name, mine), theirs in zip(norm.state_dict().items(), plain.state_dict().values(), strict=True):
        assert torch.allclose(mine, theirs, atol=1e-10, rtol=0), name
    for mine, theirs in zip(norm.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(mine.grad, theirs.grad, atol=1e-10, rtol=0)


def test_single_precision_is_kept_far_from_zero():
    """Among 100,000 rows around 1,000 the statistics of one half are right to single precision."""
    norm, h, _ = make(100_000, 2, torch.float32)
    h = h + 1000
    kept = torch.arange(len(h)) < len(h) // 2
    exact = h[kept].double()
    norm.momentum = 1.0
    norm(h, kept)
    assert torch.allclose(norm.running_mean.double(), exact.mean(0), rtol=1e-6, atol=0)
    assert torch.allclose(norm.running_var.double(), exact.var(0), rtol=1e-5, atol=0)


def test_what_is_not_a_number_stays_visible():
    norm, h, kept = make(10, 2)
    h[3, 0] = torch.nan
    kept[3] = True
    assert bool(norm(h, kept, relu)[:, 0].isnan().all())


@pytest.mark.parametrize("masked", [False, True])
def test_other_types_take_the_composed_way(masked):
    norm, h, kept = make(200, 4)
    h = h.bfloat16().double()
    kept = kept if masked else None
    expected = norm(h, kept, relu)
    half = BagBatchNorm(4, dtype=torch.bfloat16)
    half.load_state_dict({**norm.state_dict(), "running_mean": torch.zeros(4), "running_var": torch.ones(4)})
    out = half(h.bfloat16(), kept, relu)
    assert torch.allclose(out.double(), expected, rtol=4 * torch.finfo(torch.bfloat16).eps, atol=0.05)
    assert torch.allclose(half.running_mean.double(), norm.running_mean, atol=0.01)
    assert torch.allclose(half.running_var.double(), norm.running_var, atol=0.05)


@pytest.mark.parametrize("count", [torch.tensor([True]), torch.ones(3, 1)])
def test_counts_of_another_shape_are_refused(count):
    with pytest.raises(OsanError, match=r"count: expected shape \[3\], one per row, got \["):
        BagBatchNorm(2)(torch.randn(3, 2), count)
