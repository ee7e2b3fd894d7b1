"""Bags and layouts from compiled loops against those from tensor operations."""

from dataclasses import fields

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
