"""Graphs of ZINC as molecules, against SMILES that are read by RDKit and numbered by hand."""

import pytest
import torch
from rdkit import Chem
from torch_geometric.data import Data

from osan.report.molecule import is_molecule, to_rdkit
from osan.report.zinc import readable, to_molecule

# Numbers of ZINC-12k's atom dictionary: element, explicit hydrogens, charge.
NUMBERS = {("C", 0, 0): 0, ("O", 0, 0): 1, ("N", 0, 0): 2, ("C", 1, 0): 4, ("S", 0, 0): 5, ("O", 0, -1): 7}
NUMBERS |= {("N", 1, 1): 8, ("N", 3, 1): 10, ("N", 2, 1): 11, ("N", 0, 1): 12, ("Br", 0, 0): 9}


def encoded(smiles: str) -> Data:
    """A molecule as ZINC-12k stores it: bonds of a Kekule form, hydrogens only where SMILES has brackets."""
    molecule = Chem.MolFromSmiles(smiles)
    bracketed = [atom.GetNoImplicit() and not atom.GetIsAromatic() for atom in molecule.GetAtoms()]
    Chem.Kekulize(molecule, clearAromaticFlags=True)
    x = [
        NUMBERS[atom.GetSymbol(), atom.GetTotalNumHs() if inside else 0, atom.GetFormalCharge()]
        for atom, inside in zip(molecule.GetAtoms(), bracketed, strict=True)
    ]
    bonds = [
        (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx(), int(bond.GetBondTypeAsDouble()))
        for bond in molecule.GetBonds()
    ]
    arcs = sorted([*bonds, *((v, u, kind) for u, v, kind in bonds)])
    return Data(
        x=torch.tensor(x).view(-1, 1),
        edge_index=torch.tensor([[u for u, _, _ in arcs], [v for _, v, _ in arcs]]),
        edge_attr=torch.tensor([kind for _, _, kind in arcs]),
    )


@pytest.mark.parametrize(
    "smiles",
    [
        "COc1ccc2ccc(O)c(CN3CCN(S(=O)(=O)c4ccn(C)c4)CC3)c2c1",
        "CC(C)[NH+](CCNC(=O)N1CCN(C(=O)c2ccncc2)CC1)C1CC1",
        "C[C@H](Cc1c[nH]c2ccccc12)C([O-])=O",
        "N#Cc1cc([N+](=O)[O-])ccc1Br",
        "[NH3+]CC[NH2+]C",
    ],
)
def test_atoms_and_bonds_are_those_of_the_smiles(smiles):
    graph = encoded(smiles)
    flat = Chem.MolToSmiles(Chem.MolFromSmiles(smiles), isomericSmiles=False)
    assert Chem.MolToSmiles(to_molecule(graph)) == flat
    drawn = readable(graph, "zinc")
    assert not is_molecule(graph)
    assert is_molecule(drawn)
    assert Chem.MolToSmiles(to_rdkit(drawn)) == flat
    # Edges keep their rows: what a policy of edges chose is still what it was.
    assert torch.equal(drawn.edge_index, graph.edge_index)


def test_other_graphs_stay_as_they_are():
    graph = encoded("CCO")
    assert readable(graph, "my.graphs") is graph
    graph.x[1] = 28  # no atom of the dictionary
    assert readable(graph, "zinc") is graph
    five = encoded("CC(C)(C)C")
    five.edge_attr[:] = 2  # a carbon with four double bonds
    assert readable(five, "zinc") is five
