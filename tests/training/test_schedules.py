"""Schedules and optimizers against torch's own, and what a run does with them."""

import csv
import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.optim import lr_scheduler

from osan.data import FlatLoader
from osan.errors import OsanError
from osan.selection import Noise
from osan.training import callbacks
from osan.training.optimizers import make_optimizer
from osan.training.run import train
from osan.training.schedules import Moment, make_schedule, noise_factor, plateau

EPOCHS, COUNT = 6, 5
TOTAL = EPOCHS * COUNT


def moments(values=(), direction="min"):
    """All steps of a run, each with the validation metrics so far."""
    for step in range(TOTAL):
        epoch = step // COUNT
        yield Moment(step, TOTAL, epoch, EPOCHS, tuple(values[:epoch]), direction)


def our_rates(name, given=None, options=None):
    factors = make_schedule(name, given or {}, options or {})
    return [factors(moment) for moment in moments()]


def sequence(optimizer, warm, after):
    """A linear warmup over some steps, then a scheduler."""
    linear = lr_scheduler.LinearLR(optimizer, start_factor=1 / warm, total_iters=warm - 1)
    return lr_scheduler.SequentialLR(optimizer, [linear, after(optimizer)], milestones=[warm])


@pytest.mark.parametrize(
    ("name", "given_", "options", "reference"),
    [
        ("constant", {}, {}, lambda o: lr_scheduler.ConstantLR(o, factor=1.0)),
        (
            "constant",
            {"warmup": 2},
            {},
            lambda o: lr_scheduler.LinearLR(o, start_factor=0.1, total_iters=9),
        ),
        ("cosine", {}, {}, lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=TOTAL)),
        ("cosine", {}, {"final": 0.1}, lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=TOTAL, eta_min=0.1)),
        (
            "cosine",
            {"warmup": 2},
            {},
            lambda o: sequence(o, 10, lambda o: lr_scheduler.CosineAnnealingLR(o, T_max=TOTAL - 10)),
        ),
        (
            "one-cycle",
            {},
            {},
            lambda o: lr_scheduler.OneCycleLR(o, max_lr=1.0, total_steps=TOTAL, cycle_momentum=False),
        ),
        (
            "one-cycle",
            {},
            {"pct_start": 0.5, "div_factor": 4.0, "final_div_factor": 10.0},
            lambda o: lr_scheduler.OneCycleLR(
                o,
                max_lr=1.0,
                total_steps=TOTAL,
                pct_start=0.5,
                div_factor=4.0,
                final_div_factor=10.0,
                cycle_momentum=False,
            ),
        ),
    ],
)
def test_rates_are_those_of_torch(name, given_, options, reference):
    ours = our_rates(name, given_, options)
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    scheduler = reference(optimizer)
    theirs = []
    for step in range(TOTAL):
        theirs.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        if step + 1 < TOTAL:
            scheduler.step()
    assert [down for down, _ in ours] == pytest.approx(theirs, rel=1e-9, abs=1e-12)
    # Both networks follow.
    assert all(down == up for down, up in ours)


def test_steps_are_those_of_torch_and_spare_the_upstream_network():
    def theirs(make, **arguments):
        """Stepped once per epoch."""
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
        scheduler = make(optimizer, **arguments)
        rates = []
        for _ in range(EPOCHS):
            rates += [optimizer.param_groups[0]["lr"]] * COUNT
            optimizer.step()
            scheduler.step()
        return rates

    ours = our_rates("steps", {"decay": 0.5, "milestones": [1, 4]})
    assert [down for down, _ in ours] == theirs(lr_scheduler.MultiStepLR, milestones=[1, 4], gamma=0.5)
    ours += our_rates("steps", {"decay": 0.5, "decay_every": 2})
    assert [down for down, _ in ours[TOTAL:]] == theirs(lr_scheduler.StepLR, step_size=2, gamma=0.5)
    assert {up for _, up in ours} == {1.0}


