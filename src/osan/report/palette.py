"""The color scale for frequencies in all drawings."""

from __future__ import annotations

_NEVER, _ALWAYS = (1.0, 1.0, 1.0), (0.85, 0.37, 0.05)


def shade(frequency: float) -> tuple[float, float, float]:
    """The color of a frequency, from white (never) to dark orange (always).

    >>> shade(0.0), shade(1.0)
    ((1.0, 1.0, 1.0), (0.85, 0.37, 0.05))
    """
    red, green, blue = (round(a + (b - a) * frequency, 4) for a, b in zip(_NEVER, _ALWAYS, strict=True))
    return red, green, blue
