"""The bag itself: dense view, printing, drawing, moving, batching by PyG."""

from functools import partial

import pytest
import torch
from torch_geometric.data import Batch, Data, InMemoryDataset
from torch_geometric.loader import DataLoader

from osan import bags
from osan.errors import OsanError


def test_dense_view(odd_batch):
    bag = bags.random_subsets(odd_batch, 1, 4, generator=torch.Generator().manual_seed(0))
    values = torch.randn(bag.num_copies, 2)
    dense, there = bag.dense(values)
    assert dense.shape == (odd_batch.num_nodes, 4, 2)
    for row, v, s in zip(values, bag.vertex.tolist(), bag.subgraph.tolist(), strict=True):
        assert torch.equal(dense[v, s % 4], row)
    assert int(there.sum()) == bag.num_copies
    assert bool((dense[~there] == 0).all())
    with pytest.raises(OsanError, match="same number of subgraphs for every graph, got 1 to 6"):
        bags.all_subsets(odd_batch, 1).dense(values)
    with pytest.raises(OsanError, match="one per copy"):
        bag.dense(values[1:])


def test_wrong_shapes_and_wrong_batches_are_named(odd_batch):
    bag = bags.whole_graphs(odd_batch)
    with pytest.raises(OsanError, match=r"bag.weight: expected shape \[24\], got \[3\]"):
        bags.SubgraphBag(
            bag.vertex, bag.subgraph, bag.edge_index, bag.edge, bag.graph, 24, 1, 7, weight=torch.ones(3)
        )
    with pytest.raises(OsanError, match="batch: expected the 24 vertices of the bag, got 2"):
        bag.check(Data(num_nodes=2, edge_index=torch.empty(2, 0, dtype=torch.long)))


def test_printing_tells_what_is_inside(odd_batch):
    choice = torch.ones(odd_batch.num_nodes, 2, requires_grad=True)
    assert "weights with gradients" in repr(bags.from_choice(odd_batch, choice))
    text = repr(bags.all_tuples(odd_batch, 1))
    assert text.startswith("SubgraphBag(24 subgraphs of 7 graphs: ")
    assert "marks" in text
    assert "ranks" in text


def test_notebooks_show_a_table_and_a_picture(odd_batch):
    pytest.importorskip("matplotlib")
    page = bags.all_egos(odd_batch, 1, mark_center=True)._repr_html_()
    assert "<th>subgraphs per graph</th><td>1 to 6</td>" in page
    assert "data:image/png;base64," in page


def test_drawing(odd_batch):
    pytest.importorskip("matplotlib")
    bag = bags.all_subsets(odd_batch, 1)
    assert [p.get_title() for p in bags.draw(bag, limit=3).axes][:3] == [f"subgraph {i}" for i in range(3)]
    empty = bags.from_choice(odd_batch, torch.zeros(odd_batch.num_nodes, 1))
    assert len(bags.draw(empty).axes) == 1
    with pytest.raises(OsanError, match="graph: expected a graph from 0 to 6, got 7"):
        bags.draw(bag, graph=7)


def test_molecules_are_drawn_with_their_elements():
    pytest.importorskip("matplotlib")
    pytest.importorskip("rdkit")
    ethanol = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    bag = bags.all_subsets(ethanol, 1, operation="mark")
    figure = bags.draw(bag, smiles="CCO")
    assert [t.get_text() for t in figure.axes[0].texts] == ["C", "C", "O"]
    with pytest.raises(OsanError, match=r"expected at least . atoms.*got 1 in"):
        bags.draw(bag, smiles="C")
    with pytest.raises(OsanError, match="string that RDKit can read"):
        bags.draw(bag, smiles="C(")


def test_atoms_keep_their_elements_where_others_are_in_no_subgraph():
    pytest.importorskip("matplotlib")
    pytest.importorskip("rdkit")
    ethanol = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    some = bags.from_choice(ethanol, torch.tensor([[0.0], [1.0], [1.0]]), operation="select")
    assert [t.get_text() for t in bags.draw(some, smiles="CCO").axes[0].texts] == ["C", "O"]
    two = Batch.from_data_list([ethanol, ethanol])
    every = bags.all_subsets(two, 2, operation="select")
    # The first two vertices of the second ethanol are in its first subgraph, the last one only in the others.
    assert [t.get_text() for t in bags.draw(every, graph=1, limit=1, smiles="CCO").axes[0].texts] == [
        "C",
        "C",
    ]
    last = bags.draw(every, graph=1, smiles="CCO").axes[2]
    assert last.get_title() == "subgraph 5"
    assert [t.get_text() for t in last.texts] == ["C", "C", "O"]
    with pytest.raises(OsanError, match="shows every vertex of graph 1"):
        bags.draw(bags.from_choice(two, torch.tensor([0, 1, 1, 0, 1, 1.0])[:, None]), graph=1, smiles="CCO")


def test_moving_keeps_everything(odd_batch):
    bag = bags.all_tuples(odd_batch, 1).to("cpu")
    assert bag.tuples.device.type == "cpu"
    assert repr(bag) == repr(bags.all_tuples(odd_batch, 1))


