"""Names in figures: shown as they are, never read as markup."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


def title(panel: Any, text: str, **style: Any) -> None:
    """Set the title of a panel or figure; ``$`` in it is a character, not math."""
    put = panel.suptitle if hasattr(panel, "suptitle") else panel.set_title
    put(text, parse_math=False, **style)


def legend(figure: Any, handles: Sequence[Any], names: Sequence[str], **style: Any) -> None:
    """Add a legend to a figure, whatever the names are.

    Matplotlib leaves out labels that begin with an underscore and reads ``$`` as math, so the names are put
    in afterwards.
    """
    made = figure.legend(list(handles), ["name"] * len(names), **style)
    for text, name in zip(made.get_texts(), names, strict=True):
        text.set_text(name)
        text.set_parse_math(False)
