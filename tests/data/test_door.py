"""The one door to data: names, tables, files of graphs and TU folders."""

from pathlib import Path

import pytest
import torch
from torch_geometric.data import Data

from osan.data import load, load_graphs, load_table, names
from osan.data.formats.chunks import table_chunks
from osan.data.formats.table import read_table
from osan.data.naming import content_of, find_path
from osan.errors import OsanError
from osan.graphs import Graph, write_graphs


@pytest.fixture
def folder(tmp_path, monkeypatch):
    rows = "".join(f"{'C' * i}O,{i},{i % 2}\n" for i in range(1, 13))
    (tmp_path / "a.csv").write_text("smi,logS,active\n" + rows)
    write_graphs(tmp_path / "a.g6", [Graph(n, [(0, 1)]) for n in range(3, 15)])
    (tmp_path / "labels.txt").write_text("".join(f"{i}\n" for i in range(12)))
    edge = torch.tensor([[0, 1], [1, 0]])
    torch.save([Data(edge_index=edge, num_nodes=2, y=torch.ones(1)) for _ in range(9)], tmp_path / "a.pt")
    (tmp_path / "T" / "raw").mkdir(parents=True)
    (tmp_path / "T" / "raw" / "T_A.txt").write_text("1, 2\n2, 1\n3, 4\n4, 3\n5, 6\n6, 5\n")
    (tmp_path / "T" / "raw" / "T_graph_indicator.txt").write_text("1\n1\n2\n2\n3\n3\n")
    (tmp_path / "T" / "raw" / "T_graph_labels.txt").write_text("0\n1\n0\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table(folder):
    task = load("a.csv", smiles="smi", targets=["logS"], seed=3)
    assert task.fingerprint == load_table("a.csv", "smi", "logS", seed=3).fingerprint
    binary = load(folder / "a.csv", smiles="smi", targets="active", kind="binary", rejected="bad.csv")
    assert (binary.metric, binary.num_targets) == ("rocauc", 1)
    assert Path("bad.csv").read_text() == "line,smiles,reason\n"


def test_files_of_graphs(folder):
    task = load("a.g6", labels="labels.txt", metric="rmse")
    assert (task.metric, len(task.train)) == ("rmse", 10)
    assert task.fingerprint == load_graphs("a.g6", labels="labels.txt").fingerprint
    assert load("a.pt").num_targets == 1
    assert [load(path, kind="binary").kind for path in ("T", Path("T/raw"))] == ["binary", "binary"]


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("a.csv", "table"),
        ("a.CSV.gz", "table"),
        ("a.tsv", "table"),
        ("a.parquet", "table"),
        ("a.pt", "graphs"),
        ("a.g6", "graphs"),
        ("a.d6.gz", "graphs"),
        ("a.smi", "graphs"),
        ("a.graphml", "graphs"),
        ("T", "graphs"),
        ("T/raw", "graphs"),
        (".", None),
        ("a.txt", None),
    ],
)
def test_what_a_path_holds(folder, path, content):
    assert content_of(path) == content


def test_names_come_before_paths(folder):
    Path("csl-generated").mkdir()
    assert find_path("csl-generated") is None
    assert find_path("a.csv") == Path("a.csv")
    assert set(names()) >= {"zinc", "csl-generated"}


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (
            "zink",
            {},
            "expected a file, a folder, 'module:name' or one of .*, got 'zink'; did you mean 'zinc'?",
        ),
        ("", {}, "got ''"),
        ("none.csv", {}, "^dataset: expected a file, got 'none.csv', which does not exist$"),
        ("none.g6.gz", {}, "^dataset: expected a file, got 'none.g6.gz', which does not exist$"),
        ("C" * 5000, {}, "expected a file"),
        ([], {}, "expected a name or a path, got list; for graphs in memory use osan.data.task_from_graphs"),
        ("planted-motif", {"targets": "y"}, "targets: expected none, for planted-motif is a named dataset"),
        ("planted-motif", {"split": "random"}, "since it is generated with a split"),
        ("planted-motif", {"nope": 1}, "planted-motif: expected one of the options num_graphs, got 'nope'"),
        ("a.csv", {"labels": "labels.txt"}, "labels: expected none, for a.csv is a table"),
        ("a.csv", {"nope": 1}, "a.csv: expected no options, got 'nope'"),
        ("a.g6", {"smiles": "smi"}, "smiles: expected none, for a.g6 is a file of graphs"),
        ("a.g6", {}, "labels: expected a text file with one line per graph of a.g6"),
        ("a.pt", {"labels": "labels.txt"}, "labels: expected none, for a.pt contains targets"),
        ("a.pt", {"kind": "binary", "metric": "mae"}, "metric: expected accuracy, rocauc, prauc, mcc"),
        (".", {}, "expected one file NAME_A.txt of the TU format, got 0"),
    ],
)
def test_wrong_requests(folder, dataset, options, message):
    with pytest.raises(OsanError, match=message):
        load(dataset, **options)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("a.xlsx", "save the sheet as CSV"),
        ("a.ods", "save the sheet as CSV"),
        ("a.SDF", r"RDKit's PandasTools\.LoadSDF"),
        ("a.mol2", r"RDKit's PandasTools\.LoadSDF"),
        ("a.smi", "put a first line with the word smiles"),
        ("a.sdf.gz", r"RDKit's PandasTools\.LoadSDF"),
    ],
)
def test_molecules_in_other_formats(folder, name, hint):
    """The first thing to be said is which formats are read, and how to get there."""
    Path(name).write_bytes(b"CCO ethanol\nCC ethane\n")
    told = rf"^{name}: expected molecules in a \.csv, \.tsv or \.parquet file, got \.[a-z0-9]+; {hint}"
    for read in (load, load_graphs, lambda path: read_table(Path(path), ["smiles"])):
        with pytest.raises(OsanError, match=told):
            read(name)
    with pytest.raises(OsanError, match=told):
        next(table_chunks(Path(name), ["smiles"]))
    with pytest.raises(OsanError, match=told):
        load(name, targets=["y"], labels="labels.txt")
