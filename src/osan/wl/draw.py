"""Pictures of colourings, for notebooks and ``osan wl colour --out``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from osan.errors import OsanError
from osan.graphs import as_graph, to_networkx
from osan.graphs.panels import panels
from osan.wl.colouring import Colouring
from osan.wl.encode import Colours

_GONE = "#eeeeee"


def draw(graphs: Sequence[Any], colouring: Colouring, *, limit: int = 12) -> Any:
    """Draw the colours of vertices: equal shade and number, equal colour, in all panels.

    A test that forms colours of vertices, C(v), has a panel for each graph. Otherwise there is one for each
    of the first subgraphs, with the colours C(v, g); vertices that are not part of it are pale and without a
    number.

    Parameters
    ----------
    graphs
        The graphs that were coloured, in the same order: of this package, networkx or PyG.
    colouring
        What :func:`osan.wl.refine` gave for them.
    limit
        At most this many panels.

    Returns
    -------
    matplotlib.figure.Figure
        The title of a panel has the colour of its graph (and subgraph).

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import cycle_pair
    >>> figure = draw(cycle_pair(3), wl.refine(cycle_pair(3), "wl"))
    >>> [panel.get_title() for panel in figure.axes]
    ['graph 0: colour 0', 'graph 1: colour 0']
    """
    import networkx as nx

    plain = [to_networkx(as_graph(graph)) for graph in graphs]
    if [len(graph) for graph in plain] != _sizes(colouring):
        raise OsanError(
            f"graphs: expected the {len(colouring.graph_colours)} graphs that were coloured, in their order"
        )
    if limit < 1:
        raise OsanError(f"limit: must be at least 1, got {limit}")
    shown = list(islice(_shown(colouring, limit), limit))
    figure, drawn = panels(len(shown))
    places = {i: _layout(plain[i]) for i, _, _ in shown}
    from matplotlib import colormaps

    # Neighbouring numbers get shades that differ most; after twenty they repeat, and the numbers tell.
    shades = colormaps["tab20"].colors  # type: ignore[attr-defined]
    shades = [*shades[::2], *shades[1::2]]
    for ax, (i, title, colours) in zip(drawn, shown, strict=True):
        ax.set_title(title, fontsize=9)
        graph, numbers = plain[i], colours.tolist()
        nx.draw_networkx_edges(graph, places[i], ax=ax, edge_color="#888888", node_size=220)
        fill = [shades[c % len(shades)] if c >= 0 else _GONE for c in numbers]
        nx.draw_networkx_nodes(graph, places[i], ax=ax, node_color=fill, node_size=220)
        labels = {v: c for v, c in enumerate(numbers) if c >= 0}
        nx.draw_networkx_labels(graph, places[i], ax=ax, labels=labels, font_size=7)
    return figure


def _layout(graph: Any) -> Any:
    """Places by distances, which unravels most; where there are none between components, by springs."""
    import networkx as nx

    connected = nx.number_connected_components(nx.Graph(graph)) == 1
    return nx.kamada_kawai_layout(nx.Graph(graph)) if connected else nx.spring_layout(graph, seed=0)


def _sizes(colouring: Colouring) -> list[int]:
    return [colours.shape[-1] for colours in colouring.colours]


def _shown(colouring: Colouring, limit: int) -> Iterator[tuple[int, str, Colours]]:
    """The graph, title and colours of vertices of each panel; every graph has its share of ``limit``."""
    share = max(1, limit // max(1, len(colouring.graph_colours)))
    for i, colour in enumerate(colouring.graph_colours.tolist()):
        if colouring.vertex_colours is not None:
            yield i, f"graph {i}: colour {colour}", colouring.vertex_colours[i]
            continue
        for s, colours in enumerate(colouring.colours[i][:share]):
            chosen = s if colouring.subgraphs is None else tuple(colouring.subgraphs[i][s].tolist())
            yield i, f"graph {i}: colour {colour}, subgraph {chosen}", colours