@given(
    values=st.lists(
        st.one_of(st.sampled_from([0.5, 1.0, 0.99995]), st.floats(0.1, 2), st.just(math.nan)), max_size=40
    ),
    patience=st.integers(0, 4),
    cooldown=st.integers(0, 3),
    direction=st.sampled_from(["min", "max"]),
)
def test_plateaus_are_those_of_torch(values, patience, cooldown, direction):
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=1.0)
    reference = lr_scheduler.ReduceLROnPlateau(
        optimizer, mode=direction, factor=0.5, patience=patience, cooldown=cooldown, eps=0
    )
    for epoch in range(len(values) + 1):
        moment = Moment(epoch, 100, epoch, 100, tuple(values[:epoch]), direction)
        ours = plateau(moment, factor=0.5, patience=patience, cooldown=cooldown)
        assert ours == optimizer.param_groups[0]["lr"]
        if epoch < len(values):
            reference.step(values[epoch])


def test_what_a_schedule_cannot_do():
    with pytest.raises(OsanError, match=r"training.schedule: expected .*got 'cosin'; did you mean 'cosine'"):
        make_schedule("cosin", {}, {})
    with pytest.raises(OsanError, match=r"training.schedule: one-cycle: expected .*got 'warmup'"):
        make_schedule("one-cycle", {"warmup": 2}, {})
    moment = next(moments())
    for bad in (lambda at: -1.0, lambda at: math.nan, lambda at: "x", lambda at: (1.0, 2.0, 3.0)):
        with pytest.raises(OsanError, match=r"training\.schedule: "):
            make_schedule(bad, {}, {})(moment)


@pytest.mark.parametrize("name", ["constant", "linear", "cosine", "math:exp"])
def test_noise_fades_to_its_floor(name):
    factors = [noise_factor(name, 0.25, epoch, 9) for epoch in range(9)]
    shares = [epoch / 8 for epoch in range(9)]
    shape = {
        "constant": lambda share: 1,
        "linear": lambda share: 1 - share,
        "cosine": lambda share: (1 + math.cos(math.pi * share)) / 2,
        "math:exp": math.exp,
    }[name]
    assert factors == pytest.approx([0.25 + 0.75 * shape(share) for share in shares])
    assert noise_factor(name, 0.25, 0, 1) == 1  # a single epoch has the full noise


def test_evaluation_has_the_noise_that_the_schedule_ends_with(small, learner_of):
    fading = {
        "selection.noise_scale": 2.0,
        "selection.noise_schedule": "cosine",
        "selection.noise_floor": 0.1,
    }
    learner, _ = learner_of(small(**fading))
    assert learner.model.evaluation_noise == Noise("gumbel", 0.2)
    assert learner.model.training_noise == Noise("gumbel", 2.0)
    with pytest.raises(OsanError, match=r"selection.noise_floor: expected a number above 0 for the score"):
        learner_of(small(**fading | {"selection.noise_floor": 0.0, "selection.estimator": "score-function"}))
    with pytest.raises(OsanError, match=r"selection.bar: expected a policy of vertices or edges"):
        learner_of(small(**{"selection.bar": 0.2, "selection.policy": "tree x 2"}))


@pytest.mark.parametrize(
    ("changes", "reference"),
    [
        ({"training.optimizer": "adamw"}, lambda p: torch.optim.AdamW(p, lr=0.001, fused=True)),
        (
            {"training.optimizer": "adamw", "training.weight_decay": 0.3},
            lambda p: torch.optim.AdamW(p, lr=0.001, weight_decay=0.3, fused=True),
        ),
        (
            {"training.optimizer": "sgd", "training.options": {"momentum": 0.9, "nesterov": True}},
            lambda p: torch.optim.SGD(p, lr=0.001, momentum=0.9, nesterov=True),
        ),
        ({"training.optimizer": "torch.optim:RMSprop"}, lambda p: torch.optim.RMSprop(p, lr=0.001)),
    ],
)
def test_optimizers_are_those_of_torch(small, changes, reference, learner_of):
    settings = small(**changes)
    (ours, task), (theirs, _) = learner_of(settings), learner_of(settings)
    for learner, optimizer in (
        (ours, ours.configure_optimizers()),
        (theirs, reference(list(theirs.model.parameters()))),
    ):
        torch.manual_seed(7)
        for index, batch in enumerate(FlatLoader(task.train, 16)):
            learner.zero_grad()
            learner.training_step(batch, index).backward()
            optimizer.step()
    for name, value in ours.model.state_dict().items():
        assert torch.equal(value, theirs.model.state_dict()[name]), name


