r"""Descriptors: columns of numbers for whole molecules, beside their graphs.

- ``rdkit2d``: RDKit's two-dimensional descriptors (all of ``rdkit.Chem.Descriptors`` but ``Ipc``, which grows
  exponentially with the size; ``AvgIpc`` is there). Molecules of more than 500 atoms have none: some take
  time that grows with the fourth power of the size, minutes for a thousand atoms.
- ``morgan:N``: :math:`\log(1 + c)` for the counts c of circular substructures of radius two, in N columns
  (Rogers and Hahn 2010).

Any other name is a column of the table that the molecules come from.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from osan.data.columns import cached_columns
from osan.data.naming import in_order, is_fingerprint
from osan.data.published.paths import Folder
from osan.errors import OsanError
from osan.extras import optional, rdkit

# Larger molecules have no descriptors of RDKit, which would take more than ten seconds.
_MOST_ATOMS = 500


def describe(
    smiles: Sequence[str],
    names: Sequence[str],
    columns: Mapping[str, Sequence[float]] | None = None,
    cache: Folder = None,
    keep: bool = True,
) -> Tensor:
    """The named descriptors of molecules, side by side; what RDKit cannot compute is NaN.

    Parameters
    ----------
    smiles
        Readable SMILES strings.
    names
        ``"rdkit2d"``, ``"morgan"`` or ``"morgan:N"``, and names of columns. Columns that depend on the scale
        of their numbers come first and fingerprints last, whatever the order of the names.
    columns
        The numbers of each column that is named, one per molecule.
    cache, keep
        The folder of the cache, and whether to use it: RDKit takes some milliseconds for a molecule.

    Returns
    -------
    Tensor
        Float32 of shape ``[molecules, columns]``.

    Examples
    --------
    >>> describe(["CCO", "C"], ["morgan:16", "pH"], {"pH": [7.0, 4.0]})[:, 0]
    tensor([7., 4.])
    >>> describe(["CCO"], ["rdkit2d"]).shape[1] == num_scaled(["rdkit2d"])
    True
    """
    parts = []
    for name in in_order(names):
        if name == "rdkit2d" or is_fingerprint(name):
            parts.append(_computed(smiles, name, cache, keep))
        elif columns is None or name not in columns:
            raise OsanError(f"descriptors: expected rdkit2d, morgan:N or a column of the table, got {name!r}")
        else:
            parts.append(torch.tensor(np.asarray(columns[name], dtype=np.float32)).reshape(-1, 1))
    return torch.cat(parts, dim=1) if parts else torch.zeros(len(smiles), 0)


def num_scaled(names: Sequence[str]) -> int:
    """How many of the columns depend on the scale of their numbers: all but fingerprints."""
    return sum(len(_rdkit2d()[0]) if name == "rdkit2d" else not is_fingerprint(name) for name in names)


def statistics(columns: Tensor) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each column over its finite numbers; 1 if they do not vary.

    >>> statistics(torch.tensor([[1.0, 5.0], [3.0, 5.0], [float("nan"), 5.0]]))
    (tensor([2., 5.]), tensor([1., 1.]))
    """
    wide, there = columns.double(), columns.isfinite()
    count = there.sum(0).clamp(min=1)
    mean = torch.where(there, wide, 0.0).sum(0) / count
    std = (torch.where(there, wide - mean, 0.0).square().sum(0) / count).sqrt()
    return mean.float(), torch.where(std > 1e-9 * (1 + mean.abs()), std, 1.0).float()


def _computed(smiles: Sequence[str], name: str, cache: Folder, keep: bool) -> Tensor:
    """The columns of one kind, from the cache if they are there for the same molecules."""
    kit = rdkit("descriptors")
    make: Callable[[Any], Any]
    if name == "rdkit2d":
        wanted, functions = _rdkit2d()

        def make(molecule: Any) -> Any:
            if molecule.GetNumAtoms() > _MOST_ATOMS:
                return [float("nan")] * len(functions)
            return [_number(function, molecule) for function in functions]
    else:
        kind = optional("rdkit.Chem.rdFingerprintGenerator", "molecules", "descriptors")
        generator = kind.GetMorganGenerator(radius=2, fpSize=int(name.partition(":")[2]))
        wanted = [name]

        def make(molecule: Any) -> Any:
            return np.log1p(generator.GetCountFingerprintAsNumPy(molecule))

    def all_rows() -> Tensor:
        with kit.rdBase.BlockLogs():
            rows = [make(kit.Chem.MolFromSmiles(text)) for text in smiles]
        return torch.tensor(np.asarray(rows, dtype=np.float64)).float()

    digest = hashlib.sha256("\0".join((kit.__version__, *wanted, *smiles)).encode())
    return cached_columns(digest, len(smiles), all_rows, cache) if keep else all_rows()


def _rdkit2d() -> tuple[list[str], list[Any]]:
    """Names and functions of RDKit's descriptors, in the order of their names."""
    known = dict(optional("rdkit.Chem.Descriptors", "molecules", "descriptors").descList)
    names = sorted(known.keys() - {"Ipc"})
    return names, [known[name] for name in names]


def _number(function: Callable[[Any], float], molecule: Any) -> float:
    """One descriptor; NaN if RDKit cannot compute it, or finds a number that float32 cannot hold."""
    try:
        value = float(function(molecule))
    except Exception:  # RDKit's descriptors raise whatever their Python code runs into
        return float("nan")
    return value if abs(value) < 1e30 else float("nan")
