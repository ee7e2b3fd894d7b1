"""When the choice of a run settles, and what it goes on from."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from lightning.pytorch import Callback

from osan.errors import OsanError
from osan.training import callbacks
from osan.training.bars import watched
from osan.training.build import build
from osan.training.course import Course
from osan.training.fit import fit
from osan.training.jobs import Event, Job
from osan.training.optimizers import OPTIMIZERS
from osan.training.run import train
from osan.training.schedules import SCHEDULES
from osan.training.tasks import TaskInfo, load_task


def test_a_settled_choice_no_longer_learns(small, tmp_path):
    """Two epochs, the second with a settled choice, leave the upstream network as one epoch does."""
    marks = {
        "selection.policy": "mark 1 vertex x 2 distinct",
        "selection.estimator": "straight-through",
        "selection.evaluation_noise": "none",
        "training.decay": 1.0,
    }
    learned = []
    for name, epochs, settle in (("one", 1, 1.0), ("settled", 2, 0.5), ("two", 2, 1.0)):
        run = small(**marks, **{"training.epochs": epochs, "selection.settle": settle})
        train(run, tmp_path / name, progress=False)
        state = torch.load(tmp_path / name / "checkpoint.ckpt", weights_only=True)["state_dict"]
        learned.append({key: value for key, value in state.items() if ".upstream." in key})
    one, settled, two = learned
    assert all(torch.equal(settled[key], value) for key, value in one.items())
    assert not all(torch.equal(two[key], value) for key, value in one.items())


def test_patience_leaves_a_choice_that_goes_back_its_time(small, tmp_path, monkeypatch, learner_of):
    """Nothing improves after the first epoch; the choice settles after three, and two more are waited for."""
    monkeypatch.setitem(SCHEDULES, "constant", lambda at: 1.0 if at.epoch == 0 else 3000.0)
    run = {
        "selection.policy": "mark 1 vertex x 2 distinct",
        "selection.settle": 0.3,
        "selection.settle_on": "best",
        "training.epochs": 10,
        "training.patience": 2,
        "training.schedule": "constant",
        "training.decay": 1.0,
        "training.milestones": [],
        "training.decay_every": None,
    }
    learner, task = learner_of(small(**run))
    assert (learner.course.settles, learner.course.goes_back) == (3, True)
    fitted = fit(learner, task, tmp_path)
    assert fitted.best.epoch == 0
    assert len(fitted.history.rows) == 5


@pytest.mark.parametrize(
    ("changes", "goes_back"),
    [
        ({}, True),
        ({"selection.settle_on": "last"}, False),
        ({"selection.settle": 0.0}, False),
        ({"selection.weigher": "degree"}, False),
        ({"training.upstream_learning_rate": 0.0}, False),
    ],
)
def test_only_a_choice_that_moved_goes_back(small, changes, goes_back, learner_of):
    run = {"selection.policy": "mark 1 vertex", "selection.settle": 0.28, "selection.settle_on": "best"}
    learner, _ = learner_of(small(**{**run, "training.epochs": 50, **changes}))
    assert learner.course.goes_back == goes_back
    assert learner.course.settles == (0 if changes.get("selection.settle") == 0 else 14)


def test_a_choice_that_never_settles_cannot_go_back(small):
    with pytest.raises(OsanError, match="settle_on: expected 'last' for a choice that never settles"):
        small(**{"selection.settle_on": "best"})


@pytest.mark.parametrize("average", [None, 0.5])
def test_a_choice_settles_where_it_was_best(average, small, tmp_path, monkeypatch, learner_of):
    """The second epoch spoils both networks; the third goes on from the best one, the first."""
    monkeypatch.setitem(SCHEDULES, "constant", lambda at: 3000.0 if at.epoch == 1 else 1.0)
    choice = {
        "selection.policy": "mark 1 vertex x 2 distinct",
        "selection.estimator": "straight-through",
        "selection.evaluation_noise": "none",
        "selection.settle": 0.6,
        "training.epochs": 3,
        "training.schedule": "constant",
        "training.decay": 1.0,
        "training.milestones": [],
        "training.decay_every": None,
        "training.average": average,
    }

    class Watch(Callback):
        def __init__(self):
            self.best, self.third = {}, {}

        def on_train_batch_start(self, trainer, learner, batch, index):
            if trainer.current_epoch == 2 and index == 0:
                self.third = {name: value.clone() for name, value in learner.model.state_dict().items()}
                self.best = next(one for one in trainer.callbacks if isinstance(one, callbacks.Best)).weights

    for on in ("last", "best"):
        learner, task = learner_of(small(**choice, **{"selection.settle_on": on}))
        watch = Watch()
        best = fit(learner, task, tmp_path / on, extra=[watch]).best
        assert best.epoch != 1
        same = [torch.equal(watch.third[name], value) for name, value in watch.best.items()]
        assert all(same) == (on == "best")


@given(st.integers(1, 9), st.integers(1, 9), st.integers(1, 4))
def test_a_course_is_its_starts_one_after_the_other(epochs, settles, starts):
    settles = min(settles, epochs)
    course = Course(epochs, settles, goes_back=True, starts=starts)
    numbers = [*list(range(settles)) * starts, *range(settles, epochs)]
    assert [course.epoch(each) for each in range(course.total)] == numbers
    assert [each for each in range(course.total) if course.begins(each)] == [
        start * settles for start in range(starts)
    ]
    back = [each for each in range(course.total) if course.goes_on(each)]
    assert back == ([starts * settles] if settles < epochs else [])


STARTS = {
    "selection.policy": "mark 1 vertex x 2 distinct",
    "selection.estimator": "straight-through",
    "selection.noise_schedule": "cosine",
    "selection.evaluation_noise": "none",
    "selection.settle": 0.5,
    "selection.settle_on": "best",
    "training.epochs": 4,
    "training.schedule": "cosine",
    "training.decay": 1.0,
    "training.milestones": [],
    "training.decay_every": None,
}


class States(Callback):
    """Weights, noise and the state of the optimizer before the first step of every epoch."""

    def __init__(self):
        self.weights, self.noise, self.optimizer = [], [], []

    def on_train_batch_start(self, trainer, learner, batch, index):
        if index == 0:
            self.weights.append({name: value.clone() for name, value in learner.model.state_dict().items()})
            self.noise.append((learner.model.noise_factor, learner.model.settled))
            self.optimizer.append(len(trainer.optimizers[0].state))


def _trained(settings, folder, learner_of):
    learner, task = learner_of(settings)
    states = States()
    return fit(learner, task, folder, extra=[states]), states


def test_every_start_is_like_the_first(small, learner_of, tmp_path):
    (once, one), (fitted, two) = (
        _trained(small(**STARTS, **{"selection.starts": starts}), tmp_path / str(starts), learner_of)
        for starts in (1, 2)
    )
    rows, others = ([dict(row, seconds=0) for row in each.history.rows] for each in (once, fitted))
    assert (len(rows), len(others)) == (4, 6)
    assert others[:2] == rows[:2]
    for key in ("lr", "upstream_lr"):
        assert [row[key] for row in others[2:]] == [row[key] for row in rows]
    assert two.noise == one.noise[:2] + one.noise
    # The optimizer knows of the last start alone, so it begins anew as well.
    assert two.optimizer[0] == two.optimizer[2] == two.optimizer[4] == 0
    assert 0 not in (two.optimizer[1], two.optimizer[3], two.optimizer[5])
    # Other weights, as drawn: neither those of the first start nor trained ones.
    first, second = two.weights[0], two.weights[2]
    assert first.keys() == second.keys()
    drawn = [name for name, value in first.items() if value.dim() > 1]
    assert drawn
    assert not any(torch.equal(first[name], second[name]) for name in drawn)
    counts = [value for name, value in second.items() if name.endswith("num_batches_tracked")]
    assert counts
    assert not any(counts)


@pytest.mark.parametrize("better", [0, 1])
def test_a_run_goes_on_from_the_better_start(better, small, learner_of, tmp_path, monkeypatch):
    """The other start gets weights that are far too large after its first step."""
    learner, task = learner_of(small(**STARTS, **{"selection.starts": 2}))

    class Spoil(Callback):
        def on_train_batch_end(self, trainer, learner, outputs, batch, index):
            if trainer.current_epoch // 2 == 1 - better:
                for parameter in learner.model.parameters():
                    parameter.data.mul_(10)

    states = States()
    best = []

    class Watch(Callback):
        def on_train_epoch_start(self, trainer, learner):
            found = next(one for one in trainer.callbacks if isinstance(one, callbacks.Best))
            best.append((found.epoch, found.weights))

    fitted = fit(learner, task, tmp_path, extra=[Spoil(), states, Watch()])
    epoch, weights = best[4]
    assert epoch // 2 == better
    assert all(torch.equal(states.weights[4][name], value) for name, value in weights.items())
    # What schedules see is of this start.
    rows = fitted.history.rows
    assert learner.values == [rows[i][learner.monitor] for i in (2 * better, 2 * better + 1, 4, 5)]


class Counting(torch.optim.SGD):
    """It counts its steps among the options of its groups."""

    def __init__(self, params, **options):
        super().__init__(params, **options)
        for group in self.param_groups:
            group["steps"] = 0

    def step(self, closure=None):
        for group in self.param_groups:
            group["steps"] += 1
        return super().step(closure)


def test_optimizers_of_others_begin_anew_as_well(small, learner_of, tmp_path, monkeypatch):
    monkeypatch.setitem(OPTIMIZERS, "sgd", Counting)
    settings = small(**STARTS, **{"selection.starts": 2, "training.optimizer": "sgd"})
    learner, task = learner_of(settings)
    counts = []

    class Watch(Callback):
        def on_train_epoch_end(self, trainer, learner):
            counts.append(trainer.optimizers[0].param_groups[0]["steps"])

    fit(learner, task, tmp_path, extra=[Watch()])
    once = counts[0]
    assert counts == [once, 2 * once] * 3


def test_every_start_has_its_least_number_of_epochs(small, learner_of, tmp_path, monkeypatch):
    """Nothing improves after the first epoch."""
    monkeypatch.setitem(SCHEDULES, "cosine", lambda at: 1.0 if at.epoch == 0 else 3000.0)
    changes = {"training.epochs": 10, "training.patience": 1, "training.min_epochs": 8}
    changes["selection.settle"] = 0.3
    for starts in (1, 3):
        learner, task = learner_of(small(**{**STARTS, **changes, "selection.starts": starts}))
        fitted = fit(learner, task, tmp_path / str(starts))
        assert len(fitted.history.rows) == 3 * (starts - 1) + 8


def test_a_part_that_is_missing_stops_no_other_run(small, tmp_path):
    """The bars of a sweep import no custom parts."""
    settings = small(**{**STARTS, "selection.starts": 2, "selection.estimator": "missing_module:thing"})
    job = Job(settings, tmp_path / "run")
    events = (each for each in [Event(job, "running"), Event(job, "failed")])
    assert [event.state for event in watched(events, 1, quiet=True)] == ["failed"]


def test_starts_are_refused_where_they_make_no_sense(small, learner_of, tmp_path):
    with pytest.raises(OsanError, match=r"starts: expected 1 for a choice that does not settle on the best"):
        small(**{"selection.starts": 2, "selection.settle": 0.5})
    for settle in (0.0, 0.9):
        learner, task = learner_of(small(**{**STARTS, "selection.starts": 2, "selection.settle": settle}))
        with pytest.raises(OsanError, match=rf"settle: expected .* within the 4 epochs, .* got {settle:g}"):
            fit(learner, task, tmp_path / "never")
    settings = small(**STARTS, **{"selection.starts": 2})
    task = load_task(settings)
    model = build(settings, TaskInfo.of(task, settings))
    with pytest.raises(OsanError, match=r"starts: expected 1 with a custom model, .* got 2"):
        train(settings, tmp_path / "run", model=model, progress=False)
