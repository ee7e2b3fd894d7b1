"""Molecules, colored by how often atoms or bonds are chosen, drawn by RDKit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from contextlib import suppress
from types import MappingProxyType
from typing import Any

from torch_geometric.data import Data

from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.report.frequencies import Frequencies, first_arcs
from osan.report.palette import shade

_PANEL = (320, 260)
_CARD = (260, 190)
# RDKit would place the atoms of larger molecules for minutes; theirs are on a grid.
_MOST_PLACED = 1000
_LIT = (0.92, 0.6, 0.2)
_NOTHING: Mapping[Any, float] = MappingProxyType({})
# Lists of ogb.utils.features: formal charges from -5, and four kinds of bonds.
_LEAST_CHARGE = -5
_BONDS = ("SINGLE", "DOUBLE", "TRIPLE", "AROMATIC")


def is_molecule(graph: Data) -> bool:
    """Whether a graph has OGB's atom and bond features and can be drawn as a molecule."""
    x, edge_attr = graph.x, graph.edge_attr
    if x is None or edge_attr is None or x.is_floating_point():
        return False
    # Several molecules in a row have a further column.
    extra = x.size(1) - len(OGB_ATOM_FEATURES)
    return bool(extra in (0, 1) and edge_attr.size(1) == len(OGB_BOND_FEATURES))


