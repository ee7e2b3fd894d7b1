"""One page about what a run chooses: a table of graphs with their subgraphs, and the substructures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
from torch_geometric.data import Data

from osan import __version__
from osan.files import write_bytes
from osan.report.choice_effects import Effects, Looked, effects
from osan.report.chosen_parts import edge_parts, edges_of, molecule_of, smiles_parts, substructures
from osan.report.drawing import layout
from osan.report.frequencies import first_arcs
from osan.report.templates import filled

_WORDS = {"delete": "deleted", "select": "kept", "mark": "marked"}
_SIZE = (210, 160)
MOST_SUBGRAPHS = 6


def write_choice_page(
    folder: str | Path, out: Path, *, graphs: int = 50, samples: int = 20, data: Path | None = None
) -> int:
    """Write a page about what a run chooses and what it does to the predictions.

    Parameters
    ----------
    folder, graphs, samples, data
        As in :func:`osan.report.effects`.
    out
        The file to write.

    Returns
    -------
    int
        The number of graphs on the page.
    """
    text = choice_page(effects(folder, graphs, samples=samples, data=data))
    write_bytes(out, text.encode())
    return text.count('class="graph"')


def choice_page(found: Effects, most: int = 20) -> str:
    """The page as one HTML text; ``most`` substructures are listed."""
    listed = substructures(found)[:most]
    return filled(
        "choice_page.html",
        name=found.name,
        policy=str(found.policy),
        word=_WORDS[found.policy.operation],
        of_classes=found.of_classes,
        members=found.members,
        soft=found.soft,
        rows=[_row(one, found) for one in found.looked],
        substructures=listed,
        top=max((each.times for each in listed), default=1),
        version=__version__,
    )


def _row(one: Looked, found: Effects) -> dict[str, Any]:
    """What the template shows of a graph."""
    molecule = molecule_of(one.graph)
    place = _places(one.graph, molecule)
    of_edges = found.policy.weighs_edges
    subgraphs = [
        {
            "picture": picture(
                one.graph, place, molecule, dict(zip(each.elements, each.parts, strict=True)), of_edges
            ),
            "atoms": " ".join(map(str, _atoms(one.graph, each.elements, of_edges))),
            "alone": each.alone,
            "without": each.without,
            "random": each.random,
            "members": each.members,
        }
        for each in one.subgraphs[:MOST_SUBGRAPHS]
    ]
    return {
        "number": one.number,
        "parts": [] if molecule is None else smiles_parts(molecule),
        "target": _target(one.target, found.classes),
        "prediction": one.prediction,
        "whole": one.whole,
        "error": one.error,
        "gain": one.gain,
        "settled": None if math.isnan(one.settled) else one.settled,
        "agreement": None if math.isnan(one.agreement) else one.agreement,
        "subgraphs": subgraphs,
        "more": max(0, len(one.subgraphs) - MOST_SUBGRAPHS),
    }


def _target(target: float, classes: Sequence[str]) -> str:
    """The name of a class, if there are several, or a number; a class that is not known is -1.

    >>> _target(1.0, ["low", "high"]), _target(1.25, []), _target(-1.0, ["low", "high"])
    ('high', '1.25', '-1')
    """
    return classes[int(target)] if classes and target >= 0 else f"{target:.3g}"


def _atoms(graph: Data, elements: Sequence[int], of_edges: bool) -> list[int]:
    if not of_edges:
        return list(elements)
    return sorted({v for ends in edges_of(graph, elements) for v in ends})


def _places(graph: Data, molecule: Any) -> np.ndarray[Any, np.dtype[np.float64]]:
    """Where vertices are drawn, in the picture's units; shape ``[vertices, 2]``."""
    count = int(graph.num_nodes or 0)
    if molecule is not None:
        conformer = molecule.GetConformer()
        spots = [conformer.GetAtomPosition(v) for v in range(count)]
        points = np.array([[spot.x, -spot.y] for spot in spots]).reshape(-1, 2)
    else:
        drawn = nx.Graph(list(first_arcs(graph.edge_index)))
        drawn.add_nodes_from(range(count))
        places = layout(drawn)
        points = np.array([places[v] for v in range(count)]).reshape(-1, 2)
    if not count:
        return points
    low, high = points.min(0), points.max(0)
    room = np.array(_SIZE) - 36
    scale = min(room / np.maximum(high - low, 1e-9))
    return (points - (low + high) / 2) * min(scale, 40.0) + np.array(_SIZE) / 2


def graph_picture(graph: Data, parts: Mapping[int, float], of_edges: bool) -> str:
    """A graph that is no molecule with what is chosen in orange, as SVG."""
    return picture(graph, _places(graph, None), None, parts, of_edges)


def picture(
    graph: Data,
    place: np.ndarray[Any, np.dtype[np.float64]],
    molecule: Any,
    parts: Mapping[int, float],
    of_edges: bool,
) -> str:
    """A graph with what is chosen in orange, as SVG; atoms have their element and a number to light up.

    ``parts`` has what is chosen, and which part of it; smaller parts are paler.
    """
    edges = edge_parts(graph, parts) if of_edges else {}
    vertices = {} if of_edges else parts
    lines, dots = [], []
    for u, v in first_arcs(graph.edge_index):
        (x0, y0), (x1, y1) = place[u], place[v]
        wide = _bond_width(molecule, u, v)
        if (u, v) in edges:
            wide = f'stroke="#d55e00"{_pale("stroke", edges[u, v])} stroke-width="6" stroke-linecap="round"'
        lines.append(f'<line x1="{x0:.0f}" y1="{y0:.0f}" x2="{x1:.0f}" y2="{y1:.0f}" {wide}/>')
    for v, (x, y) in enumerate(place):
        symbol = str(v) if molecule is None else molecule.GetAtomWithIdx(v).GetSymbol()
        shown = symbol if molecule is None or symbol != "C" else ""
        fill = "#e69f00" if v in vertices else "var(--paper)" if shown else "currentColor"
        radius = 8 if v in vertices or shown else 2.5
        edge = ' stroke="currentColor"' if v in vertices or molecule is None else ""
        part = vertices.get(v, 1.0)
        spot = f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius}"'
        # What is pale must not show the lines behind it.
        behind = f'{spot} fill="var(--paper)"/>' if part < 1 else ""
        text = f'<text x="{x:.0f}" y="{y:.0f}" dy=".35em">{shown}</text>' if shown else ""
        dots.append(f'<g data-atom="{v}">{behind}{spot} fill="{fill}"{_pale("fill", part)}{edge}/>{text}</g>')
    width, height = _SIZE
    return f'<svg viewBox="0 0 {width} {height}" role="img">{"".join(lines)}{"".join(dots)}</svg>'


def _pale(what: str, part: float) -> str:
    """The opacity of a line or a circle for a part, as an attribute; all of it needs none."""
    return "" if part >= 1 else f' {what}-opacity="{part:.2f}"'


def _bond_width(molecule: Any, u: int, v: int) -> str:
    """Single bonds thin, double ones thicker, aromatic ones dashed beside a line."""
    kind = "SINGLE" if molecule is None else str(molecule.GetBondBetweenAtoms(u, v).GetBondType())
    width = {"SINGLE": 1.3, "DOUBLE": 3.2, "TRIPLE": 5, "AROMATIC": 2.2}.get(kind, 1.3)
    dashes = ' stroke-dasharray="5 2"' if kind == "AROMATIC" else ""
    return f'stroke="currentColor" stroke-opacity=".75" stroke-width="{width}"{dashes}'
