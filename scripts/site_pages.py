"""What mkdocs calls when it builds the site: it adds the explorer, and turns formulas into MathML.

Browsers draw MathML themselves, so the pages load no script from elsewhere.
"""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert
from mkdocs.structure.files import File, Files

from osan.report import explorer_page

# As pymdownx.arithmatex marks them.
_FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">\s*(?P<open>\\[(\[])(?P<tex>.*?)\\[)\]]\s*</(?P=tag)>', re.DOTALL
)


def on_files(files: Files, config: Any) -> Files:
    """Add explorer.html to the files of the site."""
    files.append(File.generated(config, "explorer.html", content=explorer_page()))
    return files


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
