"""Distances to marked vertices, against networkx, and their gradients against the definition."""

from dataclasses import replace

import hypothesis.strategies as st
import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.nn.distances import _composed, distance_columns


@st.composite
def batches(draw):
    """One to three graphs with loops, parallel and one-way edges, and isolated vertices."""
    graphs = []
    for _ in range(draw(st.integers(1, 3))):
        size = draw(st.integers(1, 7))
        vertex = st.integers(0, size - 1)
        arcs = draw(st.lists(st.tuples(vertex, vertex), max_size=10))
        ends = torch.tensor(arcs, dtype=torch.long).reshape(-1, 2).T
        graphs.append(Data(num_nodes=size, edge_index=ends))
    return Batch.from_data_list(graphs)


def expected(batch, bag, mark, most):
    """The definition, by networkx."""
    graph = nx.Graph(batch.edge_index.T.tolist())
    graph.add_nodes_from(range(batch.num_nodes))
    columns = [[0.0] * (most + 1) for _ in range(bag.num_copies)]
    place = {key: i for i, key in enumerate(zip(bag.vertex.tolist(), bag.subgraph.tolist(), strict=True))}
    for (vertex, subgraph), copy in place.items():
        for other, distance in nx.single_source_shortest_path_length(graph, vertex).items():
            if distance <= most and (other, subgraph) in place:
                columns[copy][distance] += float(mark[place[other, subgraph]])
    return torch.tensor(columns, dtype=mark.dtype).reshape(bag.num_copies, most + 1)


BAGS = {
    "mark": lambda batch: bags.all_subsets(batch, 1, operation="mark"),
    "mark 2, whole graph": lambda batch: bags.all_subsets(batch, 2, operation="mark", whole_graph=True),
    "ego": lambda batch: bags.all_egos(batch, 1, mark_center=True),
}


@pytest.mark.parametrize("name", BAGS)
@given(batch=batches(), most=st.integers(0, 4))
@settings(max_examples=60, deadline=None)
def test_columns(name, batch, most):
    bag = BAGS[name](batch)
    mark = bag.mark.double()
    assert distance_columns(batch, bag, mark, most).equal(expected(batch, bag, mark, most))


@given(batch=batches(), most=st.integers(0, 4), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_gradients(batch, most, seed):
    # The columns are linear in the marks: their gradient is the transpose of the same map.
    bag = bags.all_subsets(batch, 1, operation="mark")
    generator = torch.Generator().manual_seed(seed)
    mark = torch.rand(bag.num_copies, generator=generator, dtype=torch.double).requires_grad_()
    columns = distance_columns(batch, bag, mark, most)
    factor = torch.rand(columns.shape, generator=generator, dtype=torch.double)
    (found,) = torch.autograd.grad((columns * factor).sum(), mark)
    unit = torch.eye(bag.num_copies, dtype=torch.double)
    wanted = [(expected(batch, bag, row, most) * factor).sum() for row in unit]
    assert torch.allclose(found, torch.stack(wanted), atol=1e-12)


@given(batch=batches(), most=st.integers(0, 4))
@settings(max_examples=10, deadline=None)
def test_second_gradients(batch, most):
    bag = bags.all_subsets(batch, 1, operation="mark")
    mark = torch.linspace(0.1, 0.9, bag.num_copies, dtype=torch.double).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda m: distance_columns(batch, bag, m, most) ** 2, mark)


@given(batch=batches(), most=st.integers(0, 4), learned=st.booleans())
@settings(max_examples=60, deadline=None)
def test_other_devices(batch, most, learned):
    # What other devices compute by operations of torch, on this one.
    bag = bags.all_egos(batch, 1, mark_center=True)
    mark = bag.mark.double().requires_grad_(learned)
    lists = bags.enumerate.neighbors(batch.edge_index, batch.num_nodes)
    assert _composed(*lists, bag, mark, most).equal(distance_columns(batch, bag, mark, most))


def test_any_order_of_copies():
    cycle = Data(num_nodes=5, edge_index=torch.tensor([[0, 1, 2, 3, 4], [1, 2, 3, 4, 0]]))
    bag = bags.all_subsets(cycle, 1, operation="mark")
    order = torch.randperm(bag.num_copies, generator=torch.Generator().manual_seed(0))
    edges = torch.argsort(order)[bag.edge_index]
    other = replace(
        bag,
        vertex=bag.vertex[order],
        subgraph=bag.subgraph[order],
        mark=bag.mark[order],
        edge_index=edges,
    )
    columns = distance_columns(cycle, bag, bag.mark.float(), 2)
    assert distance_columns(cycle, other, other.mark.float(), 2).equal(columns[order])


def test_distances_see_a_cycle_in_one_layer():
    # Two triangles and a hexagon: 1-WL sees no difference, a mark needs several layers, a distance none.
    def cycles(*sizes):
        arcs, first = [], 0
        for size in sizes:
            arcs += [(first + i, first + (i + 1) % size) for i in range(size)]
            first += size
        ends = torch.tensor(arcs).T
        return Data(num_nodes=first, edge_index=torch.cat((ends, ends.flip(0)), dim=1))

    pair = Batch.from_data_list([cycles(3, 3), cycles(6)])
    bag = bags.all_subsets(pair, 1, operation="mark")
    for atomic, apart in (("unordered", False), ("distance", True)):
        torch.manual_seed(0)
        model = nn.osan(8, 1, 1, atomic=atomic, readout="sum", sagg="sum", norm=False).double()
        one, two = model(pair, bag).flatten().tolist()
        assert (abs(one - two) > 1e-6) == apart
