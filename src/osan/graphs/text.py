"""Graphs in plain text: edge lists, the SAT-pair format of EXP and CEXP, and SMILES."""

from __future__ import annotations

import re
from ast import literal_eval
from collections.abc import Hashable, Sequence
from contextlib import suppress
from math import isfinite
from pathlib import PurePath

import numpy as np

from osan.errors import OsanError
from osan.graphs.arcs import arc_without_reverse
from osan.graphs.convert import from_edge_list
from osan.graphs.graph import Graph
from osan.graphs.lines import Line
from osan.graphs.matrices import from_matrix, read_matrix
from osan.graphs.molecules import from_smiles

# Vertex names, numbers of vertices and degrees have at most this many digits; int() of more is slow.
_MAX_DIGITS = 18
# How names do not begin: JSON, XML, DOT, GML, Matrix Market, and tuples, whose blanks would end a name.
_NO_NAME = "{[(<%"
_DIMACS = re.compile(r"p [a-z]+ [0-9]+ [0-9]+")
_HEADERS = {("source", "target"), ("from", "to"), ("src", "dst")}
_NUMBER = re.compile(r"-?(0|[1-9][0-9]{0,39})(\.[0-9]{1,40})?([eE][+-]?[0-9]{1,4})?")


def parse_edge_list(lines: Sequence[Line], source: str, *, directed: bool = False) -> Graph:
    """Parse one graph from lines ``u v [label]``; ``#`` starts a comment line.

    A first line with a single integer is the number of vertices. Vertices may have any names without blanks;
    see :func:`~osan.graphs.convert.from_edge_list` for their numbering. A label is the rest of the line; one
    that is written as a number is a number. If the rest is a dictionary, as networkx writes it, the label is
    its entry ``label``.

    If every line ``u v`` that is no loop has its reverse ``v u`` with the same label, the two are one edge,
    as in :func:`~osan.graphs.pyg.from_pyg`; otherwise each line is an edge. Rows of 0 and 1, as many as there
    are columns, are an adjacency matrix.

    >>> parse_edge_list([(1, "4"), (2, "0 1"), (3, "1 3 double")], "text").edge_labels
    (None, 'double')
    >>> parse_edge_list([(1, "a b {}"), (2, "b c {'weight': 2}")], "text").edge_labels is None
    True
    >>> parse_edge_list([(1, "a b"), (2, "b a"), (3, "a a")], "text").edges.tolist()
    [[0, 1], [0, 0]]

    Raises
    ------
    OsanError
        For a line that is no edge, and for what looks like a header or like another format.
    """
    lines = [(number, line) for number, line in lines if line.strip() and not line.lstrip().startswith("#")]
    if (matrix := read_matrix(lines)) is not None:
        return from_matrix(matrix, source, directed=directed)
    rows = [(number, line.split(None, 2)) for number, line in lines]
    if not rows:
        raise OsanError(
            f"{source}: expected lines 'u v [label]', got neither an edge nor a number of vertices"
        )
    _refuse_other_formats(rows, source)
    size = None
    if len(rows[0][1]) == 1:
        number, fields = rows.pop(0)
        size = _integer(fields[0], f"{source}, line {number}", "the number of vertices, or an edge 'u v'")
    for number, fields in rows:
        if len(fields) < 2:
            raise OsanError(f"{source}, line {number}: expected an edge 'u v [label]', got {fields[0]!r}")
    indices = size is not None and all(_is_integer(name) for _, fields in rows for name in fields[:2])
    edges: list[tuple[Hashable, ...]] = []
    for number, fields in rows:
        ends: list[int | str] = [int(name) if indices else name for name in fields[:2]]
        for end in ends:
            if isinstance(end, int) and size is not None and end >= size:
                raise OsanError(
                    f"{source}, line {number}: expected a vertex from 0 to {size - 1}, as the first line "
                    f"announces {size} vertices, got {end}"
                )
        edges.append((*ends, *_edge_label(fields[2:])))
    names = {name for edge in edges for name in edge[:2]}
    if size is not None and not indices and len(names) > size:
        raise OsanError(
            f"{source}: expected at most {size} vertex names, as in the first line, got {len(names)}"
        )
    graph = from_edge_list(edges, size, directed=directed, name=PurePath(source).name)
    return graph if directed else _merged(graph)


