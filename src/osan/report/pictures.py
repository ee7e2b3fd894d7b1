"""Figures as image files."""

from __future__ import annotations

import base64
import io
from pathlib import Path
from typing import TYPE_CHECKING

from osan.errors import OsanError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_SUFFIXES = ("svg", "png")


def checked_suffix(path: Path) -> str:
    """The suffix of an image file, ``"svg"`` or ``"png"``; raise for others.

    >>> checked_suffix(Path("curves.PNG"))
    'png'
    """
    suffix = path.suffix.lower().lstrip(".")
    if suffix not in _SUFFIXES:
        raise OsanError(f"{path}: expected a name that ends in .svg or .png")
    return suffix


def svg(figure: Figure) -> str:
    """A figure as an SVG element without XML header, for use inside a page."""
    import matplotlib

    stream = io.StringIO()
    # Keep text as text, and ids the same from run to run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "osan", "font.family": "sans-serif"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    text = stream.getvalue()
    return text[text.index("<svg") :]


def rendered(figure: Figure, suffix: str) -> bytes:
    """A figure as the bytes of an SVG or PNG file."""
    if suffix == "svg":
        return svg(figure).encode()
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=150)
    return stream.getvalue()


def data_uri(content: bytes, kind: str = "image/svg+xml") -> str:
    """Bytes as a data URI.

    >>> data_uri(b"hi", "text/plain")
    'data:text/plain;base64,aGk='
    """
    return f"data:{kind};base64,{base64.b64encode(content).decode()}"
