"""The distance between what random draws from two collections of colors show, in exact fractions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction
from math import comb, gcd

from osan.errors import TooLarge

# Terms of a distance: as many take about ten seconds and a gigabyte.
MAX_TERMS = 2_000_000

# (drawn so far, products of the binomials of both collections without their common factor) -> this factor
Terms = Counter[tuple[int, int, int]]


def total_variation(counts: Iterable[tuple[int, int]], max_m: int) -> tuple[Fraction, ...]:
    """The total variation distance between the colors of m random draws from two collections, m = 0..max_m.

    Parameters
    ----------
    counts
        For each color, how often the first and the second collection have it: c_a(x) and c_b(x).
    max_m
        The largest number of draws, without replacement. From a collection with fewer, all are drawn.

    Notes
    -----
    The draws show s with probability prod_x C(c(x), s(x)) / C(N, m), so that the distance is half the sum of
    the absolute differences over all s. Colors with the same counts in both have common factors, so they
    count as one color (Vandermonde); so do the colors that only one collection has, which prove everything.
    Terms with the same ratio of the two products are added up.

    Examples
    --------
    >>> total_variation([(2, 0), (1, 3)], 3)
    (Fraction(0, 1), Fraction(2, 3), Fraction(1, 1), Fraction(1, 1))
    """
    pairs = [(a, b) for a, b in counts if a or b]
    totals = sum(a for a, _ in pairs), sum(b for _, b in pairs)
    both = min(totals)
    alike = sum(a for a, b in pairs if a == b)
    shared = Counter((a, b) for a, b in pairs if a != b and a and b)
    terms: Terms = Counter({(0, 1, 1): 1})
    for a, b in [*sorted(shared.elements()), (alike, alike)]:
        terms = _with_color(terms, a, b, min(max_m, both))
    rows = min(max_m, both) + 1
    # What both collections can show: sum of differences, and how much of each distribution that is.
    apart, seen_a, seen_b = [0] * rows, [0] * rows, [0] * rows
    ways = [(comb(totals[0], m), comb(totals[1], m)) for m in range(rows)]
    for (m, one, other), times in terms.items():
        apart[m] += times * abs(one * ways[m][1] - other * ways[m][0])
        seen_a[m] += times * one
        seen_b[m] += times * other
    distances = [
        (Fraction(apart[m], ways[m][0] * ways[m][1]) + 2 - Fraction(seen_a[m], ways[m][0])
         - Fraction(seen_b[m], ways[m][1])) / 2
        for m in range(rows)
    ]  # fmt: skip
    # Further draws show all of the smaller collection, and how many it has.
    last = Fraction(totals[0] != totals[1]) if max_m > both else Fraction(0)
    return (*distances, *[last or distances[-1]] * (max_m - both))


def _with_color(terms: Terms, a: int, b: int, most: int) -> Terms:
    """The terms after s draws of one more color that the collections have a and b times, s = 0, 1, ..."""
    factors = [_reduced(comb(a, s), comb(b, s)) for s in range(min(max(a, b), most) + 1)]
    found: Terms = Counter()
    for (drawn, one, other), times in terms.items():
        for s, (x, y, common) in enumerate(factors[: most - drawn + 1]):
            p, q, factor = _reduced(one * x, other * y)
            if factor:  # else neither collection can show this
                found[drawn + s, p, q] += times * common * factor
        if len(found) > MAX_TERMS:
            raise TooLarge(
                f"the exact distance for {most} random subgraphs has more than {MAX_TERMS} terms; "
                "pass a smaller max_m"
            )
    return found


def _reduced(one: int, other: int) -> tuple[int, int, int]:
    """Two numbers without their greatest common factor, and this factor (0 if both are 0)."""
    factor = gcd(one, other)
    return one // (factor or 1), other // (factor or 1), factor
