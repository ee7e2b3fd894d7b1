"""How often conformal intervals, and sets of classes, hold the truth on the test split.

    python benchmarks/coverage.py [TABLE ...] [--splits 10] [--level 0.9] [--epochs 3]

For every table of molecules, a small network is trained on each of several random splits (seeds 0, 1, ...)
and on the scaffold split, for a few epochs: the guarantee does not depend on how good the network is. Prints
the mean coverage over random splits with its standard error, and that on the scaffold split, where nothing is
guaranteed. A single split with n test molecules has a binomial error of sqrt(level (1 - level) / n), beside
that of its n validation molecules: the column "single" is the deviation between splits. Needs OSAN_DATA.
"""

from __future__ import annotations

import argparse
import math
import os
import tempfile
from pathlib import Path
from statistics import fmean, stdev

import torch

from osan.data import load_table
from osan.experiments import settings_for
from osan.training import train
from osan.training.calibration import coverage, read_calibration
from osan.training.evaluation import predict
from osan.training.run import load_model

SOLUBILITY = "measured log solubility in mols per litre"
TABLES = {
    "molfreesolv": ("ogb/ogbg_molfreesolv/mapping/mol.csv.gz", ["expt"], "regression"),
    "molesol": ("ogb/ogbg_molesol/mapping/mol.csv.gz", [SOLUBILITY], "regression"),
    "lipophilicity": ("moleculenet/lipophilicity.csv.gz", ["exp"], "regression"),
    "molbace": ("ogb/ogbg_molbace/mapping/mol.csv.gz", ["Class"], "binary"),
    "molbbbp": ("ogb/ogbg_molbbbp/mapping/mol.csv.gz", ["p_np"], "binary"),
    "clintox": ("moleculenet/clintox.csv.gz", ["FDA_APPROVED", "CT_TOX"], "binary"),
}


def covered(table: str, split: str, seed: int, level: float, epochs: int) -> tuple[float, int]:
    """The coverage on the test split of one training, and the number of test molecules."""
    path, targets, kind = TABLES[table]
    task = load_table(
        Path(os.environ["OSAN_DATA"], path),
        targets=targets,
        kind=kind,  # type: ignore[arg-type]
        split=split,
        seed=seed,
    )
    sizes = {"network.width": 32, "network.layers": 3}
    changes = {**sizes, "seed": seed, "training.epochs": epochs, "training.batch_size": 64}
    settings = settings_for("planted-motif", "").varied(changes, "coverage")
    with tempfile.TemporaryDirectory() as folder:
        train(settings, folder, task=task, progress=False)
        learner, _, info = load_model(folder)
        calibration = read_calibration(Path(folder), info)
    found = coverage(predict(learner, task.test, 128), task.test.y, calibration, level)["coverage"]
    assert found is not None
    return found, len(task.test)


def main() -> None:
    """Train on all splits and print a line per table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tables", nargs="*", default=list(TABLES))
    parser.add_argument("--splits", type=int, default=10)
    parser.add_argument("--level", type=float, default=0.9)
    parser.add_argument("--epochs", type=int, default=3)
    given = parser.parse_args()
    torch.set_num_threads(1)
    print("table          test  coverage  error  single  scaffold")
    for table in given.tables:
        random = [covered(table, "random", i, given.level, given.epochs) for i in range(given.splits)]
        shares = [share for share, _ in random]
        deviation = stdev(shares) if len(shares) > 1 else math.nan
        scaffold = covered(table, "scaffold", 0, given.level, given.epochs)[0]
        print(
            f"{table:13} {random[0][1]:5} {fmean(shares):9.3f} {deviation / math.sqrt(len(shares)):6.3f} "
            f"{deviation:7.3f} {scaffold:9.3f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
