"""Splits: sizes, disjointness, seeds; the official ones against the published files."""

import gzip
import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.model_selection import StratifiedKFold

from osan.data.splits import given_split, random_split, scaffold_split, stratified_fold, subset_split
from osan.errors import OsanError


@given(st.integers(3, 500), st.integers(0, 1000))
def test_random_split_is_a_partition_fixed_by_its_seed(count, seed):
    split = random_split(count, seed)
    assert sorted(torch.cat(list(split.values())).tolist()) == list(range(count))
    assert len(split["val"]) == len(split["test"]) == max(1, count // 10)
    again = random_split(count, seed)
    assert all(torch.equal(split[part], again[part]) for part in split)


def test_other_seeds_give_other_splits():
    assert random_split(100, 0)["test"].tolist() != random_split(100, 1)["test"].tolist()


def test_subset_split():
    split = subset_split(100, (10, 3, 2), seed=5)
    assert [len(part) for part in split.values()] == [10, 3, 2]
    assert len(set(torch.cat(list(split.values())).tolist())) == 15
    with pytest.raises(OsanError, match="expected at least 15 graphs, got 14"):
        subset_split(14, (10, 3, 2), seed=5)


@settings(max_examples=20, deadline=None)
@given(st.integers(0, 9), st.integers(0, 50))
def test_stratified_folds_are_those_of_scikit_learn(fold, seed):
    labels = torch.tensor([0, 1] * 40 + [0] * 37)
    parts = list(StratifiedKFold(10, shuffle=True, random_state=seed).split(np.zeros(117), labels.numpy()))
    published = stratified_fold(labels, fold, seed, same=True)
    assert published["train"].tolist() == parts[fold][0].tolist()
    assert published["test"].tolist() == published["val"].tolist() == parts[fold][1].tolist()
    ours = stratified_fold(labels, fold, seed)
    assert ours["test"].tolist() == parts[fold][1].tolist()
    assert ours["val"].tolist() == parts[(fold + 1) % 10][1].tolist()
    assert sorted(torch.cat(list(ours.values())).tolist()) == list(range(117))


def test_stratified_needs_enough_of_every_class():
    with pytest.raises(OsanError, match="at least two classes of 10 graphs each"):
        stratified_fold(torch.tensor([0] * 50 + [1] * 9), 0, 0)
    with pytest.raises(OsanError, match="fold: expected 0 to 9, got 10"):
        stratified_fold(torch.tensor([0, 1] * 50), 10, 0)


@pytest.mark.parametrize("name", ["molesol", "molbace", "molbbbp", "molfreesolv"])
def test_scaffold_split_gives_ogbs_official_ones(osan_data, name):
    import pandas as pd
    from rdkit.rdBase import BlockLogs

    folder = osan_data / "ogb" / f"ogbg_{name}"
    smiles = pd.read_csv(folder / "mapping" / "mol.csv.gz")["smiles"].tolist()
    with BlockLogs():
        split = scaffold_split(smiles)
    for ours, theirs in (("train", "train"), ("val", "valid"), ("test", "test")):
        lines = gzip.decompress((folder / "split" / "scaffold" / f"{theirs}.csv.gz").read_bytes()).split()
        assert set(split[ours].tolist()) == {int(line) for line in lines}


def test_given_split():
    split = given_split(["train", "Valid", "test", " train "], "file", [2, 3, 4, 5])
    assert {part: index.tolist() for part, index in split.items()} == {
        "train": [0, 3],
        "val": [1],
        "test": [2],
    }
    with pytest.raises(OsanError, match="file, line 4: expected train, val or test, got 'x'"):
        given_split(["train", "val", "x"], "file", [2, 3, 4])
    with pytest.raises(OsanError, match="the test part of the split is empty"):
        given_split(["train", "val"], "file", [2, 3])


def test_chains_have_one_scaffold():
    with pytest.raises(OsanError, match=r"1 scaffolds are too few .* \(try --split random\): the train part"):
        scaffold_split(["C" * n for n in range(1, 11)])


def test_too_few_graphs():
    with pytest.raises(OsanError, match="at least 3 graphs, got 2"):
        random_split(2, 0)


def test_scaffolds_of_large_molecules_are_not_looked_for():
    """RDKit's time grows with the third power of the size: minutes for 5,000 atoms."""
    start = time.process_time()
    small = ["C" * n + "C1CC1" for n in range(8)]
    split = scaffold_split(["C" * 5000 + "C1CC1", "C" * 5001 + "C1CC1", *small])
    assert time.process_time() - start < 10
    # The small ones have one scaffold, which is the largest group; each large one is a group of its own.
    assert [part.tolist() for part in split.values()] == [[2, 3, 4, 5, 6, 7, 8, 9], [1], [0]]


def test_scaffolds_are_found_without_a_word_from_rdkit(capfd):
    """It warns of every hydrogen ion, which salts have."""
    scaffold_split(["[Cl-].NC1CC1.[H+]", *(f"C1C{'C' * n}1" for n in range(1, 20))])
    assert capfd.readouterr().err == ""
