"""Tests by the titles that tables print, such as "vertex-subgraph 2-OSWL"."""

from __future__ import annotations

import re
from typing import Any

from osan.wl.plans import PLANS

_WL = re.compile(r"(oblivious )?(?:([0-9]{1,6})-)?wl")
_OSWL = re.compile(r"(vertex-subgraph )?(?:([0-9]{1,6})-)?oswl(, unordered)?(, v\(g\))?")
_SWL = re.compile(r"([pgs]?swl)\((sv|vs)\)")


def from_title(text: str) -> tuple[str, int | None, dict[str, Any]] | None:
    """The name, k and settings of the test with a title, in capitals or not; ``None`` for other texts.

    >>> from_title("vertex-subgraph 2-OSWL"), from_title("SSWL(VS)"), from_title("2-GNN")
    (('vs-oswl', 2, {}), ('vs-sswl', None, {}), None)
    """
    plain = " ".join(text.lower().split())
    if plain in PLANS:
        return plain, None, {}
    if found := _WL.fullmatch(plain):
        return "wl", _k(found[2]), {"oblivious": True} if found[1] else {}
    if found := _OSWL.fullmatch(plain):
        settings: dict[str, Any] = {"ordered": False} if found[3] else {}
        return (
            "vs-oswl" if found[1] else "oswl",
            _k(found[2]),
            settings | ({"neighborhood": "all"} if found[4] else {}),
        )
    if found := _SWL.fullmatch(plain):
        return found[1] if found[2] == "sv" else f"vs-{found[1]}", None, {}
    return None


def _k(digits: str | None) -> int | None:
    return None if digits is None else int(digits)
