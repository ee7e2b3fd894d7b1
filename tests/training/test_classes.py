"""The names of classes stay with a model, from its table to its predictions."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from osan.data import load_graphs, load_table
from osan.data.formats.table import read_table
from osan.experiments import settings_for
from osan.graphs import csl, write_graphs
from osan.training.prediction import predict_table
from osan.training.run import load_model, train
from osan.training.tasks import TaskInfo

NAMES = {0: "toxic", 1: "harmless", 2: "NA"}


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """Chains of carbon or nitrogen, named after their first atom; a third of the names is missing."""
    path = tmp_path / "names.csv"
    rows = [f"{'CN'[i % 3 % 2]}{'C' * i},{NAMES[i % 3]}" for i in range(60)]
    path.write_text("smiles,label\n" + "\n".join(rows) + "\n")
    return path


def test_classes_are_named_in_the_task_and_missing_ones_are_none(table: Path) -> None:
    task = load_table(table, targets="label", kind="multiclass")
    assert task.classes == ("harmless", "toxic")
    assert task.num_targets == 2
    # As many as are named in the file: 40 of 60.
    assert sum(map(len, task.splits.values())) == 40


def test_names_of_a_label_file(tmp_path: Path) -> None:
    write_graphs(tmp_path / "g.g6", [csl(11, 2 + i % 2) for i in range(20)])
    (tmp_path / "labels.txt").write_text("two\nthree\n" * 10)
    task = load_graphs(tmp_path / "g.g6", labels=tmp_path / "labels.txt", kind="multiclass")
    assert task.classes == ("three", "two")
    assert [task.classes[i] for i in task.train.y.tolist()] == [
        ("two", "three")[i % 2] for i in task.train.ids.tolist()
    ]


def test_predictions_carry_the_names(table: Path, tmp_path: Path) -> None:
    settings = settings_for(str(table)).changed(
        {"data.targets": ["label"], "data.kind": "multiclass", "network.width": 8, "training.epochs": 1}
    )
    settings = settings.changed({"training.min_epochs": 1})
    folder = tmp_path / "run"
    train(settings, folder, progress=False)
    rows = list(csv.DictReader((folder / "predictions.csv").open()))
    task = load_table(table, targets="label", kind="multiclass")
    # Without a policy there is a single sample, which has no one to vote with.
    named = [f"probability_{name}{end}" for name in ("harmless", "toxic") for end in ("", "_spread")]
    assert list(rows[0]) == ["graph", "line", "label", *named]
    assert [row["label"] for row in rows] == [task.classes[i] for i in task.test.y.tolist()]
    learner = load_model(folder)[0]
    assert predict_table(learner, read_table(table, ["smiles"], whole=True)).columns == named

    # A model that was stored before classes had names.
    content = json.loads((folder / "model.json").read_text())["task"]
    del content["classes"]
    assert TaskInfo.from_json(content).class_names == ("0", "1")
