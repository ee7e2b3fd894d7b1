"""A run whose network is blended with a Gaussian process: stored, loaded, scored and refused."""

from __future__ import annotations

import csv

import pytest
import torch

from osan.data import FlatLoader
from osan.errors import OsanError
from osan.experiments import default_settings
from osan.nn import GaussianProcess
from osan.training import load_model, load_predictor, train
from osan.training.evaluation import predict, predict_samples
from osan.training.scores import score
from osan.training.tasks import load_task


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "mols.csv"
    ends = ["O", "N", "F", "Cl", "C(=O)O", "C#N"]
    rows = [("C" * n + end, n - 2.0 * k) for k, end in enumerate(ends) for n in range(1, 12)]
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([("smiles", "y", "active"), *((s, y, int(y > 1)) for s, y in rows)])
    return path


def small(path, **changes):
    sizes = {"network.width": 8, "network.layers": 2, "training.epochs": 2, "training.warmup": 0}
    return default_settings(str(path)).changed({**sizes, "data.targets": ["y"], **changes})


@pytest.fixture(scope="module")
def run(table, tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "run"
    return folder, train(small(table), folder, progress=False)


def test_the_default_for_molecules_blends(table):
    assert default_settings(str(table)).network.blend == "gaussian-process"
    assert default_settings("graphs.pt", 500).network.blend is None


def test_predictions_are_the_blend_of_both(run):
    folder, result = run
    learner, settings, info = load_model(folder)
    (process,) = (module for module in learner.modules() if isinstance(module, GaussianProcess))
    share = float(process.share)
    assert result.share == pytest.approx(share, abs=1e-6)
    assert 0 < share < 1
    task = load_task(settings)
    batch = next(iter(FlatLoader(task.test, 100)))
    with torch.no_grad():
        together = learner(batch)
        own = info.normalization.undo(process(batch))
        process.share.fill_(1.0)
        alone = learner(batch)
    assert torch.allclose(together, share * alone + (1 - share) * own, atol=1e-5)
    assert not torch.allclose(alone, own, atol=0.1)


def test_the_process_knows_the_training_molecules_only(run):
    folder, _ = run
    learner, settings, info = load_model(folder)
    (process,) = (module for module in learner.modules() if isinstance(module, GaussianProcess))
    task = load_task(settings)
    assert len(process.points) == info.points == len(task.train)
    batch = next(iter(FlatLoader(task.train, 100)))
    fresh = GaussianProcess(info.points, info.descriptors, 1, process.mean, process.std)
    fresh.fit(batch.descriptors, info.normalization.apply(batch.y))
    assert torch.allclose(fresh.alpha, process.alpha, atol=1e-5)


def test_scores_are_those_of_the_blend(run):
    folder, result = run
    learner, settings, info = load_model(folder)
    task = load_task(settings)
    for part, expected in ((task.val, result.validation), (task.test, result.value)):
        found = score(predict(learner, part, 64), part.y, info.kind, info.metric)
        assert float(found) == pytest.approx(expected, rel=1e-5)


def test_the_same_run_again_has_the_same_bytes(run, table, tmp_path):
    folder, _ = run
    train(small(table), tmp_path / "again", progress=False)
    for name in ("model.safetensors", "predictions.csv"):
        assert (folder / name).read_bytes() == (tmp_path / "again" / name).read_bytes()


def test_classes_and_ensembles(table, tmp_path):
    settings = small(
        table, **{"data.targets": ["active"], "data.kind": "binary", "training.loss": "auto", "ensemble": 2}
    )
    result = train(settings, tmp_path / "run", progress=False, processes=1)
    task = load_task(settings)
    model = load_predictor(tmp_path / "run")
    found = score(predict(model, task.test, 64), task.test.y, "binary", result.metric)
    assert float(found) == pytest.approx(result.value)
    for member in model.members:
        assert any(isinstance(module, GaussianProcess) for module in member.modules())


def test_the_share_comes_from_logits_where_samples_vote(table, tmp_path, monkeypatch):
    """The accuracy lets samples vote; the Gaussian process is weighed beside the logits behind the votes."""
    seen = []
    monkeypatch.setattr(GaussianProcess, "weigh", lambda _, network, *rest: seen.append(network))
    settings = small(
        table,
        **{"data.targets": ["active"], "data.kind": "binary", "training.loss": "auto"},
        **{"data.metric": "accuracy"},
    )
    train(settings, tmp_path / "vote", progress=False)
    learner, *_ = load_model(tmp_path / "vote")  # the share is still 1, so this is the network alone
    assert learner.model.combine == "vote"
    expected = predict_samples(learner, load_task(settings).val, settings.training.batch_size)[1].mean(0)
    assert torch.allclose(seen[0], expected, atol=1e-5)


def test_nothing_to_blend_with(table, tmp_path):
    result = train(small(table, **{"data.descriptors": []}), tmp_path / "run", progress=False)
    assert result.share is None
    learner, *_ = load_model(tmp_path / "run")
    assert not any(isinstance(module, GaussianProcess) for module in learner.modules())


class Size(torch.nn.Module):
    """A network of another kind."""

    def __init__(self):
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1))

    def forward(self, batch):
        return torch.bincount(batch.batch).unsqueeze(1) * self.weight


def test_networks_of_another_kind_are_refused(table, tmp_path):
    settings = small(table, **{"selection.policy": ""})
    message = "network.blend: expected none with the architecture 'custom', which is no osan.nn.OSAN"
    with pytest.raises(OsanError, match=message):
        train(settings, tmp_path / "run", model=Size(), progress=False)


def test_a_network_that_goes_on_learns_without_the_process_of_the_run_before(run, tmp_path):
    """As if it had been taken off by hand; the new run gets one of its own."""
    folder, _ = run
    by_hand, settings, _ = load_model(folder)
    by_hand.model.downstream.process = None
    values = []
    for name, model in (("by-hand", by_hand.model), ("as-it-is", load_model(folder)[0].model)):
        result = train(settings, tmp_path / name, model=model, progress=False)
        assert result.share is not None
        values.append((result.value, result.validation, result.share))
    assert values[0] == values[1]
    load_model(tmp_path / "as-it-is", model=load_model(folder)[0].model)
