"""``osan data`` as a user meets it."""

import json

import pytest
from typer.testing import CliRunner

from osan.cli.data import app
from osan.errors import OsanError

runner = CliRunner()


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("OSAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def run(*words):
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.output


def test_list_tells_what_is_ready(tmp_path, monkeypatch):
    monkeypatch.delenv("OSAN_DATA", raising=False)
    rows = {row["name"]: row for row in json.loads(run("list", "--json"))}
    assert rows["zinc"]["ready"] == "missing"
    assert rows["brec"]["ready"] == "missing"
    assert rows["twisted-pairs"]["ready"] == "embedded"
    folder = tmp_path / "data" / "EXP" / "osan"
    folder.mkdir(parents=True)
    pair = "2 1\n0 1 1\n1 1 0\n2 0\n1 1 1\n1 1 0\n"
    (folder / "EXP.txt").write_text("20\n" + 10 * pair)
    assert {r["name"]: r["ready"] for r in json.loads(run("list", "--data", tmp_path / "data", "--json"))}[
        "exp"
    ] == "raw"
    run("info", "exp", "--data", tmp_path / "data")
    assert {r["name"]: r["ready"] for r in json.loads(run("list", "--data", tmp_path / "data", "--json"))}[
        "exp"
    ] == "cached"
    table = run("list")
    assert all(name in table for name in rows)


def test_info(osan_data):
    facts = json.loads(run("info", "csl", "--json"))
    assert facts["graphs"] == 150
    assert facts["vertices"] == 41.0
    assert facts["edges"] == 82.0
    assert facts["classes"] == 10
    assert facts["splits"] == {"train": 90, "val": 30, "test": 30}
    assert facts["license"] == "MIT"
    text = run("info", "csl")
    assert "41.00" in text
    assert "train 90, val 30, test 30" in text
    assert json.loads(run("info", "brec", "--json"))["pairs"] == 400
    assert json.loads(run("info", "graph8c", "--json"))["graphs"] == 11_117
    assert json.loads(run("info", "sr", "--json"))["families"]["sr251256"] == 15


def test_info_of_a_missing_dataset_says_what_to_put_where(tmp_path):
    facts = json.loads(run("info", "alchemy", "--data", tmp_path, "--json"))
    assert facts["ready"] == "missing"
    assert "TU/alchemy_full/raw/alchemy_full_A.txt" in facts["needs"]
    assert str(tmp_path) in facts["needs"]


def test_prepare_an_embedded_dataset():
    assert json.loads(run("prepare", "planted-motif", "--json"))["graphs"] == 1000


@pytest.mark.parametrize("name", ["a.csv", "A.CSV"])
def test_prepare_own_molecules(tmp_path, name):
    (tmp_path / name).write_text("mol,a,b\nCCO,1,2\nbad,1,2\nCC,3,\nCCC,5,6\nCCO,1,2\nN,7,8\n")
    words = ("prepare", tmp_path / name, "--smiles", "mol", "--target", "a", "--target", "b")
    facts = json.loads(run(*words, "--rejected", tmp_path / "r.csv", "--json"))
    assert facts["graphs"] == 4
    assert facts["targets"] == 2
    assert facts["rejected"] == f"2 rows, listed in {tmp_path / 'r.csv'}"
    assert (tmp_path / "r.csv").read_text().splitlines()[1:] == [
        "3,bad,unreadable SMILES",
        "6,CCO,duplicate of line 2",
    ]
    with pytest.raises(OsanError, match="rows cannot be written: Not a directory"):
        run(*words, "--rejected", tmp_path / name / "rows")


def test_prepare_refuses_what_cannot_be_trained_on(tmp_path):
    rows = [f"{'C' * (i + 1)},1" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,c", *rows]) + "\n")
    words = ("prepare", tmp_path / "a.csv", "--target", "c")
    assert json.loads(run(*words, "--json"))["graphs"] == 30
    with pytest.raises(OsanError, match=r"a.csv can be read, .*: c: expected both classes, got one of them"):
        run(*words, "--kind", "binary")


def test_prepare_lists_bad_rows_if_there_are_some_or_it_is_asked(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("smiles,y\nC,1\nCC,2\nCCC,3\n")
    facts = json.loads(run("prepare", "a.csv", "--target", "y", "--json"))
    assert facts["rejected"] == "0 rows"
    assert sorted(path.name for path in tmp_path.glob("*.csv")) == ["a.csv"]
    facts = json.loads(run("prepare", "a.csv", "--target", "y", "--rejected", "r.csv", "--json"))
    assert facts["rejected"] == "0 rows, listed in r.csv"
    assert (tmp_path / "r.csv").read_text() == "line,smiles,reason\n"
    (tmp_path / "a.csv").write_text("smiles,y\nbad,1\n")
    with pytest.raises(OsanError, match="expected at least one usable row"):
        run("prepare", "a.csv", "--target", "y")
    assert (tmp_path / "rejected.csv").read_text().splitlines()[1:] == ["2,bad,unreadable SMILES"]


def test_limits_of_several_columns_of_smiles(tmp_path):
    """By the second column alone, the first two rows would be the same."""
    rows = [f"{'C' * (i + 1)},{'O' if i < 2 else 'O' * i},{i}" for i in range(6)]
    (tmp_path / "a.csv").write_text("\n".join(["a,b,y", *rows]) + "\n")
    words = ("limits", tmp_path / "a.csv", "--target", "y", "--json", "--smiles")
    assert json.loads(run(*words, "b"))["graphs"] == 5
    assert json.loads(run(*words, "a", "--smiles", "b"))["graphs"] == 6


def test_prepare_own_graphs(tmp_path):
    (tmp_path / "a.g6").write_text("Bw\nCF\nC~\nDQc\n")
    (tmp_path / "y.txt").write_text("1\n2\n3\n4\n")
    facts = json.loads(run("prepare", tmp_path / "a.g6", "--labels", tmp_path / "y.txt", "--json"))
    assert facts["graphs"] == 4


def test_errors_are_osans(tmp_path):
    for words in (("info", "nope"), ("prepare", "nope"), ("prepare", tmp_path / "none.csv")):
        with pytest.raises(OsanError):
            run(*words)


def test_one_line_and_exit_code_two(osan, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a.csv").write_text("x\n1\n")
    result = osan("data", "prepare", "a.csv")
    assert result.returncode == 2
    assert result.stderr == (
        "osan: a.csv, line 1: expected one column 'smiles', got 0 in the header x; "
        "name the column of SMILES with --smiles (in Python, smiles=...)\n"
    )


def test_the_list_says_what_the_generated_tasks_are():
    """The list is made without importing them."""
    from osan.data.generated.tasks import GENERATED
    from osan.data.overview import overview

    told = {row["name"]: row["task"] for row in overview() if row["ready"] == "embedded"}
    assert told == {name: make.__doc__.split("\n")[0] for name, make in GENERATED.items()}
