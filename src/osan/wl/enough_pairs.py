"""How many subgraphs are enough over a corpus of pairs: the table and the curve."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from osan.errors import OsanError
from osan.figures import empty_figure
from osan.graphs import Pair
from osan.wl.draws import total_variation
from osan.wl.enough import LEVELS, Enough, enough
from osan.wl.ladder import category_of


@dataclass(frozen=True)
class EnoughRow:
    """How many subgraphs are enough for the pairs of one category of a corpus.

    Attributes
    ----------
    category, pairs
        The category, and the number of its pairs.
    smallest
        How many pairs a policy separates with m subgraphs at best, by m; ``None`` stands for never.
    reached
        For each level, the number of random subgraphs after which the distance of every separable pair
        exceeds it; ``None`` if there is no such pair.
    distances
        The mean total variation distance over all pairs for 0, 1, 2, ... random subgraphs.
    """

    category: str
    pairs: int
    smallest: dict[int | None, int]
    reached: dict[float, int | None]
    distances: tuple[float, ...]


def enough_pairs(
    pairs: Sequence[Pair],
    k: int | None = None,
    *,
    operation: str | None = None,
    max_m: int = 10,
    levels: Sequence[float] = LEVELS,
    max_memory: int | None = None,
    tick: Callable[[], None] = lambda: None,
    **settings: Any,
) -> list[EnoughRow]:
    """:func:`osan.wl.enough` for every pair, summed up by category.

    Parameters
    ----------
    pairs
        The pairs of a corpus, as :func:`osan.graphs.read_pairs` gives them.
    max_m
        Up to how many random subgraphs the curve goes.
    tick
        Called after every pair.
    k, operation, settings, levels, max_memory
        As for :func:`osan.wl.enough`.

    Examples
    --------
    >>> from osan.graphs import Pair, cycle_pair, rook_4x4, shrikhande
    >>> pairs = [Pair(*cycle_pair(3)), Pair(rook_4x4(), shrikhande())]
    >>> [row] = enough_pairs(pairs, max_m=2)
    >>> row.smallest, row.distances
    ({1: 1, None: 1}, (0.0, 0.5, 0.5))
    """
    if max_m < 0:
        raise OsanError(f"max_m: expected at least 0, got {max_m}")
    found: dict[str, list[tuple[Enough, list[float]]]] = {}
    for pair in pairs:
        answer = enough(
            pair.a, pair.b, k, operation=operation, levels=levels, max_memory=max_memory, **settings
        )
        found.setdefault(category_of(pair), []).append((answer, _curve(answer, max_m)))
        tick()
    return [_row(name, answers, levels) for name, answers in found.items()]


def _curve(answer: Enough, max_m: int) -> list[float]:
    """The distances for 0, ..., max_m random subgraphs."""
    known = answer.distances
    if len(known) <= max_m and answer.smallest is not None:
        known = total_variation(((int(a), int(b)) for a, b in answer.counts), max_m)
    return [float(known[min(m, len(known) - 1)]) for m in range(max_m + 1)]


def _row(category: str, answers: list[tuple[Enough, list[float]]], levels: Sequence[float]) -> EnoughRow:
    smallest = Counter(answer.smallest for answer, _ in answers)
    ordered = sorted(smallest.items(), key=lambda item: float("inf") if item[0] is None else item[0])
    separable = [answer for answer, _ in answers if answer.smallest is not None]
    return EnoughRow(
        category=category,
        pairs=len(answers),
        smallest=dict(ordered),
        reached={level: max((a.reached[level] or 0 for a in separable), default=None) for level in levels},
        distances=tuple(sum(column) / len(answers) for column in zip(*(c for _, c in answers), strict=True)),
    )


def draw_enough(rows: Sequence[EnoughRow], measured: Mapping[str, Mapping[int, float]] | None = None) -> Any:
    """Draw the curve of each category: the best accuracy on its pairs against the number of subgraphs.

    Parameters
    ----------
    rows
        The result of :func:`enough_pairs`.
    measured
        Accuracies of networks to show beside the curves: for each name, by number of subgraphs.

    Returns
    -------
    matplotlib.figure.Figure
        The best accuracy of a classifier that sees m random subgraphs is (1 + distance) / 2 in the mean.
    """
    figure = empty_figure(5.2, 3.4)
    from matplotlib.ticker import MaxNLocator  # it is there if a figure is

    ax = figure.subplots()
    for row in rows:
        ax.plot([(1 + d) / 2 for d in row.distances], marker="o", markersize=3, label=row.category)
    for name, points in (measured or {}).items():
        ax.plot(list(points), list(points.values()), "x", markersize=7, label=name)
    ax.set_xlabel("random subgraphs")
    ax.set_ylabel("best accuracy on a pair")
    ax.set_ylim(0.48, 1.02)
    ax.xaxis.set_major_locator(MaxNLocator(integer=True))
    ax.grid(alpha=0.3)
    ax.legend(fontsize=8, frameon=False, loc="lower right")
    return figure
