"""Own molecules: features, rejected rows, splits and malformed files."""

import contextlib
import csv
import math
import os
import sys

import numpy as np
import pytest
import torch
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from ogb.utils.mol import smiles2graph

from osan.data import load_table
from osan.data.custom.molecules import read_smiles
from osan.errors import OsanError

GOOD = ["CCO", "c1ccccc1", "CC(=O)O", "C", "N#N", "C[C@H](O)Cl", "C/C=C/C", "[Na+].[Cl-]", "CCN", "CCCC"]


def write(path, rows, header=("smiles", "y")):
    with path.open("w", newline="", encoding="utf-8") as stream:
        csv.writer(stream).writerows([header, *rows])
    return path


def every(task):
    return task.train.subset(torch.arange(len(task.train.vertex_ptr) - 1))


def test_features_are_those_of_ogb(tmp_path):
    task = load_table(write(tmp_path / "a.csv", [(s, i) for i, s in enumerate(GOOD)]))
    whole = every(task)
    assert len(whole) == len(GOOD)
    assert whole.y[:, 0].tolist() == list(range(len(GOOD)))
    for graph, smiles in zip(whole, GOOD, strict=True):
        theirs = smiles2graph(smiles)
        assert torch.equal(graph.x, torch.from_numpy(theirs["node_feat"]))
        assert torch.equal(graph.edge_index, torch.from_numpy(theirs["edge_index"]))
        assert torch.equal(graph.edge_attr, torch.from_numpy(theirs["edge_feat"]))
    assert task.vertex_features.sizes == (119, 5, 12, 12, 10, 6, 6, 2, 2)
    assert task.edge_features.sizes == (5, 6, 2)


# Chirality, charges, radicals, rare elements and bonds, isotopes, and kinds of stereochemistry.
ODD_MOLECULES = [
    *("F/C=C/Cl", "F/C=C\\Cl", "C[C@H](N)O", "C[C@@H](N)O", "[NH3+]CC([O-])=O", "[CH3]", "[CH2]", "[13CH4]"),
    *("[Fe+3].[Cl-].[Cl-].[Cl-]", "*CC", "C[Fe@OH1](C)(C)(C)(C)C", "[U]", "F[S](F)(F)(F)(F)F", "c1ccccc1C#N"),
    *(
        "CC=CC |w:1.0|",
        "[H][H]",
        "[Na+]",
        "N->[Cu]",
        "[Og]",
        "C[N+](C)(C)C",
        "O=[N+]([O-])c1ccc[nH]1",
        "[2H]O",
    ),
]


@pytest.mark.parametrize("text", ODD_MOLECULES)
def test_every_feature_is_that_of_ogb(text):
    ours, theirs = read_smiles([text])[0], smiles2graph(text)
    assert ours.x.tolist() == theirs["node_feat"].tolist()
    assert ours.edge_index.tolist() == theirs["edge_index"].tolist()
    assert ours.edge_attr.tolist() == theirs["edge_feat"].tolist()


def test_stereochemistry_that_ogb_does_not_know():
    """Bonds between two rings that cannot turn: OGB's function raises."""
    text = "Cc1cccc(I)c1-c1c(C)nc(C)cc1"
    flat, twisted = read_smiles([text])[0], read_smiles([f"{text} |wU:7.6|"])[0]
    assert flat.x.tolist() == twisted.x.tolist()
    assert flat.edge_attr.tolist() == twisted.edge_attr.tolist()


def test_the_same_table_as_a_spreadsheet_in_germany_writes_it(tmp_path):
    plain = load_table(write(tmp_path / "a.csv", [(s, i / 4) for i, s in enumerate(GOOD)]))
    rows = ["smiles;y", *(f"{s};{str(i / 4).replace('.', ',')}" for i, s in enumerate(GOOD))]
    (tmp_path / "b.csv").write_bytes(("\ufeff" + "\r\n".join(rows) + "\r\n").encode())
    other = load_table(tmp_path / "b.csv")
    assert every(other).y.tolist() == every(plain).y.tolist()
    assert every(other).tensors["x"].equal(every(plain).tensors["x"])


