"""Which tests separate a pair, cheapest first; and how many pairs of a corpus each test separates."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np

from osan.errors import OsanError
from osan.graphs import GraphLike, Pair, as_graph
from osan.wl.attempt import attempt
from osan.wl.encode import Colors
from osan.wl.refine import distinguishes, refine
from osan.wl.settings import WLTest


@dataclass(frozen=True)
class Rung:
    """One step of a ladder: a test, its verdict (``None`` if it did not fit into memory) and the time."""

    test: WLTest
    separates: bool | None
    seconds: float
    note: str = ""


@dataclass(frozen=True)
class CorpusRow:
    """How many pairs of one category of a corpus each test separates, and the time it took."""

    category: str
    pairs: int
    separated: dict[str, int | None]
    seconds: dict[str, float]


def ladder_tests(max_k: int) -> list[WLTest]:
    """1-WL, then for k = 1, 2, ...: vertex-subgraph k-OSWL, k-OSWL and (k+1)-WL.

    >>> [str(test) for test in ladder_tests(1)]
    ['1-WL', 'vertex-subgraph 1-OSWL', '1-OSWL', '2-WL']
    """
    if max_k < 0:
        raise OsanError(f"max_k: expected at least 0, got {max_k}")
    steps = [(WLTest("vs-oswl", k), WLTest("oswl", k), WLTest("wl", k + 1)) for k in range(1, max_k + 1)]
    return [WLTest("wl"), *(test for step in steps for test in step)]


def ladder(
    g: GraphLike,
    h: GraphLike,
    max_k: int = 2,
    *,
    tests: Sequence[WLTest] | None = None,
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
        Bytes that a test may use; a test that would need more has the verdict ``None``.

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import rook_4x4, shrikhande
    >>> [str(rung.test) for rung in wl.ladder(rook_4x4(), shrikhande()) if rung.separates]
    ['vertex-subgraph 2-OSWL', '2-OSWL', '3-WL']
    """
    one, other = as_graph(g), as_graph(h)
    if tests is not None and not isinstance(tests, Iterable):
        raise OsanError(f"tests: expected a list of tests, got {tests!r}")
    return [_rung(one, other, test, max_memory) for test in tests or ladder_tests(max_k)]


def _rung(g: GraphLike, h: GraphLike, test: WLTest, max_memory: int | None) -> Rung:
    return Rung(test, *attempt(lambda: distinguishes(g, h, test, max_memory=max_memory)))


def survey_pairs(
    pairs: Sequence[Pair],
    tests: Sequence[WLTest],
    *,
    max_memory: int | None = None,
    tick: Callable[[], None] = lambda: None,
) -> list[CorpusRow]:
    """Count the pairs that each test separates, by category; ``tick`` is called after every test of a pair.

    The count is ``None`` if the test did not fit into memory for one of the category's pairs.
    """
    rows: dict[str, CorpusRow] = {}
    for pair in pairs:
        name = category_of(pair)
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


def category_of(pair: Pair) -> str:
    """What a pair is counted under, in words."""
    return " / ".join(dict.fromkeys(part for part in (pair.category, pair.subcategory) if part)) or "pairs"


def survey_graphs(
    graphs: Iterable[GraphLike],
    tests: Sequence[WLTest],
    *,
    category: str = "all pairs",
    max_memory: int | None = None,
    tick: Callable[[], None] = lambda: None,
) -> CorpusRow:
    """Count the pairs of the given graphs that each test separates, by one joint refinement per test."""
    plain = [as_graph(graph) for graph in graphs]
    total = len(plain) * (len(plain) - 1) // 2
    row = CorpusRow(category, total, {}, {})
    for test in tests:
        equal, seconds, _ = attempt(partial(_unseparated, plain, test, max_memory))
        row.separated[str(test)] = None if equal is None else total - equal
        row.seconds[str(test)] = seconds
        tick()
    return row


def _unseparated(graphs: Sequence[GraphLike], test: WLTest, max_memory: int | None) -> int:
    return refine(graphs, test, max_memory=max_memory).unseparated_pairs()


def separates_more(
    graphs: Sequence[GraphLike], one: WLTest, other: WLTest, *, max_memory: int | None = None
) -> int:
    """How many pairs of the given graphs ``one`` separates although ``other`` does not."""
    fine, coarse = (refine(graphs, test, max_memory=max_memory).graph_colors for test in (one, other))
    return split_pairs(fine, coarse)


def split_pairs(fine: Colors, coarse: Colors) -> int:
    """How many pairs of places have different ``fine`` colors although their ``coarse`` ones are equal.

    >>> split_pairs(np.array([0, 1, 1, 2]), np.array([0, 0, 0, 1]))
    2
    """
    coarse, fine = coarse.astype(np.int64), fine.astype(np.int64)
    both = np.unique(np.stack((coarse, fine)), axis=1, return_counts=True)[1]
    alone = np.bincount(coarse)
    return int((alone * (alone - 1) // 2).sum() - (both * (both - 1) // 2).sum())
