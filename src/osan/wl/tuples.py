"""k-WL: colors of k-tuples, folklore (the paper's) and oblivious."""

from __future__ import annotations

import numpy as np

from osan.wl import relabel, tuple_kernels
from osan.wl.copies import atomic_types
from osan.wl.encode import Colors, Encoded, Ints, pointers

# Tuples are handed to threads in runs of about this many (tuple, w) pairs.
WORK = 1 << 18


class Tuples:
    """All k-tuples of all graphs: their atomic types and one round of k-WL.

    With phi_j(v, w) the tuple v whose j-th entry is replaced by w, folklore k-WL refines the color of v by
    the multiset over w of (C(phi_1(v, w)), ..., C(phi_k(v, w))) (paper, appendix "Weisfeiler-Leman algorithm
    (expanded)"), oblivious k-WL by the k multisets over w of C(phi_j(v, w)) for each j.
    """

    # Whether colors are packed into words to be compared; results do not depend on it.
    pack = True

    def __init__(self, encoded: Encoded, k: int, oblivious: bool) -> None:
        self.encoded, self.k, self.oblivious = encoded, k, oblivious
        self.ptr = pointers(encoded.sizes**k)
        self._blocks = self._make_blocks()

    def _make_blocks(self) -> tuple[Ints, Ints, Ints, Ints]:
        sizes, k = self.encoded.sizes, self.k
        starts, ns, bases, lengths = [], [], [], []
        for graph, n in enumerate(sizes.tolist()):
            step = max(1, WORK // max(1, n * k))
            begin = np.arange(0, n**k, step, dtype=np.int64)
            starts.append(begin)
            lengths.append(np.minimum(step, n**k - begin))
            ns.append(np.full(len(begin), n))
            bases.append(np.full(len(begin), self.ptr[graph]))
        return tuple(np.concatenate(part).astype(np.int64) for part in (lengths, ns, starts, bases))  # type: ignore[return-value]

    def start(self) -> Colors:
        """atp of every tuple."""
        graph = np.repeat(np.arange(len(self.encoded.sizes)), np.diff(self.ptr))
        index = np.arange(self.ptr[-1]) - self.ptr[graph]
        n = self.encoded.sizes[graph]
        entries = [(index // n ** (self.k - 1 - j)) % n for j in range(self.k)]
        return atomic_types(self.encoded, graph, np.stack(entries, axis=1).astype(np.int32))

    def step(self, colors: Colors, verify: bool) -> tuple[Colors, int]:
        """One round; returns the new colors and their number."""
        bits = int(colors.max(initial=0)).bit_length() or 1

        def mismatches(ids: Colors, first: Ints) -> int:
            order = np.argsort(ids, kind="stable")
            blocks = np.linspace(0, len(ids), 2 + len(self._blocks[0])).astype(np.int64)
            return int(
                tuple_kernels.tuple_mismatches(
                    ids,
                    first,
                    order,
                    colors,
                    self.k,
                    blocks,
                    self.ptr,
                    self.encoded.sizes,
                    self.oblivious,
                    bits if self.pack and bits * self.k <= 64 else 0,
                    salts[-1],
                )
            )

        salts: list[np.uint64] = []

        def hashes(salt: np.uint64) -> relabel.Words:
            salts.append(salt)
            return tuple_kernels.tuple_words(
                colors, self.k, *self._blocks, self.oblivious, salt, relabel.HASH_MASK
            )

        return relabel.exact(hashes, mismatches, colors, verify)

    def vertex_colors(self, colors: Colors) -> Colors:
        """C(v) = C(v, ..., v) for the vertices of all graphs."""
        diagonal = [
            base + np.arange(n) * sum(n**j for j in range(self.k))
            for base, n in zip(self.ptr[:-1].tolist(), self.encoded.sizes.tolist(), strict=True)
        ]
        return colors[np.concatenate(diagonal)]

    def per_graph(self, colors: Colors) -> tuple[Colors, ...]:
        """The colors of each graph as an array of shape (n, ..., n)."""
        parts = np.split(colors, self.ptr[1:-1])
        return tuple(
            part.reshape((n,) * self.k) for part, n in zip(parts, self.encoded.sizes.tolist(), strict=True)
        )