def _refuse_other_formats(rows: Sequence[tuple[int, list[str]]], source: str) -> None:
    """Refuse lines that have the shape of edges, but are those of DOT, DIMACS, JSON, adjacency lists, ..."""
    for number, fields in rows:
        odd = next((name for name in fields[:2] if name[0] in _NO_NAME or name[-1] in ",:;"), None)
        if odd is None and fields[1:2] in (["--"], ["->"]):
            odd = fields[1]
        if fields[0] == "p" and _DIMACS.fullmatch(" ".join(fields)):
            odd = " ".join(fields)
        if odd is not None:
            raise OsanError(
                f"{source}, line {number}: expected an edge 'u v [label]', got {odd[:40]!r} as in another "
                "format; read the file with networkx, and pass the graph or write it with "
                "networkx.write_edgelist"
            )
    _refuse_header(rows, source)


def _refuse_header(rows: Sequence[tuple[int, list[str]]], source: str) -> None:
    """Refuse a first line of names, where all others have numbers, or that says what the columns are."""
    edges = rows[1:] if len(rows[0][1]) == 1 else rows  # after the number of vertices
    if len(edges) < 2:
        return
    (number, first), others = edges[0], edges[1:]
    names = first[:2]
    if any(map(_is_integer, names)):
        return
    numbers = all(_is_integer(name) for _, fields in others for name in fields[:2])
    if numbers or tuple(map(str.lower, names)) in _HEADERS:
        raise OsanError(
            f"{source}, line {number}: expected an edge 'u v [label]', got {' '.join(names)[:40]!r}, which "
            "looks like a header; delete the line, or begin it with '#'"
        )


def _merged(graph: Graph) -> Graph:
    """The graph with one edge for a line and its reverse, if all lines have one with the same label."""
    labels = graph.edge_labels
    codes: dict[Hashable, int] = {}
    numbers = None if labels is None else np.array([codes.setdefault(x, len(codes)) for x in labels])
    if arc_without_reverse(graph.edges, numbers) is not None:
        return graph
    keep = np.flatnonzero(graph.edges[:, 0] <= graph.edges[:, 1])
    return Graph(
        graph.num_vertices,
        graph.edges[keep],
        edge_labels=None if labels is None else [labels[i] for i in keep],
        name=graph.name,
    )


def _edge_label(rest: list[str]) -> tuple[Hashable, ...]:
    """The label in the rest of a line, if there is one."""
    text = rest[0].strip() if rest else ""
    if text.startswith("{") and text.endswith("}"):
        with suppress(ValueError, SyntaxError, MemoryError, RecursionError):
            attributes = literal_eval(text)
            if isinstance(attributes, dict):
                return (attributes["label"],) if "label" in attributes else ()
    return (_number_or_text(text),) if text else ()


def _number_or_text(text: str) -> float | int | str:
    """A number if the text is one as programs write it: 1 and 1.0 are the same label, 01 is a text.

    >>> _number_or_text("1"), _number_or_text("-2.50"), _number_or_text("01"), _number_or_text("1e999")
    (1, -2.5, '01', '1e999')
    """
    if not _NUMBER.fullmatch(text):
        return text
    number = float(text)
    if not isfinite(number):
        return text
    # Floats do not hold all integers of so many digits.
    return int(text) if _is_integer(text.removeprefix("-")) else number


