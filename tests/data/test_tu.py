"""TU folders: read like PyG does, refused with file and line when broken."""

import contextlib

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.datasets import TUDataset

from osan.data import load_graphs
from osan.data.formats.tu import check_tu, read_tu
from osan.data.published.readers import loader
from osan.errors import OsanError


def test_graphs_equal_pygs(write_tu, tmp_path):
    write_tu(tmp_path / "T" / "raw", "T", 30, targets=0)
    flat, _ = read_tu(tmp_path / "T" / "raw")
    with loader():
        theirs = TUDataset(str(tmp_path), "T")
    # PyG forgets graphs without edges at the end.
    assert len(flat) == 30
    for i in range(29):
        a, b = flat[i], theirs[i]
        assert torch.equal(a.x, b.x)
        assert torch.equal(a.edge_index, b.edge_index)
        assert torch.equal(a.edge_attr, b.edge_attr)
        assert a.y.item() == b.y.item()
    assert flat[29].num_edges == 0


def test_own_folder_as_a_task(write_tu, tmp_path):
    written = write_tu(tmp_path / "T", "T", 30, targets=2)
    task = load_graphs(tmp_path / "T", seed=1)
    assert task.num_targets == 2
    whole = task.train.subset(torch.arange(30))
    np.testing.assert_allclose(whole.y.numpy(), written["y"], atol=1e-5)
    classes = write_tu(tmp_path / "raw", "C", 30, targets=0)
    task = load_graphs(tmp_path, kind="binary")
    assert task.train.subset(torch.arange(30)).y[:, 0].tolist() == classes["y"].tolist()


def edit(path, line, text):
    lines = path.read_text().splitlines()
    lines[line - 1 : line] = [] if text is None else [text]
    path.write_text("\n".join(lines) + "\n")


@pytest.mark.parametrize(
    ("file", "line", "text", "message"),
    [
        ("A", 3, "1, 9999", r"T_A.txt, line 3: expected vertices from 1 to \d+, got the arc 1, 9999"),
        ("A", 3, "0, 1", r"T_A.txt, line 3: expected vertices from 1 to \d+, got the arc 0, 1"),
        (
            "A",
            2,
            "1, 40",
            "T_A.txt, line 2: expected arcs within a graph, got one from vertex 1 of graph 1 to vertex 40",
        ),
        ("A", 2, "1", "T_A.txt, line 2: expected 2 values, got 1"),
        ("A", 2, "1, b", "T_A.txt, line 2: expected integers separated by commas, got '1, b'"),
        ("A", 2, None, "T_edge_labels.txt, line"),
        (
            "graph_indicator",
            1,
            "2",
            "T_graph_indicator.txt, line 1: expected graphs in the order 1, 2, ..., got 2 after nothing",
        ),
        (
            "graph_indicator",
            20,
            "1",
            "T_graph_indicator.txt, line 20: expected graphs in the order 1, 2, ..., got 1 after",
        ),
        ("graph_indicator", 20, "99", "T_graph_indicator.txt, line 20"),
        ("node_labels", 5, None, "T_node_labels.txt, line"),
        ("node_labels", 5, "1.5", "T_node_labels.txt, line 5: expected integers"),
        (
            "node_labels",
            5,
            "9999",
            r"T_node_labels\.txt, line 5: expected labels less than 4096 above the smallest one, got 9999",
        ),
        ("graph_attributes", 4, "1,2", "T_graph_attributes.txt, line 4: expected 3 values, got 2"),
        ("graph_attributes", 4, "1,nan,2", "T_graph_attributes.txt, line 4: expected numbers"),
        (
            "graph_attributes",
            4,
            None,
            "T_graph_attributes.txt, line 30: expected 30 lines, one per graph, got 29",
        ),
    ],
)
def test_broken_lines_are_named(write_tu, tmp_path, file, line, text, message):
    write_tu(tmp_path / "T", "T", 30, targets=3)
    edit(tmp_path / "T" / f"T_{file}.txt", line, text)
    with pytest.raises(OsanError, match=message):
        read_tu(tmp_path / "T")


