"""Empty figures, with axes or a grid of small panels."""

from __future__ import annotations

from typing import Any

from osan.errors import OsanError


def empty_figure(width: float, height: float) -> Any:
    """A matplotlib figure of this size in inches, without a window.

    >>> empty_figure(5, 3).axes
    []
    """
    try:
        from matplotlib.figure import Figure
    except ImportError:
        raise OsanError("drawing needs matplotlib: pip install matplotlib") from None
    return Figure(figsize=(width, height), layout="constrained")


def panels(count: int) -> tuple[Any, list[Any]]:
    """Make a figure and its panels, four in a row and without axes.

    >>> figure, drawn = panels(5)
    >>> len(figure.axes), len(drawn)
    (5, 5)
    """
    columns = min(count, 4) or 1
    rows = -(-count // columns) or 1
    figure = empty_figure(2.6 * columns, 2.6 * rows)
    drawn = list(figure.subplots(rows, columns, squeeze=False).flatten())
    for panel in drawn[count:]:
        panel.remove()
    for panel in drawn[:count]:
        panel.set_axis_off()
    return figure, drawn[:count]
