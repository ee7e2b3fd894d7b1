"""Small graphs and brute-force enumerations for the tests of selection."""

from __future__ import annotations

import itertools

import networkx as nx
import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from osan.selection import Policy


def data(graph: nx.Graph, **attributes: object) -> Data:
    """A networkx graph on 0, ..., n - 1 as PyG data, both directions of every edge listed."""
    pairs = [(u, v) for u, v, *_ in graph.edges if u != v]
    loops = [(u, v) for u, v, *_ in graph.edges if u == v]
    columns = pairs + [(v, u) for u, v in pairs] + loops
    index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t().contiguous()
    return Data(edge_index=index, num_nodes=graph.number_of_nodes(), **attributes)


def random_batch(seed: int, sizes: tuple[int, ...], probability: float = 0.4) -> tuple[list[nx.Graph], Batch]:
    """Random graphs with at least one edge each, and their batch."""
    graphs = []
    for number, n in enumerate(sizes):
        graph = nx.gnp_random_graph(n, probability, seed=seed * 100 + number)
        if graph.number_of_edges() == 0 and n > 1:
            graph.add_edge(0, n - 1)
        graphs.append(graph)
    return graphs, Batch.from_data_list([data(graph) for graph in graphs])


def choices(policy: Policy, graph: nx.Graph) -> list[np.ndarray]:
    """All 0/1 vectors that a policy allows on a simple graph: over vertices, or edges in sorted order."""
    n = graph.number_of_nodes()
    edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
    if policy.what == "ego":
        nets = [set(nx.ego_graph(graph, v, policy.size)) for v in graph]
        if policy.operation == "delete":
            kept = [set(graph) - net for net in nets if len(net) < n] or [set(graph)]
        else:
            kept = nets
        return [indicator(n, net) for net in kept]
    if policy.what == "tree":
        size = n - nx.number_connected_components(graph)
        subsets = itertools.combinations(range(len(edges)), size)
        return [indicator(len(edges), s) for s in subsets if nx.is_forest(_spanned(n, [edges[e] for e in s]))]
    total, least = (n, 1) if policy.what == "vertex" else (len(edges), 0)
    size = max(total - policy.size, least) if policy.operation == "delete" else min(policy.size, total)
    subsets = itertools.combinations(range(total), size)
    return [indicator(total, s) for s in subsets]


def indicator(size: int, members: object) -> np.ndarray:
    vector = np.zeros(size)
    vector[list(members)] = 1
    return vector


def _spanned(n: int, edges: list[tuple[int, int]]) -> nx.Graph:
    graph = nx.Graph(edges)
    graph.add_nodes_from(range(n))
    return graph


def per_graph(values: Tensor, batch: Batch, edges: bool) -> list[np.ndarray]:
    """Rows of vertices, or of undirected edges in sorted order, as one array per graph."""
    array = values.numpy()
    if not edges:
        return [array[first:last] for first, last in itertools.pairwise(batch.ptr.tolist())]
    graph = batch.batch.tolist()
    rows: list[dict[tuple[int, int], np.ndarray]] = [{} for _ in range(batch.num_graphs)]
    for column, (u, v) in enumerate(batch.edge_index.t().tolist()):
        row = rows[graph[u]].setdefault((min(u, v), max(u, v)), array[column])
        assert (row == array[column]).all(), "the two directions of an edge differ"
    return [np.array([found[edge] for edge in sorted(found)]) for found in rows]
