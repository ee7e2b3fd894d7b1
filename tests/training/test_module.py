"""The Lightning module: groups, rates, normalization, early stopping and model selection."""

import csv
import json
from dataclasses import replace

import pytest
import torch

from osan.data import Features, FlatLoader, load
from osan.errors import OsanError
from osan.training.build import build
from osan.training.choosing import combine
from osan.training.run import load_model, train
from osan.training.schedules import Moment, steps
from osan.training.tasks import TaskInfo, load_task


def test_one_adam_with_two_groups_is_two_adams(small, learner_of):
    """The paper has two optimizers, with rates of their own."""
    settings = small(**{"training.upstream_learning_rate": 0.02})
    (ours, task), (theirs, _) = learner_of(settings), learner_of(settings)
    one = ours.configure_optimizers()
    assert [group["lr"] for group in one.param_groups] == [0.001, 0.02]
    assert sum(len(group["params"]) for group in one.param_groups) == len(list(ours.model.parameters()))
    two = [
        torch.optim.Adam(theirs.model.downstream.parameters(), lr=0.001, fused=True),
        torch.optim.Adam(theirs.model.upstream.parameters(), lr=0.02, fused=True),
    ]
    for learner, optimizers in ((ours, [one]), (theirs, two)):
        torch.manual_seed(7)
        for index, batch in enumerate(FlatLoader(task.train, 16)):
            learner.zero_grad()
            learner.training_step(batch, index).backward()
            for optimizer in optimizers:
                optimizer.step()
    for name, value in ours.model.state_dict().items():
        assert torch.equal(value, theirs.model.state_dict()[name]), name


def test_an_upstream_network_with_rate_zero_stays_as_it_was_drawn(tmp_path, small, learner_of):
    settings = small(**{"training.upstream_learning_rate": 0.0, "training.epochs": 2})
    drawn, _ = learner_of(settings)
    train(settings, tmp_path / "run", progress=False)
    trained, _, _ = load_model(tmp_path / "run")
    parts = {"upstream": True, "downstream": False}
    for part, same in parts.items():
        pairs = zip(
            getattr(drawn.model, part).parameters(), getattr(trained.model, part).parameters(), strict=True
        )
        assert all(torch.equal(a, b) for a, b in pairs) == same, part


def test_rates_of_the_epochs(finished, small):
    rows = list(csv.DictReader((finished / "metrics.csv").open()))
    assert [int(row["epoch"]) for row in rows] == list(range(6))
    assert [float(row["lr"]) for row in rows] == [0.001, 0.001, 0.0005, 0.0005, 0.00025, 0.00025]
    assert {float(row["upstream_lr"]) for row in rows} == {0.001}
    moments = [Moment(epoch, 1000, epoch, 1000) for epoch in (0, 399, 400, 599, 600, 999)]
    zinc = [steps(moment, decay=0.316, milestones=[400, 600]) for moment in moments]
    assert [down for down, _ in zinc] == pytest.approx([1, 1, 0.316, 0.316, 0.316**2, 0.316**2])
    assert {up for _, up in zinc} == {1}


def test_the_best_epoch_is_kept(finished):
    rows = list(csv.DictReader((finished / "metrics.csv").open()))
    values = [float(row["val_mae"]) for row in rows]
    result = json.loads((finished / "result.json").read_text())
    assert result["validation"] == min(values)
    assert result["best_epoch"] == values.index(min(values))
    assert result["epochs"] == 6
    assert len(result["test_seconds"]) == 5


def test_the_stored_model_reproduces_score_and_predictions(finished):
    from osan.training.evaluation import predict

    learner, settings, _ = load_model(str(finished))
    test = load_task(settings).test
    prediction = predict(learner, test, 5)
    with torch.no_grad():
        assert torch.allclose(learner(test.batch(torch.arange(3))), prediction[:3], rtol=1e-5)
    written = [float(row["predicted_y"]) for row in csv.DictReader((finished / "predictions.csv").open())]
    assert prediction.flatten().tolist() == pytest.approx(written, rel=1e-5)
    wanted = (torch.tensor(written).double() - test.y.flatten().double()).abs().mean().item()
    assert json.loads((finished / "result.json").read_text())["value"] == pytest.approx(wanted, rel=1e-6)


