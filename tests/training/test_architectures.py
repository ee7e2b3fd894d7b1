"""Every architecture, custom models, tasks and parts: trained from settings, stored and loaded again."""

import csv
import json

import pytest
import torch
from torch_geometric.nn import global_add_pool

from osan.data import load
from osan.errors import OsanError
from osan.nn import ARCHITECTURES, Output
from osan.training import callbacks
from osan.training.build import build
from osan.training.evaluation import predict, scores
from osan.training.folder import read_result, run_folder, settings_of
from osan.training.run import load_model, train
from osan.training.settings_files import read_settings, write_settings
from osan.training.tasks import TaskInfo, load_task

OPTIONS = {
    "k-osan": {"k": 1, "aggregation": "per-subgraph"},
    "marked": {"k": 1},
    "dropout": {"m": 3, "p": 0.2},
    "reconstruction": {"k": 2},
    "identity": {},
    "nested": {"hops": 1},
    "kernel": {"hops": 1, "starts": 2},
    "sswl": {},
}
WITH_POLICY = ("osan", "ds", "dss", "few-marks", "few-marks-500k")


def small_of(small, architecture, **changes):
    policy = "delete 1 vertex x all" if architecture in WITH_POLICY else ""
    return small(
        **{
            "selection.policy": policy,
            "selection.auxiliary": "none",
            "network.architecture": architecture,
            "network.options": OPTIONS.get(architecture, {}),
            "training.epochs": 2,
            "data.options": {"num_graphs": 40},
            **changes,
        }
    )


def stop_after(monkeypatch, epoch):
    save = callbacks.Saver.on_train_epoch_end

    def stop(self, trainer, module):
        save(self, trainer, module)
        if trainer.current_epoch == epoch:
            raise RuntimeError("stopped")

    monkeypatch.setattr(callbacks.Saver, "on_train_epoch_end", stop)


@pytest.mark.parametrize(
    ("architecture", "options"),
    [*((name, OPTIONS.get(name, {})) for name in sorted({*OPTIONS, *WITH_POLICY})), ("k-osan", {"k": 1})],
    ids=str,
)
def test_every_architecture_is_trained_resumed_stored_and_loaded(
    tmp_path, small, outcome, monkeypatch, architecture, options
):
    settings = small_of(small, architecture, **{"network.options": options})
    result = train(settings, tmp_path / "run", progress=False)
    with monkeypatch.context() as patched:
        stop_after(patched, 0)
        with pytest.raises(RuntimeError, match="stopped"):
            train(settings, tmp_path / "stopped", progress=False)
    train(settings, tmp_path / "stopped", resume=True, progress=False)
    assert outcome(tmp_path / "stopped") == outcome(tmp_path / "run")
    learner, loaded, _ = load_model(tmp_path / "run")
    assert loaded == settings
    prediction = predict(learner, load_task(settings).test, settings.training.batch_size)
    told = [float(row["predicted_y"]) for row in csv.DictReader((tmp_path / "run/predictions.csv").open())]
    assert prediction.flatten().tolist() == pytest.approx(told, rel=1e-5, abs=1e-6)
    assert not learner.learns
    values = scores(prediction, load_task(settings).test.y, learner.info)
    assert values[result.metric] == pytest.approx(result.value, rel=1e-6)
    assert result == read_result(tmp_path / "run")


def test_every_name_is_tested():
    assert set(ARCHITECTURES) == {*OPTIONS, *WITH_POLICY}


