"""The graphs of ZINC as molecules, so that pictures and tables show atoms."""

from __future__ import annotations

import re
from importlib.util import find_spec
from typing import Any

import torch
from torch_geometric.data import Data

# ZINC-12k's dictionary of atoms: element, hydrogens, charge. Without the latter two,
# hydrogens are implied.
# fmt: off
_TYPES = (
    "C", "O", "N", "F", "C H1", "S", "Cl", "O -", "N H1 +", "Br", "N H3 +", "N H2 +", "N +", "N -",
    "S -", "I", "P", "O H1 +", "N H1 -", "O +", "S +", "P H1", "P H2", "C H2 -", "P +", "S H1 +",
    "C H1 -", "P H1 +",
)
# fmt: on
_BONDS = {1: "SINGLE", 2: "DOUBLE", 3: "TRIPLE"}


def readable(graph: Data, dataset: str) -> Data:
    """The same graph with OGB's features of atoms and bonds, if it is one of ZINC's; else the graph itself.

    ZINC-12k stores one number per atom and per bond. Edges keep their order, so what was chosen stays right.

    >>> carbonyl = Data(
    ...     x=torch.tensor([[0], [1]]),
    ...     edge_index=torch.tensor([[0, 1], [1, 0]]),
    ...     edge_attr=torch.tensor([2, 2]),
    ...     num_nodes=2,
    ... )
    >>> readable(carbonyl, "zinc").x[:, 0].tolist()  # atomic numbers, from 0
    [5, 7]
    """
    if dataset != "zinc" or find_spec("rdkit") is None:
        return graph
    from osan.data.custom.molecules import featurize

    molecule = to_molecule(graph)
    if molecule is None:
        return graph
    atoms = featurize(molecule, torch.zeros(1, 1))
    arcs = zip(*atoms.edge_index.tolist(), strict=True)
    row = {ends: i for i, ends in enumerate(arcs)}
    out = graph.clone()
    out.x = atoms.x
    out.edge_attr = atoms.edge_attr[[row[ends] for ends in zip(*graph.edge_index.tolist(), strict=True)]]
    return out


def to_molecule(graph: Data) -> Any:
    """The RDKit molecule of a graph of ZINC, atoms in the order of vertices; ``None`` if it is not valid."""
    from rdkit import Chem

    molecule = Chem.RWMol()
    for kind in graph.x.flatten().tolist():
        if kind >= len(_TYPES):
            return None
        element, hydrogens, charge = _parts(_TYPES[kind])
        atom = Chem.Atom(element)
        atom.SetFormalCharge(charge)
        if hydrogens or charge:
            atom.SetNumExplicitHs(hydrogens)
            atom.SetNoImplicit(True)
        molecule.AddAtom(atom)
    for (u, v), kind in zip(graph.edge_index.t().tolist(), graph.edge_attr.flatten().tolist(), strict=True):
        if u < v:
            if kind not in _BONDS:
                return None
            molecule.AddBond(u, v, getattr(Chem.BondType, _BONDS[kind]))
    out = molecule.GetMol()
    problem = Chem.SanitizeMol(out, catchErrors=True)
    return None if problem else out


def _parts(kind: str) -> tuple[str, int, int]:
    """Element, hydrogens and charge.

    >>> _parts("N H2 +"), _parts("Cl")
    (('N', 2, 1), ('Cl', 0, 0))
    """
    found = re.fullmatch(r"(\w+?)(?: H(\d))?(?: ([+-]))?", kind)
    assert found is not None
    return found[1], int(found[2] or 0), {"+": 1, "-": -1, None: 0}[found[3]]
