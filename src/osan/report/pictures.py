"""Figures as the bytes of picture files."""

from __future__ import annotations

import io
from pathlib import Path
from typing import TYPE_CHECKING

from osan.errors import OsanError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SUFFIXES = ("svg", "png")


def checked_suffix(path: Path) -> str:
    """``"svg"`` or ``"png"``; another one is an error.

    >>> checked_suffix(Path("curves.PNG"))
    'png'
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in _SUFFIXES:
        raise OsanError(f"{path}: a picture ends in .svg or .png")
    return suffix


def svg(figure: Figure) -> str:
    """A figure as an SVG element, without the XML header, so that it can stand inside a page."""
    import matplotlib

    stream = io.StringIO()
    # Text stays text and ids do not change from run to run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "osan", "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def rendered(figure: Figure, suffix: str) -> bytes:
    """A figure as the bytes of an ``"svg"`` or ``"png"`` file."""
    if suffix == "svg":
        return svg(figure).encode()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=150)
    return stream.getvalue()
