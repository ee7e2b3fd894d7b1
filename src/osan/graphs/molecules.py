"""Molecules as graphs, from SMILES (needs RDKit: ``pip install 'osan[molecules]'``)."""

from __future__ import annotations

from osan.errors import OsanError
from osan.extras import rdkit
from osan.graphs.graph import Graph
from osan.graphs.smiles import SmilesGuard


def from_smiles(smiles: str, name: str = "") -> Graph:
    """The molecular graph of a SMILES string, with implicit hydrogens.

    A vertex label is ``(symbol, charge, number of hydrogens, aromatic)``, an edge label RDKit's bond type.

    >>> ethanol = from_smiles("CCO")
    >>> ethanol.vertex_labels[2], ethanol.edge_labels
    (('O', 0, 1, False), ('SINGLE', 'SINGLE'))
    """
    kit = rdkit("reading SMILES")
    if not isinstance(smiles, str) or not smiles.strip():
        raise OsanError(f"smiles: expected a SMILES string, got {smiles!r}")
    with SmilesGuard() as guard:
        reason = guard.problem(smiles)
    if reason:
        raise OsanError(
            f"smiles: expected a SMILES string that RDKit reads, got {smiles[:40]!r}... ({reason})"
        )
    with kit.rdBase.BlockLogs():
        molecule = kit.Chem.MolFromSmiles(smiles)
    if molecule is None:
        raise OsanError(f"smiles: expected a SMILES string that RDKit reads, got {smiles!r}")
    atoms, bonds = list(molecule.GetAtoms()), list(molecule.GetBonds())
    return Graph(
        len(atoms),
        [(bond.GetBeginAtomIdx(), bond.GetEndAtomIdx()) for bond in bonds],
        vertex_labels=[
            (atom.GetSymbol(), atom.GetFormalCharge(), atom.GetTotalNumHs(), atom.GetIsAromatic())
            for atom in atoms
        ],
        edge_labels=[str(bond.GetBondType()) for bond in bonds],
        name=name or smiles,
    )
