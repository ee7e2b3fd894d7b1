"""The atom and bond features of QM9 that the current loader of PyG leaves at zero."""

from __future__ import annotations

import os
from pathlib import Path

import torch
from torch import Tensor

from osan.data.flat import FlatDataset


def atom_flags(sdf: Path, molecules: list[int], graphs: FlatDataset) -> tuple[Tensor, Tensor]:
    """The 13 features of Gilmer et al. (2017) with the coordinates, and the four bond types.

    The columns of ``x``: element one-hot (H, C, N, O, F), atomic number, acceptor, donor, aromatic, sp,
    sp2, sp3, number of hydrogens, and three coordinates. PyG reads the molecules without sanitizing them, so
    aromaticity and hybridization are missing, and it does not compute acceptor and donor. Here they come
    from the sanitized molecules. A molecule that RDKit rejects keeps the values of PyG.

    Parameters
    ----------
    sdf
        The raw structures.
    molecules
        The position of each graph in ``sdf``.
    graphs
        The graphs of PyG: 11 features and three coordinates, bond types without aromatic ones.
    """
    from rdkit import Chem, RDConfig, rdBase
    from rdkit.Chem import ChemicalFeatures
    from rdkit.Chem.rdchem import HybridizationType as Hybrid

    factory = ChemicalFeatures.BuildFeatureFactory(  # type: ignore[attr-defined]
        os.path.join(RDConfig.RDDataDir, "BaseFeatures.fdef")
    )
    old = graphs.tensors["x"]
    flags = torch.zeros(len(old), 6)
    edge_attr = graphs.tensors["edge_attr"].clone()
    order = {Hybrid.SP: 3, Hybrid.SP2: 4, Hybrid.SP3: 5}
    with rdBase.BlockLogs():
        supplier = Chem.SDMolSupplier(str(sdf), removeHs=False)
        for graph, molecule in enumerate(molecules):
            mol = supplier[molecule]
            if mol is None:
                continue
            start = int(graphs.vertex_ptr[graph])
            rows = []
            for column, family in enumerate(("Acceptor", "Donor")):
                for feature in factory.GetFeaturesForMol(mol, includeOnly=family):
                    rows += [(start + atom, column) for atom in feature.GetAtomIds()]
            aromatic = set()
            for atom in mol.GetAtoms():
                i = start + atom.GetIdx()
                if atom.GetIsAromatic():
                    rows.append((i, 2))
                    aromatic.add(atom.GetIdx())
                if atom.GetHybridization() in order:
                    rows.append((i, order[atom.GetHybridization()]))
            if rows:  # an empty index would be the whole tensor
                flags[tuple(zip(*rows, strict=True))] = 1.0
            if aromatic:
                arcs = slice(int(graphs.edge_ptr[graph]), int(graphs.edge_ptr[graph + 1]))
                ends = graphs.tensors["edge_index"][:, arcs].t().tolist()
                rings = {
                    (bond.GetBeginAtomIdx(), bond.GetEndAtomIdx())
                    for bond in mol.GetBonds()
                    if bond.GetIsAromatic()
                }
                hit = [arcs.start + i for i, (u, v) in enumerate(ends) if (u, v) in rings or (v, u) in rings]
                edge_attr[hit] = torch.tensor([0.0, 0.0, 0.0, 1.0])
    x = torch.cat([old[:, :6], flags, old[:, 10:]], dim=1)
    return x, edge_attr
