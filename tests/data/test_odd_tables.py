"""Odd tables and odd molecules: each is trained on and predicted, or refused with a reason."""

import math

import pytest
import torch

import osan
from osan.data import load, load_table
from osan.errors import OsanError
from osan.training.settings import Settings

pytest.importorskip("rdkit")
SMALL = {"epochs": 1, "width": 8, "layers": 2, "progress": False}
PLAIN = "smiles,name,y,z\nCCO,a,1.5,\nCC.Cl,b,2,3\nCCN,c,,4.5\nC1CC1,d,7,8\nCCCC,e,9,10\n"
ODD = {
    "semicolons and decimal commas": PLAIN.replace(".5", "#5").replace(",", ";").replace("#", ","),
    "tabs": PLAIN.replace(",", "\t"),
    "byte order mark": "\ufeff" + PLAIN,
    "Windows line ends": PLAIN.replace("\n", "\r\n"),
    "quoted commas and line breaks": PLAIN.replace(",a,", ',"a, ""x""\n\n",').replace("CCN", '"CCN"'),
    "blank lines and blanks": "\n" + PLAIN.replace("\n", "\n\n").replace(",2,3", " , 2 ,3 "),
    "words for missing": PLAIN.replace("1.5,\n", "1.5,NaN\n").replace("c,,", "c,n/a,"),
    "duplicate rows": PLAIN + "OCC,again,5,5\nCCO,again,6,6\n",
    "unreadable rows": PLAIN + "C1CC,open ring,5,5\n,no SMILES,6,6\nCCF,no target,,\n",
    "5,000 columns": "\n".join(
        line + "".join(f",{'c' if i == 0 else ''}{k}" for k in range(5000))
        for i, line in enumerate(PLAIN.strip().split("\n"))
    ),
}


@pytest.mark.parametrize("what", ODD)
def test_an_odd_table_is_the_plain_one(tmp_path, what):
    (tmp_path / "plain.csv").write_text(PLAIN)
    (tmp_path / "odd.csv").write_bytes(ODD[what].encode())
    options = {"targets": ["y", "z"], "split": "kfold:3", "descriptors": ["morgan:16"]}
    plain, odd = (load_table(tmp_path / name, **options).train for name in ("plain.csv", "odd.csv"))
    for name in ("x", "edge_index", "edge_attr", "y", "descriptors"):
        assert torch.equal(odd.tensors[name].nan_to_num(-9), plain.tensors[name].nan_to_num(-9)), name


def test_thousands_of_targets_and_descriptors(tmp_path):
    names = [f"column {i}" for i in range(5000)]
    cells = [",".join(str(i + j) for i in range(5000)) for j in range(4)]
    rows = [f"{'C' * (j + 1)},{cells[j]}" for j in range(4)]
    (tmp_path / "a.csv").write_text("\n".join([",".join(["smiles", *names]), *rows]) + "\n")
    task = load_table(tmp_path / "a.csv", targets=names[:2500], descriptors=names[2500:])
    assert task.num_targets == 2500
    assert task.train.tensors["y"][:, 7].tolist() == [7, 8, 9, 10]
    assert task.train.tensors["descriptors"][2, 0] == 2502
    one, other = (Settings(name="a").varied({"data.targets": [*names, last]}).name for last in ("x", "y"))
    assert len(one) <= 202
    assert one != other


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        (
            "regression",
            "line 2, column y: expected a number, got 'active'; names of classes are for the kind",
        ),
        ("binary", "line 2, column y: expected a number, got 'active'; names of classes are for the kind"),
    ],
)
def test_words_as_targets(tmp_path, kind, message):
    path = tmp_path / "a.csv"
    path.write_text("smiles,y\nC,active\nCC,inactive\nCCC,active\nCCCC,\n")
    with pytest.raises(OsanError, match=message):
        load_table(path, kind=kind)
    task = load_table(path, kind="multiclass")
    assert task.classes == ("active", "inactive")
    assert task.train.tensors["y"].tolist() == [0, 1, 0]


