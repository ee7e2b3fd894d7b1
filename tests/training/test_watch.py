"""What is recorded of every epoch beside loss and validation, and that it changes nothing."""

import csv
import json

import pytest
import torch

from osan.data.loader import FlatLoader, mix_seed
from osan.experiments.demo import demo_settings
from osan.training.build import build
from osan.training.evaluation import predict, predict_samples, sample_agreement, separate_score
from osan.training.module import Learner
from osan.training.run import load_model, train
from osan.training.tasks import TaskInfo, load_task


def test_a_watched_run_is_the_same_run(small, finished, outcome, tmp_path):
    result = train(small(**{"training.watch_test": True}), tmp_path / "run", progress=False)
    plain, watched = outcome(finished), outcome(tmp_path / "run")
    assert watched["weights"] == plain["weights"]
    assert watched["predictions"] == plain["predictions"]
    column = [float(row["watched_test"]) for row in csv.DictReader((tmp_path / "run/metrics.csv").open())]
    # After the best epoch the watched split is scored by the weights that are kept.
    assert column[result.best_epoch] == pytest.approx(result.value, rel=1e-12)
    assert result.best_test == (max(column) if result.direction == "max" else min(column))
    assert json.loads((finished / "result.json").read_text())["best_test"] is None


def test_the_share_of_gradients_is_that_of_the_definition(small, tmp_path):
    """One full batch: compare with theta's gradient, graph by graph and subgraph by subgraph."""
    settings = small(**{"training.epochs": 1, "training.batch_size": 1000})
    train(settings, tmp_path / "run", progress=False)
    (row,) = csv.DictReader((tmp_path / "run/metrics.csv").open())

    task = load_task(settings, None, tmp_path / "rejected.csv")
    info = TaskInfo.of(task, settings)
    torch.manual_seed(settings.seed)
    learner = Learner(build(settings, info), settings, info)
    (batch,) = FlatLoader(task.train, 1000, True, epoch=lambda: 0, seed=settings.seed)
    torch.manual_seed(mix_seed(settings.seed, 0))
    out = learner.train().model(batch)
    theta = out.weights
    theta.retain_grad()
    out.objective(learner.losses(out.prediction, batch.y)).backward()
    pairs = [
        bool((theta.grad[batch.batch == graph, column] != 0).any())
        for graph in range(batch.num_graphs)
        for column in range(theta.size(1))
    ]
    assert 0 < sum(pairs) < len(pairs)
    assert float(row["gradients"]) == pytest.approx(sum(pairs) / len(pairs))


def test_kappa_of_the_validation_split_is_recorded(small, finished):
    """The kept epoch's is that of the saved weights; the first epochs hardly have a preference."""
    rows = list(csv.DictReader((finished / "metrics.csv").open()))
    best = json.loads((finished / "result.json").read_text())["best_epoch"]
    (learner, _, _), size = load_model(finished), small().training.batch_size
    expected = sample_agreement(learner, load_task(small()).val, size, 2)
    assert float(rows[best]["kappa"]) == pytest.approx(expected)
    assert all(-1 <= float(row["kappa"]) <= 1 for row in rows)


def test_training_ends_when_nothing_can_improve(tmp_path):
    (settings,) = (each for each in demo_settings(epochs=60) if each.name == "demo/pairs/random")
    settings = settings.changed({"training.watch_test": True, "training.min_epochs": 60})
    result = train(settings, tmp_path / "run", progress=False)
    rows = list(csv.DictReader((tmp_path / "run/metrics.csv").open()))
    columns = ["val_accuracy", "watched_test"]
    reached = [max(float(row[name]) for row in rows) for name in columns]
    before = [max(float(row[name]) for row in rows[:-1]) for name in columns]
    assert reached == [1.0, 1.0]
    assert before != reached
    assert result.epochs == len(rows) < 60
    assert result.best_epoch == [float(row["val_accuracy"]) for row in rows].index(1.0)


def test_the_last_of_equally_good_epochs(tmp_path):
    """One perfect epoch does not end a run that keeps the last of equals; patience does."""
    (settings,) = (each for each in demo_settings(epochs=60) if each.name == "demo/pairs/random")
    settings = settings.changed({"training.keep": "last", "training.patience": 4, "training.min_epochs": 45})
    result = train(settings, tmp_path / "run", progress=False)
    rows = list(csv.DictReader((tmp_path / "run/metrics.csv").open()))
    found = [float(row["val_accuracy"]) for row in rows]
    best = max(found)
    assert result.best_epoch == max(i for i, value in enumerate(found) if value == best)
    assert result.validation == best
    assert best == 1.0
    assert found.count(best) > 1  # else the first would do
    assert found.index(1.0) + 1 < len(found) < 60


def test_samples_apart(finished):
    learner, settings, info = load_model(finished)
    task = load_task(settings, None, finished / "rejected.csv")
    each = predict_samples(learner, task.test, 16)[1]
    assert each.shape == (settings.selection.samples, len(task.test), 1)
    # Joined they are what is predicted, and apart each has its own error.
    torch.testing.assert_close(each.mean(0), predict(learner, task.test, 16))
    errors = [(one - task.test.y).abs().mean() for one in each]
    told = json.loads((finished / "result.json").read_text())
    assert told["metric"] == "mae"
    assert told["separate"] == pytest.approx(float(torch.stack(errors).mean()), rel=1e-6)
    assert separate_score(each[:1], task.test.y, info) is None
