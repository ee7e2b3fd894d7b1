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
        "*CC*",
    ]
    more = ["C" * n + "O" for n in range(1, 11)]
    table = {"smiles": [*odd, *more], "y": list(range(21))}
    run = osan.train(table, runs=tmp_path, **SMALL, descriptors=[])
    values = run.predict(odd)["predicted_y"]
    assert values.map(math.isfinite).all()
    # The graph does not show an isotope (descriptors do, by its weight), and nothing is drawn in evaluation.
    assert values[4] == pytest.approx(values[1], abs=1e-5)
    with pytest.warns(UserWarning, match="2 of 4 rows .*row 2, empty SMILES"):
        values = run.predict(["*C", None, "C", float("nan")])["predicted_y"]
    assert values.map(math.isfinite).tolist() == [True, False, True, False]
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


@pytest.mark.parametrize("name", ["a.dat", "a.txt"])
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


@pytest.mark.parametrize(
    ("header", "options", "message"),
    [
        (
            "SMILES Code;Löslichkeit (log S)",
            {"smiles": "SMILES Code"},
            r"column 'y', got 0 in the header SMILES Code, Löslichkeit \(log S\); name the targets",
        ),
        (
            "SMILES Code;Löslichkeit (log S)",
            {"smiles": "smiles", "targets": "Löslichkeit (log S)"},
            "column .smiles., got 0 in the header SMILES Code, .*did you mean .SMILES Code.[?]; name the col",
        ),
        ("smiles\ttarget", {}, "column 'y', got 0 in the header smiles, target; name the targets"),
        ("smiles,y,y", {}, "one column 'y', got 2 in the header smiles, y, y; rename all but one of them"),
        ("CO,1.44", {}, "column 'smiles', got 0 in the header CO, 1.44; the first line has to name the col"),
    ],
)
def test_a_header_with_other_names(tmp_path, header, options, message):
    """The error lists the names as they are, whatever separates them."""
    (tmp_path / "a.csv").write_text(header + "\nC" + header.count(";") * ";1" + "\n", encoding="utf-8")
    with pytest.raises(OsanError, match=message):
        load_table(tmp_path / "a.csv", **options)


@pytest.mark.parametrize(
    ("cell", "kind", "message"),
    [
        (
            "n.d.",
            "regression",
            "got 'n.d.'; names of classes are for the kind multiclass .*; if it is missing, l",
        ),
        ("12%", "regression", "got '12%'; if it is missing, leave the cell empty"),
        ("inf", "regression", "expected a finite number, got 'inf'; if it is missing"),
        ("2", "binary", "expected 0 or 1, got '2'; other classes are for the kind multiclass"),
    ],
)
def test_cells_that_are_no_targets(tmp_path, cell, kind, message):
    (tmp_path / "a.csv").write_text(f"smiles,y\nC,1\nCC,{cell}\n")
    with pytest.raises(OsanError, match=f"line 3, column y: .*{message}"):
        load_table(tmp_path / "a.csv", kind=kind)


def test_cells_of_spreadsheets_and_word_processors(tmp_path):
    """Excel's missing value, and a minus that is no hyphen."""
    (tmp_path / "a.csv").write_text("smiles,y,z\nC,#N/A,1\nCC,−1.5,2\nCCC,1,3\n", encoding="utf-8")
    task = load_table(tmp_path / "a.csv", targets=["y", "z"])
    y = torch.cat([part.y for part in task.splits.values()])
    assert sorted(map(str, y[:, 0].tolist())) == ["-1.5", "1.0", "nan"]


def test_a_run_tells_which_rows_it_does_not_use(tmp_path):
    """Also that a molecule has two targets, of which the first counts; and that there is nothing to learn."""
    rows = [("C" * n, 1.5) for n in range(1, 11)] + [("C", 1.5), ("CC", 7.0), ("C1CC", 1.5)]
    table = {"smiles": [smiles for smiles, _ in rows], "y": [y for _, y in rows]}
    told = [
        "3 of 13 rows are not used; first: line 12, duplicate of line 2. 1 repeat a molecule with another",
        "y: expected different numbers to learn from, got one number or none in the training split",
    ]
    with pytest.warns(UserWarning, match=told[0]), pytest.warns(UserWarning, match=told[1]):
        run = osan.train(table, runs=tmp_path, **SMALL, descriptors=[])
    assert "13,CC,duplicate of line 3 with another target" in (run.folder / "rejected.csv").read_text()
    # One molecule for validation is too few for an interval.
    with pytest.warns(
        UserWarning, match="level: 1 validation graph is too few for 0.9, so intervals are inf"
    ):
        run.predict(["C"], level=0.9)


def test_one_class_only(tmp_path):
    table = {"smiles": ["C" * n for n in range(1, 11)], "y": [1] * 10}
    with pytest.raises(OsanError, match="y: expected both classes, got one of them in all rows"):
        osan.train(table, kind="binary", runs=tmp_path, **SMALL)
