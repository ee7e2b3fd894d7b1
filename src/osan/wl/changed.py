"""Rounds that look only at classes that changed, for tests in which a copy sees its neighbors."""

from __future__ import annotations

import numpy as np

from osan.wl import changed_kernels, relabel
from osan.wl.copies import Copies
from osan.wl.encode import Colors, Encoded

# Below this many copies a round over all of them costs next to nothing.
LEAST = 1 << 12
# Rounds in which at most this share of the copies is looked at are done class by class.
SHARE = 0.2
# Arcs between two looks at whether the graphs differ, or at the time.
WORK = 1 << 24
# No names of classes, and no words of codes.
UNNAMED = np.empty((0, 2), dtype=np.uint64), np.empty(0, dtype=np.uint64)


class Changed:
    """Goes on from a coloring, class by class, as long as only few copies are in classes that changed.

    The rounds are the same as those over all copies: colors after each of them, and so their number.
    """

    def __init__(self, encoded: Encoded, copies: Copies) -> None:
        self._encoded, self._copies = encoded, copies

    def start(self, before: Colors, colors: Colors, count: int) -> ChangedRounds | None:
        """Rounds from ``colors``, the result of a round from ``before``; ``None`` if too much has changed."""
        if len(colors) < LEAST or len(colors) > np.iinfo(np.int32).max:
            return None
        order, where, begin, size = changed_kernels.grouped(colors, count)
        parts = changed_kernels.smaller_parts(before, colors, count, order, begin, size)
        if int(size[parts].sum()) > SHARE * len(order):
            return None
        return ChangedRounds(
            self._encoded, self._copies, colors.copy(), count, (order, where, begin, size), parts
        )


class ChangedRounds:
    """A coloring on its way, and the classes to look at next."""

    def __init__(
        self,
        encoded: Encoded,
        copies: Copies,
        colors: Colors,
        count: int,
        groups: tuple[Colors, Colors, Colors, Colors],
        parts: Colors,
    ) -> None:
        self.count, self._colors, self._groups, self._parts = count, colors, groups, parts
        self._largest_round = max(1, int(SHARE * len(groups[0])))
        copies_of = np.diff(copies.copy_ptr)
        self._where = (
            np.repeat(np.arange(len(copies_of), dtype=np.int32), copies_of),
            copies.copy_ptr,
            encoded.vertex_ptr[copies.graph],
            encoded.arc_ptr,
            encoded.arc_target,
            encoded.arc_code,
            encoded.arc_edge if copies.edge_mode else np.empty(0, dtype=np.int32),
            copies.members,
            copies.edge_mode,
        )

    @property
    def stable(self) -> bool:
        """Whether nothing is left to look at."""
        return not self._parts.size

    @property
    def over(self) -> bool:
        """Whether nothing is left to look at, or so much that rounds over all copies are faster."""
        return self.stable or int(self._groups[3][self._parts].sum()) > self._largest_round

    @property
    def colors(self) -> Colors:
        """The colors so far, numbered as they come."""
        return relabel.relabel(self._colors.astype(np.uint64), self._colors)[0]

    def run(self, rounds: int | None) -> int:
        """Rounds until the coloring is stable, some time is over, or much changes; returns their number."""
        self.count, done, self._parts = changed_kernels.run_rounds(
            self._colors,
            self.count,
            *self._groups,
            self._parts,
            -1 if rounds is None else rounds,
            max(WORK, len(self._colors)),
            self._largest_round,
            *self._where,
            *UNNAMED,
        )
        return done
