"""The four-cycle backbone pair: X_k and Y_k differ in the cyclic order of their CFI gadgets."""

from __future__ import annotations

from osan.graphs.cfi import cfi_pair
from osan.graphs.decorated import decorate
from osan.graphs.graph import Graph


def backbone_pair(k: int, *, colors: bool = True) -> tuple[Graph, Graph]:
    """X_k and Y_k (paper, appendix, "Construction of the graphs X_k and Y_k" for Lemma pwlinkplus1wl).

    A cycle u_1 u_2 u_3 u_4 of "red" vertices, each adjacent to all vertices of its gadget. The
    gadgets are, in cyclic order, G_k, H_k, G_k, H_k for X_k and G_k, G_k, H_k, H_k for Y_k.

    Parameters
    ----------
    k
        At least 1.
    colors
        Label the backbone ``"red"``, the gadgets as :func:`~osan.graphs.cfi.cfi_pair` does.

    Examples
    --------
    >>> backbone_pair(2)[0]
    Graph('X_2', num_vertices=52, num_edges=112, vertex labels)
    """
    import networkx as nx

    g, h = cfi_pair(k)
    cycle = nx.cycle_graph(4)
    x, y = (
        decorate(cycle, gadgets, base_label="red", labels=colors, name=f"{letter}_{k}")
        for letter, gadgets in (("X", [g, h, g, h]), ("Y", [g, g, h, h]))
    )
    return x, y