def test_scores_are_in_the_unit_of_the_targets(tmp_path, small):
    """Own tables are trained on normalized targets, and scored on the targets as they are."""
    rows = "\n".join(f"{'C' * (i + 1)},{1000 + i}" for i in range(30))
    (tmp_path / "a.csv").write_text(f"smiles,y\n{rows}\n")
    settings = small(
        **{"data.dataset": str(tmp_path / "a.csv"), "data.options": {}, "training.epochs": 1, "name": "own"}
    )
    result = train(settings, tmp_path / "run", progress=False)
    task = load_task(settings)
    assert torch.equal(task.normalization.mean, task.train.y.mean(0))
    assert result.value < 30
    for row in csv.DictReader((tmp_path / "run" / "predictions.csv").open()):
        assert 900 < float(row["predicted_y"]) < 1100
        assert float(row["y"]) >= 1000
    learner, _, info = load_model(tmp_path / "run")
    assert info.mean == tuple(task.normalization.mean.tolist())
    zero = learner.losses(torch.zeros(1, 1), task.normalization.mean.reshape(1, 1))
    assert zero.item() == pytest.approx(0, abs=1e-6)


def test_patience_counts_from_the_best_and_not_before_the_least_epoch(tmp_path, small):
    """With a rate of almost nothing no epoch improves on the first."""
    frozen = {"training.learning_rate": 1e-30, "training.upstream_learning_rate": 1e-30}
    # Dropout plays no part in validation, but the running statistics of batch norm do.
    frozen |= {"network.norm": False, "training.epochs": 20, "training.patience": 3}
    for least, epochs in ((1, 4), (9, 9)):
        settings = small(**frozen, **{"training.min_epochs": least})
        result = train(settings, tmp_path / str(least), progress=False)
        assert (result.best_epoch, result.epochs) == (0, epochs)


@pytest.mark.parametrize(
    ("dataset", "options", "policy"),
    [
        ("csl-generated", {"copies": 4}, ""),
        ("twisted-pairs", {"k": 1, "num_pairs": 2, "copies": 4}, "delete 1 vertex x all"),
        ("twisted-pairs", {"k": 1, "num_pairs": 2, "copies": 4}, "mark 1 vertex x 2"),
        ("planted-motif", {"num_graphs": 40}, "tree x 2"),
        ("planted-motif", {"num_graphs": 40}, "select 4 vertices ordered x 2"),
    ],
)
def test_all_kinds_of_tasks_and_policies(tmp_path, small, dataset, options, policy):
    changes = {"data.dataset": dataset, "data.options": options, "selection.policy": policy}
    result = train(small(**changes, **{"training.epochs": 1}), tmp_path / "run", progress=False)
    assert 0 <= result.value < 10
    assert result.metric == load(dataset, **options).metric


@pytest.mark.parametrize(
    ("kind", "targets", "auto"),
    [("multiclass", 1, "vote"), ("binary", 1, "vote"), ("binary", 2, "mean"), ("regression", 1, "mean")],
)
def test_samples_vote_for_the_class_of_one_target(small, kind, targets, auto):
    """With several targets the columns are not classes of which one could win."""
    settings = small()
    info = replace(
        TaskInfo.of(load_task(settings), settings),
        kind=kind,
        metric="accuracy",
        targets=tuple(f"y{i}" for i in range(targets)),
    )
    assert combine(settings.selection, info) == auto
    forced = small(**{"selection.combine": "vote"}).selection
    if auto == "vote":
        assert combine(forced, replace(info, metric="rocauc")) == "vote"
    else:
        with pytest.raises(OsanError, match=rf"{kind} with {targets} target\(s\); use 'mean'"):
            combine(forced, info)


@pytest.mark.parametrize("like", [None, "zinc"])
@pytest.mark.parametrize(("conv", "looks"), [("gin", False), ("gcn", False), ("gine", True), (None, True)])
def test_layers_that_look_at_no_edges_get_no_encoder_of_them(small, conv, looks, like):
    settings = small(**{"network.conv": conv, "network.like": like, "network.width": 8})
    info = TaskInfo.of(load_task(settings), settings)
    model = build(settings, replace(info, edge_features=Features(sizes=(4,))))
    assert model.downstream.stack.looks_at_edges == looks


def test_pna_needs_edge_features(small, learner_of):
    with pytest.raises(
        OsanError, match=r"network.conv: pna looks at edge features, but planted-motif has none"
    ):
        learner_of(small(**{"network.conv": "pna"}))


@pytest.mark.parametrize(
    "name", ["imle", "adaptive-imle", "simple", "straight-through", "score-function", "random"]
)
def test_every_estimator_learns_something(small, name, learner_of):
    settings = small(**{"selection.estimator": name, "selection.draws": 2})
    learner, task = learner_of(settings)
    learner.training_step(next(iter(FlatLoader(task.train, 16))), 0).backward()
    assert (learner.model.upstream is None) == (name == "random")
    assert all(parameter.grad is not None for parameter in learner.model.downstream.head.parameters())
    if name not in ("random", "imle", "adaptive-imle"):  # whose gradient may be 0 in a single step
        assert any(parameter.grad.abs().sum() > 0 for parameter in learner.model.upstream.out.parameters())
