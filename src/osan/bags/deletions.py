"""Bags that miss some vertices: what they were made from, and the classes of their copies found from that.

Most copies of a vertex see the same as the vertex in the graph itself: all but those within i steps of a
deleted vertex after i layers. So classes need no list of all copies and copied edges, only the vertices and
these few copies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from osan.bags import kernels
from osan.bags.classes import Classes, ClassLayer, Groups
from osan.bags.layout import Layout
from osan.colors import signatures

_NONE: Any = np.empty(0, np.int32)
_LAYOUT = ("sizes", "first", "edge_sizes", "edge_first", "order", "ends")


@dataclass(frozen=True, eq=False)
class Deletions:
    """Which vertices each subgraph of a bag misses.

    Parameters
    ----------
    layout
        The batch, on the CPU.
    graph
        The graph of each subgraph, sorted; shape ``[subgraphs]``.
    rows
        The vertices that each subgraph misses, padded with -1; shape ``[subgraphs, k]``.
    """

    layout: Layout
    graph: Tensor
    rows: Tensor

    @cached_property
    def num_copies(self) -> int:
        """The number of copies."""
        return int(kernels.num_left(self.layout.sizes.numpy(), self.graph.numpy(), self.rows.numpy()))

    @torch.compiler.disable
    def listed(self) -> list[Tensor]:
        """Vertex and subgraph of the copies, the two ends of the copied edges, and their columns."""
        arrays = [getattr(self.layout, name).numpy() for name in _LAYOUT]
        found = kernels.without_vertices(*arrays, self.graph.numpy(), self.rows.numpy())
        return [torch.from_numpy(array) for array in found]

    def classes(
        self, start: Tensor, code: Tensor | None, layers: int, most: float
    ) -> tuple[Classes, Groups] | None:
        """The classes of copies as of :func:`osan.bags.share`, and the kinds of subgraphs.

        Parameters
        ----------
        start
            Numbers from 0 on that are equal for vertices that start alike, shape ``[vertices]``.
        code
            Numbers from 0 on that are equal for edges of the batch that are alike, shape ``[edges]``;
            ``None`` if all are.
        layers
            The number of layers.
        most
            Give up, and return ``None``, once it is clear that more than this share of all rows is left.

        Returns
        -------
        The classes (in which ``first`` points to vertices before all layers, and to no copies after them, and
        ``of`` is empty), and the kinds.
        """
        layout, mask = self.layout, signatures.HASH_MASK
        codes = _NONE if code is None else code.numpy().astype(np.int32)
        num_codes = int(codes.max(initial=0)) + 1
        codes = codes if num_codes > 1 else _NONE
        arrays = [getattr(layout, name).numpy() for name in _LAYOUT]
        missing = (self.graph.numpy(), self.rows.numpy())
        ptr, source, sent, weight, level, owner, begin = kernels.near_missing(
            *arrays, *missing, layers, codes
        )
        like = kernels.like_after(level, owner, 0)
        numbers, none = start.numpy().astype(np.int32), np.zeros_like(ptr)
        colors, first, count, *_ = signatures.number_signatures(
            numbers, none, numbers, source, sent, 1, mask, like, weight
        )
        before, done, rows = (torch.from_numpy(first), torch.from_numpy(count)), [], 0
        for i in range(layers):
            like = kernels.like_after(level, owner, i + 1)
            found = signatures.number_signatures(
                colors, ptr, colors, source, sent, num_codes, mask, like, weight
            )
            row = torch.from_numpy(colors[found[1]].astype(np.int64))
            colors, first, count, _, ends, sent_codes = found
            kept, copies, edges, code = map(torch.from_numpy, (first, count, ends, sent_codes))
            done.append(ClassLayer(row, kept, copies, edges, code))
            rows += len(first)
            # Later layers have at least as many classes.
            if rows + (layers - i - 1) * len(first) > most * layers * self.num_copies:
                return None
        inside, member = kernels.members(*arrays[:2], *missing, owner, begin, self.num_copies)
        kinds = signatures.number_signatures(
            _NONE, inside, colors, member, _NONE, 1, mask, *signatures.UNKNOWN
        )
        of, ends = torch.from_numpy(kinds[0].astype(np.int64)), torch.from_numpy(kinds[4])
        classes = Classes(*before, tuple(done), torch.empty(0, dtype=torch.long))
        return classes, Groups(of, ends, len(kinds[1]), torch.from_numpy(kinds[3]))
