"""Choices: what the bag holds, ranks, and the gradient that comes back."""

import itertools

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from osan import bags
from osan.errors import OsanError


@pytest.fixture
def path():
    """Vertices 0 - 1 - 2 - 3, both directions."""
    return Data(num_nodes=4, edge_index=torch.tensor([[0, 1, 1, 2, 2, 3], [1, 0, 2, 1, 3, 2]]))


def test_gradient_of_an_induced_edge_by_hand(path):
    choice = torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0], [1.0, 1.0]], requires_grad=True)
    weight = bags.induced_edge_weight(choice, path.edge_index)
    assert weight.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1], [0, 1], [0, 1]]
    gradient = torch.tensor([[1.0, 10.0], [2.0, 20.0], [3.0, 30.0], [4.0, 40.0], [5.0, 50.0], [6.0, 60.0]])
    weight.backward(gradient)
    # Into 0: column 1. Into 1: columns 0 and 3. Into 2: columns 2 and 5. Into 3: column 4. Chosen or not.
    assert choice.grad.tolist() == [[2, 20], [2.5, 25], [4.5, 45], [5, 50]]
    choice.grad = None
    bags.induced_edge_weight(choice, path.edge_index, agg="sum").backward(gradient)
    assert choice.grad.tolist() == [[2, 20], [5, 50], [9, 90], [5, 50]]
    with pytest.raises(OsanError, match="agg"):
        bags.induced_edge_weight(choice, path.edge_index, agg="max")


def test_isolated_vertices_get_no_gradient_from_edges():
    choice = torch.ones(2, 1, requires_grad=True)
    bags.induced_edge_weight(choice, torch.empty(2, 0, dtype=torch.long)).sum().backward()
    assert choice.grad.tolist() == [[0], [0]]


def test_gradients_of_copies_and_edges_add(path):
    choice = torch.tensor([[1.0], [0.0], [1.0], [1.0]], requires_grad=True)
    bag = bags.from_choice(path, choice)
    assert bag.num_copies == 4
    assert bag.num_copied_edges == 6
    assert bag.weight.tolist() == [1, 0, 1, 1]
    edge_gradient = torch.arange(1.0, 7.0)[bag.edge]
    (bag.weight * torch.tensor([100.0, 200.0, 300.0, 400.0])).sum().backward(retain_graph=True)
    assert choice.grad.flatten().tolist() == [100, 200, 300, 400]
    (bag.edge_weight * edge_gradient).sum().backward()
    assert choice.grad.flatten().tolist() == [102, 202.5, 304.5, 405]


def kept(bag):
    """The copies and copied edges that weigh something, as sets of (subgraph, vertex or column)."""
    copies = torch.stack((bag.subgraph, bag.vertex), 1)
    edges = torch.stack((bag.subgraph[bag.edge_index[1]], bag.edge), 1)
    copies = copies if bag.weight is None else copies[bag.weight != 0]
    edges = edges if bag.edge_weight is None else edges[bag.edge_weight != 0]
    return set(map(tuple, copies.tolist())), set(map(tuple, edges.tolist()))


@pytest.mark.parametrize(
    ("what", "deleted"),
    # "unpooled" keeps every message: a choice of edges would change nothing.
    [*itertools.product(("vertex", "edge"), ("masked", "isolated")), ("vertex", "unpooled")],
)
@pytest.mark.parametrize("operation", ["delete", "select"])
@pytest.mark.parametrize("whole_graph", [False, True])
def test_the_same_with_and_without_gradients(odd_batch, what, operation, deleted, whole_graph):
    choice = make_choice(odd_batch, what, torch.Generator().manual_seed(0))
    options = {"what": what, "operation": operation, "deleted": deleted, "whole_graph": whole_graph}
    thin = bags.from_choice(odd_batch, choice, **options)
    thick = bags.from_choice(odd_batch, choice.clone().requires_grad_(), **options)
    assert kept(thin) == kept(thick)
    assert thick.edge_weight is None or thick.edge_weight.requires_grad
    m = choice.size(1)
    per_graph = m + whole_graph
    expected = set()
    for g in range(odd_batch.num_graphs):
        for i in range(per_graph):
            for v in (odd_batch.batch == g).nonzero().flatten().tolist():
                touched = [c for c in range(odd_batch.num_edges) if v in odd_batch.edge_index[:, c].tolist()]
                stays = i == m or (
                    choice[v, i] != 0
                    if what == "vertex"
                    else operation == "delete" or any(choice[c, i] != 0 for c in touched)
                )
                if stays or deleted == "isolated":
                    expected.add((g * per_graph + i, v))
    assert kept(thin)[0] == expected


