"""Packages that come with an extra, such as RDKit with ``pip install 'osan[molecules]'``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from osan.errors import OsanError


def optional(module: str, extra: str, purpose: str) -> Any:
    """Import ``module``, or raise an error that names the extra which installs it.

    >>> optional("math", "molecules", "counting").gcd(4, 6)
    2
    >>> optional("no_such_package.part", "molecules", "reading SMILES")
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: reading SMILES needs no_such_package: pip install 'osan[molecules]'
    """
    package = module.partition(".")[0]
    try:
        import_module(package)  # first, so that a package which is hidden is not found through its parts
        return import_module(module)
    except ImportError as error:
        name = (error.name or package).partition(".")[0]
        raise OsanError(f"{purpose} needs {name}: pip install 'osan[{extra}]'") from None


def rdkit(purpose: str) -> Any:
    """RDKit, with ``Chem``, ``rdBase`` and ``Chem.rdDepictor`` imported; ``purpose`` is for the error.

    >>> rdkit("reading SMILES").Chem.MolFromSmiles("CCO").GetNumAtoms()
    3
    """
    for part in ("rdkit.Chem", "rdkit.rdBase", "rdkit.Chem.rdDepictor"):
        optional(part, "molecules", purpose)
    return import_module("rdkit")