def test_both_aggregations_of_k_osan(small):
    settings = small_of(small, "k-osan")
    info = TaskInfo.of(load_task(settings), settings)
    for aggregation in ("per-vertex", "per-subgraph"):
        changed = settings.changed({"network.options": {"k": 2, "aggregation": aggregation}})
        model = build(changed, info)
        assert model.network.aggregation == aggregation
        batch = load_task(settings).train.batch(torch.arange(2))
        assert model(batch).bag.tuples.shape[1] == 2


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        (
            {
                "network.architecture": "nested",
                "network.options": {"hops": 1},
                "selection.policy": "delete 1 vertex",
            },
            r"selection.policy: expected none with architecture 'nested', which makes its bags itself, got",
        ),
        ({"network.options": {"k": 1, "agregation": "per-vertex"}}, r"agregation"),
        ({"network.options": {}}, r"network: the architecture 'k-osan' cannot be built \(.*'k'"),
        ({"network.architecture": "nowhere:net"}, r"network.architecture: cannot import 'nowhere:net'"),
        ({"network.architecture": "math:prod"}, r"network\.\w+: .*'math:prod'"),
    ],
)
def test_what_cannot_be_built(small, changes, message):
    settings = small_of(small, "k-osan", **changes)
    info = TaskInfo.of(load_task(settings), settings)
    with pytest.raises(OsanError, match=message):
        build(settings, info)


@pytest.mark.parametrize("architecture", sorted({*OPTIONS, *WITH_POLICY}))
@pytest.mark.parametrize("like", ["exp", "proteins"])
def test_the_papers_options_with_every_architecture(small, architecture, like):
    changes = {"network.like": like, "network.width": None, "network.layers": 2, "network.dropout": None}
    settings = small_of(small, architecture, **changes)
    task = load_task(settings)
    model = build(settings, TaskInfo.of(task, settings))
    assert getattr(model, "downstream", model).width == 32
    assert model(task.train.batch(torch.arange(2))).prediction.shape == (2, 1)


def test_an_unknown_architecture_is_refused_at_once(small):
    with pytest.raises(OsanError, match=r"network.architecture: expected .* got 'k-osna'; did you mean 'k-o"):
        small(**{"network.architecture": "k-osna"})


def test_random_bags_are_fresh_reproducible_and_resumable(tmp_path, small, outcome, monkeypatch):
    settings = small_of(small, "dropout", **{"training.epochs": 4})
    train(settings, tmp_path / "whole", progress=False)
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        with pytest.raises(RuntimeError, match="stopped"):
            train(settings, tmp_path / "run", progress=False)
    torch.manual_seed(99)  # what came before must not matter
    train(settings, tmp_path / "run", resume=True, progress=False)
    assert outcome(tmp_path / "run") == outcome(tmp_path / "whole")

    learner, _, _ = load_model(tmp_path / "run")
    test = load_task(settings).test
    first = predict(learner, test, 8)
    torch.manual_seed(1)
    assert torch.equal(first, predict(learner, test, 8))
    batch = test.batch(torch.arange(4))
    learner.train()
    bags = [learner.look(batch).bag for _ in range(2)]
    assert bags[0].vertex.tolist() != bags[1].vertex.tolist()
    other = predict(load_model(tmp_path / "run")[0], test, 8)
    assert torch.equal(first, other)


class Sizes(torch.nn.Module):
    """From the number of vertices to a prediction; nothing of osan is used."""

    def __init__(self):
        super().__init__()
        self.linear = torch.nn.Linear(1, 1)

    def forward(self, batch):
        return self.linear(global_add_pool(torch.ones(batch.num_nodes, 1), batch.batch) / 10)


class Bare(torch.nn.Linear):
    """Another model."""


def test_a_custom_model_and_task(tmp_path, small, outcome, monkeypatch):
    task = load("planted-motif", num_graphs=30)
    settings, run = small(), tmp_path / "run"

    def fresh():
        torch.manual_seed(3)
        return Sizes()

    train(settings, tmp_path / "whole", model=fresh(), task=task, progress=False)
    with monkeypatch.context() as patched:
        stop_after(patched, 2)
        with pytest.raises(RuntimeError, match="stopped"):
            train(settings, run, model=fresh(), task=task, progress=False)
    with pytest.raises(OsanError, match=r"other settings: data.dataset: .*network.architecture"):
        train(settings, run, resume=True, progress=False)
    with pytest.raises(OsanError, match=r"checkpoint.ckpt holds another model: model.network.bias"):
        train(settings, run, model=Bare(1, 1), task=task, resume=True, progress=False)
    result = train(settings, run, model=fresh(), task=task, resume=True, progress=False)
    assert outcome(run) == outcome(tmp_path / "whole")

    assert json.loads((run / "model.json").read_text())["custom"] is True
    with pytest.raises(OsanError, match="model: expected a custom model, got none"):
        load_model(run)
    learner, loaded, info = load_model(run, model=Sizes())
    wanted = (predict(learner, task.test, 8) - task.test.y).abs().mean().item()
    assert result.value == pytest.approx(wanted, rel=1e-6)
    assert info.dataset == task.name
    with pytest.raises(OsanError, match="task: expected the custom task of the run, got none"):
        load_task(settings_of(run))
    assert loaded.network.architecture == "custom"


