"""What is gained by training several times and keeping the run with the best validation score?

    python benchmarks/better_of.py [NAME ...] [--of 2] [--runs results/runs.csv]

Runs of one name are taken in the order of their seeds, ``--of`` at a time, and the best by validation of
each group is kept. Prints the number of groups, the mean test score of what is kept and its standard error,
and the mean of all runs in these groups. Without names: learned and outer eight atoms on Lipophilicity.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from statistics import mean, stdev

from osan.data.metrics import direction
from osan.report.records import Record, read_records

ROOT = Path(__file__).parents[1]
BEGIN = "lipophilicity.csv.gz/few-marks"
NAMES = (
    f"{BEGIN}/neutral-straight-through/select-8-vertices/x1/alone",
    f"{BEGIN}/centrality/select-8-vertices/x1/alone-periphery",
)


def kept(records: list[Record], size: int) -> tuple[list[Record], list[Record]]:
    """The best by validation of every ``size`` records, in the order of their seeds, and all of these."""
    ordered = sorted(records, key=lambda record: record.seed)
    groups = [ordered[i : i + size] for i in range(0, len(ordered) - size + 1, size)]
    pick = min if not records or direction(records[0].metric) == "min" else max
    best = [pick(group, key=lambda record: record.validation) for group in groups]
    return best, [record for group in groups for record in group]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", default=NAMES)
    parser.add_argument("--of", type=int, default=2)
    parser.add_argument("--runs", type=Path, default=ROOT / "results" / "runs.csv")
    arguments = parser.parse_args()
    records = read_records(arguments.runs)
    for name in arguments.names:
        best, every = kept([record for record in records if record.name == name], arguments.of)
        if not best:
            print(f"{name}: fewer than {arguments.of} runs in {arguments.runs}")
            continue
        scores = [record.value for record in best]
        error = stdev(scores) / len(scores) ** 0.5 if len(scores) > 1 else float("nan")
        print(
            f"{name}: {len(best)} groups, best of {arguments.of} {mean(scores):.3f} ± {error:.3f}", end=", "
        )
        print(f"all {mean(record.value for record in every):.3f}")


if __name__ == "__main__":
    main()
