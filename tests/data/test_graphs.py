"""Own graphs: graph6 with labels, PyG lists; nothing is built from a file but tensors and PyG's classes."""

import contextlib
import pickle

import networkx as nx
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Data, InMemoryDataset

from osan.data import load_graphs, task_from_graphs
from osan.data.custom.graphs import read_flat
from osan.data.formats.saved import read_pt
from osan.errors import OsanError


@pytest.fixture
def graph6(tmp_path):
    path = tmp_path / "graphs.g6"
    path.write_bytes(b"".join(nx.to_graph6_bytes(nx.cycle_graph(n), header=False) for n in range(3, 13)))
    return path


def whole(task):
    return task.train.subset(torch.arange(len(task.train.vertex_ptr) - 1))


def test_graph6_with_labels(graph6, tmp_path):
    labels = tmp_path / "labels.txt"
    labels.write_text("".join(f"{n}, {n / 2}\n" for n in range(10)))
    task = load_graphs(graph6, labels=labels)
    assert task.num_targets == 2
    assert whole(task).y.tolist() == [[n, n / 2] for n in range(10)]
    for n, graph in enumerate(whole(task), 3):
        assert nx.is_isomorphic(nx.Graph(graph.edge_index.t().tolist()), nx.cycle_graph(n))
        assert graph.num_edges == 2 * n
    labels.write_text("".join("even\n" if n % 2 == 0 else "odd\n" for n in range(10)))
    task = load_graphs(graph6, labels=labels, kind="multiclass")
    assert whole(task).y.tolist() == [n % 2 for n in range(10)]


@pytest.mark.parametrize(
    ("text", "kind", "message"),
    [
        (b"1\n" * 9, "regression", r"labels\.txt, line 10: expected 10 lines, one per graph, got 9"),
        (b"1\n" * 11, "regression", r"labels\.txt, line 11: expected 10 lines"),
        (b"1\n" * 4 + b"x\n" + b"1\n" * 5, "regression", r"labels\.txt, line 5: expected a number, got 'x'"),
        (b"1\n" * 4 + b"1 2\n" + b"1\n" * 5, "regression", r"labels\.txt, line 5: expected 1 values, got 2"),
        (b"1\n" * 4 + b"\xff\n" + b"1\n" * 5, "regression", r"labels\.txt, line 5: expected UTF-8 text"),
        (b"0\n" * 9 + b"2\n", "binary", r"graph 9: expected 0 or 1 for binary, got \[2\.0\]"),
        (b"0 1\n" * 10, "multiclass", "one class per line"),
        (b"a\n" * 10, "multiclass", "at least two classes"),
    ],
)
def test_wrong_labels(graph6, tmp_path, text, kind, message):
    (tmp_path / "labels.txt").write_bytes(text)
    with pytest.raises(OsanError, match=message):
        load_graphs(graph6, labels=tmp_path / "labels.txt", kind=kind)


def test_class_names_that_only_look_like_numbers(graph6, tmp_path):
    names = ["--5", "1" * 5000, "7", "-7"]
    (tmp_path / "labels.txt").write_text("".join(f"{names[i % 4]}\n" for i in range(10)))
    task = load_graphs(graph6, labels=tmp_path / "labels.txt", kind="multiclass")
    assert task.num_classes == 4
    (tmp_path / "labels.txt").write_text("".join(f"{(10, 9, -1)[i % 3]}\n" for i in range(10)))
    task = load_graphs(graph6, labels=tmp_path / "labels.txt", kind="multiclass")
    assert whole(task).y.tolist() == [(2, 1, 0)[i % 3] for i in range(10)]


def test_wrong_requests(graph6, tmp_path):
    with pytest.raises(OsanError, match="labels: expected a text file with one line per graph"):
        load_graphs(graph6)
    with pytest.raises(OsanError, match="kind: expected"):
        load_graphs(graph6, kind="nope")
    torch.save(pyg_list(), tmp_path / "a.pt")
    with pytest.raises(OsanError, match=r"a\.pt contains targets, got"):
        load_graphs(tmp_path / "a.pt", labels=tmp_path / "labels.txt")
    with pytest.raises(OsanError, match="NAME_A"):
        load_graphs(tmp_path)


