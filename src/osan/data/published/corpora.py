"""Expressiveness corpora as plain graphs: BREC, strongly regular families, all graphs on eight vertices."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from osan.data.published.paths import Folder, data_root
from osan.errors import OsanError
from osan.graphs import Graph, Pair, read_graphs, read_pairs


def brec(root: Folder = None) -> list[Pair]:
    """The 400 pairs of BREC (Wang & Zhang, 2023) in their published order, with category and subcategory."""
    return read_pairs(_file("BREC/brec_pairs.tsv.gz", root))


def relabeled(pair: Pair, copies: int, seed: int) -> list[Pair]:
    """``copies`` pairs in which both graphs are randomly renumbered; the same seed gives the same copies.

    BREC's protocol compares such copies of each pair. The copies in the published file are not needed.

    >>> pair = Pair(Graph(3, [(0, 1)]), Graph(3, [(0, 1), (1, 2)]))
    >>> [p.a.num_edges for p in relabeled(pair, 2, seed=0)]
    [1, 1]
    """
    if copies < 1:
        raise OsanError(f"copies: expected at least 1, got {copies}")
    rng = np.random.default_rng(seed)
    return [
        Pair(
            pair.a.permuted(rng.permutation(pair.a.num_vertices)),
            pair.b.permuted(rng.permutation(pair.b.num_vertices)),
            pair.category,
            pair.subcategory,
            pair.name,
        )
        for _ in range(copies)
    ]


def strongly_regular(family: str = "sr251256", root: Folder = None) -> list[Graph]:
    """The graphs of one family, named by its parameters (n, degree, lambda, mu): ``"sr251256"``."""
    known = families(root)
    if family not in known:
        raise OsanError(f"family: expected one of {', '.join(known) or 'none'}, got {family!r}")
    return read_graphs(_file("SR", root) / f"{family}.g6")


def families(root: Folder = None) -> list[str]:
    """The families of strongly regular graphs in the data folder."""
    return sorted(path.stem for path in _file("SR", root).glob("*.g6"))


def graph8c(root: Folder = None) -> list[Graph]:
    """All 11,117 connected graphs on eight vertices."""
    return read_graphs(_file("graph8c/graph8c.g6", root))


def _file(relative: str, root: Folder) -> Path:
    place = data_root(root)
    if place is None or not (place / relative).exists():
        raise OsanError(
            f"{relative}: expected this file in the data folder, {place or 'which root or $OSAN_DATA names'}"
        )
    return place / relative
