"""Run the notebooks of the documentation and keep what they print, show and draw.

    python scripts/notebooks.py                        # all of them
    python scripts/notebooks.py docs/notebooks/blind.ipynb

Each runs in an empty folder. The site shows them as pages: see ``page``.
"""

from __future__ import annotations

import ast
import base64
import contextlib
import io
import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any

NOTEBOOKS = Path(__file__).parents[1] / "docs" / "notebooks"


def run(book: dict[str, Any], name: str = "notebook") -> dict[str, Any]:
    """Run the cells of a notebook in the current folder, and return it with their outputs."""
    names: dict[str, object] = {"__name__": "__main__"}
    cells = []
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            outputs = _outputs("".join(cell["source"]), f"{name}, cell {number}", names)
            cell = {**cell, "execution_count": None, "outputs": outputs}
        cells.append(cell)
    return {**book, "cells": cells}


def _outputs(source: str, where: str, names: dict[str, object]) -> list[dict[str, Any]]:
    """What a cell prints, and its last line if that is an expression."""
    tree = ast.parse(source, where)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    value = None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, where, "exec"), names)
        if last is not None:
            value = eval(compile(ast.Expression(last.value), where, "eval"), names)
    out: list[dict[str, Any]] = []
    if printed.getvalue():
        lines = printed.getvalue().splitlines(keepends=True)
        out.append({"output_type": "stream", "name": "stdout", "text": lines})
    if value is not None:
        shown: dict[str, Any] = {"text/plain": repr(value).splitlines(keepends=True)}
        for kind, method in (("text/html", "_repr_html_"), ("image/svg+xml", "_repr_svg_")):
            text = getattr(value, method, lambda: None)()
            if text:
                shown[kind] = text.splitlines(keepends=True)
        png = getattr(value, "_repr_png_", lambda: None)()
        if png:
            shown["image/png"] = base64.b64encode(png).decode()
        result = {"output_type": "execute_result", "execution_count": None, "metadata": {}, "data": shown}
        out.append(result)
    return out


def page(book: dict[str, Any], file: str) -> str:
    """A notebook as a page of the site, in Markdown, with a link to the file."""
    parts = []
    for cell in book["cells"]:
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source)
            continue
        parts.append(f"```python\n{source}\n```")
        parts += [_shown(output) for output in cell["outputs"]]
    title, _, rest = "\n\n".join(parts).partition("\n")
    return f"{title}\n\n[Download this notebook]({file})\n{rest}\n"


def _shown(output: dict[str, Any]) -> str:
    if output["output_type"] == "stream":
        return f"```text\n{''.join(output['text'])}```"
    data = output["data"]
    if "image/png" in data:
        return f'<img alt="" src="data:image/png;base64,{data["image/png"]}">'
    for kind in ("image/svg+xml", "text/html"):
        if kind in data:
            # An empty line would end the block of HTML.
            return "<div>" + "".join(line for line in data[kind] if line.strip()) + "</div>"
    return f"```text\n{''.join(data['text/plain'])}\n```"


def main(paths: list[Path]) -> None:
    """Run notebooks and write them with their outputs."""
    for path in paths:
        path = path.resolve()
        book = json.loads(path.read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            before = Path.cwd()
            os.chdir(folder)
            try:
                done = run(book, path.stem)
            finally:
                os.chdir(before)
        text = json.dumps(done, indent=1, ensure_ascii=False).replace(f"{folder}/", "")
        path.write_text(text + "\n", encoding="utf-8")
        print(f"wrote {path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main([Path(word) for word in sys.argv[1:]] or sorted(NOTEBOOKS.glob("*.ipynb")))
