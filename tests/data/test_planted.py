"""The planted task is what it says."""

import networkx as nx
import pytest
from torch_geometric.utils import to_networkx

from osan.data.generated.planted import planted_motif
from osan.errors import OsanError


def test_trees_with_one_triangle_whose_features_are_the_target():
    sizes = set()
    for number, graph in enumerate(planted_motif(200, seed=3)):
        plain = to_networkx(graph, to_undirected=True)
        sizes.add(graph.num_nodes)
        assert nx.is_connected(plain)
        assert plain.number_of_edges() == graph.num_nodes  # a tree and one edge
        triangle = graph.planted.nonzero().flatten().tolist()
        assert len(triangle) == 3
        assert sum(nx.triangles(plain).values()) == 3
        assert all(nx.triangles(plain, v) == 1 for v in triangle)
        assert set(graph.x.flatten().tolist()) <= {0.0, 1.0}
        assert graph.y.tolist() == [[graph.x[graph.planted].sum().item()]]
        assert graph.graph_id.tolist() == [number]
    assert sizes == set(range(14, 21))


def test_a_seed_names_the_graphs():
    first, again, other = (planted_motif(5, seed) for seed in (1, 1, 2))
    assert all(
        (a.edge_index == b.edge_index).all() and (a.x == b.x).all() for a, b in zip(first, again, strict=True)
    )
    assert any(a.num_nodes != b.num_nodes or not a.x.equal(b.x) for a, b in zip(first, other, strict=True))
    with pytest.raises(OsanError, match="at least 1"):
        planted_motif(-1, seed=0)
