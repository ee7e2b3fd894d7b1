"""Pictures of what a network looks at, drawn by RDKit for molecules and by networkx for other graphs."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np

from osan.files import write_bytes
from osan.report.frequencies import Frequencies, first_arcs
from osan.report.molecule import draw_molecule, is_molecule
from osan.report.palette import shade
from osan.report.pictures import checked_suffix, rendered
from osan.report.text import title

_MOST_PLACED = 500


def save_picture(found: Frequencies, path: Path) -> None:
    """Draw frequencies into an ``.svg`` or ``.png`` file."""
    write_bytes(path, picture(found, checked_suffix(path)))


def picture(found: Frequencies, suffix: str = "svg") -> bytes:
    """Draw frequencies; return the bytes of the file."""
    if is_molecule(found.graph) and find_spec("rdkit") is not None:
        return draw_molecule(found, suffix)
    return rendered(draw_graph(found), suffix)


def draw_graph(found: Frequencies, limit: int = 6) -> Any:
    """Draw one panel per subgraph, or the mean and each member; darker means chosen more often.

    If vertices have a single integer feature, it is their label, else their number is.
    """
    from matplotlib.cm import ScalarMappable
    from matplotlib.colors import LinearSegmentedColormap, Normalize
    from matplotlib.figure import Figure

    graph = nx.Graph()
    graph.add_nodes_from(range(found.graph.num_nodes))
    arcs = first_arcs(found.graph.edge_index)
    graph.add_edges_from(arcs)
    place = layout(graph)
    table = found.edges if found.edges is not None else found.vertices
    assert table is not None  # exactly one of the two is given
    # Each of many vertices is rarely chosen, so the scale ends at the largest frequency.
    top = found.top
    shown = min(table.size(1), limit)
    columns = min(shown, 3)
    rows = -(-shown // columns)
    figure = Figure(figsize=(3.4 * columns + 0.8, 3.3 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, squeeze=False).flatten()
    labels = _labels(found)
    small = graph.number_of_nodes() > 24
    for i, panel in enumerate(panels):
        panel.set_axis_off()
        if i >= shown:
            continue
        of_vertex = [0.0] * len(graph) if found.vertices is None else found.vertices[:, i].tolist()
        of_edge = {ends: 0.0 if found.edges is None else float(found.edges[e, i]) for ends, e in arcs.items()}
        edges = list(graph.edges())
        strength = [of_edge[min(e), max(e)] for e in edges]
        nx.draw_networkx_edges(
            graph,
            place,
            ax=panel,
            edgelist=edges,
            edge_color=[shade(f / top) if f > 0 else (0.6, 0.6, 0.6) for f in strength],
            width=[1.0 + 4.0 * f for f in strength],
        )
        nx.draw_networkx_nodes(
            graph,
            place,
            ax=panel,
            node_color=[shade(f / top) for f in of_vertex],
            edgecolors="#555555",
            node_size=90 if small else 240,
        )
        nx.draw_networkx_labels(graph, place, labels, ax=panel, font_size=5 if small else 7)
        panel.set_title(found.columns[i], fontsize=10)
        panel.margins(0.12)
    scale = LinearSegmentedColormap.from_list("frequency", [shade(0.0), shade(1.0)])
    what = "edges" if found.edges is not None else "vertices"
    bar = ScalarMappable(Normalize(0.0, top), scale)
    figure.colorbar(bar, ax=panels, shrink=0.7, label=f"{found.question} {what} are {found.word}")
    title(figure, f"{found.name}: {found.policy}", fontsize=11)
    return figure


def layout(graph: nx.Graph) -> dict[int, Any]:
    """Positions of the vertices, one component beside the other."""
    place: dict[int, Any] = {}
    right = 0.0
    for part in sorted(nx.connected_components(graph), key=lambda c: (-len(c), min(c))):
        # Placed well, a thousand vertices take minutes.
        way = nx.kamada_kawai_layout if len(part) <= _MOST_PLACED else nx.circular_layout
        points = way(graph.subgraph(sorted(part)), scale=len(part) ** 0.5)
        left = min(p[0] for p in points.values())
        place |= {v: p + np.array([right - left, 0.0]) for v, p in points.items()}
        right = max(p[0] for p in place.values()) + 1.0
    return place


def _labels(found: Frequencies) -> dict[int, str]:
    x = found.graph.x
    plain = x is None or x.is_floating_point() or x.size(1) != 1
    return {v: str(v) if plain else str(int(x[v, 0])) for v in range(found.graph.num_nodes)}
