"""Whole runs with exact sharing and without, and without it again after a change in the last bit.

Needs ``OSAN_DATA``:

    python benchmarks/whole_runs.py [--epochs 3] [--seed 0]

EXP with three random vertex-deleted subgraphs, and ZINC with all of them (250 graphs of each split), width
64, in double and in single precision. Each run is trained with sharing, without it, and without it from
weights of which one is the next larger number of single precision ("nudged"). The table has the largest
difference from the run without sharing: of the losses, of the metric on the validation split after each
epoch, and of the metric on the test split. Where sharing changes a run no more than the last bit of one
weight does, the difference is rounding, which training enlarges.
"""

from __future__ import annotations

import argparse
import csv
import math
import tempfile
from pathlib import Path
from typing import Any

import torch

from osan.experiments import settings_named
from osan.training import run as runs
from osan.training import train

RUNS: dict[str, tuple[str, dict[str, Any]]] = {
    "exp random x 3": ("exp/gin/random/delete-1-vertex/x3", {}),
    "zinc all": ("zinc/ds-gnn/all/delete-1-vertex", {"data.limit": 250, "training.batch_size": 32}),
}
SIDES = {"off": "off", "shared": "auto", "nudged": "off"}
build = runs.build


def nudged(*given: Any) -> torch.nn.Module:
    """The model with the first weight of its first layer replaced by the next larger number."""
    model = build(*given)
    weight = next(w for name, w in model.named_parameters() if ".layers.0." in name and w.dim() == 2)
    with torch.no_grad():
        weight[0, 0] = torch.nextafter(weight[0, 0], weight.new_tensor(math.inf))
    return model


def values(key: str, changes: dict[str, Any]) -> dict[str, list[float]]:
    """The losses and metrics of a run."""
    with tempfile.TemporaryDirectory() as folder:
        result = train(settings_named(key).changed(changes), Path(folder) / "run", progress=False)
        rows = list(csv.DictReader((Path(folder) / "run" / "metrics.csv").open()))
    losses = [float(row[name]) for row in rows for name in row if "loss" in name and row[name]]
    metrics = [float(row[name]) for row in rows for name in row if name.startswith("val") and row[name]]
    return {"loss": losses, "validation": metrics, "test": [result.value]}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="only runs whose name contains this")
    given = parser.parse_args()
    torch.set_num_threads(1)
    print(f"{'':16}{'':6}{'':9}" + "".join(f"{word:>12}" for word in ("loss", "validation", "test")))
    for name, (key, more) in RUNS.items():
        for precision in ("64", "32") if given.only in name else ():
            found = {}
            for side, sharing in SIDES.items():
                runs.build = nudged if side == "nudged" else build
                changes = {
                    **more,
                    "network.width": 64,
                    "training.epochs": given.epochs,
                    "training.min_epochs": 1,
                    "training.precision": precision,
                    "machine.sharing": sharing,
                    "machine.accelerator": "cpu",
                    "seed": given.seed,
                }
                found[side] = values(key, changes)
            for side in ("shared", "nudged"):
                far = [
                    max(abs(a - b) for a, b in zip(found[side][what], found["off"][what], strict=True))
                    for what in found["off"]
                ]
                print(
                    f"{name:16}{precision:6}{side:9}" + "".join(f"{value:12.1e}" for value in far), flush=True
                )


if __name__ == "__main__":
    main()