def test_a_run_begins_with_the_weights_of_another(tmp_path, small, finished):
    """With hardly any learning rate the weights stay where they were; the seed would draw others."""
    still = {"training.learning_rate": 1e-12, "training.upstream_learning_rate": 0, "training.epochs": 1}
    learner, settings, _ = load_model(finished)
    before = {name: value.clone() for name, value in learner.model.named_parameters()}
    train(settings.changed({**still, "seed": 7}), tmp_path / "run", model=learner.model, progress=False)
    again, loaded, _ = load_model(tmp_path / "run", model=load_model(finished)[0].model)
    assert loaded.network.architecture == "custom"
    for name, value in again.model.named_parameters():
        torch.testing.assert_close(value, before[name], msg=name)


def test_paths_may_be_texts(tmp_path, small, finished):
    assert read_result(str(finished)) == read_result(finished)
    assert run_folder(str(tmp_path), small()) == tmp_path / "small" / "seed-0"
    write_settings(small(), str(tmp_path / "s.toml"))
    assert read_settings(str(tmp_path / "s.toml")) == small()


def test_a_stored_model_takes_no_custom_one(finished):
    with pytest.raises(OsanError, match="model: expected no custom model, got one"):
        load_model(finished, model=Sizes())


def test_no_policy_is_the_bag_of_whole_graphs(small):
    settings = small(**{"selection.policy": ""})
    task = load_task(settings)
    model = build(settings, TaskInfo.of(task, settings))
    batch = task.train.batch(torch.arange(3))
    out = model(batch)
    assert isinstance(out, Output)
    assert out.bag.num_subgraphs == 3
    assert torch.equal(out.bag.vertex, torch.arange(batch.num_nodes))
    assert len(out.each) == 1
    losses = torch.tensor([1.0, 2.0, 4.5])
    assert out.objective(losses).item() == losses.mean().item()
    assert not model.learns


def test_loggers(tmp_path, small, monkeypatch):
    settings = small(**{"machine.loggers": ["csv"], "training.epochs": 3})
    with monkeypatch.context() as patched:
        stop_after(patched, 1)
        with pytest.raises(RuntimeError, match="stopped"):
            train(settings, tmp_path / "run", progress=False)
    train(settings, tmp_path / "run", resume=True, progress=False)
    logged = list(csv.DictReader((tmp_path / "run/logs/csv/metrics.csv").open()))
    ours = list(csv.DictReader((tmp_path / "run/metrics.csv").open()))
    assert len(logged) == len(ours) == 3
    for one, other in zip(logged, ours, strict=True):
        assert {key: float(one[key]) for key in other} == {key: float(other[key]) for key in other}


@pytest.mark.parametrize("name", ["tensorboard", "wandb", "mlflow"])
def test_a_logger_whose_package_is_missing(tmp_path, small, monkeypatch, name):
    def missing(folder, run):
        raise ModuleNotFoundError(f"No module named {name!r}")

    monkeypatch.setitem(__import__("osan.training.loggers").training.loggers.LOGGERS, name, missing)
    settings = small(**{"machine.loggers": [name]})
    with pytest.raises(OsanError, match=rf"{name} is not installed; .*pip install 'osan\[loggers\]'"):
        train(settings, tmp_path / "run", progress=False)
