"""Descriptors of molecules against RDKit's own tables and older functions, and against numpy."""

import time

import numpy as np
import pytest
import torch
from rdkit import Chem
from rdkit.Chem import Descriptors, rdMolDescriptors

from osan.data import load
from osan.data.descriptors import describe, num_scaled, statistics
from osan.data.naming import in_order
from osan.errors import OsanError

SMILES = ["CCO", "c1ccccc1C(=O)[O-]", "[Na+].[Cl-]", "C", "CC(C)(C)c1ccc(O)cc1"]


def test_rdkit2d_is_what_rdkit_says(tmp_path):
    found = describe(SMILES, ["rdkit2d"], cache=tmp_path)
    for row, text in zip(found, SMILES, strict=True):
        told = Descriptors.CalcMolDescriptors(Chem.MolFromSmiles(text), missingVal=float("nan"))
        told = [told[name] for name in sorted(told) if name != "Ipc"]
        np.testing.assert_allclose(row, np.array(told, dtype=np.float32), rtol=1e-6)
    assert found.isnan().any()  # a lone ion has no partial charges


def test_large_molecules_have_none(tmp_path):
    """RDKit would take half a minute for 900 atoms, and far longer for more."""
    start = time.process_time()
    columns = describe(["C" * 3000, "CCO"], ["rdkit2d", "morgan:16"], cache=tmp_path)
    assert time.process_time() - start < 10
    scaled = num_scaled(["rdkit2d"])
    assert columns[0, :scaled].isnan().all()
    assert columns[0, scaled:].isfinite().all()
    assert not columns[1].isnan().all()


def test_counts_of_substructures(tmp_path):
    found = describe(SMILES, ["morgan:64"], cache=tmp_path)
    for row, text in zip(found, SMILES, strict=True):
        counts = rdMolDescriptors.GetHashedMorganFingerprint(Chem.MolFromSmiles(text), 2, nBits=64)
        wanted = torch.zeros(64)
        for place, count in counts.GetNonzeroElements().items():
            wanted[place] = count
        torch.testing.assert_close(row, torch.log1p(wanted))


def test_columns_come_from_the_cache(tmp_path):
    first = describe(SMILES, ["rdkit2d", "morgan"], cache=tmp_path)
    files = sorted(tmp_path.rglob("*.safetensors"))
    assert len(files) == 2
    files[0].write_bytes(b"damaged")
    torch.testing.assert_close(describe(SMILES, ["rdkit2d", "morgan"], cache=tmp_path), first, equal_nan=True)
    assert describe(SMILES[:2], ["morgan"], cache=tmp_path).shape == (2, 1024)


def test_statistics_leave_out_what_is_missing():
    columns = torch.randn(50, 3, generator=torch.Generator().manual_seed(0)) * 7 + 2
    columns[::5, 1] = float("nan")
    columns[:, 2] = 4.0
    mean, std = statistics(columns)
    np.testing.assert_allclose(mean, np.nanmean(columns, axis=0), rtol=1e-5)
    np.testing.assert_allclose(std[:2], np.nanstd(columns, axis=0)[:2], rtol=1e-5)
    assert std[2] == 1


def test_columns_of_the_table(tmp_path):
    table = tmp_path / "mols.csv"
    table.write_text("smiles,pH,y\nCCO,7.5,1\nC1,1,1\nCCC,,2\nC,4,3\nCO,1,2\n")
    train = load(table, targets=["y"], descriptors=["morgan:16", "pH"]).train
    assert train.tensors["descriptors"].shape == (4, 17)
    torch.testing.assert_close(
        train.tensors["descriptors"][:, 0], torch.tensor([7.5, float("nan"), 4, 1]), equal_nan=True
    )
    batch = train.batch(torch.arange(len(train)))
    torch.testing.assert_close(batch.descriptors, train.tensors["descriptors"][train.ids], equal_nan=True)


def test_one_molecule_under_two_conditions_is_two_rows(tmp_path):
    table = tmp_path / "mols.csv"
    table.write_text("smiles,pH,y\nCCO,2,1\nOCC,9,2\nCCO,9,3\nCCO, 2,1\nCCO,,4\nC,2,5\nCC,2,6\n")
    task = load(table, targets=["y"], descriptors=["pH"])
    assert task.lines == (2, 3, 6, 7, 8)
    assert task.train.tensors["y"][:, 0].tolist() == [1, 2, 4, 5, 6]
    assert load(table, targets=["y"], descriptors=["morgan:16"]).lines == (2, 7, 8)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (["morgan:8"], "expected morgan:N with N from 16 to 16384, got 'morgan:8'"),
        (["rdkit2d", "rdkit2d"], "expected each name once"),
    ],
)
def test_wrong_names(names, message):
    with pytest.raises(OsanError, match=message):
        in_order(names)


def test_other_data_have_none(tmp_path):
    with pytest.raises(OsanError, match="descriptors: expected none, for planted-motif is a named dataset"):
        load("planted-motif", descriptors=["rdkit2d"])
    table = tmp_path / "mols.csv"
    table.write_text("smiles,y\nCCO,1\n")
    with pytest.raises(OsanError, match="pH"):
        load(table, descriptors=["pH"])
    assert num_scaled(["pH", "morgan:64"]) == 1
