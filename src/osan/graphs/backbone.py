"""The four-cycle backbone pair: X_k and Y_k differ in the cyclic order of their CFI gadgets."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from osan.graphs.cfi import cfi_pair
from osan.graphs.graph import Graph


def backbone_pair(k: int, *, colors: bool = True) -> tuple[Graph, Graph]:
    """X_k and Y_k (paper, appendix, "Construction of the graphs X_k and Y_k" for Lemma pwlinkplus1wl).

    A cycle u_1 u_2 u_3 u_4 of "red" vertices, each adjacent to all vertices of a gadget of its own: in
    cyclic order G_k, H_k, G_k, H_k for X_k and G_k, G_k, H_k, H_k for Y_k.

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
    g, h = cfi_pair(k)
    return _attach([g, h, g, h], colors, f"X_{k}"), _attach([g, g, h, h], colors, f"Y_{k}")


def _attach(gadgets: Sequence[Graph], colors: bool, name: str) -> Graph:
    """The cycle 0, 1, ... with gadget i attached to vertex i."""
    count = len(gadgets)
    ring = np.arange(count)
    parts = [np.stack([ring, (ring + 1) % count], axis=1)]
    labels: list[Hashable] = ["red"] * count
    for i, gadget in enumerate(gadgets):
        members = len(labels) + np.arange(gadget.num_vertices)
        parts += [gadget.edges + len(labels), np.stack([np.full_like(members, i), members], axis=1)]
        labels += gadget.vertex_labels or ()
    return Graph(len(labels), np.concatenate(parts), vertex_labels=labels if colors else None, name=name)
