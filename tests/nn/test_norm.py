"""The compiled batch norm: derivatives, PyTorch's own norm on the kept rows, and large offsets."""

import pytest
import torch

from osan.errors import OsanError
from osan.nn.norm import BagBatchNorm, counted_norms

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


@pytest.mark.parametrize("dtype", [torch.float64, torch.bfloat16])
@pytest.mark.parametrize("activation", [None, relu, torch.nn.functional.elu])
@pytest.mark.parametrize("kind", [torch.long, torch.float64])
def test_a_row_of_count_c_is_c_rows(kind, activation, dtype):
    """Against PyTorch's norm on the rows repeated: output, gradients and running statistics."""
    norm, h, _ = make(50, 3)
    norm, h = norm.to(dtype), h.to(dtype)
    count = torch.randint(0, 4, (50,))
    plain = torch.nn.BatchNorm1d(3, dtype=dtype)
    plain.load_state_dict(norm.state_dict())
    tolerance = 1e-10 if dtype == torch.float64 else 0.1
    mine, theirs = h.clone().requires_grad_(), h.clone().requires_grad_()
    out = norm(mine, count.to(kind), activation)
    repeated = plain(theirs.repeat_interleave(count, 0))
    repeated = repeated if activation is None else activation(repeated)
    assert torch.allclose(out.repeat_interleave(count, 0), repeated, atol=tolerance, rtol=0)
    factor = torch.randn_like(repeated)
    (out.repeat_interleave(count, 0) * factor).sum().backward()
    (repeated * factor).sum().backward()
    assert torch.allclose(mine.grad, theirs.grad, atol=3 * tolerance, rtol=0)
    for name, value in plain.state_dict().items():
        assert torch.allclose(norm.state_dict()[name].double(), value.double(), atol=tolerance), name
    for a, b in zip(norm.parameters(), plain.parameters(), strict=True):
        assert torch.allclose(a.grad, b.grad, atol=tolerance, rtol=0.1 if dtype == torch.bfloat16 else 0)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_counts_of_zero_and_one_give_the_bits_of_a_mask(dtype):
    norm, h, kept = make(500, 7, dtype)
    found = []
    for count in (kept, kept.long(), kept.float()):
        again = BagBatchNorm(7, dtype=dtype)
        again.load_state_dict(norm.state_dict())
        mine = h.clone().requires_grad_()
        out = again(mine, count, relu)
        (out * torch.arange(7)).square().sum().backward()
        found.append((out, mine.grad, again.weight.grad, again.running_mean, again.running_var))
    for other in found[1:]:
        assert all(torch.equal(a, b) for a, b in zip(found[0], other, strict=True))


@pytest.mark.parametrize("activation", [None, relu])
@pytest.mark.parametrize("counts", ["none", "mask", "numbers"])
def test_gradients_of_gradients_are_derivatives(activation, counts):
    norm, h, kept = make(12, 2)
    count = {"none": None, "mask": kept, "numbers": torch.randint(0, 3, (12,))}[counts]

    def normalized(h, weight, bias):
        parameters = {"weight": weight, "bias": bias}
        return torch.func.functional_call(norm, parameters, (h, count, activation))

    inputs = tuple(t.detach().clone().requires_grad_() for t in (h, norm.weight, norm.bias))
    assert torch.autograd.gradgradcheck(normalized, inputs)


def test_norms_of_pytorch_inside_a_module_count_too():
    """And are what they were afterwards."""
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.BatchNorm1d(3, affine=False))
    h, kept = torch.randn(20, 3), torch.rand(20) < 0.5
    with counted_norms(module, kept):
        found = module(h)
    expected = module(h[kept])
    assert torch.allclose(found[kept], expected, atol=1e-5)
    assert not torch.allclose(module(h)[kept], expected, atol=1e-3)
    module.eval()
    with counted_norms(module, kept):
        # Not bit by bit: a product of one row may be rounded in another way than one of twenty.
        torch.testing.assert_close(module(h)[:1], module(h[:1]))
