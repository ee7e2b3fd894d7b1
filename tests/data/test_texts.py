"""EXP, CEXP and CSL from text."""

import numpy as np
import pytest
import torch
from sklearn.model_selection import StratifiedKFold

from osan.data import load
from osan.errors import OsanError

# From counting the files: average vertices and edges.
SAT = {
    "exp": (44.55, 55.24),
    "cexp": (43.81, 54.77),
    "exp-gnn-rni": (44.45, 55.11),
    "exp-gnn-rni-text": (48.70, 60.44),
    "cexp-gnn-rni": (55.78, 69.78),
}


@pytest.mark.parametrize("name", SAT)
def test_statistics(real, name):
    task = real(name)
    whole = task.train.subset(torch.arange(1200))
    assert round(float(whole.num_vertices.double().mean()), 2) == SAT[name][0]
    assert round(float(whole.num_arcs.double().mean()) / 2, 2) == SAT[name][1]
    assert whole.y.sum() == 600
    assert torch.equal(whole.y[0::2] + whole.y[1::2], torch.ones(600, 1))


def test_graphs_equal_a_plain_reading_of_the_file(real, osan_data):
    whole = real("exp").train.subset(torch.arange(1200))
    lines = iter((osan_data / "EXP" / "osan" / "EXP.txt").read_text().split("\n"))
    assert int(next(lines)) == 1200
    for graph in whole:
        size, label = map(int, next(lines).split()[:2])
        rows = [list(map(int, next(lines).split())) for _ in range(size)]
        assert graph.num_nodes == size
        assert graph.y.item() == label
        assert graph.x[:, 0].tolist() == [row[0] for row in rows]
        arcs = {(u, v) for u, row in enumerate(rows) for v in row[2:]}
        assert {tuple(arc) for arc in graph.edge_index.t().tolist()} == arcs
        assert graph.edge_index.shape[1] == len(arcs)


def test_exp_folds_are_the_published_ones(real):
    y = real("exp").train.subset(torch.arange(1200)).y[:, 0].numpy()
    parts = list(StratifiedKFold(10, shuffle=True, random_state=0).split(np.zeros(1200), y))
    for fold in (0, 7):
        task = real("exp", fold=fold, validate_on_test=True)
        assert task.train.ids.tolist() == parts[fold][0].tolist()
        assert task.test.ids.tolist() == task.val.ids.tolist() == parts[fold][1].tolist()
        ours = real("exp", fold=fold)
        assert not set(ours.val.ids.tolist()) & set(ours.test.ids.tolist())


def test_csl_graphs_and_folds(real, osan_data):
    for fold in range(5):
        task = real("csl", fold=fold)
        assert task.num_targets == task.num_classes == 10
        for part in ("train", "val", "test"):
            line = (osan_data / "CSL" / f"CSL_{part}.index").read_text().splitlines()[fold]
            assert task.splits[part].ids.tolist() == [int(i) for i in line.split(",")]
    whole = task.train.subset(torch.arange(150))
    assert set(whole.num_vertices.tolist()) == {41}
    assert set(whole.num_arcs.tolist()) == {164}
    assert torch.bincount(whole.y).tolist() == [15] * 10


@pytest.fixture
def sat_folder(tmp_path):
    (tmp_path / "data" / "EXP" / "osan").mkdir(parents=True)
    return tmp_path


def _load(folder, text):
    (folder / "data" / "EXP" / "osan" / "EXP.txt").write_bytes(text)
    return load("exp", folder / "data", cache=folder / "cache", split="random")


GOOD = b"3\n2 1\n0 1 1\n1 1 0\n1 0\n0 0\n2 0\n1 1 1\n1 1 0\n"


def test_a_small_file(sat_folder):
    task = _load(sat_folder, GOOD)
    assert torch.cat([part.y for part in task.splits.values()]).sum() == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (GOOD.replace(b"2 1\n0", b"2 5\n0"), "expected the classes 0 and 1"),
        (GOOD.replace(b"0 0\n", b"7 0\n"), "expected the vertex labels 0 and 1"),
        (GOOD[:20], r"EXP.txt, line \d"),
        (GOOD.replace(b"1 1 1\n", b"1 1 9\n"), "line 8"),
        (b"\xff" + GOOD, "line 1"),
    ],
)
def test_malformed_files_name_the_real_file(sat_folder, text, message):
    with pytest.raises(OsanError, match=message) as caught:
        _load(sat_folder, text)
    assert str(sat_folder / "data" / "EXP" / "osan" / "EXP.txt") in str(caught.value)
    assert {path.name for path in (sat_folder / "cache").iterdir()} <= {"locks"}
