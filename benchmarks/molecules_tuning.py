"""How the default for molecules was chosen: tries on splits without any molecule of a test split.

    python benchmarks/molecules_tuning.py         # the table of the results so far
    python benchmarks/molecules_tuning.py run     # all that is missing in results/molecules-tuning.csv

The tables are those of ``benchmarks/molecules.py``. Molecules that are in a test split there (by scaffold,
or at random with seeds 0 to 2) are left out; the rest is split again, 75 % for training, 10 % to choose the
epoch and 15 % to judge, at random or by scaffold. Every try is a change of the default's former settings.
"""

from __future__ import annotations

import argparse
import csv
import os
import resource
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from molecules import SPLITS, TABLES, names, write_results

from osan.data import load
from osan.data.formats.table import read_table
from osan.data.splits import random_split, scaffold_split
from osan.experiments import settings_for
from osan.training import train

RESULTS = Path(__file__).parent.parent / "results" / "molecules-tuning.csv"
COLUMNS = ("try", "table", "split", "selection", "judged", "best_epoch", "epochs", "seconds")
FRACTIONS = (0.75, 0.10, 0.15)

FORMER: dict[str, Any] = {"training.patience": 30, "network.readout": "mean"}
PLAIN = {
    **FORMER,
    "selection.policy": "",
    "training.batch_size": 64,
    "training.loss": "mse",
    "training.epochs": 50,
}
RDKIT = {**PLAIN, "data.descriptors": ["rdkit2d"], "network.descriptor_dropout": 0.2}
BOTH = {**RDKIT, "data.descriptors": ["rdkit2d", "morgan"]}
FOUR = {
    **BOTH,
    "network.descriptor_dropout": 0.5,
    "network.layers": 4,
    "training.average": 0.98,
    "data.encodings": [],
}
MARKS = {"selection.policy": "mark 1 vertex x 2 distinct"}
NO_MARKS = {"selection.policy": ""}
LITTLE = {"selection.noise_scale": 0.1}
WIDE = {"network.width": 128, "training.learning_rate": 1e-3}
SUM = {"network.readout": "sum"}
# What the tries came to: the default with which docs/molecules.md compares.
DEFAULT = {**FOUR, **WIDE, **MARKS, **LITTLE}
HARD = [("molfreesolv", "random-0"), ("molesol", "scaffold")]
EASY = [("molfreesolv", "random-1"), ("molesol", "random-0")]
CLASSES = [("molbace", "scaffold"), ("clintox", "random-0")]

#: Each try: what it changes, and where it was judged.
TRIES: dict[str, tuple[Mapping[str, Any], list[tuple[str, str]]]] = {
    "plain": (PLAIN, [*HARD, *CLASSES]),
    "rdkit2d": (RDKIT, HARD),
    "both": (BOTH, [*HARD, *CLASSES]),
    "both, average": ({**BOTH, "training.average": 0.98}, HARD),
    "both, learning rate 1e-3": ({**BOTH, "training.learning_rate": 1e-3}, HARD),
    "both, marks": ({**BOTH, **MARKS}, HARD),
    "both, huber, dropout": (
        {**BOTH, "training.loss": "huber", "network.dropout": 0.1, "network.descriptor_dropout": 0.5},
        HARD,
    ),
    "four": (FOUR, [*HARD, *EASY, *CLASSES, ("molbbbp", "scaffold")]),
    "four, marks": ({**FOUR, **MARKS}, HARD),
    "four, marks, little noise": ({**FOUR, **MARKS, **LITTLE}, [*HARD, *EASY]),
    "four, width 128": ({**FOUR, **WIDE}, [*HARD, *EASY]),
    "four, batch 32, 80 epochs": (
        {**FOUR, "training.batch_size": 32, "training.epochs": 80},
        [HARD[0], *EASY],
    ),
    "four, huber": ({**FOUR, "training.loss": "huber"}, [HARD[0], *EASY]),
    "default": (DEFAULT, [*HARD, *EASY]),
    "default, sum": ({**DEFAULT, **SUM}, [*HARD, *EASY]),
    "default without marks": ({**DEFAULT, **NO_MARKS}, [*HARD, *EASY]),
    "default without marks, sum": ({**DEFAULT, **NO_MARKS, **SUM}, [*HARD, *EASY]),
}