@pytest.mark.parametrize("words", [("False", "True"), ("no", "YES"), ("0", "1.0")])
def test_binary_targets_in_words(tmp_path, words):
    path = write(tmp_path / "a.csv", [(s, words[i % 2]) for i, s in enumerate(GOOD)])
    assert every(load_table(path, kind="binary")).y[:, 0].tolist() == [i % 2 for i in range(len(GOOD))]
    if words[0] != "0":
        with pytest.raises(OsanError, match=f"expected a number, got '{words[0]}'"):
            load_table(path)


def test_bad_rows_are_listed_and_the_rest_is_used(tmp_path):
    rows = [
        ("CCO", 1),
        ("xyz", 2),
        ("C(", 3),
        ("", 4),
        ("OCC", 5),
        ("CN", ""),
        ("CC", 6),
        ("C1CC1", "NaN"),
        ("N", 7),
    ]
    task = load_table(write(tmp_path / "a.csv", rows), rejected=tmp_path / "out" / "rejected.csv")
    assert every(task).y[:, 0].tolist() == [1, 6, 7]
    with (tmp_path / "out" / "rejected.csv").open(newline="") as stream:
        listed = list(csv.reader(stream))
    assert listed == [
        ["line", "smiles", "reason"],
        ["3", "xyz", "unreadable SMILES"],
        ["4", "C(", "unreadable SMILES"],
        ["5", "", "empty SMILES"],
        ["6", "OCC", "duplicate of line 2 with another target"],
        ["7", "CN", "missing target"],
        ["9", "C1CC1", "missing target"],
    ]
    assert os.listdir(tmp_path / "out") == ["rejected.csv"]


def test_rows_of_one_molecule_add_targets_unless_they_contradict(tmp_path):
    rows = [("CCO", "", 1, ""), ("CC", 0, "", ""), ("OCC", 0, 1, ""), ("CC", 0, "", ""), ("CC", 1, 0, 1)]
    rows += [("OCC", "", "", 1), ("C(O)C", "", 0, 0), ("C", 1, 1, 1)]
    path = write(tmp_path / "a.csv", rows, ("smiles", "a", "b", "c"))
    task = load_table(path, targets=["a", "b", "c"], kind="binary", rejected=tmp_path / "bad.csv")
    whole = every(task).y
    assert whole[0].tolist() == [0, 1, 1]
    assert whole[1, 0] == 0
    assert whole[1, 1:].isnan().all()
    with (tmp_path / "bad.csv").open(newline="") as stream:
        assert [row["reason"] for row in csv.DictReader(stream)] == [
            "duplicate of line 2, which gets its targets",
            "duplicate of line 3",
            "duplicate of line 3 with another target",
            "duplicate of line 2, which gets its targets",
            "duplicate of line 2 with another target",
        ]


def test_single_missing_targets_stay_missing_and_do_not_count(tmp_path):
    rows = [(s, i, "" if i % 3 else 10 * i) for i, s in enumerate(GOOD)]
    task = load_table(write(tmp_path / "a.csv", rows, ("smiles", "a", "b")), targets=["b", "a"], seed=1)
    assert task.num_targets == 2
    whole = every(task).y
    assert [math.isnan(v) for v in whole[:, 0].tolist()] == [bool(i % 3) for i in range(len(GOOD))]
    train = task.train.y.numpy()
    np.testing.assert_allclose(task.normalization.mean, np.nanmean(train, axis=0), rtol=1e-6)


def test_molecules_without_atoms_and_empty_files(tmp_path):
    with pytest.raises(OsanError, match=r"usable row, got 0 of 2 \(line 2: unreadable SMILES"):
        load_table(write(tmp_path / "a.csv", [("xyz", 1), ("C", "")]), rejected=tmp_path / "rejected.csv")
    assert (tmp_path / "rejected.csv").exists()
    with pytest.raises(OsanError, match=r"usable row, got 0 of 0 \(it has no rows\)"):
        load_table(write(tmp_path / "a.csv", []))


def test_classes(tmp_path):
    rows = [(s, ("low", "high", "mid")[i % 3]) for i, s in enumerate(GOOD)]
    task = load_table(write(tmp_path / "a.csv", [*rows, ("S", "")]), kind="multiclass")
    assert task.num_targets == task.num_classes == 3
    assert task.metric == "accuracy"
    assert every(task).y.tolist() == [{"high": 0, "low": 1, "mid": 2}[name] for _, name in rows]
    task = load_table(
        write(tmp_path / "b.csv", [(s, i % 2) for i, s in enumerate(GOOD)]), kind="binary", metric="rocauc"
    )
    assert every(task).y[:, 0].tolist() == [float(i % 2) for i in range(len(GOOD))]
    assert task.metric == "rocauc"


