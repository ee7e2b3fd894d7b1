"""``osan train`` with a custom split and ``osan predict`` on graphs, as a user runs them."""

import csv
import json

import networkx as nx
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.training.folder import read_result, settings_of

runner = CliRunner()
TINY = ("--set", "network.width=8", "--set", "network.layers=2", "--epochs", "2", "--quiet")
COUNT = 30
SPLIT = {"train": [*range(20)], "valid": [20, 21, 22], "test": [29, 25, 27]}


def run(*words):
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result


def own_graphs(count=COUNT, targets=True):
    """Cycles with random categories at the vertices and numbers at the edges."""
    generator = torch.Generator().manual_seed(0)
    out = []
    for i in range(count):
        n = 3 + i % 5
        ends = torch.tensor([list(range(n)), [(v + 1) % n for v in range(n)]])
        x = torch.randint(0, 4, (n, 2), generator=generator)
        y = x.sum().float().reshape(1)
        if i == 0:
            x[0] = 3  # the largest category is among the graphs of every file
        edge_attr = torch.rand(n, 1, generator=generator).repeat(2, 1)
        out.append(Data(x=x, edge_index=torch.cat([ends, ends.flip(0)], 1), edge_attr=edge_attr))
        if targets:
            out[-1].y = y
    return out


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def graph_run(tmp_path_factory):
    """A run on a file of graphs, with the file of a split, both named from the folder that they are in."""
    place = tmp_path_factory.mktemp("graphs")
    torch.save(own_graphs(), place / "own.pt")
    (place / "split.json").write_text(json.dumps(SPLIT))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        words = ("train", "own.pt", "delete 1 vertex", "--subgraphs", "2", "--split", "split.json", *TINY)
        told = run(*words, "--name", "mine")
    assert told.stderr == "osan: split as in split.json, 4 graphs in no part\n"
    return place / "runs" / "mine" / "seed-0"


def rows_of(path):
    with path.open(newline="") as stream:
        return list(csv.DictReader(stream))


def test_the_split_of_a_file_is_that_of_the_run(graph_run):
    place = graph_run.parents[2]
    written = settings_of(graph_run).data
    assert (written.dataset, written.split) == (str(place / "own.pt"), str(place / "split.json"))
    assert [int(row["graph"]) for row in rows_of(graph_run / "predictions.csv")] == SPLIT["test"]
    # From another folder, and with the split changed meanwhile.
    found = run("evaluate", graph_run, "--json")
    assert found.stderr == ""
    assert json.loads(found.stdout)["mae"] == read_result(graph_run).value
    before = (place / "split.json").read_text()
    (place / "split.json").write_text(json.dumps({**SPLIT, "test": [29, 25, 28]}))
    assert "has changed since the run was trained" in run("evaluate", graph_run).stderr
    (place / "split.json").write_text(before)


def test_graphs_are_predicted_as_in_the_run(graph_run, tmp_path):
    """Targets or none, the numbers are those of the run's own predictions of its test split."""
    torch.save(own_graphs(targets=False), tmp_path / "new.pt")
    assert run("predict", graph_run, "new.pt").stdout == "wrote predictions of 30 graphs to predictions.csv\n"
    rows = rows_of(tmp_path / "predictions.csv")
    assert [int(row["graph"]) for row in rows] == list(range(COUNT))
    assert list(rows[0]) == ["graph", "predicted_y", "predicted_y_spread"]
    for expected in rows_of(graph_run / "predictions.csv"):
        row = rows[int(expected["graph"])]
        for name in ("predicted_y", "predicted_y_spread"):
            assert float(row[name]) == pytest.approx(float(expected[name]), rel=1e-4, abs=1e-5)
    told = json.loads(run("predict", graph_run, "new.pt", "--json", "--out", "all.tsv").stdout)
    assert told["rejected"] == []
    assert [str(row["predicted_y"]) for row in told["predictions"]] == [row["predicted_y"] for row in rows]
    assert (tmp_path / "all.tsv").read_text().splitlines()[0] == "graph\tpredicted_y\tpredicted_y_spread"
    of_training = json.loads(run("predict", graph_run, graph_run.parents[2] / "own.pt", "--json").stdout)
    assert of_training == told


def changed(name, value):
    graphs = own_graphs(3)
    for graph in graphs:
        graph[name] = value(graph)
    return graphs


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        (
            changed("x", lambda g: g.x[:, :1]),
            r"x has 1 column of categories, but the model was trained on own\.pt, where it has 2 columns of",
        ),
        (changed("x", lambda g: g.x.float()), "x has 2 columns of numbers, but .* 2 columns of categories"),
        (
            changed("x", lambda g: g.x + 4),
            r"column 0 of x holds the category 7, but .* categories are 0 to 3",
        ),
        (changed("edge_attr", lambda g: None), "edge_attr has no columns, but .* has 1 column of numbers"),
        ([Data(edge_index=torch.zeros(2, 0).long(), num_nodes=2)], "x has 1 column of categories"),
        ([3], "graph 0: expected a PyG Data, got int"),
    ],
)
def test_graphs_with_other_features_are_refused(graph_run, tmp_path, graphs, message):
    torch.save(graphs, tmp_path / "new.pt")
    with pytest.raises(OsanError, match=message) as caught:
        run("predict", graph_run, "new.pt")
    assert "\n" not in str(caught.value)
    assert not (tmp_path / "predictions.csv").exists()


