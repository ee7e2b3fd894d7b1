"""How much of the test error of finished runs is due to a few graphs.

    python benchmarks/few_graphs.py RUN [RUN ...] [--worst 5]

Reads ``predictions.csv`` of each run. Prints the mean and the median absolute error, what the worst graphs
add to the mean, and how far the runs differ from the first one, with the standard error over graphs.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np


def errors(run: Path) -> np.ndarray:
    """The absolute errors of the test graphs, of the first target."""
    with (run / "predictions.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    predicted = next(name for name in rows[0] if name.startswith("predicted_"))
    target = predicted.removeprefix("predicted_")
    return np.array([abs(float(row[predicted]) - float(row[target])) for row in rows])


def main() -> None:
    """Print one line for each run."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    parser.add_argument("--worst", type=int, default=5)
    given = parser.parse_args()
    if not given.runs:
        print("name the folders of finished runs")
        return
    first = errors(given.runs[0])
    print(f"{'mean':>8}{'median':>8}{'of the mean, the worst ' + str(given.worst):>28}   difference  run")
    for run in given.runs:
        error = errors(run)
        worst = np.sort(error)[-given.worst :].sum() / len(error)
        change = error - first
        spread = change.std(ddof=1) / len(change) ** 0.5
        shown = f"{change.mean():+.4f} ± {spread:.4f}"
        print(f"{error.mean():8.4f}{np.median(error):8.4f}{worst:28.4f}   {shown}  {run}")


if __name__ == "__main__":
    main()
