"""The Lightning trainer of a run: callbacks, checkpoints, one process or many."""

from __future__ import annotations

import logging
import os
import signal
import threading
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, Trainer
from lightning.pytorch.strategies import DDPStrategy
from lightning.pytorch.utilities import rank_zero_only
from torch import Tensor

from osan.data import FlatLoader, Task
from osan.data.loader import mix_seed
from osan.data.metrics import is_custom
from osan.errors import OsanError
from osan.nn import remember
from osan.training.build import build
from osan.training.callbacks import Best, History, Patience, Perfect, Progress, Saver, Starts
from osan.training.checkpoint import (
    SafeCheckpointIO,
    check_data,
    check_model,
    check_settings,
    read_checkpoint,
)
from osan.training.course import Course
from osan.training.folder import CHECKPOINT, ENVIRONMENT, environment, write_json
from osan.training.loggers import make_loggers
from osan.training.memory import keep_freed_memory
from osan.training.module import Learner, seed_generators
from osan.training.settings import CUSTOM, Settings

# Finding the classes of a dataset takes about as long as they save in so many epochs.
WORTH_IT = 5


@dataclass(frozen=True)
class Fitted:
    """The outcome of training: the trainer, the best weights and the numbers of every epoch."""

    trainer: Trainer
    best: Best
    history: History


def fit(
    learner: Learner,
    task: Task,
    folder: Path,
    *,
    resume: bool = False,
    progress: bool = False,
    extra: Sequence[Callback] = (),
) -> Fitted:
    """Train to the end; with ``resume`` from the checkpoint in the folder, if there is one.

    ``extra`` callbacks come last.
    """
    keep_freed_memory()
    training, machine, course = learner.settings.training, learner.settings.machine, learner.course
    _check_starts(learner.settings, course)
    checkpoint, state = folder / CHECKPOINT, None
    if resume and checkpoint.is_file():
        state = read_checkpoint(checkpoint)
        check_settings(checkpoint, state, learner.settings)
        check_data(checkpoint, state, task)
        check_model(checkpoint, state, learner)
    rank_zero_only(write_json)(folder / ENVIRONMENT, environment())  # now that the run goes on for sure
    best = Best(learner.monitor, task.direction, training.keep)
    history = History(folder, task.test if training.watch_test else None)
    callbacks: list[Callback] = [best, history, Starts(best, history, partial(_fresh, learner))]
    if training.keep == "first" and not is_custom(task.metric):  # which value of those is perfect?
        callbacks.append(Perfect(best, history, task.direction))
    if progress:
        callbacks.append(Progress(best))
    if training.patience is not None:
        # A choice that settles on the best epoch gets as much time afterwards.
        least = course.settles + training.patience if course.goes_back else 1
        least = course.before_last + max(training.min_epochs, least)
        callbacks.append(Patience(learner.monitor, task.direction, training.patience, least))
    saver = Saver(folder, machine.checkpoint_seconds)
    name = f"{learner.settings.name or 'run'}/seed-{learner.settings.seed}"
    with _quiet():
        trainer = Trainer(
            accelerator=_accelerator(learner.settings),
            devices=machine.devices,
            num_nodes=machine.nodes,
            strategy=_strategy(learner.settings),
            max_epochs=course.total,
            callbacks=[*callbacks, saver, *extra],
            plugins=[SafeCheckpointIO()],
            logger=make_loggers(machine.loggers, folder, name) or False,
            precision=training.precision,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            use_distributed_sampler=False,
        )
        if state is not None and state["callbacks"][saver.state_key]["finished"]:
            for callback in (best, history):
                callback.load_state_dict(state["callbacks"][callback.state_key])
        else:
            _run(trainer, learner, task, None if state is None else checkpoint)
    return Fitted(trainer, best, history)