def pyg_list(count=12):
    g = torch.Generator().manual_seed(0)
    return [
        Data(
            x=torch.randint(0, 5, (n + 2, 2), generator=g),
            edge_index=torch.tensor([[0, 1], [1, 0]]),
            edge_attr=torch.rand(2, 3, generator=g),
            y=torch.tensor([[float(n)]]),
            note="kept out",
        )
        for n in range(count)
    ]


def test_pyg_list(tmp_path):
    graphs = pyg_list()
    torch.save(graphs, tmp_path / "a.pt")
    task = load_graphs(tmp_path / "a.pt")
    assert task.vertex_features.sizes == tuple(
        int(s) + 1 for s in torch.cat([g.x for g in graphs]).max(0).values
    )
    assert task.edge_features.width == 3
    for ours, theirs in zip(whole(task), graphs, strict=True):
        assert torch.equal(ours.x, theirs.x)
        assert torch.equal(ours.edge_index, theirs.edge_index)
        assert torch.equal(ours.edge_attr, theirs.edge_attr)
        assert torch.equal(ours.y, theirs.y)


class Evil:
    """What a harmful pickle looks like: loading it would call a function."""

    def __reduce__(self):
        return (open, ("harm", "w"))


@pytest.mark.parametrize("save", [torch.save, lambda obj, path: path.write_bytes(pickle.dumps(obj))])
def test_code_in_a_file_is_never_run(tmp_path, monkeypatch, save):
    monkeypatch.chdir(tmp_path)
    save([Evil()], tmp_path / "a.pt")
    with pytest.raises(OsanError, match="can be loaded safely"):
        read_pt(tmp_path / "a.pt")
    assert not (tmp_path / "harm").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ({"a": 1}, "expected a list of PyG Data, got dict"),
        ([], "expected a list of PyG Data"),
        ([torch.ones(2)], "graph 0: expected a PyG Data, got Tensor"),
        ([Data(x=torch.ones(2, 1), y=torch.ones(1))], "graph 0: expected a tensor edge_index, got NoneType"),
        ([Data(x=torch.ones(2, 1), edge_index=torch.zeros(2, 0).long())], "graph 0: expected a tensor y"),
        (
            [Data(x=torch.ones(2, 1), edge_index=torch.zeros(2, 3), y=torch.ones(1))],
            r"expected edge_index of type int64 and shape \(2, arcs\), got torch.float32",
        ),
        (
            [Data(edge_index=torch.zeros(2, 1).long(), y=torch.ones(1))],
            "expected x or num_nodes, got neither",
        ),
        (
            [
                Data(
                    x=torch.ones(2, 1),
                    edge_index=torch.zeros(2, 1).long(),
                    edge_attr=torch.ones(3, 1),
                    y=torch.ones(1),
                )
            ],
            "expected 1 rows of edge_attr, one per arc, got 3",
        ),
        (
            [Data(x=torch.ones(2, 1), edge_index=torch.full((2, 1), 7), y=torch.ones(1))] * 3,
            "got the arc 7, 7",
        ),
    ],
)
def test_lists_that_are_not_graphs(tmp_path, content, message):
    torch.save(content, tmp_path / "a.pt")
    with pytest.raises(OsanError, match=message):
        load_graphs(tmp_path / "a.pt")


def with_targets(sizes, shape):
    edges = torch.tensor([[0], [0]])
    return [Data(num_nodes=n, edge_index=edges, y=torch.zeros(shape(n))) for n in sizes]


@pytest.mark.parametrize(
    ("sizes", "shape", "told"),
    [
        (
            range(2, 9),
            lambda n: n,
            "graph 6: expected one row of targets per graph, got one target per vertex .* 8 vertices",
        ),
        (
            range(1, 9),
            lambda n: n,
            "graph 7: expected one row of targets per graph, got one target per vertex",
        ),
        (range(2, 9), lambda n: (n, 1), "one target per vertex"),
        (range(2, 9), lambda n: (n, 3), "one target per vertex"),
        ([5] * 8, lambda n: n, r"one target per vertex .* reshape y to \(1, 5\) if these are targets"),
    ],
)
def test_targets_of_vertices_are_not_taken_for_those_of_graphs(tmp_path, sizes, shape, told):
    torch.save(with_targets(sizes, shape), tmp_path / "a.pt")
    with pytest.raises(OsanError, match=told) as caught:
        load_graphs(tmp_path / "a.pt")
    assert "docs/index.md" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("sizes", "shape", "targets"),
    [
        ([5] * 8, lambda n: (1, n), 5),
        ([5] * 8, lambda n: (1, 1), 1),
        ([1] * 8, lambda n: n, 1),
        (range(2, 9), lambda n: 3, 3),
        (range(2, 9), lambda n: (), 1),
    ],
)
def test_targets_of_graphs_are_not_taken_for_those_of_vertices(tmp_path, sizes, shape, targets):
    torch.save(with_targets(sizes, shape), tmp_path / "a.pt")
    assert load_graphs(tmp_path / "a.pt").num_targets == targets


