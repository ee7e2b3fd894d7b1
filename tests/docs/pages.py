"""The pages of the documentation, and how their code is run."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"


def text_of(page: Path) -> str:
    """The text of a page."""
    return page.read_text(encoding="utf-8")


def blocks(page: Path, language: str = "python") -> list[str]:
    """The code blocks of a page in one language, of which there is at least one."""
    found = re.findall(rf"```{language}\n(.*?)```", text_of(page), flags=re.DOTALL)
    assert found, f"{page.name} has no block in {language}"
    return found


def run(page: Path, code: list[str], printed: Callable[[], str]) -> dict[str, object]:
    """Run blocks one after another; ``print(...)  # text`` must print that text.

    Parameters
    ----------
    page
        Where the blocks come from, for tracebacks.
    code
        The blocks.
    printed
        Returns what was printed since its last call.

    Returns
    -------
    dict
        The names that the blocks define.
    """
    names: dict[str, object] = {}
    for number, block in enumerate(code, 1):
        exec(compile(block, f"{page.name}, block {number}", "exec"), names)
        expected = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
        lines = printed().splitlines()
        if len(re.findall(r"^print\(", block, flags=re.MULTILINE)) == len(expected):
            assert lines == expected, f"{page.name}, block {number}"
    return names
