"""Salts, mixtures, several molecules in a row, and what the features see of a molecule."""

import pytest
import torch

import osan
from osan.data import load_table
from osan.data.custom.molecules import read_smiles
from osan.errors import OsanError

Chem = pytest.importorskip("rdkit.Chem")
SMALL = {"epochs": 1, "width": 8, "layers": 2, "progress": False}


def table_file(path, header, rows):
    path.write_text("\n".join([header, *rows]) + "\n")
    return path


@pytest.mark.parametrize(
    ("smiles", "kept"),
    [
        ("[Na+].CC(=O)[O-]", "CC(=O)[O-]"),
        ("CCO.Cl", "CCO"),
        ("CC.CCC.C", "CCC"),
        ("CN.F[P-](F)(F)(F)(F)F", "CN"),  # with carbon, though it is smaller
        ("[Na+].[Cl-]", "[Cl-]"),  # no carbon: the heavier of two single atoms
        ("c1ccccc1", "c1ccccc1"),
    ],
)
def test_what_is_kept_of_a_salt(tmp_path, smiles, kept):
    rows = [f"{smiles},1", "CCCC,2", "CCCCC,3"]
    path = table_file(tmp_path / "a.csv", "smiles,y", rows)
    split = {"train": [0], "val": [1], "test": [2]}
    largest = load_table(path, fragments="largest", split=split).train[0]
    expected = read_smiles([kept])[0]
    assert torch.equal(largest.x, expected.x)
    assert torch.equal(largest.edge_index, expected.edge_index)
    whole = load_table(path, split=split).train[0]
    assert whole.num_nodes == Chem.MolFromSmiles(smiles).GetNumAtoms()


def test_two_salts_of_one_molecule(tmp_path):
    rows = ["CC(=O)[O-].[Na+],1", "CC(=O)[O-].[K+],2", "CCCC,3", "c1ccccc1.Cl,4", "c1ccccc1C,5"]
    path = table_file(tmp_path / "a.csv", "smiles,y", rows)
    names = ["morgan:64"]
    kept = load_table(path, descriptors=names, split="kfold:3")
    assert len(kept.train) + len(kept.val) + len(kept.test) == 5
    stripped = load_table(
        path, descriptors=names, split="kfold:3", fragments="largest", rejected=tmp_path / "bad.csv"
    )
    duplicate = "3,CC(=O)[O-].[K+],duplicate of line 2 with another target"
    assert (tmp_path / "bad.csv").read_text().splitlines()[1:] == [duplicate]
    plain = table_file(
        tmp_path / "b.csv", "smiles,y", ["CC(=O)[O-],1", "CCCC,3", "c1ccccc1,4", "c1ccccc1C,5"]
    )
    expected = load_table(plain, descriptors=names, split="kfold:3")
    for name in ("x", "edge_index", "descriptors", "y"):
        assert torch.equal(stripped.train.tensors[name], expected.train.tensors[name])
    with pytest.raises(OsanError, match="fragments: expected keep or largest, got 'biggest'"):
        load_table(path, fragments="biggest")


def test_several_molecules_in_a_row(tmp_path):
    rows = ["CCO,O,1", "O,CCO,2", "CCO,O,3", "CCO,,4", "CCN,no,5", "c1ccccc1,CO,6"]
    path = table_file(tmp_path / "a.csv", "solute,solvent,y", rows)
    split = {"train": [0], "val": [1], "test": [5]}
    task = load_table(path, ["solute", "solvent"], split=split, rejected=tmp_path / "bad.csv")
    assert (tmp_path / "bad.csv").read_text().splitlines()[1:] == [
        "4,CCO.O,duplicate of line 2 with another target",
        "5,CCO.,empty SMILES",
        "6,CCN.no,unreadable SMILES",
    ]
    assert task.vertex_features.sizes == (119, 5, 12, 12, 10, 6, 6, 2, 2, 2)
    for part, texts in (
        (task.train, ["CCO", "O"]),
        (task.val, ["O", "CCO"]),
        (task.test, ["c1ccccc1", "CO"]),
    ):
        first, second = read_smiles(texts)
        graph, count = part[0], first.num_nodes
        assert torch.equal(graph.x[:count, :9], first.x)
        assert torch.equal(graph.x[count:, :9], second.x)
        assert graph.x[:, 9].tolist() == [0] * count + [1] * second.num_nodes
        ends = torch.cat([first.edge_index, second.edge_index + count], 1)
        assert torch.equal(graph.edge_index, ends)
        assert torch.equal(graph.edge_attr, torch.cat([first.edge_attr, second.edge_attr]))
    with pytest.raises(
        OsanError, match="smiles: expected one or several different columns, got solute, solute"
    ):
        load_table(path, ["solute", "solute"])


def test_what_follows_a_space_hides_no_other_column(tmp_path):
    """RDKit takes it for a name; without care, the second molecule would be part of it."""
    given = {"split": {"train": [0], "val": [1], "test": [2]}, "descriptors": ["rdkit2d", "morgan:64"]}
    rows = [f"{a},{b},1" for a, b in (("CCO", "CN"), ("O", "CC"), ("C", "CF"))]
    named = [row.replace(",", " my name,", 1) for row in rows]
    plain, other = (
        load_table(table_file(tmp_path / name, "a,b,y", some), ["a", "b"], **given)
        for name, some in (("1.csv", rows), ("2.csv", named))
    )
    for part in ("train", "val", "test"):
        expected = getattr(plain, part)[0].descriptors
        assert torch.equal(getattr(other, part)[0].descriptors.nan_to_num(), expected.nan_to_num())


