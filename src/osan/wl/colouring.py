"""What a refinement returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from osan.wl.encode import Colours
from osan.wl.settings import Test


@dataclass(frozen=True, eq=False)
class Colouring:
    """The colours of some graphs, refined jointly and comparable across all of them.

    Attributes
    ----------
    test
        The test that was run.
    graph_colours
        C(G): two graphs are told apart if and only if these differ.
    vertex_colours
        C(v), one array per graph; ``None`` where the test forms no colour of a vertex.
    subgraph_colours
        C(g), one array per graph; ``None`` where the test forms no colour of a subgraph.
    colours
        What was refined, one array per graph: shape ``(n,)`` for 1-WL and ``"kernel"``, whose ego-nets start
        anew in every round, ``(n, ..., n)`` for k-WL, else ``(subgraphs, n)`` with C(v, g), -1 where v is not
        in g.
    subgraphs
        The chosen vertices, edges or centres of each subgraph, one array ``(subgraphs, k)`` per graph.
    rounds
        After how many rounds the joint colouring was stable, or how many were run.
    stable
        Whether it is stable.
    history
        ``colours`` after 0, 1, ..., ``rounds`` rounds, if asked for.
    """

    test: Test
    graph_colours: Colours
    vertex_colours: tuple[Colours, ...] | None
    subgraph_colours: tuple[Colours, ...] | None
    colours: tuple[Colours, ...]
    subgraphs: tuple[Colours, ...] | None
    rounds: int
    stable: bool
    history: tuple[tuple[Colours, ...], ...] | None = field(default=None, repr=False)

    def same(self, i: int, j: int) -> bool:
        """Whether the test gives graphs i and j the same colour."""
        return bool(self.graph_colours[i] == self.graph_colours[j])

    def unseparated_pairs(self) -> int:
        """How many pairs of the given graphs have the same colour."""
        counts = np.bincount(self.graph_colours)
        return int((counts * (counts - 1) // 2).sum())

    def __repr__(self) -> str:
        graphs = len(self.graph_colours)
        kinds = len(np.unique(self.graph_colours))
        end = "stable" if self.stable else "stopped"
        return f"Colouring({self.test}: {graphs} graphs, {kinds} colours, {end} after {self.rounds} rounds)"