def test_a_last_line_that_pyg_would_drop(write_tu, tmp_path):
    write_tu(tmp_path / "T", "T", 10)
    path = tmp_path / "T" / "T_graph_attributes.txt"
    path.write_text(path.read_text().rstrip("\n"))
    with pytest.raises(
        OsanError, match=r"T_graph_attributes\.txt, line 10: expected a line break at the end"
    ):
        read_tu(tmp_path / "T")


def test_missing_and_empty_files(write_tu, tmp_path):
    write_tu(tmp_path / "T", "T", 10)
    (tmp_path / "T" / "T_graph_indicator.txt").write_text("")
    with pytest.raises(OsanError, match=r"T_graph_indicator.txt, line 1: the file is empty"):
        check_tu(tmp_path / "T", "T")
    (tmp_path / "T" / "T_graph_indicator.txt").unlink()
    with pytest.raises(OsanError, match=r"T_graph_indicator\.txt cannot be read: No such file"):
        check_tu(tmp_path / "T", "T")
    (tmp_path / "T" / "T_A.txt").unlink()
    with pytest.raises(OsanError, match=r"expected one file NAME_A\.txt"):
        read_tu(tmp_path / "T")


@settings(max_examples=150, deadline=None)
@given(data=st.data())
def test_mutated_folders_never_give_a_traceback(write_tu, tmp_path_factory, data):
    folder = tmp_path_factory.mktemp("mutated") / "T"
    write_tu(folder, "T", 9, targets=data.draw(st.sampled_from([0, 1, 2])))
    for _ in range(data.draw(st.integers(1, 3))):
        path = data.draw(st.sampled_from(sorted(folder.iterdir())))
        content = path.read_bytes()
        start = data.draw(st.integers(0, len(content)))
        end = data.draw(st.integers(start, min(len(content), start + 6)))
        junk = data.draw(
            st.sampled_from(
                [b"", b"\xff", b"9999999999999999999999", b"-1", b"\n", b",", b"x", b"\0", b"1e9", b"3"]
            )
        )
        path.write_bytes(content[:start] + junk + content[end:])
    with contextlib.suppress(OsanError):
        load_graphs(folder, kind=data.draw(st.sampled_from(["regression", "binary", "multiclass"])))


def test_labels_get_the_columns_of_another_folder(write_tu, tmp_path):
    """PyG numbers the labels of each folder from its least one; for a trained network they must stay put."""
    written = write_tu(tmp_path / "T", "T", 30)
    trained, alphabets = read_tu(tmp_path / "T")
    assert alphabets == {"x": [[0, 1, 2, 3, 4, 5]], "edge_attr": [[0, 1, 2, 3]]}
    few = write_tu(tmp_path / "F", "F", 20, seed=1)
    for name, high in (("node_labels", 5), ("edge_labels", 3)):
        path = tmp_path / "F" / f"F_{name}.txt"
        labels = np.loadtxt(path, dtype=int).clip(2, high - 1)
        np.savetxt(path, labels, fmt="%d")
        few["labels" if name == "node_labels" else "edge_labels"] = labels
    (tmp_path / "F" / "F_graph_attributes.txt").unlink()
    flat, kept = read_tu(tmp_path / "F", alphabets, targets=False)
    assert kept == alphabets
    assert "y" not in flat.tensors
    assert len(flat) == 20
    assert flat.tensors["x"].tolist() == np.eye(6)[few["labels"]].tolist()
    assert flat.tensors["edge_attr"].shape[1] == trained.tensors["edge_attr"].shape[1] == 4
    assert flat.tensors["edge_attr"].tolist() == np.eye(4)[few["edge_labels"]].tolist()
    assert trained.tensors["x"].tolist() == np.eye(6)[written["labels"]].tolist()

    edit(tmp_path / "F" / "F_node_labels.txt", 4, "6")
    with pytest.raises(
        OsanError, match=r"F_node_labels\.txt: expected labels that occurred in training, got 6"
    ):
        read_tu(tmp_path / "F", alphabets, targets=False)
    (tmp_path / "F" / "F_node_labels.txt").unlink()
    with pytest.raises(OsanError, match=r"F_node_labels\.txt: expected 1 label\(s\) per line.* got 0"):
        read_tu(tmp_path / "F", alphabets, targets=False)
