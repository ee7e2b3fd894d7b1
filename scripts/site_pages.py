"""What mkdocs calls when it builds the site: it adds explorer and notebooks, and turns formulas into MathML.

Browsers draw MathML themselves, so the pages load no script from elsewhere.
"""

from __future__ import annotations

import html
import json
import re
from pathlib import Path
from runpy import run_path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from osan.report import explorer_page

# As pymdownx.arithmatex marks them.
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*(?P<open>\\[(\[])(?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', re.DOTALL
)


def on_files(files: Files, config: Any) -> Files:
    """Add explorer.html and a page for each notebook to the files of the site."""
    files.append(File.generated(config, "explorer.html", content=explorer_page()))
    page = run_path(str(Path(__file__).with_name("notebooks.py")))["page"]
    for path in sorted(Path(config["docs_dir"], "notebooks").glob("*.ipynb")):
        text = page(json.loads(path.read_text(encoding="utf-8")), path.name)
        files.append(File.generated(config, f"notebooks/{path.stem}.md", content=text))
    return files


def on_page_markdown(markdown: str, **_: Any) -> str:
    """Let links to notebooks lead to their pages."""
    return re.sub(r"\]\((notebooks/\w+)\.ipynb\)", r"](\1.md)", markdown)


def on_post_page(output: str, **_: Any) -> str:
    """Turn the formulas of a page into MathML."""
    return _FORMULA.sub(lambda found: mathml(html.unescape(found["tex"]), found["open"] == "\\["), output)


def mathml(tex: str, display: bool) -> str:
    """A formula as MathML; a command that the converter does not know is an error."""
    out = convert(tex.strip(), display="block" if display else "inline")
    if "\\" in html.unescape(out):
        raise ValueError(f"formula: expected commands that latex2mathml knows, got {tex!r}")
    # A name that browsers do not know.
    return out.replace('width="negativethinmathspace"', 'width="-0.167em"')
