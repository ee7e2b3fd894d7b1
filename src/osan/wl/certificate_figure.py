"""Certificates as pictures: the unfolding of a color, one row per round."""

from __future__ import annotations

from typing import Any

from osan.errors import OsanError
from osan.figures import empty_figure
from osan.wl.certificate_text import in_words, told
from osan.wl.explain import Certificate
from osan.wl.terms import Multiset, Term

_COLORS = 80


def draw_certificate(certificate: Certificate) -> Any:
    """Draw what a certificate unfolds: the color that differs on top, atomic types at the bottom.

    A line goes from each color to those that its places saw one round before; a number at the line says how
    often if it is more than once. A dotted line leads to the color that the places had before.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OsanError
        If the certificate has more colors than a picture can show.

    Examples
    --------
    >>> from osan import wl
    >>> from osan.graphs import cycle_pair
    >>> figure = draw_certificate(wl.explain(*cycle_pair(3), "oswl"))
    >>> figure.axes[0].get_title("left").splitlines()[0]
    '1-OSWL separates the graphs after round 1:'
    """
    reasons = certificate.reasons
    if len(reasons) > _COLORS:
        raise OsanError(
            f"certificate: expected at most {_COLORS} colors to draw, got {len(reasons)}; print it instead"
        )
    rows = [
        [i for i, reason in enumerate(reasons) if reason.round == r] for r in range(certificate.round + 1)
    ]
    widest = max(map(len, rows))
    figure = empty_figure(max(5.0, 1.3 * widest), 1.6 * (len(rows) + 1) + 0.8)
    ax = figure.subplots()
    ax.set_axis_off()
    places = {
        i: ((x + 0.5) * widest / len(row), float(y)) for y, row in enumerate(rows) for x, i in enumerate(row)
    }
    top = (widest / 2, float(len(rows)))
    for color, count in certificate.color.counts.items():
        assert isinstance(color, int)
        _line(ax, top, places[color], count)
    for i, reason in enumerate(reasons):
        if reason.before is not None:
            _line(ax, places[i], places[reason.before], 1, dotted=True)
        for term in reason.seen.values():
            for color, count in _counts(term).items():
                _line(ax, places[i], places[color], count)
    box = {"boxstyle": "round,pad=0.3", "facecolor": "#fff3e0", "edgecolor": "#bf360c"}
    ax.text(*top, certificate.unit, ha="center", va="center", bbox=box, fontsize=9)
    for i, (x, y) in places.items():
        ax.text(
            x, y, f"c{i}", ha="center", va="center", fontsize=9,
            bbox={"boxstyle": "circle,pad=0.25", "facecolor": "white", "edgecolor": "#555555"},
        )  # fmt: skip
        atom = reasons[i].atom
        if atom is not None:
            words = in_words(atom, "mark" if certificate.marks else "entry").replace("; ", "\n")
            ax.text(x, y - 0.2, words, ha="center", va="top", fontsize=7, color="#333333")
    for y in range(len(rows)):
        ax.text(-0.1, y, f"round {y}" if y else "start", ha="right", va="center", fontsize=8, color="#777777")
    ax.set_xlim(-0.5, widest + 0.3)
    ax.set_ylim(-0.75, len(rows) + 0.3)
    head = told(certificate).splitlines()[:2]
    ax.set_title("\n".join(_wrapped(head, 16 * max(5, round(1.3 * widest)))), fontsize=9, loc="left")
    return figure


def _counts(term: Term) -> dict[int, int]:
    """How often each color occurs in a term."""
    if isinstance(term, int):
        return {term: 1}
    if isinstance(term, str):
        return {}
    found: dict[int, int] = {}
    parts = term.counts.items() if isinstance(term, Multiset) else ((part, 1) for part in term)
    for part, times in parts:
        for color, count in _counts(part).items():
            found[color] = found.get(color, 0) + times * count
    return found


def _line(
    ax: Any, above: tuple[float, float], below: tuple[float, float], count: int, dotted: bool = False
) -> None:
    style = {"color": "#bbbbbb", "linestyle": ":"} if dotted else {"color": "#888888", "linestyle": "-"}
    bend = 0.12 if dotted else 0.0  # beside the line for what was seen, where both lead to one color
    middle = (above[0] + below[0]) / 2 + bend, (above[1] + below[1]) / 2
    ax.plot(
        [above[0], middle[0], below[0]], [above[1], middle[1], below[1]], linewidth=0.9, zorder=0, **style
    )
    if count > 1:
        x, y = (below[0] + 2 * above[0]) / 3, (below[1] + 2 * above[1]) / 3
        white = {"facecolor": "white", "edgecolor": "none", "pad": 0.6}
        ax.text(x, y, str(count), fontsize=7, ha="center", va="center", color="#bf360c", bbox=white)


def _wrapped(lines: list[str], width: int) -> list[str]:
    from textwrap import wrap

    return [part for line in lines for part in wrap(line, width)]
