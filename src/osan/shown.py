"""How results show themselves in a notebook: small tables and framed pages, with everything escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any


def html_table(header: Sequence[object], rows: Iterable[Sequence[Any]], caption: str = "") -> str:
    """A table; numbers have four digits, and nothing in a cell is markup.

    >>> html_table(["a"], [["<b>"], [0.12345]])
    '<table><thead><tr><th>a</th></tr></thead><tbody><tr><td>&lt;b&gt;</td></tr><tr><td>0.1235</td></tr></tbody></table>'
    """
    head = "".join(f"<th>{escape(str(name))}</th>" for name in header)
    body = "".join("<tr>" + "".join(f"<td>{_cell(cell)}</td>" for cell in row) + "</tr>" for row in rows)
    title = f"<caption>{escape(caption)}</caption>" if caption else ""
    top = f"<thead><tr>{head}</tr></thead>" if head else ""
    return f"<table>{title}{top}<tbody>{body}</tbody></table>"


def html_frame(page: str, height: int = 640) -> str:
    """A whole page within another one, which cannot reach out of its frame.

    >>> html_frame('<p class="a">', 100)[-48:]
    'srcdoc="&lt;p class=&quot;a&quot;&gt;"></iframe>'
    """
    style = f"width:100%;height:{height}px;border:1px solid #8884"
    return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(page)}"></iframe>'


def _cell(value: Any) -> str:
    return escape(f"{value:.4g}" if isinstance(value, float) else str(value))
