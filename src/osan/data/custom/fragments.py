"""Molecules from cells of SMILES: several columns in a row, and what is kept of salts and mixtures."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import torch
from torch_geometric.data import Data
from typing_extensions import Self

from osan.data.formats.table import Table
from osan.errors import OsanError
from osan.extras import optional, rdkit
from osan.graphs.smiles import SmilesGuard
from osan.words import Fragments


def smiles_columns(smiles: str | Sequence[str]) -> list[str]:
    """The names of the columns of SMILES.

    >>> smiles_columns("smiles"), smiles_columns(["solute", "solvent"])
    (['smiles'], ['solute', 'solvent'])
    """
    names = [smiles] if isinstance(smiles, str) else list(smiles)
    if not names or len(set(names)) < len(names):
        raise OsanError(
            f"smiles: expected one or several different columns, got {', '.join(names) or 'none'}"
        )
    return names


class MoleculeReader:
    """Reads SMILES, within ``with``, and keeps what ``fragments`` says.

    ``"keep"`` leaves all fragments. ``"largest"`` keeps the largest one, of those with carbon if there are
    any: by atoms, then by weight (RDKit's ``LargestFragmentChooser``). Charges stay as they are.

    >>> with MoleculeReader("largest") as reader:
    ...     molecule, problem = reader.read("[Na+].CC(=O)[O-]")
    >>> molecule.GetNumAtoms(), problem
    (4, '')
    """

    def __init__(self, fragments: Fragments = "keep") -> None:
        if fragments not in ("keep", "largest"):
            raise OsanError(f"fragments: expected keep or largest, got {fragments!r}")
        self._kit = rdkit("reading SMILES")
        self._chooser: Any = None
        if fragments == "largest":
            name = "rdkit.Chem.MolStandardize.rdMolStandardize"
            self._chooser = optional(name, "molecules", "choosing fragments").LargestFragmentChooser(True)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self._kit.rdBase.BlockLogs())
        self._guard = self._stack.enter_context(SmilesGuard())
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def read(self, text: str) -> tuple[Any, str]:
        """The RDKit molecule and no reason, or ``None`` and why there is none."""
        if not text:
            return None, "empty SMILES"
        problem = self._guard.problem(text)
        if problem:
            return None, problem
        molecule = None if "\0" in text else self._kit.Chem.MolFromSmiles(text)
        if molecule is None:
            return None, "unreadable SMILES"
        if molecule.GetNumAtoms() == 0:
            return None, "molecule without atoms"
        return (molecule if self._chooser is None else self._chooser.choose(molecule)), ""

    def canonical(self, molecule: Any) -> str:
        """The canonical SMILES."""
        return str(self._kit.Chem.MolToSmiles(molecule))


def joined(molecules: Sequence[Data]) -> Data:
    """Several molecules as one graph without edges between them.

    If there are more than one, ``x`` gets a further column: from which of them an atom comes.

    >>> one = Data(x=torch.zeros(2, 9).long(), edge_index=torch.tensor([[0, 1], [1, 0]]), y=torch.zeros(1, 1),
    ...            edge_attr=torch.zeros(2, 3).long())
    >>> both = joined([one, one])
    >>> both.edge_index.tolist(), both.x[:, 9].tolist()
    ([[0, 1, 2, 3], [1, 0, 3, 2]], [0, 0, 1, 1])
    """
    if len(molecules) == 1:
        return molecules[0]
    sizes = [len(one.x) for one in molecules]
    offset = [sum(sizes[:i]) for i in range(len(sizes))]
    came_from = torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes))
    return Data(
        x=torch.cat([torch.cat([one.x for one in molecules]), came_from[:, None]], dim=1),
        edge_index=torch.cat([one.edge_index + o for one, o in zip(molecules, offset, strict=True)], dim=1),
        edge_attr=torch.cat([one.edge_attr for one in molecules]),
        y=molecules[0].y,
    )


def texts_of(
    table: Table, smiles: str | Sequence[str], rows: Sequence[int], fragments: Fragments = "keep"
) -> list[str]:
    """The SMILES of usable rows, of what is kept; those of several columns are joined by a dot."""
    columns = smiles_columns(smiles)
    cells = [[table.columns[name][row] for name in columns] for row in rows]
    if len(columns) > 1:  # what follows a space, a name or further features, would hide the rest
        cells = [[text.split(maxsplit=1)[0] for text in texts] for texts in cells]
    if fragments == "keep":
        return [".".join(texts) for texts in cells]
    with MoleculeReader(fragments) as reader:
        return [".".join(reader.canonical(reader.read(text)[0]) for text in texts) for texts in cells]
