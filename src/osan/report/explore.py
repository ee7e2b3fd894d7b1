"""The explorer: one page, without a server, in which two graphs are refined and compared."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterable, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from osan import __version__
from osan.errors import OsanError
from osan.files import write_bytes
from osan.graphs import (
    Graph,
    bicyclopentyl,
    cfi_pair,
    csl,
    cycle_pair,
    decalin,
    decode_graph6,
    encode_graph6,
    icosahedral_pair,
    rook_4x4,
    shrikhande,
)
from osan.wl.terms import literal

# In the order in which each uses the ones before.
_SCRIPTS = ("graph", "tests", "refine", "layout", "draw", "why", "state", "page", "events")
# The refinement alone, without a page.
REFINEMENT = _SCRIPTS[:3]
MOST_VERTICES = 200
# What the two graphs of a preset are called, where their own names say less.
_NAMES = {
    "hexagon and two triangles": ("hexagon", "two triangles"),
    "rook's graph and Shrikhande graph": ("rook's graph", "Shrikhande graph"),
    "CFI graphs over a triangle": ("CFI graph", "twisted CFI graph"),
    "CFI graphs over four vertices": ("CFI graph", "twisted CFI graph"),
}
# Pairs of BREC (Wang and Zhang 2024, MIT license) and two strongly regular graphs of B. McKay's collection.
_STORED = {
    "BREC 0 (basic)": ("ICZJvZsNg", "ICrbut{{W"),
    "BREC 60 (regular)": ("I~o__[M@w", "I}op_WJ@w"),
    "BREC 252 (extension)": ("NhCKG?@?G?_@?@?O~~w", "NhCGGC@?G?_@?@_?~~w"),
    "strongly regular, 25 vertices": (
        r"X}rM\QTeLEuUlQY[I\IgtWfTxCrhEOZo{FfwEew`LXMbWp}JDtM",
        r"X}rM\QWh[jUYkiYYJMBDfSrXsLRgdOMusE{{JQhgxiMDSxVEplU",
    ),
}


def presets() -> dict[str, tuple[Graph, Graph]]:
    """Pairs of graphs on which tests fail, by name.

    >>> [graph.num_vertices for graph in presets()["decalin and bicyclopentyl"]]
    [10, 10]
    """
    out = {
        "hexagon and two triangles": cycle_pair(3),
        "decalin and bicyclopentyl": (decalin(), bicyclopentyl()),
        "rook's graph and Shrikhande graph": (rook_4x4(), shrikhande()),
        "CFI graphs over a triangle": cfi_pair(2),
        "CFI graphs over four vertices": cfi_pair(3),
        "circular skip links CSL(11, 2) and CSL(11, 3)": (csl(11, 2), csl(11, 3)),
        "icosahedral pair": icosahedral_pair(),
    }
    return out | {name: (decode_graph6(a), decode_graph6(b)) for name, (a, b) in _STORED.items()}


def explorer_page(pair: Sequence[Graph] | None = None) -> str:
    """The explorer as one HTML text that needs no network.

    Parameters
    ----------
    pair
        Two graphs to show first; by default a hexagon and two triangles.

    Examples
    --------
    >>> from osan.graphs import cycle_pair
    >>> "http" in explorer_page(cycle_pair(4)).replace("http-equiv", "").replace("http://www.w3.org", "")
    False
    """
    from jinja2 import Environment, StrictUndefined

    pairs = [_plain(name, *both, names=_NAMES.get(name)) for name, both in presets().items()]
    if pair is not None:
        for graph in pair:
            _check(graph)
        pairs.insert(0, _plain("your graphs", *pair))
    folder = files("osan.report").joinpath("explorer")
    # No tag of HTML in a text of the data ends the script.
    data = json.dumps({"pairs": pairs, "smiles": _molecules()}, ensure_ascii=False).replace("<", r"\u003c")
    template = Environment(undefined=StrictUndefined, autoescape=False, trim_blocks=True).from_string(
        folder.joinpath("page.html").read_text(encoding="utf-8")
    )
    return template.render(
        style=folder.joinpath("style.css").read_text(encoding="utf-8"),
        script=script(_SCRIPTS),
        presets=data,
        version=__version__,
    )


def script(names: Sequence[str] = REFINEMENT) -> str:
    """The JavaScript of some parts of the page as one program, which defines ``Osan``.

    >>> "Osan.refine = " in script()
    True
    """
    folder = files("osan.report").joinpath("explorer")
    parts = [folder.joinpath(f"{name}.js").read_text(encoding="utf-8") for name in names]
    return "(() => {\n" + "\n".join(parts) + "\nglobalThis.Osan = Osan;\n})();\n"


def write_explorer(out: Path, pair: Sequence[Graph] | None = None) -> None:
    """Write the explorer to a file; see :func:`explorer_page`."""
    text = explorer_page(pair)
    write_bytes(out, text.encode())


def _check(graph: Graph) -> None:
    where = f"graph {graph.name!r}" if graph.name else "graph"
    if graph.directed:
        raise OsanError(f"{where}: expected an undirected graph, got a directed one")
    if graph.num_vertices > MOST_VERTICES:
        raise OsanError(
            f"{where}: expected at most {MOST_VERTICES} vertices, got {graph.num_vertices}; "
            "osan wl distinguish takes any size"
        )
    ends = np.sort(graph.edges, axis=1)
    if (ends[:, 0] == ends[:, 1]).any() or len(np.unique(ends, axis=0)) != len(ends):
        raise OsanError(f"{where}: expected no loops and no parallel edges, got some")


def _plain(title: str, *pair: Graph, names: Sequence[str] | None = None) -> dict[str, Any]:
    names = names or [
        graph.name or f"{'first' if i == 0 else 'second'} graph" for i, graph in enumerate(pair)
    ]
    vertex = _texts([graph.vertex_labels for graph in pair])
    edge = _texts([graph.edge_labels for graph in pair])
    return {"title": title, "names": names, "pair": [_given(graph, vertex, edge) for graph in pair]}


# The text of each label of a pair; no label has none.
Texts = dict[Hashable, str | None]


def _given(graph: Graph, vertex: Texts, edge: Texts) -> dict[str, Any]:
    """A graph as the page reads it: graph6, labels of vertices, and labels of edges by their larger end."""
    out: dict[str, Any] = {"g6": encode_graph6(graph.without_labels())}
    if graph.vertex_labels is not None:
        out["labels"] = [vertex[label] for label in graph.vertex_labels]
    if graph.edge_labels is not None:
        low, high = np.sort(graph.edges, axis=1).T
        out["bonds"] = [edge[graph.edge_labels[i]] for i in np.lexsort((low, high))]
    return out


def _texts(of_graphs: Iterable[Sequence[Hashable] | None]) -> Texts:
    """A text for each label of some graphs, equal for equal labels only; texts stay as they are if possible.

    >>> _texts([["C", None], [6, "C"]])
    {'C': 'C', None: None, 6: '6'}
    >>> _texts([["6"], [6]])
    {'6': "'6'", 6: '6'}
    """
    labels = list(dict.fromkeys(label for given in of_graphs for label in given or ()))
    others = {literal(label) for label in labels if not isinstance(label, str)}
    clash = any(isinstance(label, str) and label in others for label in labels)
    out: Texts = {}
    for label in labels:
        out[label] = label if isinstance(label, str) and not clash else literal(label)
    return out | ({None: None} if None in out else {})


def _molecules() -> dict[str, dict[str, Any]]:
    """Some molecules that the page knows by their SMILES."""
    text = files("osan.report").joinpath("explorer/molecules.json").read_text(encoding="utf-8")
    found: dict[str, dict[str, Any]] = json.loads(text)
    return found
