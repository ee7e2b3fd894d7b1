"""Files of graphs and of pairs of graphs: one function each, for all formats."""

from __future__ import annotations

import gzip
import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal, get_args

from osan.errors import OsanError
from osan.files import decode, read_bytes, write_bytes
from osan.graphs.graph import Graph
from osan.graphs.graph6 import decode_lines, encode_graph6
from osan.graphs.networkx import parse_gml, parse_graphml
from osan.graphs.pairs import Pair, all_pairs, consecutive_pairs, is_table, parse_table
from osan.graphs.text import looks_like_sat_pairs, parse_edge_list, parse_sat_pairs, parse_smiles
from osan.memory import require_free

Format = Literal["graph6", "edges", "sat", "table", "smiles", "gml", "graphml"]

# The format of a file by its suffix.
SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".g6", ".s6", ".d6", ".graph6", ".sparse6", ".digraph6"), "graph6"),
    **dict.fromkeys((".edges", ".edgelist", ".el"), "edges"),
    **dict.fromkeys((".smi", ".smiles"), "smiles"),
    ".tsv": "table",
    ".gml": "gml",
    ".graphml": "graphml",
}

# How to read formats that others write: their lines may look like those of an edge list.
_FOREIGN = {
    ".gexf": "networkx.read_gexf",
    **dict.fromkeys((".adjlist", ".adj"), "networkx.read_adjlist"),
    ".madj": "networkx.read_multiline_adjlist",
    ".net": "networkx.read_pajek",
    **dict.fromkeys((".dot", ".gv"), "networkx.nx_agraph.read_dot"),
    ".json": "json.load and networkx.node_link_graph",
    ".mtx": "scipy.io.mmread and networkx.from_scipy_sparse_array",
    **dict.fromkeys((".col", ".dimacs"), "a reader for DIMACS"),
}

# Bytes of memory for a line, for what a line of some formats becomes, and for a byte of GML or GraphML.
_LINE, _MARKUP = 150, 20
_BYTES = {"graph6": 1300, "smiles": 1300, "table": 2600}


def read_graphs(path: str | Path, *, format: Format | None = None, directed: bool = False) -> list[Graph]:
    """Read all graphs of a file, which may be compressed (``.gz``).

    ===========  ==================================================================================
    graph6       one graph6, sparse6 or digraph6 graph per line, headers optional (.g6, .s6, .d6)
    edges        one graph, lines ``u v [label]`` (.edges, .edgelist, .el), also as networkx writes it;
                 or the rows of an adjacency matrix of 0 and 1
    sat          the format of EXP and CEXP
    table        tab-separated, with a header and graph6 columns (.tsv); a row of two graphs gives both
    smiles       one molecule per line (.smi, .smiles); needs ``osan[molecules]``
    gml          one graph (.gml) with labels of edges; the ``label`` of a vertex is its name in this format
    graphml      one graph (.graphml); the attribute ``label`` of vertices and edges is kept
    ===========  ==================================================================================

    Parameters
    ----------
    path
        The file.
    format
        One of the above. By default it follows from the suffix, else from the content.
    directed
        Whether the edges of an edge list are arcs. Every other format states this itself.

    Raises
    ------
    OsanError
        With the file, the line and what was expected there.
    """
    return _read(_path(path), format, directed)[0]


def read_pairs(
    path: str | Path, *, pairing: Literal["consecutive", "all"] = "consecutive", format: Format | None = None
) -> list[Pair]:
    """Read the pairs of graphs of a file.

    A table of pairs (such as BREC) lists them. In a table of labeled graphs (such as CSL), every two labels
    form a pair, each represented by its first graph. In any other file the graphs 2i and 2i + 1 form a pair,
    or, with ``pairing="all"``, every two graphs.
    """
    if pairing not in ("consecutive", "all"):
        raise OsanError(f"pairing: expected 'consecutive' or 'all', got {pairing!r}")
    path = Path(path)
    graphs, pairs = _read(path, format, False)
    if pairs is None:
        make = all_pairs if pairing == "all" else consecutive_pairs
        try:
            pairs = make(graphs, _stem(path))
        except OsanError as error:
            raise OsanError(f"{path}: {error}") from None
    if not pairs:
        raise OsanError(f"{path}: expected at least one pair of graphs, got {len(graphs)} graphs without one")
    return pairs