def test_molecules_and_graphs_are_not_mixed_up(graph_run, tmp_path):
    (tmp_path / "new.csv").write_text("smiles\nCCO\n")
    with pytest.raises(OsanError, match=r"trained on own\.pt, .* or give a file of graphs"):
        run("predict", graph_run, "new.csv")
    with pytest.raises(OsanError, match="expected a file or folder of graphs, got 'CCO'"):
        run("predict", graph_run, "CCO")
    torch.save(own_graphs(3), tmp_path / "new.pt")
    with pytest.raises(
        OsanError,
        match=r"--smiles, --rejected, --neighbors: expected a table of molecules, got graphs in new\.pt",
    ):
        run("predict", graph_run, "new.pt", "--smiles", "mol")
    with pytest.raises(OsanError, match=r"expected another file, got new\.pt, the file itself"):
        run("predict", graph_run, "new.pt", "--out", "new.pt")
    # The other way about.
    rows = [f"{'C' * (i + 1)}O,{i}" for i in range(20)]
    (tmp_path / "mols.csv").write_text("\n".join(["smiles,y", *rows]) + "\n")
    run("train", "mols.csv", "--name", "mols", *TINY)
    with pytest.raises(
        OsanError, match=r"new\.pt: x has 2 columns of categories, .* 9 columns of categories"
    ):
        run("predict", "runs/mols/seed-0", "new.pt")
    nx.write_graph6(nx.path_graph(3), tmp_path / "new.g6")
    with pytest.raises(OsanError, match=r"new\.g6: x has 1 column of categories, but .* 9 columns"):
        run("predict", "runs/mols/seed-0", "new.g6")


def test_graph6_without_labels_is_predicted(tmp_path):
    content = b"".join(nx.to_graph6_bytes(nx.cycle_graph(n), header=False) for n in range(3, 15))
    (tmp_path / "a.g6").write_bytes(content)
    (tmp_path / "labels.txt").write_text("".join("even\n" if n % 2 == 0 else "odd\n" for n in range(3, 15)))
    words = ("--labels", "labels.txt", "--kind", "multiclass", "--set", "data.fold=none", *TINY)
    run("train", "a.g6", *words, "--name", "a")
    assert settings_of(tmp_path / "runs/a/seed-0").data.labels == str(tmp_path / "labels.txt")
    run("predict", "runs/a/seed-0", "a.g6", "--out", "all.csv")
    rows = rows_of(tmp_path / "all.csv")
    assert [int(row["graph"]) for row in rows] == list(range(12))
    for row in rows:
        assert float(row["probability_even"]) + float(row["probability_odd"]) == pytest.approx(1)


def test_settings_that_do_not_apply_are_refused(tmp_path):
    torch.save(own_graphs(), tmp_path / "own.pt")
    for words, message in (
        (("--split", "scaffold"), "got 'scaffold'; scaffold and time:COLUMN are for tables"),
        (("--split", "nowhere.json"), "or a split file, got 'nowhere.json'"),
        (("--set", "data.validate_on_test=true"), "validate_on_test: expected a split with folds"),
        (("--split", "stratified"), "stratified folds need one target with classes"),
    ):
        with pytest.raises(OsanError, match=message):
            run("train", "own.pt", "--name", message.split()[0], *words, *TINY)


def write_paths(folder, name, labels, targets):
    """A TU folder of paths, one per row of vertex labels."""
    folder.mkdir()
    arcs, indicator, first = [], [], 1
    for graph, row in enumerate(labels, 1):
        arcs += [f"{first + i}, {first + i + 1}\n{first + i + 1}, {first + i}" for i in range(len(row) - 1)]
        indicator += [graph] * len(row)
        first += len(row)
    files = {"A": arcs, "graph_indicator": indicator, "node_labels": [v for row in labels for v in row]}
    if targets:
        files["graph_attributes"] = [float(sum(row)) for row in labels]
    for part, lines in files.items():
        (folder / f"{name}_{part}.txt").write_text("".join(f"{line}\n" for line in lines))


def test_a_tu_folder_is_predicted_with_the_labels_of_training(tmp_path):
    """The labels 1 to 3 are four columns of training with 0 among them; alone they would be three."""
    labels = [[(i * 3 + j * j) % 4 for j in range(2 + i % 4)] for i in range(20)]
    labels[0].append(6)
    write_paths(tmp_path / "OLD", "OLD", labels, targets=True)
    run("train", "OLD", "--name", "tu", *TINY)
    few = [i for i, row in enumerate(labels) if 0 not in row]
    assert {v for i in few for v in labels[i]} == {1, 2, 3}
    write_paths(tmp_path / "NEW", "NEW", [labels[i] for i in few], targets=False)
    run("predict", "runs/tu/seed-0", "OLD", "--out", "old.csv")
    run("predict", "runs/tu/seed-0", "NEW", "--out", "new.csv")
    old, new = rows_of(tmp_path / "old.csv"), rows_of(tmp_path / "new.csv")
    assert len(new) == len(few)
    for i, row in zip(few, new, strict=True):
        assert float(row["predicted_y"]) == pytest.approx(float(old[i]["predicted_y"]), rel=1e-4)
    for more in (4, 7):  # between labels that occurred, and beyond
        write_paths(tmp_path / f"MORE{more}", "MORE", [[1, 2, more]], targets=False)
        with pytest.raises(
            OsanError, match=rf"MORE_node_labels\.txt: expected labels that occurred in training, got {more}"
        ):
            run("predict", "runs/tu/seed-0", f"MORE{more}")