def test_scaffolds_are_those_of_the_first_column(tmp_path):
    chains = [f"{'C' * (i + 1)}O,{'C' if i % 2 else 'C1CCCC1'},{i}" for i in range(16)]
    rings = [f"{'C' * i}{ring},C,{i}" for ring in ("c1ccccc1", "C1CC1") for i in range(1, 3)]
    path = table_file(tmp_path / "a.csv", "a,b,y", [*chains, *rings])
    both = load_table(path, ["a", "b"], split="scaffold")
    alone = load_table(path, "a", split="scaffold")
    assert [part.ids.tolist() for part in both.splits.values()] == [
        part.ids.tolist() for part in alone.splits.values()
    ]
    assert both.train.ids.tolist() == list(range(16))


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    ends = ("O", "N", "Cl")
    table = {
        "solute": ["C" * n + end + ".[Na+]" for n in range(1, 6) for end in ends],
        "solvent": ["O", "CCO", "CO"] * 5,
        "y": list(range(15)),
    }
    folder = tmp_path_factory.mktemp("runs")
    return osan.train(
        table,
        smiles=["solute", "solvent"],
        fragments="largest",
        descriptors=["morgan:16"],
        runs=folder,
        **SMALL,
    )


def test_a_run_on_two_columns_predicts_and_explains(run, tmp_path):
    predicted = run.predict({"solute": ["CCO", "CCO.Cl", "O"], "solvent": ["O", "O", "CCO"]})["predicted_y"]
    assert predicted[0] == pytest.approx(predicted[1], abs=1e-6)
    assert abs(predicted[0] - predicted[2]) > 1e-6
    other = run.predict({"x": ["CCO"], "z": ["O"]}, smiles=["x", "z"])["predicted_y"]
    assert other[0] == pytest.approx(predicted[0], abs=1e-6)
    with pytest.raises(OsanError, match="expected a table with the columns solute, solvent"):
        run.predict("CCO")
    with pytest.raises(OsanError, match="expected 2 columns of SMILES, as in training, got 1"):
        run.predict({"solute": ["CCO"]}, smiles="solute")
    with pytest.raises(OsanError, match="expected a table with the columns solute, solvent"):
        run.explain("CCO")
    assert "<svg" in run.report(tmp_path / "page.html").path.read_text()
    assert run.explain(0, samples=2).vertices is not None


def test_the_command_takes_several_columns(run, tmp_path, monkeypatch):
    from typer.testing import CliRunner

    from osan.cli import app

    monkeypatch.chdir(tmp_path)
    table_file(tmp_path / "new.csv", "a,b", ["CCO.[Na+],O"])
    words = ["predict", str(run.folder), "new.csv", "--smiles", "a", "--smiles", "b"]
    assert CliRunner().invoke(app, words).exit_code == 0
    value = (tmp_path / "predictions.csv").read_text().splitlines()[1].split(",")[3]
    assert float(value) == pytest.approx(
        run.predict({"solute": ["CCO"], "solvent": ["O"]})["predicted_y"][0], abs=1e-6
    )
    table_file(
        tmp_path / "new.csv", "a,b,y", ["CCO.[Na+],O,1", "CCO.[K+],O,2", "CN,O,3", "CCN,O,3", "CF,O,3"]
    )
    words = "data prepare new.csv --smiles a --smiles b --fragments largest --json"
    told = CliRunner().invoke(app, words.split())
    assert '"rejected": "1 row, listed in rejected.csv"' in told.output


def features(smiles):
    """All that the network sees of a molecule, whatever the order of its atoms."""
    graph = read_smiles([smiles])[0]
    ends = [
        (sorted([graph.x[u].tolist(), graph.x[v].tolist()]), graph.edge_attr[i].tolist())
        for i, (u, v) in enumerate(graph.edge_index.t().tolist())
    ]
    return sorted(graph.x.tolist()), sorted(ends)


def test_what_the_features_see():
    assert features("CC(=O)[O-]") != features("CC(=O)O")  # charges
    assert features("C[NH3+]") != features("CN")
    assert features("[CH3]") != features("C")  # radicals
    assert features("C/C=C/C") != features("C/C=C\\C")  # double bonds
    assert features("C[C@H](N)O") != features("C[C@@H](N)O")  # chirality, as the SMILES writes it
    assert features("C[C@H](N)O") != features("CC(N)O")


def test_what_the_features_do_not_see():
    assert features("[13CH4]") == features("C")  # isotopes
    assert features("[2H]C") != features("C")  # but heavy hydrogen is an atom of its own
    assert features("[2H]C") == features("[3H]C")
    # The same enantiomer, written from another atom, has the other mark: R and S are not told apart.
    assert Chem.CanonSmiles("C[C@H](N)O") == Chem.CanonSmiles("N[C@@H](C)O")
    assert features("C[C@H](N)O") != features("N[C@@H](C)O")
    assert features("C[C@H](N)O") == features("N[C@H](C)O")
    # Atropisomers, coordinates and names beside the SMILES are not seen, either.
    assert features("CCO |(0,0,;1,0,;2,0,)|") == features("CCO")
