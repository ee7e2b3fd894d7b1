"""What a number of marked views costs: training and prediction time per graph, and peak memory.

    python benchmarks/choice_cost.py                        # ZINC, the few-marks network, all ways to choose
    python benchmarks/choice_cost.py --atomic distance --csv > results/cost.csv

One batch of 128 graphs of ZINC without encodings. For the whole graph and T = 1, 2, 4, 8 and all marks beside
it, random, central and learned, the latter two also soft: processor time of a training step and of a
prediction in one pass, least of several, the sides taking turns; and how much memory ten training steps take
on top of the libraries, the data and the model, in a process of their own (Linux). Needs OSAN_DATA.
"""

from __future__ import annotations

import argparse
import csv
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch
from torch import nn
from torch_geometric.data import Data

from osan.experiments.protocols import settings_named
from osan.training.build import build
from osan.training.tasks import TaskInfo, load_task

GRAPHS = 128
COUNTS = ("1", "2", "4", "8", "all")
METHODS = {
    "random": "random",
    "central": "centrality",
    "soft central": "centrality-sparsemap",
    "learned": "prior-straight-through",
    "soft learned": "prior-sparsemap",
}
COLUMNS = ("way", "marks", "training_ms", "prediction_ms", "memory_mb")


def sides() -> list[tuple[str, str]]:
    """Every way to choose with every number of marks; all marks need no way."""
    some = [(way, count) for count in COUNTS[:-1] for way in METHODS]
    return [("whole graph", "0"), *some, ("all", "all")]


def made(way: str, count: str, atomic: str) -> tuple[nn.Module, Data]:
    """The model and a batch."""
    key = "zinc/few-marks/baseline"
    if way == "all":
        key = "zinc/few-marks/all/mark-1-vertex"
    elif way in METHODS:
        key = f"zinc/few-marks/{METHODS[way]}/mark-1-vertex-distinct/x{count}"
    changes = {"data.encodings": [], "data.limit": GRAPHS, "selection.samples": 1, "network.atomic": atomic}
    settings = settings_named(key).changed(changes)
    task = load_task(settings)
    torch.manual_seed(0)
    return build(settings, TaskInfo.of(task, settings)), task.train.batch(torch.arange(GRAPHS))


def training(model: nn.Module, batch: Data) -> Callable[[], None]:
    """A training step."""
    optimizer = torch.optim.AdamW(model.parameters())

    def step() -> None:
        model.train()
        out = model(batch)
        optimizer.zero_grad()
        out.objective((out.prediction - batch.y).abs().mean(1)).backward()
        optimizer.step()

    return step


def prediction(model: nn.Module, batch: Data) -> Callable[[], None]:
    """A prediction in one pass."""

    def step() -> None:
        model.eval()
        with torch.no_grad():
            model(batch)

    return step


def least(steps: list[Callable[[], None]], repeats: int) -> list[float]:
    """The least processor time of each step per graph in milliseconds, taking turns."""
    found = [float("inf")] * len(steps)
    for turn in range(repeats + 1):
        for number, step in enumerate(steps):
            begin = time.process_time()
            step()
            if turn:
                found[number] = min(found[number], time.process_time() - begin)
    return [1000 * value / GRAPHS for value in found]


def peak(way: str, count: str, atomic: str) -> float:
    """The memory in MB that ten training steps take in a process of their own."""
    words = [sys.executable, __file__, "--alone", way, count, "--atomic", atomic]
    return float(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def memory_of(step: Callable[[], None]) -> float:
    """The same in this process."""
    Path("/proc/self/clear_refs").write_text("5")  # the largest memory is that of now
    before = _largest()
    for _ in range(10):
        step()
    return _largest() - before


def _largest() -> float:
    (line,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "VmHWM" in line)
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--csv", action="store_true", help="print CSV")
    parser.add_argument("--repeats", type=int, default=10)
    parser.add_argument("--atomic", choices=("unordered", "distance"), default="unordered")
    parser.add_argument("--alone", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.alone:
        print(memory_of(training(*made(*given.alone, given.atomic))))
        sys.exit()
    models = [made(*side, given.atomic) for side in sides()]
    train = least([training(*one) for one in models], given.repeats)
    predict = least([prediction(*one) for one in models], given.repeats)
    memory = [peak(*side, given.atomic) for side in sides()]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    if given.csv:
        writer.writerow(COLUMNS)
    else:
        print(
            f"{'way':<12} {'marks':>5} {'training':>9} {'ratio':>6} {'predict':>8} {'ratio':>6} {'memory':>7}"
        )
    for (way, count), one, other, size in zip(sides(), train, predict, memory, strict=True):
        if given.csv:
            writer.writerow((way, count, f"{one:.3f}", f"{other:.3f}", f"{size:.0f}"))
        else:
            ratios = f"{one:9.3f} {one / train[0]:6.2f} {other:8.3f} {other / predict[0]:6.2f}"
            print(f"{way:<12} {count:>5} {ratios} {size:7.0f}")
