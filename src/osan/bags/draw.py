"""Pictures of a bag, for notebooks."""

from __future__ import annotations

import base64
import html as markup
import io
from collections.abc import Sequence
from typing import Any

import networkx as nx
import torch

from osan.bags.bag import SubgraphBag
from osan.errors import OsanError
from osan.extras import rdkit
from osan.figures import panels

_GONE, _PLAIN, _MARKED = "#dddddd", "#7aa6c2", "#d9822b"
# RDKit would place the atoms of larger molecules for minutes.
_MOST_PLACED = 1000


def subgraph_of(bag: SubgraphBag, s: int) -> nx.MultiDiGraph:
    """Subgraph s as a networkx graph on the vertices of the batch, with its weights and marks.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> sorted(subgraph_of(bags.all_subsets(path, 1), 0).edges())
    [(1, 2), (2, 1)]
    """
    if not 0 <= s < bag.num_subgraphs:
        raise OsanError(f"s: expected a subgraph from 0 to {bag.num_subgraphs - 1}, got {s}")
    graph = nx.MultiDiGraph()
    for copy in (bag.subgraph == s).nonzero().flatten().tolist():
        graph.add_node(int(bag.vertex[copy]), **_values(bag, bag.PER_COPY, copy))
    for e in (bag.subgraph[bag.edge_index[0]] == s).nonzero().flatten().tolist():
        source, target = bag.vertex[bag.edge_index[:, e]].tolist()
        graph.add_edge(source, target, key=int(bag.edge[e]), **_values(bag, bag.PER_EDGE, e))
    return graph


def _values(bag: SubgraphBag, names: Sequence[str], row: int) -> dict[str, float]:
    """The weight, mark and rank in one row, as far as the bag has them."""
    found = {name: getattr(bag, name) for name in names if name not in ("vertex", "subgraph", "edge")}
    return {name: value[row].item() for name, value in found.items() if value is not None}


def draw(bag: SubgraphBag, *, graph: int = 0, limit: int = 8, smiles: str | None = None) -> Any:
    """Draw the first subgraphs of one graph, with removed parts pale, marks orange and ranks as labels.

    Parameters
    ----------
    bag
        The bag.
    graph
        The graph of the batch to draw.
    limit
        The largest number of subgraphs to draw.
    smiles
        The SMILES of the graph, with atoms in the order of the vertices: draws it with RDKit's coordinates
        and element symbols.

    Returns
    -------
    matplotlib.figure.Figure
        One panel per subgraph.
    """
    if not 0 <= graph < bag.num_graphs:
        raise OsanError(f"graph: expected a graph from 0 to {bag.num_graphs - 1}, got {graph}")
    members = (bag.graph == graph).nonzero().flatten().tolist()
    shown = [subgraph_of(bag, s) for s in members[:limit]]
    base = nx.compose_all([nx.Graph(g) for g in shown]) if shown else nx.Graph()
    position, symbols = _molecule(smiles, bag, graph) if smiles else (nx.spring_layout(base, seed=0), {})
    figure, drawn = panels(len(shown))
    for panel, s, picture in zip(drawn, members, shown, strict=False):
        panel.set_title(f"subgraph {s}", fontsize=9)
        _draw_one(panel, nx.Graph(picture), base, position, symbols)
    return figure


def _draw_one(
    panel: Any, picture: nx.Graph, base: nx.Graph, position: dict[int, Any], symbols: dict[int, str]
) -> None:
    def color(v: int) -> str:
        data = picture.nodes[v] if v in picture else {"weight": 0}
        return _GONE if data.get("weight", 1) == 0 else _MARKED if data.get("mark", 0) else _PLAIN

    def edge_color(u: int, v: int) -> str:
        data = picture.edges[u, v] if picture.has_edge(u, v) else {"edge_weight": 0}
        return _GONE if data.get("edge_weight", 1) == 0 else _MARKED if data.get("edge_mark", 0) else "black"

    def label(v: int) -> str:
        rank = picture.nodes[v].get("rank", 0) if v in picture else 0
        return f"{symbols.get(v, v)}{f' ({rank})' if rank else ''}"

    edges = sorted(base.edges())
    nx.draw_networkx_edges(
        base, position, ax=panel, edgelist=edges, edge_color=[edge_color(*e) for e in edges]
    )
    nx.draw_networkx_nodes(base, position, ax=panel, node_color=[color(v) for v in base], node_size=220)
    nx.draw_networkx_labels(base, position, ax=panel, labels={v: label(v) for v in base}, font_size=7)


def _molecule(smiles: str, bag: SubgraphBag, graph: int) -> tuple[dict[int, Any], dict[int, str]]:
    """Coordinates and element symbols of the atoms, by vertex."""
    kit = rdkit("drawing molecules")
    molecule = kit.Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise OsanError(f"smiles: expected a string that RDKit can read, got {smiles!r}")
    atoms = molecule.GetNumAtoms()
    if atoms > _MOST_PLACED:
        raise OsanError(f"smiles: expected at most {_MOST_PLACED} atoms to draw, got {atoms}")
    kit.Chem.rdDepictor.Compute2DCoords(molecule)
    seen = bag.vertex[bag.graph[bag.subgraph] == graph].tolist()
    # A bag does not store where a graph begins; only graph 0 is known to begin with vertex 0.
    first = 0 if graph == 0 else min(seen, default=0)
    last = max(seen, default=first)
    if last - first >= atoms:
        raise OsanError(
            f"smiles: expected at least {last - first + 1} atoms, one per vertex, got {atoms} in {smiles!r}"
        )
    if graph and seen and last - first + 1 < atoms:
        raise OsanError(
            f"smiles: expected a bag that shows every vertex of graph {graph}, got vertices {first} to "
            f"{last} for the {atoms} atoms of {smiles!r}; draw a bag of that graph alone"
        )
    points = molecule.GetConformer().GetPositions()[:, :2]
    position = {first + i: point for i, point in enumerate(points)}
    return position, {first + atom.GetIdx(): atom.GetSymbol() for atom in molecule.GetAtoms()}


def html(bag: SubgraphBag) -> str:
    """The HTML view for notebooks: a table of sizes and a picture of the first subgraphs."""
    counts = bag.subgraphs_per_graph
    sizes = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs)

    def span(values: Sequence[int]) -> str:
        least, most = (min(values), max(values)) if values else (0, 0)
        return str(least) if least == most else f"{least} to {most}"

    rows = [
        ("graphs", str(bag.num_graphs)),
        ("subgraphs per graph", span(counts.tolist())),
        ("vertices per subgraph", span(sizes.tolist())),
        ("copies", str(bag.num_copies)),
        ("copied edges", str(bag.num_copied_edges)),
    ]
    table = "".join(f"<tr><th>{markup.escape(a)}</th><td>{markup.escape(b)}</td></tr>" for a, b in rows)
    text = f"<div><code>{markup.escape(repr(bag))}</code><table>{table}</table>"
    try:
        figure = draw(bag) if bag.num_graphs else None
    except OsanError:
        figure = None
    if figure is not None:
        stream = io.BytesIO()
        figure.savefig(stream, format="png", dpi=80)
        picture = base64.b64encode(stream.getvalue()).decode()
        text += f'<img alt="the first subgraphs of graph 0" src="data:image/png;base64,{picture}">'
    return text + "</div>"
