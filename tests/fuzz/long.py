"""A long run of a tiny set: memory, open files and the time of an epoch stay flat.

``python tests/fuzz/long.py --epochs 2000``
"""

from __future__ import annotations

import argparse
import csv
import os
import sys
import tempfile
from pathlib import Path

import numpy as np
from lightning.pytorch import Callback

from osan.training import run
from osan.training.fit import fit
from osan.training.settings import validated


class Watch(Callback):
    """Notes the resident memory (kB) and the number of open files after every epoch."""

    def __init__(self) -> None:
        self.memory: list[int] = []
        self.handles: list[int] = []

    def on_train_epoch_end(self, trainer, pl_module) -> None:
        status = Path("/proc/self/status").read_text()
        self.memory.append(int(status.split("VmRSS:")[1].split()[0]))
        self.handles.append(len(os.listdir("/proc/self/fd")))


def main() -> int:
    """Train, and print slopes over the second half; 1 if one of them is not flat."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2000)
    asked = parser.parse_args()
    settings = validated(
        {
            "name": "long",
            "data": {"dataset": "planted-motif", "options": {"num_graphs": 10}},
            "selection": {"policy": "select 3 vertices", "samples": 1},
            "network": {"width": 4, "layers": 1},
            "training": {"epochs": asked.epochs, "batch_size": 8},
            "machine": {"checkpoint_seconds": 0, "accelerator": "cpu"},
        }
    )
    watch = Watch()
    run.fit = lambda *arguments, **options: fit(*arguments, **options, extra=[watch])
    with tempfile.TemporaryDirectory() as folder:
        run.train(settings, Path(folder, "run"), progress=False)
        with Path(folder, "run", "metrics.csv").open(newline="") as stream:
            seconds = [float(row["seconds"]) for row in csv.DictReader(stream)]
    half = len(watch.memory) // 2
    slope = float(np.polyfit(range(half), watch.memory[half : 2 * half], 1)[0])
    first, last = np.median(seconds[10:half]), np.median(seconds[half:])
    print(
        f"{len(watch.memory)} epochs: memory {slope:+.2f} kB an epoch, open files {watch.handles[10]} then "
        f"{watch.handles[-1]}, {1000 * first:.1f} ms then {1000 * last:.1f} ms an epoch"
    )
    return 0 if slope < 10 and watch.handles[-1] <= watch.handles[10] else 1


if __name__ == "__main__":
    sys.exit(main())