def to_rdkit(graph: Data) -> Any:
    """Rebuild the molecule from OGB's features, with atoms in the order of the vertices.

    >>> import torch
    >>> from rdkit import Chem
    >>> from osan.data.custom.molecules import featurize
    >>> Chem.MolToSmiles(to_rdkit(featurize(Chem.MolFromSmiles("O=C([O-])c1ccccc1"), torch.zeros(1, 1))))
    'O=C([O-])c1ccccc1'
    """
    from rdkit import Chem
    from rdkit.Chem import rdDepictor
    from rdkit.Geometry import Point3D

    molecule = Chem.RWMol()
    for row in graph.x.tolist():
        # The last number means any other element.
        atom = Chem.Atom(row[0] + 1 if row[0] + 1 < OGB_ATOM_FEATURES[0] else 0)
        atom.SetFormalCharge(row[3] + _LEAST_CHARGE)
        atom.SetNumExplicitHs(row[4])
        atom.SetNoImplicit(True)
        atom.SetIsAromatic(bool(row[7]))
        molecule.AddAtom(atom)
    for (u, v), column in first_arcs(graph.edge_index).items():
        kind = int(graph.edge_attr[column, 0])
        name = _BONDS[kind] if kind < len(_BONDS) else "UNSPECIFIED"
        molecule.AddBond(u, v, getattr(Chem.BondType, name))
        molecule.GetBondBetweenAtoms(u, v).SetIsAromatic(name == "AROMATIC")
    out = molecule.GetMol()
    out.UpdatePropertyCache(strict=False)
    Chem.FastFindRings(out)
    if out.GetNumAtoms() <= _MOST_PLACED:
        rdDepictor.Compute2DCoords(out)
    else:
        places, side = Chem.Conformer(out.GetNumAtoms()), math.isqrt(out.GetNumAtoms())
        for i in range(out.GetNumAtoms()):
            places.SetAtomPosition(i, Point3D(i // side, i % side, 0))
        out.AddConformer(places)
    return out


def vertex_names(graph: Data) -> list[str]:
    """A name for each vertex: its number and, for molecules, its element.

    >>> import torch
    >>> from rdkit import Chem
    >>> from osan.data.custom.molecules import featurize
    >>> vertex_names(featurize(Chem.MolFromSmiles("CCl"), torch.zeros(1, 1)))
    ['0 C', '1 Cl']
    """
    if not is_molecule(graph):
        return [str(v) for v in range(graph.num_nodes or 0)]
    return [f"{atom.GetIdx()} {atom.GetSymbol()}" for atom in to_rdkit(graph).GetAtoms()]


def molecule_svg(
    graph: Data,
    atoms: Mapping[int, float] = _NOTHING,
    bonds: Mapping[tuple[int, int], float] = _NOTHING,
    size: tuple[int, int] = _CARD,
) -> str:
    """A molecule as SVG without a header, in the color of the text around it; some atoms or bonds are orange.

    ``atoms`` and ``bonds`` say which, and how strongly, from 0 to 1.
    Nothing in it comes from a file as text: the molecule is rebuilt from its features.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    molecule = to_rdkit(graph)
    with suppress(Chem.KekulizeException):
        Chem.Kekulize(molecule)
    drawer = rdMolDraw2D.MolDraw2DSVG(*size)
    options: Any = drawer.drawOptions()
    options.clearBackground, options.prepareMolsBeforeDrawing = False, False
    options.maxFontSize, options.fixedBondLength, options.highlightRadius = 16, 24.0, 0.42
    options.useBWAtomPalette()
    lit = {molecule.GetBondBetweenAtoms(*ends).GetIdx(): (*_LIT, part) for ends, part in bonds.items()}
    drawer.DrawMolecule(
        molecule,
        highlightAtoms=list(atoms),
        highlightBonds=list(lit),
        highlightAtomColors={atom: (*_LIT, part) for atom, part in atoms.items()},
        highlightBondColors=lit,
    )
    drawer.FinishDrawing()
    text = str(drawer.GetDrawingText())
    return text[text.index("<svg") :].replace("#000000", "currentColor")


def draw_molecule(found: Frequencies, suffix: str = "svg", limit: int = 6) -> bytes:
    """Draw one panel per subgraph, or the mean and each member; darker means chosen more often.

    Numbers are shown from 10 % on.
    """
    from rdkit import Chem
    from rdkit.Chem.Draw import rdMolDraw2D

    of_edges = found.edges is not None
    table = found.edges if found.edges is not None else found.vertices
    assert table is not None  # exactly one of the two is given
    base = to_rdkit(found.graph)
    arcs = first_arcs(found.graph.edge_index)
    top = found.top
    shown = min(table.size(1), limit)
    panels, lit, legends = [], [], []
    with suppress(Chem.KekulizeException):  # if it fails, aromatic bonds are drawn dashed
        Chem.Kekulize(base)
    for i in range(shown):
        molecule = Chem.Mol(base)
        if of_edges:
            parts = {molecule.GetBondBetweenAtoms(*ends): float(table[e, i]) for ends, e in arcs.items()}
        else:
            parts = {molecule.GetAtomWithIdx(v): f for v, f in enumerate(table[:, i].tolist())}
        for part, frequency in parts.items():
            if frequency >= 0.1:
                part.SetProp("bondNote" if of_edges else "atomNote", f"{frequency:.0%}")
        lit.append({part.GetIdx(): shade(f / top) for part, f in parts.items() if f > 0})
        panels.append(molecule)
        legends.append(f"{found.columns[i]}: {'bonds' if of_edges else 'atoms'} {found.word}")
    columns = min(shown, 3)
    size = (_PANEL[0] * columns, _PANEL[1] * -(-shown // columns))
    kind = rdMolDraw2D.MolDraw2DSVG if suffix == "svg" else rdMolDraw2D.MolDraw2DCairo
    drawer = kind(*size, *_PANEL)
    options: Any = drawer.drawOptions()
    options.legendFontSize, options.annotationFontScale = 16, 0.6
    options.prepareMolsBeforeDrawing = False
    options.useBWAtomPalette()  # colors mean frequencies
    which = "Bond" if of_edges else "Atom"
    drawer.DrawMolecules(
        panels,
        legends=legends,
        **{
            f"highlight{each}s": [list(some) if each == which else [] for some in lit]
            for each in ("Atom", "Bond")
        },
        **{f"highlight{which}Colors": lit},
    )
    drawer.FinishDrawing()
    text = drawer.GetDrawingText()
    return text.encode() if isinstance(text, str) else bytes(text)
