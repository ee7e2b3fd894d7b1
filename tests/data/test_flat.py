"""The flat storage against PyG's own collation."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from osan.data import FlatLoader, flatten
from osan.data.flat import FlatDataset, concatenate
from osan.data.published.readers import compact
from osan.errors import OsanError


def test_a_dataset_shows_what_it_holds_not_all_of_it():
    flat = flatten([random_graph(0, 3, 4), random_graph(1, 2, 0)])
    shapes = "x=[5, 3], edge_index=[2, 4], edge_attr=[4, 2], y=[2, 2]"
    assert sorted(repr(flat[:1]).split("graphs, ")[1][:-1].split("], ")) == sorted(shapes.split("], "))
    assert repr(flat[:1]).startswith("FlatDataset(1 of 2 graphs, ")


def test_the_flat_loader_says_what_it_takes():
    with pytest.raises(OsanError, match=r"expected a FlatDataset, got list; convert .* osan\.data\.flatten"):
        FlatLoader([random_graph(0, 3, 4)], batch_size=1)


def random_graph(seed: int, size: int, arcs: int) -> Data:
    g = torch.Generator().manual_seed(seed)
    return Data(
        x=torch.randn(size, 3, generator=g),
        edge_index=torch.randint(0, size, (2, arcs), generator=g),
        edge_attr=torch.randint(0, 4, (arcs, 2), generator=g),
        y=torch.randn(1, 2, generator=g),
    )


graph_lists = st.lists(
    st.builds(random_graph, st.integers(0, 10**6), st.integers(1, 6), st.integers(0, 9)),
    min_size=1,
    max_size=8,
)


@settings(max_examples=60, deadline=None)
@given(graph_lists, st.data())
def test_batch_equals_pygs_collation(graphs, data):
    flat = flatten(graphs)
    picks = data.draw(st.lists(st.integers(0, len(graphs) - 1), min_size=1, max_size=10))
    ours = flat.batch(torch.tensor(picks))
    theirs = Batch.from_data_list([graphs[i] for i in picks])
    for name in ("x", "edge_index", "edge_attr", "y", "batch", "ptr"):
        assert torch.equal(ours[name], theirs[name]), name
        assert ours[name].dtype == theirs[name].dtype
    assert ours.num_graphs == theirs.num_graphs == len(picks)
    assert ours.num_nodes == theirs.num_nodes
    assert ours.graph_id.tolist() == picks
    for single, i in zip(ours.to_data_list(), picks, strict=True):
        for name in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(single[name], graphs[i][name])
        assert single.num_nodes == graphs[i].num_nodes


@settings(max_examples=30, deadline=None)
@given(graph_lists)
def test_items_are_the_graphs(graphs):
    flat = flatten(graphs)
    assert len(flat) == len(graphs)
    for ours, theirs in zip(flat, graphs, strict=True):
        for name in ("x", "edge_index", "edge_attr", "y"):
            assert torch.equal(ours[name], theirs[name])
    assert torch.equal(flat.num_vertices, torch.tensor([g.num_nodes for g in graphs]))
    assert torch.equal(flat.num_arcs, torch.tensor([g.edge_index.shape[1] for g in graphs]))


def test_pygs_dataloader_and_ours_give_the_same_batches():
    flat = flatten([random_graph(i, 1 + i % 5, i % 7) for i in range(23)]).subset(torch.arange(22, -1, -2))
    ours, theirs = list(FlatLoader(flat, 5)), list(DataLoader(flat, 5))
    assert len(ours) == len(theirs) == len(FlatLoader(flat, 5)) == 3
    for a, b in zip(ours, theirs, strict=True):
        for name in ("x", "edge_index", "edge_attr", "y", "batch", "ptr", "graph_id"):
            assert torch.equal(a[name], b[name]), name


def test_subset_keeps_ids_and_shares_storage():
    flat = flatten([random_graph(i, 3, 4) for i in range(10)])
    part = flat.subset(torch.tensor([7, 2, 5]))
    assert part.tensors["x"] is flat.tensors["x"]
    assert part.batch(torch.tensor([0, 2])).graph_id.tolist() == [7, 5]
    assert part[1:].ids.tolist() == [2, 5]
    assert part[[0, -1]].ids.tolist() == [7, 5]
    assert part[np.int64(1)].graph_id.item() == part[-2].graph_id.item() == 2
    assert torch.equal(part.y, flat.y[[7, 2, 5]])
    own = compact(part)
    assert own.ids.tolist() == [0, 1, 2]
    for a, b in zip(own, part, strict=True):
        assert torch.equal(a.x, b.x)
        assert torch.equal(a.edge_index, b.edge_index)


def test_concatenate():
    graphs = [random_graph(i, 2 + i, 3) for i in range(5)]
    joined, whole = concatenate([flatten(graphs[:2]), flatten(graphs[2:])]), flatten(graphs)
    assert torch.equal(joined.vertex_ptr, whole.vertex_ptr)
    assert all(torch.equal(joined.tensors[name], whole.tensors[name]) for name in whole.tensors)


def orders(loader, epochs=1):
    return [[i for batch in loader for i in batch.graph_id.tolist()] for _ in range(epochs)]


def test_an_epoch_holds_every_graph_once_in_an_order_fixed_by_seed_and_epoch():
    flat = flatten([random_graph(i, 2, 1) for i in range(50)])
    first, second = orders(FlatLoader(flat, 8, shuffle=True, seed=3), epochs=2)
    assert sorted(first) == sorted(second) == list(range(50))
    assert len({tuple(first), tuple(second), tuple(range(50))}) == 3
    assert orders(FlatLoader(flat, 8, shuffle=True, seed=3)) == [first]
    assert orders(FlatLoader(flat, 8, shuffle=True, seed=3, epoch=lambda: 1)) == [second]
    assert orders(FlatLoader(flat, 8, shuffle=True, seed=4)) != [first]
    torch.manual_seed(0)
    before = torch.get_rng_state()
    orders(FlatLoader(flat, 8, shuffle=True))
    assert torch.equal(torch.get_rng_state(), before)


def test_with_tensors_keeps_the_subset():
    flat = flatten([random_graph(i, 3, 2) for i in range(4)])
    part = flat.subset(torch.tensor([2, 0]))
    y = torch.arange(4.0).reshape(4, 1)
    assert part.with_tensors(y=y).y.tolist() == [[2.0], [0.0]]
    assert "edge_attr" not in part.with_tensors(edge_attr=None).tensors
    assert set(part.tensors) == set(flat.tensors)
    with pytest.raises(OsanError, match="y: expected 4 rows, got 2"):
        part.with_tensors(y=y[:2])


def test_vertices_without_features_get_one_constant_label():
    flat = flatten([Data(edge_index=torch.tensor([[0], [1]]), num_nodes=3)])
    assert flat.tensors["x"].tolist() == [[0], [0], [0]]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "graphs: expected at least one, got none"),
        ([Data(x=torch.ones(2, 1))], "graph 0: expected edge_index"),
        (
            [random_graph(0, 2, 1), Data(x=torch.ones(2, 3), edge_index=torch.zeros(2, 0, dtype=torch.long))],
            "graph 1",
        ),
        (
            [random_graph(0, 2, 1), random_graph(1, 2, 1).update({"x": torch.ones(2, 4)})],
            r"graph 1: expected x of shape \('rows', 3\)",
        ),
        (
            [random_graph(0, 2, 1).update({"edge_index": torch.tensor([[0], [5]])})],
            "graph 0: expected vertices from 0 to 1, got the arc 0, 5",
        ),
        (
            [random_graph(0, 2, 1).update({"edge_attr": torch.ones(4, 2)})],
            "expected 1 rows, got 4",
        ),
    ],
)
def test_graphs_that_do_not_fit_together(graphs, message):
    with pytest.raises(OsanError, match=message):
        flatten(graphs)


def test_wrong_requests():
    flat = flatten([random_graph(0, 2, 1)])
    with pytest.raises(OsanError, match="batch_size: expected at least 1, got 0"):
        FlatLoader(flat, 0)
    with pytest.raises(OsanError, match="index: expected graphs from 0 to 0, got 1"):
        flat.subset(torch.tensor([1]))
    with pytest.raises(OsanError, match="index: expected at least one graph"):
        flat.subset(torch.tensor([], dtype=torch.long))
    with pytest.raises(OsanError, match="vertex_ptr: expected ascending numbers"):
        FlatDataset(flat.tensors, torch.tensor([0, -2]), flat.edge_ptr)