def looks_like_sat_pairs(lines: Sequence[Line]) -> bool:
    """Whether lines have the shape of the SAT-pair format, whole or cut short after the first vertices."""
    rows = [line.split() for _, line in lines if line.strip()]
    if len(rows) < 2 or len(rows[0]) != 1 or not all(map(_is_integer, [*rows[0], *rows[1]])):
        return False
    if len(rows[1]) != 2:
        return False
    # No edge list has a third line with so many numbers.
    if len(rows) > 2 and len(rows[2]) > 3 and rows[2][1] == str(len(rows[2]) - 2):
        return True
    position = 1
    for _ in range(min(int(rows[0][0]), len(rows))):
        if position >= len(rows) or not _is_integer(rows[position][0]):
            return False
        position += 1 + int(rows[position][0])
    return position == len(rows)


def parse_sat_pairs(lines: Sequence[Line], source: str) -> list[Graph]:
    """Parse the graphs of the format of EXP and CEXP.

    The number of graphs; then per graph a line ``n class`` and n lines ``label degree neighbor ...`` with
    vertices from 0 and every edge in both directions. Graphs 2i and 2i + 1 form a pair. Their classes must be
    present, but are not used.

    >>> parse_sat_pairs(list(enumerate(["1", "2 1", "7 1 1", "8 1 0"], 1)), "text")[0].vertex_labels
    (7, 8)
    """
    rows = [(number, line.split()) for number, line in lines if line.strip()]
    stem = PurePath(source).stem
    position = 0

    def take(expected: str) -> tuple[str, list[int]]:
        nonlocal position
        if position == len(rows):
            last = rows[-1][0] if rows else 1
            raise OsanError(
                f"{source}, line {last}: truncated, expected {expected} after it, got the end of the file"
            )
        number, fields = rows[position]
        position += 1
        where = f"{source}, line {number}"
        return where, [_integer(field, where, expected) for field in fields]

    where, header = take("the number of graphs")
    if len(header) != 1:
        raise OsanError(f"{where}: expected the number of graphs alone, got {len(header)} numbers")
    graphs = []
    for i in range(header[0]):
        where, sizes = take("a line 'n class'")
        if len(sizes) != 2:
            raise OsanError(f"{where}: expected a line 'n class', got {len(sizes)} numbers")
        labels, tails, heads, places = [], [], [], []
        for vertex in range(sizes[0]):
            place, row = take("a vertex 'label degree neighbor ...'")
            if len(row) < 2 or len(row) != 2 + row[1]:
                raise OsanError(
                    f"{place}: expected a vertex 'label degree neighbor ...' with as many neighbors as its "
                    f"degree, got {len(row)} numbers"
                )
            if any(neighbor >= sizes[0] for neighbor in row[2:]):
                raise OsanError(f"{place}: expected neighbors from 0 to {sizes[0] - 1}, got {max(row[2:])}")
            labels.append(row[0])
            tails += [vertex] * row[1]
            heads += row[2:]
            places.append(place)
        arcs = np.array([tails, heads], dtype=np.int64).T
        lonely = arc_without_reverse(arcs)
        if lonely is not None:
            u, v = arcs[lonely]
            raise OsanError(f"{places[u]}: expected every edge in both directions, got {u} to {v} only")
        edges = arcs[arcs[:, 0] <= arcs[:, 1]]
        graphs.append(Graph(sizes[0], edges, vertex_labels=labels, name=f"{stem}[{i}]"))
    if position < len(rows):
        raise OsanError(
            f"{source}, line {rows[position][0]}: expected the end after {header[0]} graphs, got more"
        )
    return graphs


def parse_smiles(lines: Sequence[Line], source: str) -> list[Graph]:
    """Parse one molecule per line: a SMILES string and, after a blank or tab, its name."""
    graphs = []
    for number, line in lines:
        if fields := line.split(None, 1):
            try:
                graphs.append(from_smiles(fields[0], name=fields[1].strip() if len(fields) > 1 else ""))
            except OsanError as error:
                raise OsanError(f"{source}, line {number}: {error}") from None
    return graphs


def _is_integer(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MAX_DIGITS


def _integer(text: str, where: str, expected: str) -> int:
    if not _is_integer(text):
        raise OsanError(f"{where}: expected {expected}, got {text[:40]!r}")
    return int(text)