def test_odd_molecules_are_trained_on_and_predicted(tmp_path):
    """Single atoms, ions, a peptide of more than 200 atoms, salts, isotopes, charges, all in one table."""
    peptide = "NCC(=O)" * 51 + "O"
    odd = [
        "[Na+]",
        "C",
        "[Na+].[Cl-]",
        peptide,
        "[13CH4]",
        "[2H]C",
        "C[N+](C)(C)C",
        "[CH3]",
        "O=[U]=O",
        "[Fe]",
    ]
    more = ["C" * n + "O" for n in range(1, 11)]
    table = {"smiles": [*odd, *more], "y": list(range(20))}
    run = osan.train(table, runs=tmp_path, **SMALL, descriptors=[])
    values = run.predict(odd)["predicted_y"]
    assert values.map(math.isfinite).all()
    # The graph does not show an isotope (descriptors do, by its weight), and nothing is drawn in evaluation.
    assert values[4] == pytest.approx(values[1], abs=1e-5)
    with pytest.warns(UserWarning, match="1 of 2 rows .*unknown atom"):
        assert run.predict(["*C", "C"])["predicted_y"].map(math.isfinite).tolist() == [False, True]
    assert run.explain(peptide, samples=1).vertices.size(0) > 200
    assert "<svg" in run.report(worst=2).path.read_text()


def test_odd_molecules_have_descriptors(tmp_path):
    """The default puts RDKit's descriptors beside the graph, some of which are no numbers for metals."""
    odd = ["[Na+]", "[H][H]", "O=[U]=O", "[Fe]", "NCC(=O)" * 51 + "O", "F[P-](F)(F)(F)(F)F.[K+]", "[H+]"]
    table = {"smiles": [*odd, *("C" * n + "O" for n in range(1, 24))], "y": list(range(30))}
    run = osan.train(table, runs=tmp_path, **SMALL)
    assert run.settings.data.descriptors
    found = run.predict(odd, level=0.3, neighbors=1)
    for name in ("predicted_y", "y_low", "y_high", "neighbor_1_similarity"):
        assert found[name].map(math.isfinite).all(), name


@pytest.mark.parametrize("policy", [None, "delete 1 vertex x 3", "delete 1 edge x 2"])
def test_a_table_of_single_atoms(tmp_path, policy):
    atoms = ["[Na+]", "[K+]", "C", "N", "O", "S", "P", "F", "Cl", "Br"]
    run = osan.train({"smiles": atoms, "y": list(range(10))}, policy, runs=tmp_path, **SMALL)
    assert run.predict(["[Li+]", "C"])["predicted_y"].map(math.isfinite).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({}, r"column 'y', got 0 in the header SMILES, expt, when; name the targets with --target"),
        ({"targets": "Expt"}, "column 'smiles', .*did you mean 'SMILES'[?]; name the column of SMILES with"),
        (
            {"smiles": "SMILES", "targets": "Expt"},
            "column 'Expt', .*did you mean 'expt'[?]; name the targets",
        ),
        (
            {"split": "scafold"},
            "column 'scafold', .*; a split is random, scaffold, kfold, time:COLUMN, a file",
        ),
        ({"split": "time:year"}, "column 'year', .*; a split is random"),
        ({"descriptors": ["rdkit3d"]}, "column 'rdkit3d', .*; descriptors are rdkit2d, morgan, morgan:N and"),
    ],
)
def test_a_column_that_is_not_there(tmp_path, options, message):
    """The error says which option names it, and which column was probably meant."""
    (tmp_path / "a.csv").write_text("SMILES,expt,when\nC,1,2\n")
    right = {"smiles": "SMILES", "targets": "expt"} if set(options) & {"split", "descriptors"} else {}
    right = right if options else {"smiles": "SMILES"}
    with pytest.raises(OsanError, match=message):
        load_table(tmp_path / "a.csv", **right, **options)


@pytest.mark.parametrize("name", ["a.xlsx", "a.txt"])
def test_a_file_that_is_no_table_by_its_name(tmp_path, name):
    (tmp_path / name).write_bytes(b"PK")
    with pytest.raises(OsanError, match=r"; a table of molecules is a \.csv, \.tsv or \.parquet file"):
        load(tmp_path / name)


@pytest.mark.parametrize("cell", [">100", "< 0.1", "~5", "≥3"])
def test_limits_instead_of_numbers(tmp_path, cell):
    (tmp_path / "a.csv").write_text(f"smiles,y\nC,1\nCC,{cell}\n")
    words = (
        f"line 3, column y: expected a number, got '{cell}'; a limit is no measured value: write the number"
    )
    with pytest.raises(OsanError, match=words):
        load_table(tmp_path / "a.csv")
