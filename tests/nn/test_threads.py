"""Compiled loops give the same bits with any number of threads, and follow torch's setting."""

import pytest
import torch

from osan import compiled
from osan.nn import messages, norm
from osan.nn.message_kernels import BLOCKS, EdgeBlocks, edge_blocks
from osan.nn.messages import sum_of_messages
from osan.nn.norm import BagBatchNorm


@pytest.fixture
def with_threads(monkeypatch):
    """``with_threads(number, function)``: the result of a function with so many threads, however small."""
    monkeypatch.setattr(messages, "SMALL", 0)
    monkeypatch.setattr(norm, "SMALL", 0)
    before = torch.get_num_threads()

    def call(number, function):
        torch.set_num_threads(number)
        if compiled.threads() != number:
            pytest.skip("one core")
        return function()

    yield call
    torch.set_num_threads(before)


def same(first, second):
    return all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize("features", [0, 3, 400])
@pytest.mark.parametrize("ordered", [True, False])
def test_sums_of_messages(features, ordered, with_threads):
    torch.manual_seed(features)
    rows, edges, width = 130, 700, 37
    edge_index = torch.randint(rows, (2, edges))
    if ordered:
        edge_index = edge_index[:, edge_index[1].argsort(stable=True)]
    h, weight = torch.randn(rows, width, requires_grad=True), torch.rand(edges, requires_grad=True)
    given = {"weight": weight, "own": torch.tensor(1.5)}
    inputs = [h, weight]
    if features:
        given |= {"feature": torch.randn(features, width, requires_grad=True)}
        given |= {"index": torch.randint(features, (edges,))}
        inputs.append(given["feature"])
    gradient = torch.randn(rows, width)

    def step():
        out = sum_of_messages(h, edge_index, **given)
        return [out, *torch.autograd.grad(out, inputs, gradient)]

    one, two = (with_threads(number, step) for number in (1, 2))
    assert same(one, two)
    composed = messages.composed_sum(
        h, given.get("feature"), weight, given["own"], edge_index, given.get("index"), None
    )
    for found, wanted in zip(one, [composed, *torch.autograd.grad(composed, inputs, gradient)], strict=True):
        assert torch.allclose(found, wanted, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("counted", [True, False])
def test_norms(counted, with_threads):
    torch.manual_seed(0)
    h, gradient = 3 * torch.randn(100, 70, requires_grad=True) + 5, torch.randn(100, 70)
    count = torch.rand(100) > 0.2 if counted else None

    def step():
        layer = BagBatchNorm(70)
        out = layer(h, count, torch.nn.functional.relu)
        return [out, layer.running_var, *torch.autograd.grad(out, [h, *layer.parameters()], gradient)]

    one, two = (with_threads(number, step) for number in (1, 2))
    assert same(one, two)


def test_blocks_have_every_edge_once_in_order_and_disjoint_rows():
    torch.manual_seed(0)
    for rows, edges in ((1, 3), (5, 0), (7, 40), (100, 300)):
        edge_index = torch.randint(rows, (2, edges))
        edge_index[1] = edge_index[1].sort().values  # nothing to be done on one side
        blocks = EdgeBlocks(edge_index, rows, rows)
        for ends, (order, begin) in zip(edge_index.flip(0), (blocks.forward, blocks.backward), strict=True):
            assert begin[0] == 0
            assert begin[-1] == edges
            order = order if len(order) else torch.arange(edges)
            assert sorted(order.tolist()) == list(range(edges))
            for block in range(BLOCKS):
                mine = order[begin[block] : begin[block + 1]].tolist()
                assert mine == sorted(mine)
                assert all(int(ends[e]) * BLOCKS // rows == block for e in mine)


def test_blocks_are_kept_until_the_edges_change():
    edge_index = torch.tensor([[0, 1], [1, 0]])
    blocks = edge_blocks(edge_index, 2, 2)
    assert edge_blocks(edge_index, 2, 2) is blocks
    assert edge_blocks(edge_index.clone(), 2, 2) is not blocks
    edge_index[0, 0] = 1
    assert sum_of_messages(torch.tensor([[1.0], [10.0]]), edge_index).flatten().tolist() == [10, 10]


def test_torch_keeps_its_number_of_threads(with_threads):
    """Numba sets the number of threads of their common OpenMP when it starts."""
    with_threads(2, lambda: BagBatchNorm(4)(torch.randn(8, 4)))
    assert torch.get_num_threads() == 2
    assert compiled.threads() == 2
    torch.set_num_threads(1)
    assert compiled.threads() == 1
