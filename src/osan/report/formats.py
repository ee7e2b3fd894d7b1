"""Text tables as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Collection, Sequence

# Characters that Markdown would read as markup; an underscore within a word is none.
_MARKDOWN = re.compile(r"[\\|*`<\[\]$]|(?<!\w)_|_(?!\w)")
_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text cells as a Markdown table.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    cells = [[_MARKDOWN.sub(r"\\\g<0>", cell) for cell in row] for row in (header, *rows)]
    table = [cells[0], ["---"] * len(header), *cells[1:]]
    return "\n".join("| " + " | ".join(row) + " |" for row in table)


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str]) -> str:
    """Text cells as a LaTeX table for the package booktabs; the columns in ``left`` are flush left.

    >>> print(latex_table(["run", "here"], [["a_b", "0.5 ± 0.1"]], left=["run"]))
    \\begin{tabular}{lr}
    \\toprule
    run & here \\\\
    \\midrule
    a\\_b & 0.5 $\\pm$ 0.1 \\\\
    \\bottomrule
    \\end{tabular}
    """
    columns = "".join("l" if name in left else "r" for name in header)
    head, *body = [" & ".join(map(_escaped, row)) + r" \\" for row in (header, *rows)]
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{columns}}}",
            r"\toprule",
            head,
            r"\midrule",
            *body,
            r"\bottomrule",
            r"\end{tabular}",
        ]
    )


def csv_table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Cells as CSV; ``None`` is an empty cell.

    >>> print(csv_table(["a", "b"], [["1", "x, y"]]))
    a,b
    1,"x, y"
    """
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([header, *rows])
    return stream.getvalue().rstrip("\n")


def _escaped(text: str) -> str:
    """Escape the special characters of TeX.

    >>> _escaped("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return "".join(_LATEX.get(c, c) for c in text)
