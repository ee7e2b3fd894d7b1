"""Pairs of graphs, and the tables that list graphs or pairs in graph6."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

from osan.errors import OsanError
from osan.graphs.graph import Graph
from osan.graphs.graph6 import decode_lines
from osan.graphs.lines import Line


@dataclass(frozen=True)
class Pair:
    """Two graphs to separate, with the category they are counted under."""

    a: Graph
    b: Graph
    category: str = ""
    subcategory: str = ""
    name: str = ""


def all_pairs(graphs: Sequence[Graph], category: str = "") -> list[Pair]:
    """Every two of the graphs as a pair, such as the 105 pairs of the 15 strongly regular graphs "SR25".

    >>> [pair.name for pair in all_pairs([Graph(1), Graph(2), Graph(3)])]
    ['0-1', '0-2', '1-2']
    """
    if not isinstance(graphs, Iterable):
        raise OsanError(f"graphs: expected a list of graphs, got {type(graphs).__name__}")
    return [
        Pair(a, b, category, name=f"{i}-{j}") for (i, a), (j, b) in combinations(list(enumerate(graphs)), 2)
    ]


def consecutive_pairs(graphs: Sequence[Graph], category: str = "") -> list[Pair]:
    """The graphs 2i and 2i + 1 as pair i."""
    if len(graphs) % 2:
        raise OsanError(
            f"expected an even number of graphs to pair 2i with 2i + 1, got {len(graphs)}; use pairing='all'"
        )
    return [
        Pair(a, b, category, name=str(i))
        for i, (a, b) in enumerate(zip(graphs[::2], graphs[1::2], strict=True))
    ]


def is_table(first_line: str) -> bool:
    """Whether a file's first line is the header of a table of graphs or pairs in graph6."""
    columns = first_line.rstrip("\r\n").split("\t")
    return "graph6" in columns or ("g6_a" in columns and "g6_b" in columns)


def parse_table(lines: Sequence[Line], source: str, name: str = "") -> tuple[list[Graph], list[Pair] | None]:
    """Parse the graphs and the pairs of a tab-separated table with a header line.

    With the columns ``g6_a`` and ``g6_b`` (such as BREC), each row is a pair. The columns ``category``,
    ``subcategory`` and ``pair`` (its name) are read, and ``n_a``, ``m_a``, ``n_b``, ``m_b`` are checked, if
    present. With the columns ``graph6`` and ``label`` (such as CSL), each row is a graph, and every two
    labels form a pair, each represented by its first graph. Without ``label`` the pairs are ``None``.
    """
    rows = [(number, line.rstrip("\r\n").split("\t")) for number, line in lines if line.strip()]
    header = rows[0][1] if rows else []
    if not is_table("\t".join(header)):
        raise OsanError(
            f"{source}, line 1: expected a header with the tab-separated columns g6_a and g6_b, or graph6; "
            f"got {header[:6]}"
        )
    for number, fields in rows:
        if len(fields) != len(header):
            raise OsanError(f"{source}, line {number}: expected {len(header)} columns, got {len(fields)}")
    body = rows[1:]
    columns = {key: [(number, fields[i]) for number, fields in body] for i, key in enumerate(header)}
    if "graph6" in columns:
        graphs = _decode(columns["graph6"], source, name)
        if "label" not in columns:
            return graphs, None
        return graphs, _labeled_pairs(graphs, [text for _, text in columns["label"]], name)
    sides = []
    for side in "ab":
        graphs = _decode(columns[f"g6_{side}"], source, f"{name}.{side}")
        _check_sizes(graphs, columns, side, source)
        sides.append(graphs)
    text = {
        key: [cell for _, cell in columns[key]] if key in columns else [default] * len(body)
        for key, default in (("category", name), ("subcategory", ""), ("pair", ""))
    }
    pairs = [
        Pair(a, b, text["category"][i], text["subcategory"][i], text["pair"][i] or str(i))
        for i, (a, b) in enumerate(zip(*sides, strict=True))
    ]
    return [graph for pair in pairs for graph in (pair.a, pair.b)], pairs


def _labeled_pairs(graphs: Sequence[Graph], labels: Sequence[str], category: str) -> list[Pair]:
    """The pairs of the first graphs of different labels."""
    first: dict[str, Graph] = {}
    for label, graph in zip(labels, graphs, strict=True):
        first.setdefault(label, graph)
    return [Pair(first[a], first[b], category, name=f"{a}-{b}") for a, b in combinations(list(first), 2)]


def _decode(cells: Sequence[Line], source: str, name: str) -> list[Graph]:
    for number, cell in cells:
        if not cell.strip() or cell.endswith("<<"):
            raise OsanError(f"{source}, line {number}: expected a graph in graph6, got {cell!r}")
    return decode_lines([(number, cell.encode()) for number, cell in cells], source, name)


def _check_sizes(graphs: Sequence[Graph], columns: dict[str, list[Line]], side: str, source: str) -> None:
    for key, attribute in ((f"n_{side}", "num_vertices"), (f"m_{side}", "num_edges")):
        for graph, (number, cell) in zip(graphs, columns.get(key, []), strict=False):
            if cell != str(getattr(graph, attribute)):
                raise OsanError(
                    f"{source}, line {number}: column {key}: expected {getattr(graph, attribute)}, "
                    f"the graph's {attribute}, got {cell!r}"
                )