@pytest.mark.parametrize(
    "make_bag",
    [
        partial(bags.all_subsets, k=2, whole_graph=True),
        partial(bags.all_tuples, k=1, whole_graph=True),
        partial(bags.all_edges, k=1, operation="mark"),
        partial(bags.all_egos, hops=1, mark_center=True),
        partial(bags.all_subsets, k=1, deleted="unpooled"),
    ],
)
def test_precomputed_bags_batch_like_computed_ones(odd_batch, make_bag):
    graphs = [bags.AddBag(make_bag)(data) for data in odd_batch.to_data_list()]
    loaded = next(iter(DataLoader(graphs, batch_size=len(graphs))))
    assert torch.equal(loaded.edge_index, odd_batch.edge_index)
    found, expected = bags.bag_of(loaded), make_bag(odd_batch)
    for name in ("vertex", "subgraph", "edge", "graph", "weight", "mark", "edge_mark", "rank", "tuples"):
        mine, theirs = getattr(found, name), getattr(expected, name)
        assert (mine is None) == (theirs is None), name
        assert mine is None or torch.equal(mine, theirs), name
    assert torch.equal(found.edge_index, expected.edge_index)
    found.check(odd_batch)


class _Paired(Data):
    """A user's own kind of graph, one attribute of which holds vertices."""

    def __inc__(self, key, value, *args, **kwargs):
        return self.num_nodes if key == "pair" else super().__inc__(key, value, *args, **kwargs)


def test_a_bag_leaves_the_rest_of_the_graph_alone():
    edge = torch.tensor([[0, 1], [1, 0]])
    graph = _Paired(edge_index=edge, num_nodes=2, pair=torch.tensor([1]), bag_color="red")
    first = bags.AddBag(partial(bags.all_egos, hops=1, mark_center=True))(graph)
    second = bags.AddBag(partial(bags.all_subsets, k=1))(first)  # in place of the first
    assert "bag_vertex" not in graph
    assert second.bag_color == "red"
    batch = Batch.from_data_list([second, second])
    assert batch.pair.tolist() == [1, 3]
    assert bags.bag_of(batch).mark is None
    assert bags.bag_of(batch).vertex.tolist() == [1, 0, 3, 2]


def test_bags_of_a_processed_dataset_load_without_unpickling(tmp_path):
    graph = Data(num_nodes=2, edge_index=torch.tensor([[0, 1], [1, 0]]))
    graphs = [bags.AddBag(partial(bags.all_subsets, k=1))(graph)]
    InMemoryDataset.save(graphs, str(tmp_path / "data.pt"))
    data, _, kind = torch.load(tmp_path / "data.pt", weights_only=True)
    assert kind is Data
    assert data["bag_vertex"].tolist() == [1, 0]


def test_the_name_of_the_transform_tells_policies_apart_and_no_more():
    assert repr(bags.AddBag(partial(bags.all_subsets, k=1, operation="mark"))) == (
        "AddBag(all_subsets, k=1, operation='mark')"
    )
    assert repr(bags.AddBag(bags.whole_graphs)) == "AddBag(whole_graphs)"
    drawn = partial(bags.random_subsets, k=1, m=2, generator=torch.Generator())
    assert repr(bags.AddBag(drawn)) == "AddBag(random_subsets, k=1, m=2, generator=torch._C.Generator)"


def _drawn(generator, workers):
    """The vertices that are deleted in two epochs of four equal graphs."""
    ring = torch.arange(50)
    cycle = Data(num_nodes=50, edge_index=torch.stack([ring, ring.roll(1)]))
    add = bags.AddBag(partial(bags.random_subsets, k=1, m=4, generator=generator))
    loader = DataLoader(Dataset([cycle] * 4, add), num_workers=workers)
    return [tuple(bags.bag_of(batch).tuples.flatten().tolist()) for _ in range(2) for batch in loader]


class Dataset(torch.utils.data.Dataset):
    def __init__(self, graphs, transform):
        self.graphs, self.transform = graphs, transform

    def __len__(self):
        return len(self.graphs)

    def __getitem__(self, place):
        return self.transform(self.graphs[place])


def test_workers_draw_different_subgraphs_in_every_epoch():
    torch.manual_seed(0)
    drawn = _drawn(None, workers=2)
    assert len(set(drawn)) == 8
    torch.manual_seed(0)
    assert _drawn(None, workers=2) == drawn
    with pytest.raises(OsanError, match="leave out the generator"):
        _drawn(torch.Generator(), workers=1)


def test_a_batch_without_bags_is_named(odd_batch):
    with pytest.raises(OsanError, match="bag_sizes: expected"):
        bags.bag_of(odd_batch)
    with pytest.raises(OsanError, match="expected the bag of one graph"):
        bags.AddBag(bags.whole_graphs)(odd_batch)


def test_undirected_edges_pair_parallel_edges_and_leave_arcs_alone():
    edge_index = torch.tensor([[0, 1, 0, 1, 2, 2], [1, 0, 1, 0, 2, 1]])
    edge, columns = bags.undirected_edges(edge_index)
    assert edge.tolist() == [0, 0, 1, 1, 3, 2]
    assert columns.tolist() == [[0, 1], [2, 3], [5, 5], [4, 4]]
    assert bags.undirected_edges(torch.empty(2, 0, dtype=torch.long))[1].shape == (0, 2)


def test_parallel_edges_are_paired_by_their_attributes():
    edge_index = torch.tensor([[0, 0, 1, 1, 1, 2], [1, 1, 0, 0, 2, 1]])
    attributes = torch.tensor([5, 6, 6, 5, 1, 2])
    edge, columns = bags.undirected_edges(edge_index, attributes)
    assert columns.tolist() == [[0, 3], [1, 2], [4, 5]]
    assert edge.tolist() == [0, 1, 1, 0, 2, 2]
