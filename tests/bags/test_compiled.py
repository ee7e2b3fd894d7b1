"""Bags and layouts from compiled loops against those from tensor operations."""

import pickle
from dataclasses import fields, replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data

from osan import bags
from osan.bags import builders, classes, layout


@st.composite
def batches(draw):
    members = []
    for _ in range(draw(st.integers(1, 4))):
        n = draw(st.integers(0, 6))
        ends = st.tuples(st.integers(0, max(n - 1, 0)), st.integers(0, max(n - 1, 0)))
        pairs = draw(st.lists(ends, max_size=12)) if n else []
        pairs = pairs + [(v, u) for u, v in pairs]
        edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).T
        kinds = torch.tensor([(u + v) % 2 for u, v in pairs], dtype=torch.long)
        x = torch.tensor(draw(st.lists(st.integers(0, 1), min_size=n, max_size=n)), dtype=torch.long)
        members.append(Data(num_nodes=n, edge_index=edge_index, x=x, edge_attr=kinds))
    return Batch.from_data_list(members)


def same(left, right):
    for field in fields(left):
        a, b = getattr(left, field.name), getattr(right, field.name)
        assert torch.equal(a, b) and a.dtype == b.dtype if isinstance(a, torch.Tensor) else a == b


@given(batch=batches(), k=st.integers(0, 3), seed=st.integers(0, 9))
def test_deleted_vertices(batch, k, seed):
    def bag():
        return bags.random_subsets(batch, k, 2, generator=torch.Generator().manual_seed(seed))

    def slowly(layout, graph, rows):
        subgraph, place = (rows >= 0).nonzero(as_tuple=True)
        return builders._operate(layout, graph, subgraph, rows[subgraph, place], "delete", "masked", rows)

    compiled, plan = bag(), layout.layout_of(batch)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(layout, "_compiled", lambda *_: None)
        patch.setattr(builders, "_without_vertices", slowly)
        same(compiled, bag())
        same(plan, layout.layout_of(batch))


@given(batch=batches(), operation=st.sampled_from(["delete", "mark"]), m=st.integers(1, 4))
def test_copies_that_see_the_same(batch, operation, m):
    """Looking at one of them only finds the same classes."""
    bag = bags.random_subsets(batch, 1, m, operation=operation)
    found = []
    for repeated in (0, 100):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(classes, "REPEATED", repeated)
            found.append(bags.share(batch, bag, 3))
    few, all_of_them = found
    assert torch.equal(few.of, all_of_them.of)
    for mine, other in zip(few.layers, all_of_them.layers, strict=True):
        for name in ("row", "first", "count", "edge_index", "code"):
            assert torch.equal(getattr(mine, name), getattr(other, name))


@st.composite
def one_way(draw):
    """Graphs whose edges need not go both ways, with codes."""
    members = []
    for _ in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 7))
        ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1))
        pairs = draw(st.lists(ends, max_size=12))
        edge_index = torch.tensor(pairs, dtype=torch.long).view(-1, 2).T
        members.append(Data(num_nodes=n, edge_index=edge_index, x=torch.arange(n) % 2))
    return Batch.from_data_list(members)


@given(
    batch=one_way(),
    k=st.integers(0, 3),
    m=st.integers(1, 4),
    kinds=st.integers(1, 2),
    layers=st.integers(0, 4),
)
def test_deletions_without_a_list_of_copies(batch, k, m, kinds, layers):
    """The classes are those of the listed copies, up to their order."""
    bag = bags.random_subsets(batch, k, m, generator=torch.Generator().manual_seed(0))
    code = torch.arange(batch.num_edges) % kinds
    found, groups = bag.deletions.classes(batch.x, code, layers, 1.0)
    start = batch.x.index_select(0, bag.vertex)
    listed = bags.share(batch, bag, layers, start=start, code=code.index_select(0, bag.edge))
    others = listed.groups(bag.subgraph, bag.num_subgraphs)
    pairs = set(zip(groups.of.tolist(), others.of.tolist(), strict=True))
    assert len(pairs) == groups.num_kinds == others.num_kinds
    for mine, other in zip((found, *found.layers), (listed, *listed.layers), strict=True):
        assert torch.equal(mine.count.sort().values, other.count.sort().values)
    for mine, other in zip(found.layers, listed.layers, strict=True):
        assert mine.edge_index.shape == other.edge_index.shape
        assert torch.equal(mine.code.sort().values, other.code.sort().values)


def test_copies_are_listed_when_they_are_looked_at():
    path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    bag = bags.all_subsets(path, 1)
    assert bag.num_copies == 6
    assert "vertex" not in vars(bag)
    again = pickle.loads(pickle.dumps(bag))
    assert again.vertex.tolist() == bag.vertex.tolist() == [1, 2, 0, 2, 0, 1]
    assert replace(bag, rank=torch.zeros_like(bag.vertex)).deletions is None
    with pytest.raises(AttributeError, match="'SubgraphBag' object has no attribute 'copies'"):
        bag.copies  # noqa: B018