def test_graphs_in_memory_are_those_of_a_file(tmp_path):
    torch.save(pyg_list(), tmp_path / "a.pt")
    parts = {"train": [7, 2, 3], "valid": [1], "test": [11, 0]}
    ours, of_file = task_from_graphs(pyg_list(), split=parts), load_graphs(tmp_path / "a.pt", split=parts)
    assert ours.fingerprint == of_file.fingerprint
    assert ours.train.y.tolist() == [[7.0], [2.0], [3.0]]
    assert (ours.vertex_features, ours.edge_features) == (of_file.vertex_features, of_file.edge_features)
    with pytest.raises(OsanError, match="graphs: expected at least one, got none"):
        task_from_graphs([])
    with pytest.raises(OsanError, match="graphs, graph 1: expected a PyG Data, got int"):
        task_from_graphs([*pyg_list(1), 3])


def test_labels_stay_their_codes_in_another_file(tmp_path):
    """``a`` and ``c`` alone would be 0 and 1; beside ``b`` they were 0 and 2."""
    names = iter("abc" * 10)
    for n in range(4):
        graph = nx.path_graph(n + 2)
        nx.set_node_attributes(graph, {v: next(names) for v in graph}, "label")
        nx.write_graphml(graph, tmp_path / f"{n}.graphml")
    _, alphabets = read_flat(tmp_path / "1.graphml")
    assert alphabets == {"x": [["a", "b", "c"]]}
    graph = nx.path_graph(2)
    nx.set_node_attributes(graph, {0: "c", 1: "a"}, "label")
    nx.write_graphml(graph, tmp_path / "new.graphml")
    flat, _ = read_flat(tmp_path / "new.graphml", alphabets, targets=False)
    assert flat.tensors["x"].tolist() == [[2], [0]]
    assert read_flat(tmp_path / "new.graphml")[0].tensors["x"].tolist() == [[1], [0]]
    nx.set_node_attributes(graph, {0: "d", 1: "a"}, "label")
    nx.write_graphml(graph, tmp_path / "new.graphml")
    with pytest.raises(OsanError, match=r"new\.graphml: graph 0: unexpected vertex label 'd'"):
        read_flat(tmp_path / "new.graphml", alphabets)
    with pytest.raises(OsanError, match="expected vertices without labels, as in training, got"):
        read_flat(tmp_path / "new.graphml", {})
    nx.write_graphml(nx.path_graph(3), tmp_path / "new.graphml")
    with pytest.raises(OsanError, match="expected vertices with labels, as in training"):
        read_flat(tmp_path / "new.graphml", alphabets)


def test_missing_file(tmp_path):
    with pytest.raises(OsanError, match=r"none\.pt cannot be read: No such file"):
        load_graphs(tmp_path / "none.pt")


@settings(max_examples=100, deadline=None)
@given(data=st.data())
def test_mutated_lists_never_give_a_traceback(tmp_path_factory, data):
    path = tmp_path_factory.mktemp("pt") / "a.pt"
    torch.save(pyg_list(4), path)
    content = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    for _ in range(data.draw(st.integers(1, 4))):
        if content:
            content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(content)
    with contextlib.suppress(OsanError):
        load_graphs(path)


def test_reading_graphs_leaves_what_pyg_allows(tmp_path):
    """torch's context forgets classes that PyG had allowed; then processed datasets of PyG cannot be read."""
    graphs = [Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))]
    torch.save(graphs, tmp_path / "own.pt")
    InMemoryDataset.save(graphs, str(tmp_path / "data.pt"))
    assert len(read_pt(tmp_path / "own.pt", targets=False)) == 1
    assert torch.load(tmp_path / "data.pt", weights_only=True)[2] is Data
