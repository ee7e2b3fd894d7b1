"""The diagram of the subgraph tests: who separates more than whom, and the pair that shows it."""

from __future__ import annotations

from typing import Any

from osan.errors import OsanError
from osan.figures import empty_figure
from osan.wl.settings import WLTest
from osan.wl.theory.compare import sometimes_more
from osan.wl.theory.subgraph_tests import (
    ALIKE,
    APART,
    GSWL,
    ONE_WL,
    PSWL,
    SSWL,
    STEPS,
    SWL,
    TWO_WL,
    graphs_to_compare,
    witness_pair,
)

# Where each test stands: column and row, weakest at the bottom.
_PLACES: dict[WLTest, tuple[float, float]] = {
    ONE_WL: (0, 0),
    SWL["VS"]: (0, 1),
    SWL["SV"]: (-1.25, 2.2),
    PSWL["VS"]: (1.25, 2.2),
    PSWL["SV"]: (0, 3.4),
    GSWL["SV"]: (0, 4.5),
    SSWL["SV"]: (0, 5.6),
    TWO_WL: (0, 6.7),
}


def draw_subgraph_tests() -> Any:
    """Compute and draw the hierarchy of the subgraph tests of Zhang et al. (2023).

    An arrow goes from each test to a stronger one, with the pair of graphs that only the stronger one
    separates; a dotted line joins two tests of which neither is stronger. Each is computed before it is
    drawn.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    OsanError
        If a computation contradicts an arrow.
    """
    _check()
    figure = empty_figure(7.2, 8.2)
    ax = figure.subplots()
    ax.set_axis_off()
    ax.set_xlim(-2.9, 2.9)
    ax.set_ylim(-0.4, 7.1)
    for less, more, name in STEPS:
        (x, y), (u, v) = _PLACES[less], _PLACES[more]
        arrow = {"arrowstyle": "-|>", "color": "#555555", "shrinkA": 17, "shrinkB": 24, "linewidth": 1.1}
        ax.annotate("", (u, v), (x, y), arrowprops=arrow)
        straight = x == u
        side = "left" if straight or x + u > 0 else "right"
        shift = 0.12 if straight else 0.22 if x + u > 0 else -0.22
        ax.text(
            (x + u) / 2 + shift, (y + v) / 2, _told(name), fontsize=8, ha=side, va="center", color="#333333"
        )
    (one, _, _), (other, _, _) = APART
    (x, y), (u, _) = _PLACES[other], _PLACES[one]
    ax.plot([x + 0.55, u - 0.6], [y, y], linestyle=":", color="#888888")
    ax.text(0, y + 0.07, "neither is stronger", fontsize=8, ha="center", va="bottom", color="#777777")
    for test, (x, y) in _PLACES.items():
        ends = test in (ONE_WL, TWO_WL)
        box = {
            "boxstyle": "round,pad=0.4",
            "facecolor": "#eeeeee" if ends else "#fff3e0",
            "edgecolor": "#777777" if ends else "#bf360c",
        }
        ax.text(x, y, _named(test), ha="center", va="center", fontsize=10, bbox=box)
    return figure


def _named(test: WLTest) -> str:
    """A test and those that separate the same."""
    if test in (GSWL["SV"], SSWL["SV"]):
        name = str(test).partition("(")[0]
        return f"{name}\n= DSS-WL" if test == GSWL["SV"] else name
    same = [str(other) for one, other in ALIKE if one == test]
    return "\n= ".join([str(test), *same])


def _told(name: str) -> str:
    size = witness_pair(name)[0].num_vertices
    return f"{name} (n = {size})".replace(" in a row", ",\nin a row")


def _check() -> None:
    same = [pair for one, other in ALIKE for pair in ((one, other), (other, one))]
    for less, more in [*((step.less, step.more) for step in STEPS), *same]:
        if graphs_to_compare().more(less, more):
            raise OsanError(
                f"diagram: expected {more} to separate all that {less} does, got a pair against it"
            )
    for less, more, name in [*STEPS, *APART]:
        if not sometimes_more(more, less, witness_pair(name))(None):
            raise OsanError(f"diagram: expected only {more}, not {less}, to separate the pair over {name}")