def test_splits(tmp_path):
    names = ["train"] * 6 + ["valid"] * 2 + ["test"] * 2
    path = write(
        tmp_path / "a.csv",
        [(s, i, n) for i, (s, n) in enumerate(zip(GOOD, names, strict=True))],
        ("smiles", "y", "part"),
    )
    given_ = load_table(path, split="part")
    assert given_.test.ids.tolist() == [8, 9]
    random = load_table(path, seed=4)
    assert torch.equal(random.test.ids, load_table(path, seed=4).test.ids)
    rings = [f"{'C' * n}c1ccccc1" for n in range(1, 9)] + ["C1CC1", "c1ccncc1"]
    path = write(tmp_path / "b.csv", [(s, i) for i, s in enumerate(rings)])
    scaffold = load_table(path, split="scaffold")
    assert sorted(scaffold.train.ids.tolist()) == list(range(8))
    with pytest.raises(OsanError, match="expected one column 'nope', got 0"):
        load_table(path, split="nope")


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([("C", "1"), ("N", "abc")], {}, r"a\.csv, line 3, column y: expected a number, got 'abc'"),
        ([("C", "1"), ("N", "2")], {"kind": "binary"}, r"a\.csv, line 3, column y: expected 0 or 1, got '2'"),
        ([("C", "a"), ("N", "a")], {"kind": "multiclass"}, "at least two classes"),
        ([("C", "1")], {"kind": "nope"}, "kind: expected regression, binary or multiclass, got 'nope'"),
        ([("C", "1")], {"targets": "z"}, "expected one column 'z', got 0"),
        ([("C", "1")], {"targets": []}, "at least one column"),
        ([("C", "1")], {"targets": ["y", "y"]}, "columns: expected different names"),
        (
            [("C", "1")],
            {"targets": ["y", "smiles"], "kind": "multiclass"},
            "different names|one column",
        ),
        ([("C", "1"), ("N", "2")], {}, "split: expected at least 3 graphs, got 2"),
    ],
)
def test_wrong_requests_and_mixed_types(tmp_path, rows, options, message):
    with pytest.raises(OsanError, match=message):
        load_table(write(tmp_path / "a.csv", rows), **options)


@settings(max_examples=200, deadline=None)
@given(data=st.data())
def test_any_bytes_give_a_task_or_an_error(tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("fuzz")
    good = "smiles,y,part\n" + "".join(f"{s},{i % 2},train\n" for i, s in enumerate(GOOD))
    content = bytearray(good.encode())
    if data.draw(st.booleans()):
        for _ in range(data.draw(st.integers(1, 4))):
            start = data.draw(st.integers(0, len(content)))
            end = data.draw(st.integers(start, min(len(content), start + 4)))
            content[start:end] = data.draw(
                st.one_of(st.binary(max_size=3), st.sampled_from([b'"', b"\n", b"\0", b",", b"1e999"]))
            )
    else:
        content = data.draw(st.binary(max_size=80))
    path = folder / "a.csv"
    path.write_bytes(content)
    with contextlib.suppress(OsanError):
        load_table(
            path,
            kind=data.draw(st.sampled_from(["regression", "binary", "multiclass"])),
            split=data.draw(st.sampled_from(["random", "scaffold", "part"])),
            rejected=folder / "out" / "rejected.csv",
        )
    assert not (folder / "out").exists() or os.listdir(folder / "out") == ["rejected.csv"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=30))
def test_any_text_is_a_molecule_or_rejected(tmp_path_factory, text):
    assume("\0" not in text or sys.version_info >= (3, 11))  # which csv could not write before
    path = tmp_path_factory.mktemp("smiles") / "a.csv"
    rows = [(s, i) for i, s in enumerate(GOOD)]
    with contextlib.suppress(OsanError):  # such as surrogates or line breaks that break the file itself
        write(path, [*rows, (text, 1)])
        task = load_table(path)
        assert len(every(task)) in (len(GOOD), len(GOOD) + 1)