def _run(trainer: Trainer, learner: Learner, task: Task, checkpoint: Path | None) -> None:
    training, seed = learner.settings.training, learner.settings.seed
    share = partial(FlatLoader, seed=seed, rank=trainer.global_rank, world=trainer.world_size)
    batches = share(task.train, training.batch_size, True, epoch=lambda: learner.current_epoch)
    validation = share(task.val, training.batch_size)
    handler = signal.getsignal(signal.SIGINT)
    try:
        if trainer.strategy.root_device.type == "cpu":
            _remember(learner, task)
        trainer.fit(learner, batches, validation, ckpt_path=checkpoint, weights_only=True)
    except SystemExit as error:
        # What Lightning makes of Ctrl-C.
        raise KeyboardInterrupt from error
    finally:
        if hasattr(learner.model, "cache"):
            learner.model.cache = None  # type: ignore[assignment]
        # Lightning leaves the signal ignored then.
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGINT, handler)


def _check_starts(settings: Settings, course: Course) -> None:
    if settings.selection.starts > 1 and not 0 < course.settles < course.epochs:
        raise OsanError(
            f"selection.settle: expected a choice with several starts to settle within the {course.epochs} "
            f"epochs, after the first, got {settings.selection.settle:g}, which is after {course.settles}"
        )
    if course.starts > 1 and settings.network.architecture == CUSTOM:
        raise OsanError(
            "selection.starts: expected 1 with a custom model, whose initial weights are given, got "
            f"{course.starts}"
        )


def _fresh(learner: Learner, number: int) -> dict[str, Tensor]:
    """New weights for the model of a run, which depend on its seed and a number."""
    with torch.random.fork_rng(devices=[]):
        # Draws within an epoch are seeded with its number; negative numbers are unused.
        seed_generators(mix_seed(learner.settings.seed, -1 - number))
        return dict(build(learner.settings, learner.info).state_dict())


def _remember(learner: Learner, task: Task) -> None:
    """Find the classes of bags that do not change once, if they are used often enough to pay."""
    settings, model = learner.settings, learner.model
    if not hasattr(model, "cache") or settings.machine.sharing == "off":
        return
    if learner.course.total < WORTH_IT:
        return
    graphs = task.train
    if task.val.tensors is graphs.tensors:
        graphs = graphs.subset(torch.cat((graphs.ids, task.val.ids)))
    remember(model, graphs)


def _accelerator(settings: Settings) -> str:
    """What Lightning is asked for: "auto" with double precision is the CPU where the GPU is Apple's."""
    chosen = settings.machine.accelerator
    apple = not torch.cuda.is_available() and torch.backends.mps.is_available()
    return "cpu" if chosen == "auto" and apple and settings.training.precision == "64" else chosen


def _strategy(settings: Settings) -> Any:
    """One process, or DDP."""
    world = settings.machine.devices * settings.machine.nodes
    if world == 1 and int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return "auto"
    on_cpu = settings.machine.accelerator == "cpu" or not torch.cuda.is_available()
    return DDPStrategy(
        # A settled choice gives the upstream network no gradients.
        find_unused_parameters=has_custom_parts(settings) or settings.selection.settle < 1,
        process_group_backend="gloo" if on_cpu else "nccl",
    )


def has_custom_parts(settings: Settings) -> bool:
    """Whether a run has parts that osan does not know, so that some parameters may get no gradient."""
    network, choice = settings.network, settings.selection
    of_network = (network.architecture, network.conv, network.atomic, network.readout)
    of_choice = (choice.policy, choice.weigher, choice.estimator, choice.noise, choice.auxiliary)
    named = any(":" in name for name in (*of_network, *of_choice) if name is not None)
    return network.architecture == CUSTOM or named


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Lightning's hints off the terminal; problems are errors."""
    logger = logging.getLogger("lightning.pytorch")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", module="lightning.*")
            warnings.filterwarnings("ignore", message=".*torch.jit.*")
            yield
    finally:
        logger.setLevel(level)
