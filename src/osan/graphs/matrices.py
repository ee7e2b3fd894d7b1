"""Adjacency matrices in plain text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

import numpy as np
import numpy.typing as npt

from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.lines import Line

Matrix = npt.NDArray[np.float64]

# Smaller blocks of 0 and 1 are edge lists as well.
_LEAST = 3


def read_matrix(lines: Sequence[Line]) -> Matrix | None:
    """A square block of 0 and 1, or a symmetric one of numbers with a zero diagonal.

    Entries have blanks or commas between them, or nothing (``010``). A first line may give the number of
    rows. ``None`` for other lines, such as those of an edge list.

    >>> read_matrix([(1, "0 1 0"), (2, "1 0 1"), (3, "0 1 0")]).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> read_matrix([(1, "0 1 5"), (2, "1 2 5"), (3, "2 0 5")]) is None
    True
    """
    size = len(lines)
    if size > _LEAST and lines[0][1].strip() == str(size - 1):
        lines, size = lines[1:], size - 1
    if size < _LEAST:
        return None
    rows = []
    for _, line in lines:  # the first line of most edge lists is too short
        row = line.replace(",", " ").split()
        row = [*row[0]] if len(row) == 1 and len(row[0]) == size else row
        if len(row) != size:
            return None
        rows.append(row)
    try:
        matrix = np.array(rows, dtype=np.float64)
    except ValueError:
        return None
    weighted = (matrix == matrix.T).all() and not matrix.diagonal().any()
    return matrix if np.isin(matrix, (0, 1)).all() or weighted else None


def from_matrix(matrix: Matrix, source: str, *, directed: bool = False) -> Graph:
    """The graph with an adjacency matrix of 0 and 1, symmetric unless it is directed; row i is vertex i.

    >>> from_matrix(np.array([[0, 1], [1, 1]]), "text").edges.tolist()
    [[0, 1], [1, 1]]
    """
    for what, wrong in (
        ("entries 0 and 1 of an adjacency matrix", ~np.isin(matrix, (0, 1))),
        ("a symmetric adjacency matrix", (matrix != matrix.T) & (not directed)),
    ):
        if wrong.any():
            i, j = np.argwhere(wrong)[0]
            raise OsanError(
                f"{source}: expected {what}, got {matrix[i, j]:g} in row {i}, column {j}; "
                "use networkx.from_numpy_array for others"
            )
    edges = np.argwhere(matrix if directed else np.triu(matrix))
    return Graph(len(matrix), edges, directed=directed, name=PurePath(source).name)
