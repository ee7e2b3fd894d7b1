"""Pictures of colorings, for notebooks and ``osan wl color --out``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from osan.errors import OsanError
from osan.figures import panels
from osan.graphs import GraphLike, as_graph, to_networkx
from osan.wl.coloring import Coloring
from osan.wl.encode import Colors

_GONE = "#eeeeee"


def draw(graphs: Sequence[GraphLike], coloring: Coloring, *, limit: int = 12) -> Any:
    """Draw the colors of vertices: in all panels, equal shade and number mean equal color.

    If the test forms colors of vertices, C(v), there is one panel per graph. Otherwise there is one for each
    of the first subgraphs, with the colors C(v, g); vertices outside the subgraph are pale and have no
    number.

    Parameters
    ----------
    graphs
        The graphs that were colored, in the same order: of this package, networkx or PyG.
    coloring
        The result of :func:`osan.wl.refine` for them.
    limit
        At most this many panels.

    Returns
    -------
    matplotlib.figure.Figure
        The title of a panel has the color of its graph (and subgraph).

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import cycle_pair
    >>> figure = draw(cycle_pair(3), wl.refine(cycle_pair(3), "wl"))
    >>> [panel.get_title() for panel in figure.axes]
    ['graph 0: color 0', 'graph 1: color 0']
    """
    import networkx as nx

    plain = [to_networkx(as_graph(graph)) for graph in graphs]
    if [len(graph) for graph in plain] != _sizes(coloring):
        raise OsanError(
            f"graphs: expected the {len(coloring.graph_colors)} graphs that were colored, in their order"
        )
    if limit < 1:
        raise OsanError(f"limit: expected at least 1, got {limit}")
    shown = list(islice(_shown(coloring, limit), limit))
    figure, drawn = panels(len(shown))
    places = {i: _layout(plain[i]) for i, _, _ in shown}
    from matplotlib import colormaps

    # Neighboring numbers get very different shades; after twenty they repeat, and the numbers decide.
    shades = colormaps["tab20"].colors  # type: ignore[attr-defined]
    shades = [*shades[::2], *shades[1::2]]
    for ax, (i, title, colors) in zip(drawn, shown, strict=True):
        ax.set_title(title, fontsize=9)
        graph, numbers = plain[i], colors.tolist()
        nx.draw_networkx_edges(graph, places[i], ax=ax, edge_color="#888888", node_size=220)
        fill = [shades[c % len(shades)] if c >= 0 else _GONE for c in numbers]
        nx.draw_networkx_nodes(graph, places[i], ax=ax, node_color=fill, node_size=220)
        labels = {v: c for v, c in enumerate(numbers) if c >= 0}
        nx.draw_networkx_labels(graph, places[i], ax=ax, labels=labels, font_size=7)
    return figure


def _layout(graph: Any) -> Any:
    """Positions by distances, or by springs where components have no distance."""
    import networkx as nx

    connected = nx.number_connected_components(nx.Graph(graph)) == 1
    return nx.kamada_kawai_layout(nx.Graph(graph)) if connected else nx.spring_layout(graph, seed=0)


def _sizes(coloring: Coloring) -> list[int]:
    return [colors.shape[-1] for colors in coloring.colors]


def _shown(coloring: Coloring, limit: int) -> Iterator[tuple[int, str, Colors]]:
    """The graph, title and colors of vertices of each panel; each graph gets an equal share of ``limit``."""
    share = max(1, limit // max(1, len(coloring.graph_colors)))
    for i, color in enumerate(coloring.graph_colors.tolist()):
        if coloring.vertex_colors is not None:
            yield i, f"graph {i}: color {color}", coloring.vertex_colors[i]
            continue
        for s, colors in enumerate(coloring.colors[i][:share]):
            chosen = (
                s
                if coloring.subgraphs is None
                else tuple(v for v in coloring.subgraphs[i][s].tolist() if v >= 0)
            )
            yield i, f"graph {i}: color {color}, subgraph {chosen}", colors
