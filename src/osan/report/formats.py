"""A table as Markdown, LaTeX or CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Collection, Sequence
from typing import Any

from osan.report.table import Line, headings, rows_of

_LATEX = {c: f"\\{c}" for c in "&%$#_{}"} | {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "±": r"$\pm$",
}


def markdown(lines: Sequence[Line]) -> str:
    """A table as GitHub's Markdown."""
    return markdown_table(headings(lines), rows_of(lines))


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Text cells as a Markdown table.

    >>> print(markdown_table(["a", "b"], [["1", "x|y"]]))
    | a | b |
    | --- | --- |
    | 1 | x\\|y |
    """
    table = [list(header), ["---"] * len(header), *[list(row) for row in rows]]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in table)


def latex(lines: Sequence[Line]) -> str:
    """A table as LaTeX, for the package booktabs."""
    return latex_table(headings(lines), rows_of(lines), left=("method", "operation", "type"))


def latex_table(header: Sequence[str], rows: Sequence[Sequence[str]], left: Collection[str]) -> str:
    """Text cells as a LaTeX table for the package booktabs, the columns named ``left`` flush left.

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


def comma_separated(lines: Sequence[Line]) -> str:
    """A table as CSV with full precision, an empty cell where there is no figure."""
    records: list[dict[str, Any]] = [line.plain() for line in lines]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(records)
    return stream.getvalue().rstrip("\n")


def _escaped(text: str) -> str:
    """Text with TeX's special characters made harmless.

    >>> _escaped("50 % of a_b")
    '50 \\\\% of a\\\\_b'
    """
    return "".join(_LATEX.get(c, c) for c in text)