def write_development(name: str, split: str, folder: Path) -> Path:
    """The table without the molecules of any test split, with a column of new parts."""
    table = TABLES[name]
    source = Path(os.environ["OSAN_DATA"]) / table.file
    given: dict[str, Any] = {"targets": list(table.targets), "kind": table.kind}
    tested: set[int] = set()
    for way, seed in ((SPLITS[0], 0), *((SPLITS[1], seed) for seed in range(3))):
        task = load(source, **given, split=way, seed=seed)
        tested |= set(task.test.ids.tolist())
    targets = {
        graph: y
        for part in task.splits.values()
        for graph, y in zip(part.ids.tolist(), part.y.tolist(), strict=True)
    }
    read = read_table(source, ["smiles"])
    smiles = dict(zip(read.lines, read.columns["smiles"], strict=True))
    kept = sorted(targets.keys() - tested)
    texts = [smiles[task.lines[graph]] for graph in kept]
    way, _, seed = split.partition("-")
    parts = (
        scaffold_split(texts, FRACTIONS)
        if way == "scaffold"
        else random_split(len(kept), 100 + int(seed), FRACTIONS)
    )
    part_of = {row: part for part, rows in parts.items() for row in rows.tolist()}
    path = folder / f"{name}-{split}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *names(table), "split"])
        for row, graph in enumerate(kept):
            values = ["" if value != value else f"{value:g}" for value in targets[graph]]
            writer.writerow([texts[row], *values, part_of[row]])
    return path


def run(missing: list[tuple[str, str, str]]) -> None:
    """Train each try that is missing."""
    torch.set_num_threads(1)
    for number, (name, table, split) in enumerate(missing, 1):
        with tempfile.TemporaryDirectory() as folder:
            path = write_development(table, split, Path(folder))
            settings = settings_for(
                str(path), "mark 1 vertex x 2 distinct", downstream="few-marks", weigher="prior"
            )
            data = {
                "data.targets": names(TABLES[table]),
                "data.kind": TABLES[table].kind,
                "data.split": "split",
            }
            before = _seconds()
            done = train(
                settings.varied({**data, **TRIES[name][0]}, "try"), Path(folder, "run"), progress=False
            )
        row = {"try": name, "table": table, "split": split, "seconds": round(_seconds() - before, 1)}
        row |= {"selection": f"{done.validation:.5f}", "judged": f"{done.value:.5f}"}
        row |= {"best_epoch": done.best_epoch + 1, "epochs": done.epochs}
        write_results([*read(), row], RESULTS, COLUMNS)
        print(f"{number}/{len(missing)}", *row.values(), flush=True)


def _seconds() -> float:
    use = resource.getrusage(resource.RUSAGE_SELF)
    return use.ru_utime + use.ru_stime


def read() -> list[dict[str, Any]]:
    """The results so far."""
    if not RESULTS.is_file():
        return []
    with RESULTS.open(newline="") as file:
        return list(csv.DictReader(file))


def show() -> None:
    """What each try reached: on the molecules that choose the epoch / on those that judge."""
    places = list(dict.fromkeys(place for _, where in TRIES.values() for place in where))
    found = {(row["try"], row["table"], row["split"]): row for row in read()}
    print("| try |", " | ".join(f"{table} {split}" for table, split in places), "| seconds |")
    print("|" + " --- |" * (len(places) + 2))
    for name in TRIES:
        rows = [found.get((name, *place)) for place in places]
        cells = [
            "" if row is None else f"{float(row['selection']):.3f} / {float(row['judged']):.3f}"
            for row in rows
        ]
        times = [float(row["seconds"]) for row in rows[:2] if row is not None]
        print(f"| {name} |", " | ".join(cells), f"| {sum(times):.0f} |" if len(times) == 2 else "| |")


def main() -> None:
    """Read the command line."""
    plain = argparse.RawDescriptionHelpFormatter
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=plain)
    parser.add_argument("work", nargs="?", choices=["run"])
    if parser.parse_args().work is None:
        show()
        return
    done = {(row["try"], row["table"], row["split"]) for row in read()}
    wanted = [(name, *place) for name, (_, places) in TRIES.items() for place in places]
    run([each for each in wanted if each not in done])


if __name__ == "__main__":
    main()
