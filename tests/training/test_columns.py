"""What a run writes about its test split is what was scored, in numbers that mean something."""

from __future__ import annotations

import csv
import json
import math
from itertools import product
from pathlib import Path

import pytest
import torch
from typer.testing import CliRunner

from osan.cli import app
from osan.data import load_table
from osan.data.formats.table import read_table
from osan.experiments import settings_for
from osan.training.calibration import Interval, read_calibration
from osan.training.columns import distinct, numbered, predicted_columns
from osan.training.evaluation import predict_members, predict_samples
from osan.training.folder import read_result
from osan.training.members import Ensemble
from osan.training.outcome import write_outcome
from osan.training.prediction import predict_table
from osan.training.run import load_model, train
from osan.training.tasks import load_task

NAMES = ("low", "middle", "high")


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Chains of carbon with another atom, in classes of no great sense; some lines are of no use."""
    path = tmp_path_factory.mktemp("table") / "a.csv"
    lines = ["smiles,flag,name"]
    for i in range(60):
        lines.append(f"{'C' * (i // 3 + 1)}{'NOS'[i % 3]},{i * 7 % 11 % 2},{NAMES[i * 5 % 7 % 3]}")
        if i % 10 == 9:
            lines.append("no molecule,1,low")
    path.write_text("\n".join(lines) + "\n")
    return path


KINDS = [("flag", "binary", "rocauc"), ("flag", "binary", "accuracy"), ("name", "multiclass", "accuracy")]


@pytest.fixture(scope="module", params=KINDS)
def own_run(table: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """Five samples of learned subgraphs, joined by their mean (for ROC-AUC) or by a vote."""
    target, kind, metric = request.param
    changes = {"data.targets": [target], "data.kind": kind, "data.metric": metric, "network.width": 8}
    settings = settings_for(str(table), "select 2 vertices x 2").changed(
        {**changes, "training.epochs": 2, "training.min_epochs": 1, "training.learning_rate": 0.01}
    )
    folder = tmp_path_factory.mktemp("run") / "run"
    train(settings, folder, progress=False)
    return folder


def rows_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "predictions.csv").open()))


def test_the_score_follows_from_the_file(own_run: Path) -> None:
    rows, result = rows_of(own_run), read_result(own_run)
    assert result is not None
    if result.metric == "rocauc":
        assert "votes_flag" not in rows[0]
        positive = [float(row["probability_flag"]) for row in rows if float(row["flag"]) == 1]
        negative = [float(row["probability_flag"]) for row in rows if float(row["flag"]) == 0]
        pairs = [(a > b) + (a == b) / 2 for a, b in product(positive, negative)]
        value = sum(pairs) / len(pairs)
    elif "flag" in rows[0]:
        value = sum((float(row["votes_flag"]) > 0.5) == float(row["flag"]) for row in rows) / len(rows)
    else:
        chosen = [max(sorted(NAMES), key=lambda name: float(row[f"votes_{name}"])) for row in rows]
        value = sum(name == row["name"] for name, row in zip(chosen, rows, strict=True)) / len(rows)
    assert result.value == pytest.approx(value, rel=1e-6)


def test_probabilities_and_votes_are_what_they_are_called(own_run: Path, table: Path) -> None:
    learner = load_model(own_run)[0]
    info = learner.info
    test = load_table(table, targets=info.targets, kind=info.kind).test  # type: ignore[arg-type]
    each = predict_samples(learner, test, 7)[1].double()
    assert len(each) == 5
    one_hot = torch.nn.functional.one_hot
    if info.kind == "binary":
        names, of_samples = info.targets, 1 / (1 + (-each).exp())
        of_mean, votes = 1 / (1 + (-each.mean(0)).exp()), (each > 0).double().mean(0)
    else:
        names, of_samples = info.class_names, each.exp() / each.exp().sum(-1, keepdim=True)
        of_mean = each.mean(0).exp() / each.mean(0).exp().sum(-1, keepdim=True)
        votes = one_hot(each.argmax(-1), 3).double().mean(0)
    for i, row in enumerate(rows_of(own_run)):
        for j, name in enumerate(names):
            assert float(row[f"probability_{name}"]) == pytest.approx(of_mean[i, j].item(), abs=1e-5)
            deviation = of_samples[:, i, j].std(correction=0).item()
            assert float(row[f"probability_{name}_spread"]) == pytest.approx(deviation, abs=1e-5)
            if info.metric == "accuracy":
                assert float(row[f"votes_{name}"]) == pytest.approx(votes[i, j].item(), abs=1e-6)


def probabilities(learners, graphs, temperature: float) -> torch.Tensor:
    """Of class 0 and 1, or of each class, by definition: the mean over members, then the temperature."""
    size = learners[0].settings.training.batch_size  # as in evaluation: other batches round differently
    each = torch.stack([predict_samples(one, graphs, size)[1].mean(0).double() for one in learners])
    if each.size(-1) == 1:
        each = torch.cat([torch.zeros_like(each), each], -1)
    return ((each.softmax(-1).mean(0)).log() / temperature).softmax(-1)


def test_sets_of_classes_come_from_probabilities_not_from_votes(own_run: Path, tmp_path: Path) -> None:
    """Of a network, and of an ensemble; six molecules are for validation."""
    learner, other = (load_model(own_run)[0] for _ in range(2))
    task, info, size = load_task(learner.settings), learner.info, learner.settings.training.batch_size
    with torch.no_grad():
        for weights in other.model.parameters():
            weights.add_(0.1)
    both = Ensemble((learner, other), learner.settings.changed({"ensemble": 2}))
    facts = {"validation": 0.0, "epochs": 1, "best_epoch": 0, "seconds": 0.0}
    for place, model, learners in (("one", learner, [learner]), ("two", both, both.members)):
        (tmp_path / place).mkdir()
        result = write_outcome(model, task, tmp_path / place, **facts)
        # At the level 0.9, six molecules are too few: every class is in the set.
        assert result.intervals is not None
        assert (result.intervals["coverage"], result.intervals["width"]) == (1.0, max(2, info.num_targets))
        stored = read_calibration(tmp_path / place, info)
        held_out = probabilities(learners, task.val, stored.temperature)
        errors = sorted((1 - held_out.gather(1, task.val.y.long().reshape(-1, 1))).flatten().tolist())
        margin = errors[math.ceil(0.7 * 7) - 1]
        assert stored.at(0.7).item() == pytest.approx(margin, abs=1e-6)
        expected = probabilities(learners, task.test, stored.temperature)
        columns, values = predicted_columns(
            model, *predict_members(model, task.test, size), Interval(stored, 0.7)
        )
        for i, name in enumerate(info.class_names if info.kind == "multiclass" else info.targets):
            own = expected[:, i + (info.kind == "binary")]
            assert torch.allclose(values[:, columns.index(f"calibrated_{name}")], own, atol=1e-5)
            inside = (1 - own <= margin + 1e-9).double()
            assert torch.equal(values[:, columns.index(f"{name}_high")], inside)
    truth = task.test.y.long().reshape(-1, 1)
    single = read_calibration(own_run, info)
    errors_there = 1 - probabilities([learner], task.test, single.temperature).gather(1, truth)
    hits = errors_there <= single.at(0.7) + 1e-9
    told = CliRunner().invoke(app, ["evaluate", str(own_run), "--level", "0.7", "--json"])
    assert json.loads(told.stdout)["intervals"]["coverage"] == pytest.approx(hits.double().mean().item())
    assert {"logloss", "ece"} <= json.loads(told.stdout).keys()


def test_lines_lead_to_the_table_and_to_what_predict_tells(own_run: Path, table: Path) -> None:
    learner = load_model(own_run)[0]
    given = table.read_text().splitlines()
    told = predict_table(learner, read_table(table, ["smiles"], whole=True))
    rows = {str(line): row for row in told.rows for line in [row[3]]}
    assert told.header == ["smiles", "flag", "name", "line", *told.columns]
    for row in rows_of(own_run):
        _, flag, name = cells = given[int(row["line"]) - 1].split(",")
        assert row.get("name", name) == name
        assert float(row.get("flag", flag)) == float(flag)
        assert rows[row["line"]][:3] == cells
        values = dict(zip(told.columns, rows[row["line"]][4:], strict=True))
        assert values == pytest.approx({key: float(row[key]) for key in told.columns}, abs=1e-5)


def test_names_never_clash() -> None:
    assert distinct(["a", "a_2", "b", "a", "a"]) == ["a", "a_2", "b", "a_3", "a_4"]
    # Those that belong together keep the same number.
    assert numbered(["a", "a_spread"], ["a", "b"]) == ["a_2", "a_spread_2"]
    assert numbered(["a", "a_spread"], ["b"]) == ["a", "a_spread"]


def test_no_graphs_have_the_same_columns(own_run: Path) -> None:
    learner = load_model(own_run)[0]
    empty = torch.zeros(1, 0, learner.info.num_targets)
    columns, values = predicted_columns(learner, empty[0], empty[None])
    assert columns == [name for name in rows_of(own_run)[0] if name.startswith(("probability", "votes"))]
    assert values.shape == (0, len(columns))
