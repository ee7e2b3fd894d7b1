"""Soft choices: a Concrete (Gumbel-sigmoid) estimator against the same computation with dense matrices."""

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv

from osan import bags
from osan.nn import DataDrivenOSAN, Numerical, Pool, convolve, osan
from osan.selection import Draw, Estimator, Policy, Problem

WIDTH = 4


class Free(Problem):
    """Any set of vertices."""

    sized = False

    def solve(self, weights, tie):
        return (weights > 0).to(weights.dtype)


class FreeEdges(Free):
    weighs = "edge"


class Concrete(Estimator):
    """The Gumbel-sigmoid relaxation (Maddison, Mnih and Teh 2017): a soft sample with its exact gradient."""

    tau = 0.5

    def forward(self, problem, weights, noise, randomness):
        number = randomness.uniform(problem.ground, weights.size(1), 1).to(weights.dtype)
        return Draw(torch.sigmoid((weights + torch.logit(number)) / self.tau))


def graph(n, pairs, seed):
    generator = torch.Generator().manual_seed(seed)
    index = torch.tensor(pairs + [(v, u) for u, v in pairs]).t().contiguous()
    return Data(x=torch.randn(n, 3, generator=generator, dtype=torch.double), edge_index=index)


BATCH = Batch.from_data_list(
    [graph(4, [(0, 1), (1, 2), (2, 0), (2, 3)], 0), graph(3, [(0, 1), (1, 2)], 1), graph(2, [(0, 1)], 2)]
)


class Given(nn.Module):
    def __init__(self, rows):
        super().__init__()
        torch.manual_seed(5)
        self.weights = nn.Parameter(torch.randn(rows, 2, dtype=torch.double))

    def forward(self, batch):
        return self.weights


class Downstream(nn.Module):
    """Two GIN layers, mean over vertices, sum over subgraphs."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(6)
        self.first, self.second = GINConv(nn.Linear(3, WIDTH)), GINConv(nn.Linear(WIDTH, WIDTH))
        self.mark = nn.Parameter(torch.randn(3))
        self.inner, self.outer = Pool("mean", WIDTH), Pool("sum", WIDTH)

    def forward(self, batch, bag):
        h = batch.x[bag.vertex]
        if bag.mark is not None:
            h = h + bag.mark[:, None] * self.mark
        h = torch.tanh(convolve(self.first, h, bag))
        h = convolve(self.second, h, bag)
        pooled = self.inner(h, bag.subgraph, bag.num_subgraphs, bag.weight)
        return self.outer(torch.tanh(pooled), bag.graph, bag.num_graphs).sum(1, keepdim=True)

    def dense(self, batch, z, what, operation):
        """The same from dense matrices, one graph and one subgraph after another."""
        out = []
        for g in range(batch.num_graphs):
            mine = (batch.batch == g).nonzero().flatten()
            total = 0
            for i in range(z.size(1)):
                n = len(mine)
                adjacency = torch.zeros(n, n, dtype=torch.double)
                weight, mark = torch.ones(n, dtype=torch.double), None
                for column, (u, v) in enumerate(batch.edge_index.t().tolist()):
                    if u in mine:
                        a, b = u - int(mine[0]), v - int(mine[0])
                        factor = z[column, i] if what == "edge" else torch.ones((), dtype=torch.double)
                        cell = torch.zeros(n, n, dtype=torch.double)
                        cell[b, a] = 1
                        adjacency = adjacency + factor * cell
                if what == "vertex" and operation == "mark":
                    mark = z[mine, i]
                elif what == "vertex":
                    weight = z[mine, i]
                    adjacency = adjacency * weight[:, None] * weight[None]
                elif operation == "select":
                    weight = adjacency.max(dim=1).values
                h = batch.x[mine] if mark is None else batch.x[mine] + mark[:, None] * self.mark
                h = torch.tanh(self.first.nn(h + adjacency @ h))
                h = self.second.nn(h + adjacency @ h)
                total = total + torch.tanh((h * weight[:, None]).sum(0) / weight.sum())
            out.append(total.sum())
        return torch.stack(out)[:, None]


@pytest.mark.parametrize(
    ("operation", "kind"),
    [("select", Free), ("delete", Free), ("mark", Free), ("select", FreeEdges), ("delete", FreeEdges)],
)
def test_a_concrete_estimator_equals_dense_matrices(operation, kind):
    what = kind.weighs
    upstream = Given(BATCH.num_nodes if what == "vertex" else BATCH.num_edges)
    downstream = Downstream().double()
    model = DataDrivenOSAN(upstream, downstream, Policy(operation, kind, count=2), estimator=Concrete())
    out = model(BATCH)
    choice = out.selected[0].choice
    assert ((choice > 0) & (choice < 1)).all()
    expected = downstream.dense(BATCH, choice, what, operation)
    assert torch.allclose(out.prediction, expected, rtol=0, atol=1e-12)
    parameters = list(model.parameters())
    found = torch.autograd.grad(
        out.prediction.square().sum(), parameters, retain_graph=True, allow_unused=True
    )
    wanted = torch.autograd.grad(expected.square().sum(), parameters, allow_unused=True)
    for mine, theirs in zip(found, wanted, strict=True):
        assert (mine is None) == (theirs is None)
        assert mine is None or torch.allclose(mine, theirs, rtol=0, atol=1e-11)
    assert upstream.weights.grad is None
    assert found[0].abs().sum() > 0
    # Without gradients, the same numbers.
    with torch.no_grad():
        thin = downstream(BATCH, out.selected[0].problem.bag(BATCH, choice.detach()))
    assert torch.allclose(thin, out.prediction, rtol=0, atol=1e-12)


@pytest.mark.parametrize("conv", ["gin", "gcn"])
@pytest.mark.parametrize("aggregation", ["per-subgraph", "per-vertex"])
def test_soft_copies_count_in_batch_norms(conv, aggregation):
    """With and without gradients: removed copies are gone in one bag and have weight 0 in the other."""
    choice = torch.rand(BATCH.num_nodes, 3, generator=torch.Generator().manual_seed(0), dtype=torch.double)
    choice[[0, 4, 5], [0, 1, 2]] = 0
    choice[2] = 1
    predictions = []
    for learned in (False, True):
        torch.manual_seed(0)
        network = osan(8, 2, 1, vertex_encoder=Numerical(3, 8), conv=conv, aggregation=aggregation).double()
        network.train()
        given = choice.clone().requires_grad_(learned)
        predictions.append(network(BATCH, bags.from_choice(BATCH, given)))
    assert torch.allclose(*predictions, rtol=0, atol=1e-10)
    slope = torch.autograd.grad(predictions[1].sum(), given)[0]
    assert (slope != 0).all()


def test_a_soft_choice_of_ones_and_zeros_is_a_hard_one():
    """The limit: values of nearly 0 and 1 give nearly the predictions of 0 and 1."""
    torch.manual_seed(0)
    network = osan(8, 2, 1, vertex_encoder=Numerical(3, 8), norm=False).double()
    hard = torch.randint(0, 2, (BATCH.num_nodes, 2), dtype=torch.double)
    soft = hard.clamp(1e-9, 1 - 1e-9)
    close = network(BATCH, bags.from_choice(BATCH, soft))
    assert torch.allclose(network(BATCH, bags.from_choice(BATCH, hard)), close, rtol=0, atol=1e-6)
