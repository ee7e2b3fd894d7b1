"""Which substructures are chosen over a dataset: SMARTS of atoms and bonds, with support and mean effect."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from typing import Any

from torch_geometric.data import Data

from osan.report.choice_effects import Effects, SubgraphEffect
from osan.report.frequencies import first_arcs
from osan.report.molecule import is_molecule, to_rdkit

# The atoms of a SMILES string.
_ATOM = re.compile(r"\[[^\]]+\]|Br|Cl|[BCNOSPFIbcnosp*]")


@dataclass(frozen=True)
class Substructure:
    """A substructure that is chosen: how often, in how many graphs, and with what mean effect if left out.

    For an ensemble, ``times`` counts every member that chooses it. Parts of a soft choice count as parts.
    """

    pattern: str
    times: float
    graphs: int
    effect: float


def substructures(found: Effects) -> list[Substructure]:
    """The chosen substructures, most frequent first.

    A single atom counts with its neighbors, several atoms or bonds as the fragment that they form. In graphs
    that are not molecules a vertex counts by its degree, an edge by the degrees of its ends. If several share
    a soft choice, each counts by itself, and mean effects are weighted by its parts.
    """
    times: dict[str, float] = defaultdict(float)
    effect: dict[str, float] = defaultdict(float)
    graphs: dict[str, set[int]] = {}
    for one in found.looked:
        name = partial(
            pattern, one.graph, of_edges=found.policy.weighs_edges, molecule=molecule_of(one.graph)
        )
        for subgraph in one.subgraphs:
            for elements, part in _counted(subgraph):
                text, count = name(elements), part * subgraph.members
                times[text] += count
                effect[text] += count * subgraph.without
                graphs.setdefault(text, set()).add(one.number)
    out = [Substructure(text, n, len(graphs[text]), effect[text] / n) for text, n in times.items()]
    return sorted(out, key=lambda each: (-each.times, each.pattern))


def _counted(subgraph: SubgraphEffect) -> list[tuple[tuple[int, ...], float]]:
    """What counts as one, with its part: all that is chosen together, or each element of a soft choice.

    >>> _counted(SubgraphEffect((0, 4), 0.0, 0.0, 0.0))
    [((0, 4), 1.0)]
    >>> _counted(SubgraphEffect((0, 4), 0.0, 0.0, 0.0, parts=(0.75, 0.25)))
    [((0,), 0.75), ((4,), 0.25)]
    """
    if subgraph.soft:
        return [((element,), part) for element, part in zip(subgraph.elements, subgraph.parts, strict=True)]
    return [(subgraph.elements, 1.0)] if subgraph.elements else []


def molecule_of(graph: Data) -> Any:
    """The RDKit molecule of a graph; ``None`` if it is none or RDKit is missing."""
    return to_rdkit(graph) if is_molecule(graph) and find_spec("rdkit") is not None else None


def edges_of(graph: Data, elements: Sequence[int]) -> list[tuple[int, int]]:
    """The edges behind rows of ``edge_index``, each once, smaller end first."""
    return list(edge_parts(graph, dict.fromkeys(elements, 1.0)))


def edge_parts(graph: Data, parts: Mapping[int, float]) -> dict[tuple[int, int], float]:
    """The parts of edges by those of rows of ``edge_index``, the larger one of the two; smaller end first."""
    out: dict[tuple[int, int], float] = {}
    for row, part in parts.items():
        u, v = sorted(graph.edge_index[:, row].tolist())
        out[u, v] = max(part, out.get((u, v), 0.0))
    return out


def pattern(graph: Data, elements: Sequence[int], *, of_edges: bool, molecule: Any) -> str:
    """A text for what is chosen: SMARTS for molecules, degrees for other graphs.

    >>> import torch
    >>> star = Data(edge_index=torch.tensor([[0, 1, 0, 2], [1, 0, 2, 0]]), num_nodes=3)
    >>> pattern(star, [0, 1], of_edges=False, molecule=None)
    'vertices of degrees 1, 2'
    >>> from rdkit import Chem
    >>> pattern(star, [1], of_edges=False, molecule=Chem.MolFromSmiles("CCO"))
    'CCO'
    """
    if molecule is None:
        degree = [0] * int(graph.num_nodes or 0)
        for u, v in first_arcs(graph.edge_index):
            degree[u] += 1
            degree[v] += 1
        if of_edges:
            ends = sorted(sorted((degree[u], degree[v])) for u, v in edges_of(graph, elements))
            return "edges between degrees " + ", ".join(f"{u} and {v}" for u, v in ends)
        return f"vert{'ex of degree' if len(elements) == 1 else 'ices of degrees'} " + ", ".join(
            map(str, sorted(degree[v] for v in elements))
        )
    from rdkit import Chem

    if of_edges:
        bonds = [molecule.GetBondBetweenAtoms(*ends).GetIdx() for ends in edges_of(graph, elements)]
        atoms = sorted({v for ends in edges_of(graph, elements) for v in ends})
    elif len(elements) == 1:
        center = molecule.GetAtomWithIdx(elements[0])
        bonds = [bond.GetIdx() for bond in center.GetBonds()]
        atoms = [center.GetIdx(), *(other.GetIdx() for other in center.GetNeighbors())]
    else:
        atoms = list(elements)
        inside = set(atoms)
        bonds = [
            b.GetIdx() for b in molecule.GetBonds() if {b.GetBeginAtomIdx(), b.GetEndAtomIdx()} <= inside
        ]
    return _canonical(str(Chem.MolFragmentToSmiles(molecule, atoms, bonds, isomericSmiles=False)))


def _canonical(fragment: str) -> str:
    """The SMILES of a fragment, which is SMARTS, too, in an order that does not depend on its molecule.

    >>> _canonical("CC(c)(C)C") == _canonical("cC(C)(C)C")
    True
    """
    from rdkit import Chem

    alone = Chem.MolFromSmiles(fragment, sanitize=False)
    if alone is None:
        return fragment
    alone.UpdatePropertyCache(strict=False)
    # Ordered by symbols: "c" and "C" differ, also where no aromatic bond tells so.
    symbols = [atom.GetSmarts() for atom in alone.GetAtoms()]
    return str(Chem.MolFragmentToSmiles(alone, list(range(len(symbols))), atomSymbols=symbols))


def smiles_parts(molecule: Any) -> list[tuple[str, int]]:
    """A SMILES string in parts, each with the number of its atom; -1 for bonds, branches and rings.

    >>> from rdkit import Chem
    >>> smiles_parts(Chem.MolFromSmiles("CC=O"))
    [('C', 0), ('C', 1), ('=', -1), ('O', 2)]
    """
    from rdkit import Chem

    text = Chem.MolToSmiles(molecule, canonical=False)
    order = list(molecule.GetPropsAsDict(True, True)["_smilesAtomOutputOrder"])
    out: list[tuple[str, int]] = []
    end = 0
    for number, found in enumerate(_ATOM.finditer(text)):
        out += [(text[end : found.start()], -1)] if found.start() > end else []
        out.append((found.group(), int(order[number])))
        end = found.end()
    return out + ([(text[end:], -1)] if end < len(text) else [])
