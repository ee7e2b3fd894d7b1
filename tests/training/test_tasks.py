"""From settings to a task: what is asked of custom files is done or refused, never forgotten."""

import json
from pathlib import Path

import numpy as np
import pytest
import torch
from sklearn.model_selection import KFold, StratifiedKFold
from torch_geometric.data import Data

from osan.data import Task
from osan.errors import OsanError
from osan.training.locating import located
from osan.training.settings import validated
from osan.training.tasks import TaskInfo, load_task


@pytest.fixture(autouse=True)
def own_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A table and a file of the same forty graphs, in two classes."""
    monkeypatch.chdir(tmp_path)
    edges = torch.tensor([[0, 1], [1, 0]])
    graphs = [Data(x=torch.zeros(3, 1), edge_index=edges, y=torch.tensor([i % 2])) for i in range(40)]
    torch.save(graphs, tmp_path / "own.pt")
    rows = [f"{'C' * (i + 1)}O,{i % 2}" for i in range(40)]
    (tmp_path / "own.csv").write_text("\n".join(["smiles,y", *rows]) + "\n")
    (tmp_path / "split.json").write_text(json.dumps({"train": [0, 1, 2], "val": [3], "test": [4, 5]}))


def task_of(dataset: str, seed: int = 0, **data: object) -> Task:
    return load_task(
        validated(
            {"seed": seed, "data": {"dataset": dataset, "kind": "binary", "metric": "accuracy", **data}}
        )
    )


def test_the_seed_of_a_run_chooses_one_of_five_folds() -> None:
    for seed in (4, 7):
        folds = KFold(5, shuffle=True, random_state=seed // 5).split(range(40))
        task = task_of("own.pt", seed, fold="seed", split="kfold:5")
        assert task.test.ids.tolist() == [test.tolist() for _, test in folds][seed % 5]


@pytest.mark.parametrize("dataset", ["own.pt", "own.csv"])
def test_the_seed_of_a_run_chooses_its_fold(dataset: str) -> None:
    labels = np.arange(40) % 2
    for seed in (0, 1, 13):
        folds = StratifiedKFold(10, shuffle=True, random_state=seed // 10).split(labels, labels)
        tests = [test.tolist() for _, test in folds]
        assert task_of(dataset, seed, fold="seed").test.ids.tolist() == tests[seed % 10]
        both = task_of(dataset, seed, fold="seed", validate_on_test=True)
        assert both.val.ids.tolist() == tests[seed % 10]


@pytest.mark.parametrize("dataset", ["own.pt", "own.csv"])
def test_a_file_says_the_split(dataset: str) -> None:
    task = task_of(dataset, split="split.json")
    assert [part.ids.tolist() for part in task.splits.values()] == [[0, 1, 2], [3], [4, 5]]
    info = TaskInfo.of(task, validated({}))
    assert TaskInfo.from_json(json.loads(json.dumps(info.to_json()))) == info
    assert info.split == "as in split.json, 34 graphs in no part"
    # Another split is other data, for osan evaluate and --resume.
    Path("split.json").write_text(json.dumps({"train": [0, 1, 2], "val": [3], "test": [4, 6]}))
    assert not task_of(dataset, split="split.json").is_that_of(info.fingerprint)


@pytest.mark.parametrize(
    ("dataset", "data", "message"),
    [
        ("own.pt", {"split": "scaffold"}, "got 'scaffold'; scaffold and time:COLUMN are for tables"),
        (
            "own.pt",
            {"split": "random", "fold": "seed"},
            "fold: expected none, for the split 'random' has no",
        ),
        ("own.csv", {"split": "scaffold", "fold": 0}, "the split 'scaffold' has no folds"),
        ("own.csv", {"validate_on_test": True}, "validate_on_test: expected a split with folds"),
        ("own.pt", {"validate_on_test": True}, "validate_on_test: expected a split with folds"),
        (
            "own.pt",
            {"split": "stratified", "kind": "regression", "metric": "mae"},
            "stratified folds need one target with",
        ),
        ("own.pt", {"options": {"distances": True}}, "own.pt: expected no options, got 'distances'"),
        (
            "own.csv",
            {"labels": "y.txt"},
            "labels: expected none, for own.csv is a table",
        ),
        ("own.pt", {"labels": "y.txt"}, "labels: expected none, for own.pt contains targets, got 'y.txt'"),
        ("nowhere", {}, "dataset: expected a file, a folder, 'module:name' or one of .*, got 'nowhere'"),
    ],
)
def test_what_cannot_be_done_is_refused(dataset: str, data: dict[str, object], message: str) -> None:
    with pytest.raises(OsanError, match=message):
        task_of(dataset, **data)


def test_paths_are_stored_in_full(tmp_path: Path) -> None:
    def paths(**data: str) -> tuple[str, str | None, str | None]:
        found = located(validated({"data": data})).data
        return found.dataset, found.split, found.labels

    here = str(tmp_path)
    assert paths(dataset="own.pt", split="split.json") == (f"{here}/own.pt", f"{here}/split.json", None)
    assert paths(dataset="own.pt", split="random") == (f"{here}/own.pt", "random", None)
    assert paths(dataset="own.pt", labels="y.txt") == (f"{here}/own.pt", None, f"{here}/y.txt")
    # A column of that name is meant, and known datasets have no files.
    (tmp_path / "y").write_text("train\n")
    assert paths(dataset="own.csv", split="y") == (f"{here}/own.csv", "y", None)
    assert paths(dataset="own.pt", split="y") == (f"{here}/own.pt", f"{here}/y", None)
    (tmp_path / "zinc").write_text("")
    assert paths(dataset="zinc", split="official") == ("zinc", "official", None)
    with pytest.raises(
        OsanError, match=r"expected a file, a folder, 'module:name' or one of .*, got 'nowhere'"
    ):
        paths(dataset="nowhere")
