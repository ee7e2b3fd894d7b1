"""Slow, plain references that the constructions are compared with, and files."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import networkx as nx
import pytest

from osan.graphs import Graph, to_networkx

Relation = Callable[[Graph, Graph], bool]


@pytest.fixture(scope="session")
def isomorphic() -> Relation:
    """Isomorphism that keeps vertex and edge labels, by networkx's search."""

    def same(a: dict, b: dict) -> bool:
        return a.get("label") == b.get("label")

    return lambda a, b: nx.is_isomorphic(to_networkx(a), to_networkx(b), node_match=same, edge_match=same)


@pytest.fixture(scope="session")
def wl_equal() -> Relation:
    """Whether 1-WL fails to distinguish two undirected graphs: refinement with nested tuples as colors."""

    def equal(a: Graph, b: Graph) -> bool:
        graphs = [to_networkx(a), to_networkx(b)]
        colors = [{v: data.get("label") for v, data in graph.nodes(data=True)} for graph in graphs]
        for _ in range(a.num_vertices + 1):
            signatures = [
                {v: (color[v], frozenset(Counter(color[u] for u in graph[v]).items())) for v in graph}
                for graph, color in zip(graphs, colors, strict=True)
            ]
            number: dict = {}
            colors = [{v: number.setdefault(s, len(number)) for v, s in each.items()} for each in signatures]
            if Counter(colors[0].values()) != Counter(colors[1].values()):
                return False
        return True

    return equal


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str, str | bytes], Path]:
    """Write a file of that name and content."""

    def make(name: str, content: str | bytes) -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return make
