"""What Lightning and our bookkeeping cost: epochs of ``osan train`` against a bare PyTorch loop.

Both train the GIN baseline of ogbg-molesol (width 300) on the very same batches. Epochs of the two alternate,
and the ratios of the median and of the total times are printed; an epoch of ``osan train`` includes the file
of metrics and, where one is due, the checkpoint; neither includes validation. Needs OSAN_DATA.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

import torch
from lightning.pytorch import Callback

from osan.data import FlatLoader
from osan.experiments import recipe
from osan.training.build import build
from osan.training.module import Learner
from osan.training.run import fit
from osan.training.tasks import TaskInfo, load_task


class Alternate(Callback):
    """Times each training epoch of Lightning, and an epoch of the bare loop after it."""

    def __init__(self, bare: Learner, batches: FlatLoader) -> None:
        self.bare, self.batches = bare, batches
        self.optimizer = torch.optim.Adam(bare.model.parameters(), lr=1e-3)
        self.ours: list[float] = []
        self.theirs: list[float] = []
        self.start = self.validating = 0.0

    def on_train_epoch_start(self, trainer, module) -> None:
        self.start, self.validating = time.perf_counter(), 0.0

    def on_validation_start(self, trainer, module) -> None:
        self.validating -= time.perf_counter()

    def on_validation_end(self, trainer, module) -> None:
        self.validating += time.perf_counter()

    def on_train_epoch_end(self, trainer, module) -> None:
        self.ours.append(time.perf_counter() - self.start - self.validating)
        self.bare.train()
        with torch.enable_grad():
            start = time.perf_counter()
            for batch in self.batches:
                self.optimizer.zero_grad()
                loss = (self.bare.model(batch).prediction - batch.y).square().mean()
                loss.backward()
                self.optimizer.step()
            self.theirs.append(time.perf_counter() - start)


def main() -> None:
    """Print both medians and their ratio."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=12)
    epochs = parser.parse_args().epochs
    settings = recipe("ogbg-molesol/gin/baseline").settings
    settings = settings.changed({"training.epochs": epochs + 1, "training.min_epochs": 1})
    task = load_task(settings)
    info = TaskInfo.of(task, settings)
    learner, bare = (Learner(build(settings, info), settings, info) for _ in range(2))
    batches = FlatLoader(task.train, settings.training.batch_size, True, epoch=lambda: learner.current_epoch)
    alternate = Alternate(bare, batches)
    with tempfile.TemporaryDirectory() as folder:
        fit(learner, task, Path(folder), extra=[alternate])
    ours, theirs = alternate.ours[1:], alternate.theirs[1:]  # the first epoch warms up
    middle, bare_middle = statistics.median(ours), statistics.median(theirs)
    print(f"osan train   {1000 * middle:7.1f} ms per epoch ({len(batches)} batches, median of {epochs})")
    print(f"bare PyTorch {1000 * bare_middle:7.1f} ms per epoch")
    print(f"ratio        {middle / bare_middle:7.3f} of medians, {sum(ours) / sum(theirs):.3f} of totals")


if __name__ == "__main__":
    main()
