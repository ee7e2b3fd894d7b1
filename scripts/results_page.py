"""Fill the tables of docs/results.md and docs/results-detail.md from results/runs.csv, and draw a picture.

python scripts/results_page.py           # rewrites the pages and the picture
python scripts/results_page.py --check   # exit code 1 if a table is not what its command prints

A table stands between ``<!-- osan runs ... -->``, the command that prints it, and ``<!-- end -->``.
"""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

from typer.testing import CliRunner

from osan.cli import app
from osan.files import written_whole

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs" / "results.md", ROOT / "docs" / "results-detail.md")
PICTURE = ROOT / "docs" / "images" / "results.svg"
_TABLE = re.compile(r"(<!-- osan (?P<command>[^>]*?) -->\n).*?(<!-- end -->)", re.DOTALL)


def printed(command: str) -> str:
    """What ``osan`` prints for a command, with files named from the root of the project."""
    words = [str(ROOT / word) if word.startswith("results/") else word for word in shlex.split(command)]
    result = CliRunner().invoke(app, words, catch_exceptions=False)
    return result.stdout


def filled(text: str) -> str:
    """The page with every table printed anew."""
    return _TABLE.sub(lambda found: f"{found[1]}\n{printed(found['command'])}\n{found[3]}", text)


if __name__ == "__main__":
    stale = False
    for page in PAGES:
        before = page.read_text(encoding="utf-8")
        after = filled(before)
        stale = stale or before != after
        if "--check" not in sys.argv:
            with written_whole(page) as temporary:
                temporary.write_text(after, encoding="utf-8")
    if "--check" in sys.argv:
        sys.exit(stale)
    printed(f"runs results/runs.csv --under ogbg-molesol/gin --out {shlex.quote(str(PICTURE))}")