def lists_pairs(path: str | Path) -> bool:
    """Whether a file states which graphs form pairs: a table, or the format of EXP and CEXP."""
    path = Path(path)
    return _format(path, read_bytes(path)) in ("sat", "table")


def write_graphs(path: str | Path, graphs: Iterable[Graph]) -> None:
    """Write one line per graph: graph6, sparse6 or digraph6 as each needs (see :func:`encode_graph6`).

    The file appears whole or not at all; it is compressed if its name ends in ``.gz``.
    """
    path = Path(path)
    content = "".join(encode_graph6(graph) + "\n" for graph in graphs).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)
    write_bytes(path, content)


def _path(path: str | Path) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise OsanError(f"path: expected the name of a file, got {path!r}")
    return Path(path)


def _read(path: Path, format: Format | None, directed: bool) -> tuple[list[Graph], list[Pair] | None]:
    """The graphs of a file and, if it is a table that lists them, its pairs."""
    if format is not None and format not in get_args(Format):
        raise OsanError(f"format: expected one of {', '.join(get_args(Format))}, got {format!r}")
    content = read_bytes(path)
    if not content.strip():
        raise OsanError(f"{path}: expected at least one graph, got an empty file")
    source, name = str(path), _stem(path)
    # A compressed file may hold many lines, each of which becomes a graph.
    lines_of_all = content.count(b"\n")
    require_free(_LINE * lines_of_all, f"{path}: {lines_of_all} lines", "split the file")
    kind = format or _format(path, content)
    require_free(_BYTES.get(kind, 0) * lines_of_all, f"{path}: {lines_of_all} graphs", "split the file")
    if kind in ("gml", "graphml"):
        require_free(_MARKUP * len(content), f"{path}: the graph", "use graph6")
    pairs = None
    if kind == "graph6":
        graphs = decode_lines(
            ((number, line.strip()) for number, line in enumerate(content.split(b"\n"), 1)), source, name
        )
    elif kind in ("gml", "graphml"):
        graphs = [parse_gml(content, source) if kind == "gml" else parse_graphml(content, source)]
    else:
        lines = _lines(path, content)
        if kind == "table":
            graphs, pairs = parse_table(lines, source, name)
        elif kind == "sat":
            graphs = parse_sat_pairs(lines, source)
        elif kind == "smiles":
            graphs = parse_smiles(lines, source)
        else:
            graphs = [parse_edge_list(lines, source, directed=directed)]
    if not graphs:
        raise OsanError(f"{path}: expected at least one graph, got none")
    return graphs, pairs


def _format(path: Path, content: bytes) -> Format:
    """The format of a file, by its suffix, else by its content."""
    suffix = Path(path.name.removesuffix(".gz")).suffix.lower()
    if suffix in _FOREIGN:
        raise OsanError(
            f"{path}: expected a format of read_graphs, got a {suffix} file; read it with "
            f"{_FOREIGN[suffix]}, and pass the graph or write it with networkx.write_graph6"
        )
    kind = SUFFIXES.get(suffix) or _sniff(content)
    if kind is not None:
        return kind
    return "sat" if looks_like_sat_pairs(_lines(path, content)) else "edges"


def _lines(path: Path, content: bytes) -> list[tuple[int, str]]:
    return list(enumerate(decode(content, path).split("\n"), 1))


def _sniff(content: bytes) -> Format | None:
    """The format that the first line shows; ``None`` for a line with numbers or names."""
    first = content.lstrip().split(b"\n", 1)[0].strip()
    if is_table(first.decode(errors="replace")):
        return "table"
    if first.startswith(b">>"):
        return "graph6"
    # Neither blanks nor digits are among the bytes of graph6, and no edge list starts with one word.
    body = first[1:] if first[:1] in (b":", b"&") else first
    return "graph6" if body and all(63 <= byte <= 126 for byte in body) else None


def _stem(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).stem
