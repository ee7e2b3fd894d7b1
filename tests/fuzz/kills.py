"""Kill a run of three epochs at every system call that writes, resume it, and compare all that it leaves.

``python tests/fuzz/kills.py --count 300``
"""

from __future__ import annotations

import argparse
import csv
import json
import shutil
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

import faults

from osan.training.run import train
from osan.training.settings import validated

BASE = {
    "name": "killed",
    "data": {"dataset": "planted-motif", "options": {"num_graphs": 20}},
    "selection": {"policy": "select 3 vertices x 2", "samples": 2},
    "network": {"width": 4, "layers": 2, "dropout": 0.2},
    "training": {"epochs": 3, "batch_size": 8},
    "machine": {"checkpoint_seconds": 0, "accelerator": "cpu"},
}
SETTINGS = [
    {},
    {"selection.policy": ""},
    {"training.optimizer": "sgd", "training.schedule": "cosine", "selection.estimator": "random"},
]


def outcome(folder: Path) -> dict[str, object]:
    """What equal runs have in common, byte for byte; times differ."""
    with (folder / "metrics.csv").open(newline="") as stream:
        rows = [{k: v for k, v in row.items() if k != "seconds"} for row in csv.DictReader(stream)]
    result = json.loads((folder / "result.json").read_text())
    return {
        "files": sorted(path.name for path in folder.iterdir()),
        "metrics": rows,
        "weights": (folder / "model.safetensors").read_bytes(),
        "model": (folder / "model.json").read_bytes(),
        "predictions": (folder / "predictions.csv").read_bytes(),
        "result": {k: v for k, v in result.items() if k not in ("seconds", "test_seconds")},
    }


def main() -> int:
    """Run as many kills as asked for; 1 if one of them changed a result."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seconds", type=float, default=1e9)
    parser.add_argument("--way", choices=["kill", "tear"], help="Before calls or within them; default: both.")
    asked = parser.parse_args()
    place, begin = Path(tempfile.mkdtemp()), time.monotonic()
    runs = [validated(BASE).changed(changes) for changes in SETTINGS]
    calls, expected = [], []
    for i, settings in enumerate(runs):
        with faults.failing(-1) as layer:
            train(settings, place / f"whole{i}", progress=False)
        calls.append(len(layer.names))
        expected.append(outcome(place / f"whole{i}"))
    print(f"system calls that write, per run: {calls}", flush=True)
    # Taken evenly from the whole list, so that the last calls and the last way are among them, too.
    ways = ("kill", "tear") if asked.way is None else (asked.way,)
    points = [(i, at, way) for way in ways for at in range(max(calls)) for i in range(len(runs))]
    points = [point for point in points if point[1] < calls[point[0]]]
    count = min(asked.count, len(points))
    same = done = 0
    for i, at, way in (points[number * len(points) // count] for number in range(count)):
        if time.monotonic() - begin > asked.seconds:
            break
        folder = place / "run"

        def killed(i=i, at=at, way=way, folder=folder):
            with faults.failing(at, getattr(faults, way)):
                train(runs[i], folder, progress=False)

        def resumed(i=i, folder=folder):
            train(runs[i], folder, resume=True, progress=False)

        code, again = faults.in_child(killed), faults.in_child(resumed)
        done += 1
        good = code == -9 and again == 0 and outcome(folder) == expected[i]
        same += good
        if not good:
            print(f"DIFFERS: settings {i}, call {at}, {way}: exit codes {code} and {again}", flush=True)
        shutil.rmtree(folder, ignore_errors=True)
        if done % 20 == 0:
            print(f"{done} kills, {same} identical results", flush=True)
    print(f"{done} kills, {same} identical results, {time.monotonic() - begin:.0f} s")
    shutil.rmtree(place)
    return 0 if same == done else 1


if __name__ == "__main__":
    sys.exit(main())