def make_choice(batch, what, generator, m=3):
    if what == "vertex":
        return torch.randint(0, 2, (batch.num_nodes, m), generator=generator).float()
    edge, columns = bags.undirected_edges(batch.edge_index)
    return torch.randint(0, 2, (len(columns), m), generator=generator).float()[edge]


def test_marks_remove_nothing(path):
    choice = torch.tensor([[1.0], [0.0], [0.0], [1.0]], requires_grad=True)
    bag = bags.from_choice(path, choice, operation="mark")
    assert bag.mark.tolist() == [1, 0, 0, 1]
    assert bag.weight is None
    assert bag.edge_weight is None
    (bag.mark * torch.tensor([1.0, 2.0, 3.0, 4.0])).sum().backward()
    assert choice.grad.flatten().tolist() == [1, 2, 3, 4]
    edges = torch.tensor([[1.0], [1.0], [0.0], [0.0], [0.0], [0.0]])
    marked = bags.from_choice(path, edges, what="edge", operation="mark")
    assert marked.num_copied_edges == 6
    assert sorted(marked.edge[marked.edge_mark == 1].tolist()) == [0, 1]


def test_ranks_follow_the_values(path):
    # Subgraph 0 ranks 2, 0, 3; subgraph 1 ranks 1 alone; a vertex of rank r among K has the value K + 1 - r.
    choice = torch.tensor([[2.0, 0.0], [0.0, 1.0], [3.0, 0.0], [1.0, 0.0]])
    bag = bags.from_choice(path, choice, ordered=True)
    assert bag.vertex.tolist() == [0, 2, 3, 1]
    assert bag.rank.tolist() == [2, 1, 3, 1]
    thick = bags.from_choice(path, choice.requires_grad_(), ordered=True, whole_graph=True)
    assert thick.rank.tolist() == [2, 0, 1, 3, 0, 1, 0, 0, 0, 0, 0, 0]
    with pytest.raises(OsanError, match="values 1 to K once each"):
        bags.from_choice(path, torch.tensor([[2.0], [2.0], [0.0], [0.0]]), ordered=True)
    with pytest.raises(OsanError, match="edges, which have no ranks"):
        bags.from_choice(path, torch.ones(6, 1), what="edge", ordered=True)


@pytest.mark.parametrize(
    "values",
    [[1, 1, 4, 4], [0.5, 1, 0, 0], [1, 3, 0, 0], [2, 2, 0, 0], [-1, 1, 0, 0], [float("nan"), 1, 0, 0]],
)
def test_values_that_are_no_ranks_are_refused(path, values):
    """Also those with the right maximum and sum, such as 1, 1, 4, 4."""
    with pytest.raises(OsanError, match=r"expected the values 1 to K once each .* got \[.*\] in subgraph 1"):
        bags.from_choice(path, torch.tensor([[2, 0, 1, 0], values], dtype=torch.float).T, ordered=True)


def test_edge_choices_have_equal_directions(path):
    choice = torch.tensor([[1.0], [1], [0], [1], [1], [1]])
    for operation in ("delete", "select", "mark"):
        with pytest.raises(
            OsanError, match=r"equal values .* got \[0.0\] for column 2 .* \[1.0\] for column 3"
        ):
            bags.from_choice(path, choice, what="edge", operation=operation)
    # An arc without its reverse, and a self-loop, have one direction.
    arcs = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 1]]))
    assert bags.from_choice(arcs, torch.tensor([[1.0], [0.0]]), what="edge").num_copied_edges == 1


@pytest.mark.parametrize("value", [-0.5, 1.5, 2.0, float("nan"), float("inf")])
def test_values_outside_0_to_1_are_refused(path, value):
    choice = torch.tensor([[1.0, 1.0], [0.5, 1.0], [0.0, value], [1.0, 0.0]])
    with pytest.raises(OsanError, match=r"from 0 to 1, got .* in row 2, column 1; .* set ordered=True"):
        bags.from_choice(path, choice)


@pytest.mark.parametrize("deleted", ["masked", "isolated", "unpooled"])
@pytest.mark.parametrize("learned", [False, True])
def test_soft_choices_of_vertices(path, deleted, learned):
    """Weights are the values and their products; only 0 is removed."""
    choice = torch.tensor([[0.5], [1.0], [0.25], [0.0]], requires_grad=learned)
    bag = bags.from_choice(path, choice, deleted=deleted, whole_graph=True)
    first = bag.subgraph == 0
    weights = {0: 0.5, 1: 1.0, 2: 0.25, 3: 0.0}
    pairs = {column: weights[u] * weights[v] for column, (u, v) in enumerate(path.edge_index.t().tolist())}
    if deleted == "isolated":
        assert bag.weight is None
    else:
        found = dict(zip(bag.vertex[first].tolist(), bag.weight[first].tolist(), strict=True))
        whole = learned or deleted == "unpooled"
        assert found == (weights if whole else {v: w for v, w in weights.items() if w})
        assert bag.weight[~first].eq(1).all()
    edges = first[bag.edge_index[1]]
    if deleted == "unpooled":
        assert bag.edge_weight is None
        assert edges.sum() == 6
    else:
        found = dict(zip(bag.edge[edges].tolist(), bag.edge_weight[edges].tolist(), strict=True))
        assert found == (pairs if learned else {c: w for c, w in pairs.items() if w})


