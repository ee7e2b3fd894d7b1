"""What independently trained runs mark: a picture of some molecules, and the atoms that are marked most.

    python scripts/learned_figure.py docs/images/learned-zinc.svg RUN [RUN ...]

Each RUN is the folder of a finished run that marks single vertices; all have the same data, they differ in
the seed. In the picture, the first molecules of the test split have their marked atoms in orange, the darker
the more runs mark them. The table counts marked atoms with their neighbors over the first 200 molecules and
all runs, beside the share that they have among all atoms. Parts of soft marks count as parts, and the scale
of the picture ends at the largest. A second table has the share of the atoms of functional groups that are
chosen.
"""

from __future__ import annotations

import argparse
from collections import Counter, defaultdict
from contextlib import suppress
from pathlib import Path

from rdkit import Chem
from rdkit.Chem.Draw import rdMolDraw2D

from osan.files import write_bytes
from osan.report import Effects, effects
from osan.report.chosen_parts import molecule_of, pattern
from osan.report.formats import markdown_table
from osan.report.molecule import to_rdkit
from osan.report.palette import shade

GRAPHS, DRAWN, COLUMNS, PANEL = 200, 6, 3, (300, 190)
GROUPS = {
    "tetrazole": "[#6]1~[#7]~[#7]~[#7]~[#7]1",
    "carboxylic acid": "[CX3](=O)[OX2H1,OX1-]",
    "sulfonyl": "S(=O)(=O)",
    "aliphatic amine": "[NX3;!$(N-a);!$(N-C=[O,S,N]);!$(N-S=O);!$(N-[N,O])]",
    "amide": "[CX3](=O)[NX3]",
    "halogen": "[F,Cl,Br,I]",
    "benzene ring": "c1ccccc1",
    "any atom": "*",
}


def marked(found: list[Effects], place: int) -> dict[int, float]:
    """How many runs mark each vertex of a graph; of soft marks, its largest part counts."""
    total: dict[int, float] = defaultdict(float)
    for run in found:
        part: dict[int, float] = defaultdict(float)
        for each in run.looked[place].subgraphs:
            for v, value in zip(each.elements, each.parts, strict=True):
                part[v] = max(part[v], value)
        for v, value in part.items():
            total[v] += value
    return total


def picture(found: list[Effects]) -> str:
    """The first molecules, with the vertices that each run marks."""
    molecules, lit = [], []
    top = max(count for place in range(DRAWN) for count in marked(found, place).values())
    for place in range(DRAWN):
        molecule = to_rdkit(found[0].looked[place].graph)
        with suppress(Chem.KekulizeException):  # if it fails, aromatic bonds are drawn dashed
            Chem.Kekulize(molecule)
        molecules.append(molecule)
        lit.append({v: shade(count / top) for v, count in marked(found, place).items()})
    rows = -(-DRAWN // COLUMNS)
    drawer = rdMolDraw2D.MolDraw2DSVG(PANEL[0] * COLUMNS, PANEL[1] * rows, *PANEL)
    options = drawer.drawOptions()
    options.prepareMolsBeforeDrawing = False
    options.highlightRadius, options.padding = 0.5, 0.02
    options.useBWAtomPalette()  # colors mean runs
    drawer.DrawMolecules(
        molecules,
        highlightAtoms=[list(some) for some in lit],
        highlightAtomColors=lit,
        highlightBonds=[[]] * DRAWN,
    )
    drawer.FinishDrawing()
    return str(drawer.GetDrawingText())


def table(found: list[Effects], most: int = 8) -> str:
    """The atoms that are marked most: their share of marks, of all atoms, and the molecules that have one."""
    of_marks: dict[str, float] = defaultdict(float)
    of_all: Counter[str] = Counter()
    graphs: Counter[str] = Counter()
    for place, one in enumerate(found[0].looked):
        molecule = molecule_of(one.graph)
        names = [
            pattern(one.graph, [v], of_edges=False, molecule=molecule)
            for v in range(one.graph.num_nodes or 0)
        ]
        counts = marked(found, place)
        of_all.update(names)
        for v, count in counts.items():
            of_marks[names[v]] += count
        graphs.update({names[v] for v in counts})
    marks, atoms = sum(of_marks.values()), of_all.total()
    rows = [
        [name, f"{count / marks:.1%}", f"{of_all[name] / atoms:.1%}", str(graphs[name])]
        for name, count in sorted(of_marks.items(), key=lambda item: -item[1])[:most]
    ]
    return markdown_table(["atom and neighbors", "of marks", "of atoms", "molecules"], rows)


def groups(found: list[Effects]) -> str:
    """How many atoms of each functional group are chosen, over all runs."""
    molecules, atoms = Counter[str](), Counter[str]()
    chosen: dict[str, float] = defaultdict(float)
    patterns = {name: Chem.MolFromSmarts(text) for name, text in GROUPS.items()}
    for place, one in enumerate(found[0].looked):
        molecule, counts = to_rdkit(one.graph), marked(found, place)
        for name, query in patterns.items():
            part = {v for match in molecule.GetSubstructMatches(query) for v in match}
            molecules[name] += bool(part)
            atoms[name] += len(part) * len(found)
            chosen[name] += sum(counts.get(v, 0) for v in part)
    rows = [
        [name, f"{chosen[name] / atoms[name]:.0%}", str(molecules[name])] for name in GROUPS if atoms[name]
    ]
    return markdown_table(["group", "of its atoms chosen", "molecules"], rows)


def main() -> None:
    """Draw the picture and print the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", nargs="+", type=Path)
    given = parser.parse_args()
    found = [effects(run, GRAPHS, samples=1, draws=0) for run in given.runs]
    sizes = [[(one.graph.num_nodes, one.target) for one in run.looked] for run in found]
    if any(each != sizes[0] for each in sizes):
        parser.error("the runs have different test splits: give data.split a column instead of 'random'")
    write_bytes(given.out, picture(found).encode())
    print(table(found))
    print()
    print(groups(found))


if __name__ == "__main__":
    main()
