"""Which tests separate a pair, cheapest first; and how many pairs of a corpus each test separates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np

from osan.errors import OsanError, TooLarge
from osan.graphs import Pair, as_graph
from osan.wl.refine import distinguishes, refine
from osan.wl.settings import Test


@dataclass(frozen=True)
class Rung:
    """One step of a ladder: a test, its verdict (``None`` if it did not fit into memory) and its time."""

    test: Test
    separates: bool | None
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class CorpusRow:
    """What the tests separate of one category of a corpus."""

    category: str
    pairs: int
    separated: dict[str, int | None]
    seconds: dict[str, float]


def ladder_tests(max_k: int) -> list[Test]:
    """1-WL, then for k = 1, 2, ...: vertex-subgraph k-OSWL, k-OSWL and (k+1)-WL.

    >>> [str(test) for test in ladder_tests(1)]
    ['1-WL', 'vertex-subgraph 1-OSWL', '1-OSWL', '2-WL']
    """
    if max_k < 0:
        raise OsanError(f"max_k is {max_k}; it must be at least 0")
    steps = [(Test("vs-oswl", k), Test("oswl", k), Test("wl", k + 1)) for k in range(1, max_k + 1)]
    return [Test("wl"), *(test for step in steps for test in step)]


def ladder(
    g: Any,
    h: Any,
    max_k: int = 2,
    *,
    tests: Sequence[Test] | None = None,
    max_memory: int | None = None,
) -> list[Rung]:
    """Run the tests of the hierarchy on a pair, cheapest first.

    Parameters
    ----------
    g, h
        The graphs, as :func:`osan.wl.refine` takes them.
    max_k
        How far to go: up to ``max_k``-OSWL and ``(max_k + 1)``-WL.
    tests
        Other tests to run instead.
    max_memory
        Bytes a test may use; one that would need more has the verdict ``None``.

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import rook_4x4, shrikhande
    >>> [str(rung.test) for rung in wl.ladder(rook_4x4(), shrikhande()) if rung.separates]
    ['vertex-subgraph 2-OSWL', '2-OSWL', '3-WL']
    """
    one, other = as_graph(g), as_graph(h)
    return [_rung(one, other, test, max_memory) for test in tests or ladder_tests(max_k)]


def _rung(g: Any, h: Any, test: Test, max_memory: int | None) -> Rung:
    start = perf_counter()
    try:
        verdict = distinguishes(g, h, test, max_memory=max_memory)
    except TooLarge as error:
        return Rung(test, None, perf_counter() - start, str(error))
    return Rung(test, verdict, perf_counter() - start)


def survey_pairs(
    pairs: Sequence[Pair],
    tests: Sequence[Test],
    *,
    max_memory: int | None = None,
    tick: Callable[[], None] = lambda: None,
) -> list[CorpusRow]:
    """How many of the given pairs each test separates, category by category; ``tick`` after every pair.

    A category's count is ``None`` for a test that did not fit into memory on one of its pairs.
    """
    rows: dict[str, CorpusRow] = {}
    for pair in pairs:
        name = (
            " / ".join(dict.fromkeys(part for part in (pair.category, pair.subcategory) if part)) or "pairs"
        )
        row = rows.setdefault(name, CorpusRow(name, 0, {}, {}))
        for test in tests:
            rung = _rung(pair.a, pair.b, test, max_memory)
            label = str(test)
            count = row.separated.get(label, 0)
            row.separated[label] = None if count is None or rung.separates is None else count + rung.separates
            row.seconds[label] = row.seconds.get(label, 0.0) + rung.seconds
            tick()
        rows[name] = CorpusRow(name, row.pairs + 1, row.separated, row.seconds)
    return list(rows.values())


def survey_graphs(
    graphs: Iterable[Any],
    tests: Sequence[Test],
    *,
    category: str = "all pairs",
    max_memory: int | None = None,
    tick: Callable[[], None] = lambda: None,
) -> CorpusRow:
    """How many of all pairs of the given graphs each test separates, by one joint refinement per test."""
    plain = [as_graph(graph) for graph in graphs]
    total = len(plain) * (len(plain) - 1) // 2
    row = CorpusRow(category, total, {}, {})
    for test in tests:
        start = perf_counter()
        try:
            equal = refine(plain, test, max_memory=max_memory).unseparated_pairs()
            row.separated[str(test)] = total - equal
        except TooLarge:
            row.separated[str(test)] = None
        row.seconds[str(test)] = perf_counter() - start
        tick()
    return row


def separates_more(graphs: Sequence[Any], one: Test, other: Test, *, max_memory: int | None = None) -> int:
    """How many pairs of the given graphs ``one`` separates although ``other`` does not."""
    colors = refine(graphs, one, max_memory=max_memory).graph_colors.astype(np.int64)
    coarse = refine(graphs, other, max_memory=max_memory).graph_colors.astype(np.int64)
    both = np.unique(np.stack((coarse, colors)), axis=1, return_counts=True)[1]
    alone = np.bincount(coarse)
    return int((alone * (alone - 1) // 2).sum() - (both * (both - 1) // 2).sum())
