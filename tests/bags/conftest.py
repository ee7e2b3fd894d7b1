"""Small graphs with every oddity, and bags read back as plain Python sets."""

import networkx as nx
import pytest
import torch
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data


def from_networkx(graph, seed=0):
    """A PyG graph with both directions of each edge (self-loops once), in shuffled order."""
    columns = []
    for u, v in graph.edges():
        columns += [(u, v)] if u == v else [(u, v), (v, u)]
    generator = torch.Generator().manual_seed(seed)
    edge_index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t().contiguous()
    edge_index = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
    return Data(
        x=torch.randint(0, 3, (graph.number_of_nodes(), 1), generator=generator),
        edge_index=edge_index,
        edge_attr=torch.randint(0, 3, (edge_index.size(1), 1), generator=generator),
    )


@pytest.fixture(scope="session")
def odd_batch():
    """A cycle, one vertex, two isolated ones, a self-loop on a path, parallel edges, a random graph."""
    parallel = nx.MultiGraph([(0, 1), (0, 1), (1, 2)])
    looped = nx.path_graph(4)
    looped.add_edge(1, 1)
    graphs = [
        nx.cycle_graph(5),
        nx.empty_graph(1),
        nx.empty_graph(2),
        looped,
        parallel,
        nx.gnp_random_graph(6, 0.5, seed=1),
        nx.empty_graph(3),
    ]
    return Batch.from_data_list([from_networkx(g, seed=i) for i, g in enumerate(graphs)])


@st.composite
def batch_strategy(draw):
    """Batches of one to three random graphs of up to six vertices."""
    graphs = []
    for i in range(draw(st.integers(1, 3))):
        n = draw(st.integers(1, 6))
        pairs = [(u, v) for u in range(n) for v in range(u, n)]
        edges = draw(st.lists(st.sampled_from(pairs), max_size=10))
        graph = nx.MultiGraph()
        graph.add_nodes_from(range(n))
        graph.add_edges_from(edges)
        graphs.append(from_networkx(graph, seed=i))
    return Batch.from_data_list(graphs)


@pytest.fixture(scope="session")
def batches():
    """The hypothesis strategy of random batches."""
    return batch_strategy()
