r"""How docstrings become pages: a griffe extension that turns their reStructuredText into Markdown.

>>> readable("As in :func:`osan.wl.refine`, with :math:`k` marks.")
'As in `osan.wl.refine`, with $k$ marks.'
>>> readable("A sum.\n\n.. math:: a +\n    b\n\nThe end.")
'A sum.\n\n$$\na +\nb\n$$\n\nThe end.'
>>> readable("A list.\n\n>>> [1, 2][:1]\n[1]")
'A list.\n\n```pycon\n>>> [1, 2][:1]\n[1]\n```'
"""

from __future__ import annotations

import re
from typing import Any

from griffe import Extension

_ROLE = re.compile(r":(?:func|class|meth|mod|attr|data):`~?([^`]+)`")
_FORMULA = re.compile(r"^\.\. math:: *(.+(?:\n[ \t]+\S.*)*)", re.MULTILINE)


def readable(text: str) -> str:
    """Roles, formulas and bare doctests of a docstring in Markdown; griffe knows a section "Examples"."""
    body, heading, examples = text.partition("\nExamples\n")
    body = _ROLE.sub(r"`\1`", body)
    body = re.sub(r":math:`([^`]+)`", r"$\1$", body)
    body = _FORMULA.sub(lambda found: "\n".join(["$$", *map(str.strip, found[1].splitlines()), "$$"]), body)
    parts = [
        f"```pycon\n{part}\n```" if part.lstrip().startswith(">>>") else part for part in body.split("\n\n")
    ]
    return "\n\n".join(parts) + heading + examples


class Docstrings(Extension):
    """Rewrites every docstring before it is parsed."""

    def on_instance(self, *, obj: Any, **_: Any) -> None:
        if obj.docstring is not None:
            obj.docstring.value = readable(obj.docstring.value)