def test_what_an_optimizer_cannot_do(small, learner_of):
    with pytest.raises(OsanError, match=r"training.options: expected .* got 'momentun'; did you mean 'mom"):
        learner_of(small(**{"training.optimizer": "sgd", "training.options": {"momentun": 0.9}}))
    with pytest.raises(OsanError, match=r"training.optimizer: cannot import 'nowhere:Adam'"):
        learner_of(small(**{"training.optimizer": "nowhere:Adam"}))
    with pytest.raises(OsanError, match=r"training.optimizer: expected .*got 'adan'; did you mean 'adam'"):
        small(**{"training.optimizer": "adan"})
    weight = {"params": [torch.nn.Parameter(torch.ones(1))], "lr": 0.1}
    with pytest.raises(OsanError, match=r"training.optimizer: sgd cannot be built \(Nesterov momentum"):
        make_optimizer("sgd", [weight], nesterov=True)
    with pytest.raises(OsanError, match=r"expected a torch.optim.Optimizer from .*, got list"):
        make_optimizer(lambda groups: [1], [weight])


def test_gradients_are_clipped_by_their_norm(small, learner_of):
    learner, task = learner_of(small(**{"training.clip": 0.01}))
    learner.training_step(next(iter(FlatLoader(task.train, 16))), 0).backward()
    before = [p.grad.clone() for p in learner.model.parameters() if p.grad is not None]
    learner.on_before_optimizer_step(learner.configure_optimizers())
    after = [p.grad for p in learner.model.parameters() if p.grad is not None]
    norm = torch.cat([each.flatten() for each in before]).norm()
    assert norm > 0.01
    torch.testing.assert_close(torch.cat([each.flatten() for each in after]).norm(), torch.tensor(0.01))
    for one, other in zip(before, after, strict=True):
        torch.testing.assert_close(one * (0.01 / norm), other)


WAYS = {
    "cosine": {
        "training.schedule": "cosine",
        "training.warmup": 2,
        "training.optimizer": "adamw",
        "selection.noise_schedule": "linear",
        "selection.noise_floor": 0.25,
        "selection.bar": 0.25,
        "selection.normalize": True,
    },
    "one-cycle": {
        "training.schedule": "one-cycle",
        "training.clip": 0.5,
        "selection.policy": "mark 1 vertex x 2 in turn",
        "selection.estimator": "straight-through",
        "selection.evaluation_noise": "none",
        "selection.samples": 1,
        # The epoch with which the resumed run goes on.
        "selection.settle": 0.6,
        "selection.settle_on": "best",
    },
    "starts": {
        "training.schedule": "cosine",
        "training.warmup": 2,
        "training.average": 0.5,
        "selection.estimator": "straight-through",
        # The resumed run goes on within the second start.
        "selection.settle": 0.4,
        "selection.settle_on": "best",
        "selection.starts": 2,
    },
    "plateau": {
        "training.schedule": "plateau",
        "training.options": {"factor": 0.5, "patience": 0, "momentum": 0.9},
        "training.optimizer": "sgd",
        # Hardly an epoch improves.
        "training.learning_rate": 0.3,
    },
    "64": {
        "training.schedule": "constant",
        "training.precision": "64",
        "selection.evaluation_noise": "none",
    },
    "bf16": {"training.schedule": "constant", "training.precision": "bf16-mixed", "training.clip": 0.5},
}


@pytest.mark.parametrize("way", WAYS)
def test_a_resumed_run_is_the_same_with_every_schedule(tmp_path, small, outcome, monkeypatch, way):
    settings = small().varied({**WAYS[way], "training.epochs": 5}, "way")
    train(settings, tmp_path / "whole", progress=False)
    save = callbacks.Saver.on_train_epoch_end

    def stop(self, trainer, module):
        save(self, trainer, module)
        if trainer.current_epoch == 2:
            raise RuntimeError("stopped")

    folder = tmp_path / "run"
    with monkeypatch.context() as patched:
        patched.setattr(callbacks.Saver, "on_train_epoch_end", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            train(settings, folder, progress=False)
    train(settings, folder, resume=True, progress=False)
    assert outcome(folder) == outcome(tmp_path / "whole")
    rates = [float(row["lr"]) for row in csv.DictReader((folder / "metrics.csv").open())]
    if way == "plateau":
        assert min(rates) < max(rates) == 0.3
        assert {math.log2(0.3 / rate) for rate in rates} <= set(range(5))
    elif settings.training.schedule == "constant":
        assert set(rates) == {0.001}
    else:
        # Up and down again.
        assert rates[0] < max(rates) <= 0.001
        assert rates[-1] == min(rates)
