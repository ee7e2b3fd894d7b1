"""Write kappa after every epoch of all runs in a folder that learn what to choose, as CSV.

    python scripts/kappa_table.py runs > results/kappa.csv

``results/runs.csv`` has one line per run; this is the one curve that docs/images/kappa.svg needs of them.
"""

from __future__ import annotations

import csv
import sys
from pathlib import Path


def rows(folder: Path) -> list[tuple[str, int, int, float]]:
    """Name, seed, epoch and kappa, by name, seed and epoch."""
    found = []
    for path in sorted(folder.rglob("metrics.csv")):
        with path.open(encoding="utf-8", newline="") as file:
            lines = [line for line in csv.DictReader(file) if line.get("kappa")]
        name, seed = path.parent.parent.relative_to(folder).as_posix(), path.parent.name.removeprefix("seed-")
        found += [(name, int(seed), int(line["epoch"]), round(float(line["kappa"]), 4)) for line in lines]
    return found


if __name__ == "__main__":
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(("name", "seed", "epoch", "kappa"))
    writer.writerows(rows(Path(sys.argv[1])))