@pytest.mark.parametrize("learned", [False, True])
def test_soft_choices_of_edges(path, learned):
    """A vertex of selected edges weighs as much as the heaviest of them; deleting keeps every vertex."""
    choice = torch.tensor([[0.5], [0.5], [0.75], [0.75], [0.0], [0.0]], requires_grad=learned)
    bag = bags.from_choice(path, choice, what="edge")
    found = dict(zip(bag.vertex.tolist(), bag.weight.tolist(), strict=True))
    expected = {0: 0.5, 1: 0.75, 2: 0.75}
    assert found == (expected | {3: 0.0} if learned else expected)
    assert sorted(bag.edge_weight[bag.edge_weight != 0].tolist()) == [0.5, 0.5, 0.75, 0.75]
    bag = bags.from_choice(path, choice, what="edge", operation="delete")
    assert (bag.num_copies, bag.weight) == (4, None)
    marked = bags.from_choice(path, choice, what="edge", operation="mark")
    assert torch.equal(marked.edge_mark, choice[marked.edge, 0])


def test_soft_marks_are_the_values(path):
    choice = torch.tensor([[0.5], [1.0], [0.25], [0.0]], requires_grad=True)
    bag = bags.from_choice(path, choice, operation="mark")
    assert bag.mark.tolist() == [0.5, 1.0, 0.25, 0.0]
    assert bag.weight is None
    (bag.mark * torch.arange(4.0)).sum().backward()
    assert choice.grad.flatten().tolist() == [0, 1, 2, 3]


def test_the_gradient_of_soft_edges_is_that_of_the_product(path):
    choice = torch.tensor([[0.5, 0.9], [0.8, 0.3], [0.25, 0.9], [0.1, 0.2]], dtype=torch.double)
    choice.requires_grad_()
    assert torch.autograd.gradcheck(lambda z: bags.induced_edge_weight(z, path.edge_index), choice)
    assert torch.autograd.gradcheck(lambda z: bags.from_choice(path, z).edge_weight, choice)
    edges = torch.rand(3, 2, dtype=torch.double).repeat_interleave(2, 0).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda z: bags.from_choice(path, z, what="edge", symmetric=True).weight, edges
    )


def test_wrong_choices_are_named(path):
    with pytest.raises(OsanError, match=r"choice: expected shape \[4, m\].*vertices.*got \[6, 1\]"):
        bags.from_choice(path, torch.ones(6, 1))
    with pytest.raises(OsanError, match=r"choice: expected shape \[6, m\].*edges.*got \[4\]"):
        bags.from_choice(path, torch.ones(4), what="edge")
    with pytest.raises(OsanError, match="floating point"):
        bags.from_choice(path, torch.ones(4, 1, dtype=torch.long))
    with pytest.raises(OsanError, match="what: expected one of 'vertex', 'edge'"):
        bags.from_choice(path, torch.ones(4, 1), what="ego")


def test_no_subgraphs_at_all(path):
    bag = bags.from_choice(path, torch.ones(4, 0))
    assert (bag.num_subgraphs, bag.num_copies, bag.num_copied_edges) == (0, 0, 0)


@settings(max_examples=30, deadline=None)
@given(st.data())
def test_choices_are_independent_of_the_batching(batches, data):
    """The bag of a batch is the union of the bags of its graphs."""
    batch = data.draw(batches)
    choice = make_choice(batch, "vertex", torch.Generator().manual_seed(data.draw(st.integers(0, 99))), m=2)
    whole = bags.from_choice(batch, choice)
    parts = [
        bags.from_choice(graph, choice[batch.ptr[i] : batch.ptr[i + 1]])
        for i, graph in enumerate(batch.to_data_list())
    ]
    assert sum(p.num_copied_edges for p in parts) == whole.num_copied_edges
    shifted = torch.cat([p.vertex + batch.ptr[i] for i, p in enumerate(parts)])
    assert torch.equal(shifted, whole.vertex)


def test_empty_graphs_in_the_batch_keep_their_place(path):
    empty = Data(num_nodes=0, edge_index=torch.empty(2, 0, dtype=torch.long))
    batch = Batch.from_data_list([path, empty, path, empty])
    bag = bags.from_choice(batch, torch.ones(8, 2))
    assert bag.graph.tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert bag.num_graphs == 4
