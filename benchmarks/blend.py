"""What a Gaussian process on descriptors adds to the network, for each share of the two.

    python benchmarks/blend.py [--splits molfreesolv:random-0 molesol:scaffold ...]

The default is trained on splits that have no molecule of any test split of the comparison with others (those
of ``molecules_tuning.py``). The table has the score (MAE or ROC-AUC) on the part that neither training nor
the choice of the epoch has seen, for shares of the network from 0 (the process alone) to 1, and for the share
that the run chose by its validation split.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from molecules import TABLES, names
from molecules_tuning import write_development

from osan.experiments import default_settings
from osan.nn import GaussianProcess
from osan.training import load_model, train
from osan.training.evaluation import predict
from osan.training.scores import score
from osan.training.tasks import load_task

SPLITS = (
    "molfreesolv:random-0",
    "molesol:scaffold",
    "molfreesolv:random-1",
    "molesol:random-0",
    "molbace:random-0",
    "clintox:random-0",
    "molbbbp:random-0",
)
SHARES = (0.0, 0.25, 0.5, 0.75, 1.0)


def main() -> None:
    """Train on each split, then score every share."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--splits", nargs="+", default=SPLITS)
    given = parser.parse_args()
    torch.set_num_threads(1)
    heads = [f"{share:g}" for share in SHARES]
    print("| split | " + " | ".join(heads) + " | chosen |\n" + "| --- " * (len(heads) + 2) + "|", flush=True)
    for split in given.splits:
        name, _, way = split.partition(":")
        with tempfile.TemporaryDirectory() as folder:
            path = write_development(name, way, Path(folder))
            data = {
                "data.targets": names(TABLES[name]),
                "data.kind": TABLES[name].kind,
                "data.split": "split",
            }
            settings = default_settings(str(path)).changed(data)
            train(settings, Path(folder) / "run", progress=False)
            learner, settings, info = load_model(Path(folder) / "run")
            task = load_task(settings)
        (process,) = (module for module in learner.modules() if isinstance(module, GaussianProcess))
        chosen = float(process.share)
        reached = []
        for share in (*SHARES, chosen):
            process.share.fill_(share)
            found = predict(learner, task.test, settings.training.batch_size)
            reached.append(float(score(found, task.test.y, info.kind, TABLES[name].metric)))
        cells = [f"{value:.3f}" for value in reached[:-1]]
        print(f"| {name} {way} | {' | '.join(cells)} | {reached[-1]:.3f} ({chosen:.2f}) |", flush=True)


if __name__ == "__main__":
    main()
