"""Training steps against the floor of their matrix products, and two threads against one.

Needs ``OSAN_DATA``:

    python benchmarks/steps.py [--repeats 30] [--only exp] [--profile]

A step is choice, bag, forward, backward and optimizer on a batch of the run, without Lightning.

``floor``: the step against its linear layers alone, forward and backward, on inputs of the same shapes; one
thread, processor time. ``two threads``: how many times as fast the step is with two threads, wall time. Both
sides of a ratio take turns, a few steps each, and the least time of each side counts: whatever else the
machine does slows down both, and the undisturbed turns are the least.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import Linear
from torch_geometric.nn.dense import Linear as PyGLinear

from osan.data import FlatLoader
from osan.experiments import settings_named
from osan.training.build import build
from osan.training.memory import keep_freed_memory
from osan.training.module import Learner
from osan.training.tasks import TaskInfo, load_task

WIDTH = {"network.width": 64}
RUNS = {
    "ogbg-molesol imle x 3": ("ogbg-molesol/gin/imle/delete-1-vertex/x3", {}),
    "ogbg-molesol random x 3": ("ogbg-molesol/gin/random/delete-1-vertex/x3", {}),
    "zinc imle x 3": ("zinc/gin/imle/delete-1-vertex/x3", WIDTH),
    "zinc random x 3": ("zinc/gin/random/delete-1-vertex/x3", WIDTH),
    "exp imle x 3": ("exp/gin/imle/delete-1-vertex/x3", {}),
    "exp random x 3": ("exp/gin/random/delete-1-vertex/x3", {}),
}
TURN = 3  # steps in a turn


def steps_of(key: str, changes: dict[str, object]) -> tuple[Learner, Callable[[], None]]:
    """The model of a run, and a training step on its next batch; a few batches take turns."""
    settings = settings_named(key).changed({**changes, "machine.accelerator": "cpu"})
    task = load_task(settings)
    info = TaskInfo.of(task, settings)
    torch.manual_seed(0)
    learner = Learner(build(settings, info), settings, info)
    optimizer = learner.configure_optimizers()
    loader = FlatLoader(task.train, settings.training.batch_size, True, epoch=lambda: 0)
    batches = [batch for batch, _ in zip(loader, range(TURN), strict=False)]
    learner.train()
    place = 0

    def step() -> None:
        nonlocal place
        batch = batches[place % TURN]
        place += 1
        optimizer.zero_grad()
        out = learner.look(batch)
        out.objective(learner.losses(out.prediction, batch.y)).backward()
        optimizer.step()

    return learner, step


def products_of(learner: Learner, step: Callable[[], None]) -> Callable[[], None]:
    """The linear layers of one step alone, on random inputs of the same shapes, forward and backward."""
    calls: list[tuple[torch.nn.Module, torch.Size, bool]] = []

    def note(module: torch.nn.Module, given: tuple[Tensor, ...], out: Tensor) -> None:
        if module.weight.requires_grad:
            calls.append((module, given[0].shape, given[0].requires_grad))

    linears = [m for m in learner.modules() if isinstance(m, Linear | PyGLinear)]
    hooks = [linear.register_forward_hook(note) for linear in linears]
    step()
    for hook in hooks:
        hook.remove()
    given = [
        (module.weight, module.bias, torch.randn(shape, requires_grad=needed))
        for module, shape, needed in calls
    ]
    gradients = [torch.randn(h.size(0), weight.size(0)) for weight, _, h in given]

    def products() -> None:
        outs = [torch.nn.functional.linear(h, weight, bias) for weight, bias, h in given]
        torch.autograd.backward(outs, gradients)
        for weight, bias, h in given:
            weight.grad = h.grad = None
            if bias is not None:
                bias.grad = None

    return products


def least(
    sides: list[Callable[[], None]],
    clock: Callable[[], float],
    repeats: int,
    prepare: list[Callable[[], object]],
) -> list[float]:
    """The least seconds of a call of each side, in turns."""
    times = [float("inf") for _ in sides]
    for repeat in range(repeats + 1):
        for i, (side, ready) in enumerate(zip(sides, prepare, strict=True)):
            ready()
            side()  # what the other side left in the caches does not count
            begin = clock()
            for _ in range(TURN):
                side()
            if repeat:
                times[i] = min(times[i], (clock() - begin) / TURN)
    return times


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--repeats", type=int, default=30)
    parser.add_argument("--only", default="", help="only runs whose name contains this")
    parser.add_argument("--profile", action="store_true", help="also list the operations of a step")
    given = parser.parse_args()
    keep_freed_memory()
    print(f"{'run':24} step ms  floor ms  ratio | one thread  two threads  faster", flush=True)
    for name, (key, changes) in RUNS.items():
        if given.only not in name:
            continue
        learner, step = steps_of(key, changes)
        products = products_of(learner, step)
        torch.set_num_threads(1)
        mine, floor = least([step, products], time.process_time, given.repeats, [lambda: None] * 2)
        alone, both = least(
            [step, step],
            time.perf_counter,
            given.repeats,
            [lambda: torch.set_num_threads(1), lambda: torch.set_num_threads(2)],
        )
        torch.set_num_threads(1)
        print(
            f"{name:24} {mine * 1e3:7.2f} {floor * 1e3:9.2f} {mine / floor:6.2f} | "
            f"{alone * 1e3:10.2f} {both * 1e3:12.2f} {alone / both:6.2f}x",
            flush=True,
        )
        if given.profile:
            with torch.profiler.profile() as profile:
                step()
            print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=30))


if __name__ == "__main__":
    main()
