"""What a refinement returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osan.wl.encode import Colors
from osan.wl.settings import WLTest


@dataclass(frozen=True, eq=False)
class Coloring:
    """The colors of some graphs, refined jointly and comparable across all of them.

    Attributes
    ----------
    test
        The test that was run.
    graph_colors
        C(G): the test separates two graphs if and only if these differ.
    vertex_colors
        C(v), one array per graph; ``None`` where the test forms no color of a vertex.
    subgraph_colors
        C(g), one array per graph; ``None`` where the test forms no color of a subgraph.
    colors
        What was refined, one array per graph: shape ``(n,)`` for 1-WL and ``"kernel"``, whose ego-nets start
        again in every round, ``(n, ..., n)`` for k-WL, else ``(subgraphs, n)`` with C(v, g), -1 where v is
        not in g.
    subgraphs
        The chosen vertices, edges or centers of each subgraph, one array ``(subgraphs, k)`` per graph; padded
        with -1 where a graph has fewer than k.
    rounds
        After how many rounds the joint coloring was stable, or how many were run.
    stable
        Whether it is stable.
    history
        ``colors`` after 0, 1, ..., ``rounds`` rounds; ``None`` unless requested.
    """

    test: WLTest
    graph_colors: Colors
    vertex_colors: tuple[Colors, ...] | None
    subgraph_colors: tuple[Colors, ...] | None
    colors: tuple[Colors, ...]
    subgraphs: tuple[Colors, ...] | None
    rounds: int
    stable: bool
    history: tuple[tuple[Colors, ...], ...] | None = field(default=None, repr=False)

    def same(self, i: int, j: int) -> bool:
        """Whether the test gives graphs i and j the same color."""
        return bool(self.graph_colors[i] == self.graph_colors[j])

    def unseparated_pairs(self) -> int:
        """How many pairs of the given graphs have the same color."""
        counts = np.bincount(self.graph_colors)
        return int((counts * (counts - 1) // 2).sum())

    def __repr__(self) -> str:
        graphs = len(self.graph_colors)
        kinds = len(np.unique(self.graph_colors))
        end = "stable" if self.stable else "stopped"
        return f"Coloring({self.test}: {graphs} graphs, {kinds} colors, {end} after {self.rounds} rounds)"
