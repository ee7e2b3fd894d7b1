"""The default on six tables of molecules, beside chemprop and gradient boosting on the same splits.

    python benchmarks/molecules.py                    # the table of the results so far
    python benchmarks/molecules.py run osan lightgbm  # all that is missing in results/molecules.csv
    python benchmarks/molecules.py run chemprop --chemprop PATH/chemprop

Six tables (OGB's molesol, molfreesolv, molbbbp and molbace, MoleculeNet's lipophilicity and clintox, from
OSAN_DATA) are split by scaffold or at random, three times each: seeds 0 to 2 are those of training, and of
the random split. All methods read the same files, whose column ``split`` says which part a row is in.

- ``osan``: ``osan train FILE --kind KIND --target ... --split split --seed SEED``, nothing else.
- ``osan-ensemble``: the same with ``--ensemble 5``, one member after the other.
- ``lightgbm``: boosted trees on ECFP4 (2,048 counts) and RDKit's descriptors; 0.05 as learning rate, half of
  the columns for each tree, at most 2,000 trees, as many as are best on the validation split.
  Needs ``pip install lightgbm``.
- ``chemprop``: ``chemprop train`` with its defaults (50 epochs, best epoch on the validation split), in an
  environment of its own: ``pip install chemprop``, then say where its command is.

Scores are those of the test split, seconds those of the processor. ``coverage`` is how often osan's conformal
intervals (classes: sets) at level 0.9 hold the truth there. A run that is in the file already is not
repeated. ``--tables``, ``--splits`` and ``--seeds`` choose some of them.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import os
import resource
import subprocess
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import numpy as np
import torch

from osan.data import load
from osan.data.descriptors import describe
from osan.data.formats.table import read_table
from osan.files import write_bytes
from osan.training.scores import score

RESULTS = Path(__file__).parent.parent / "results" / "molecules.csv"
COLUMNS = ("method", "version", "table", "split", "seed", "mae", "rmse", "rocauc", "coverage", "seconds")
SPLITS, SEEDS = ("scaffold", "random"), (0, 1, 2)
# Scores on the test split, and the version of what reached them.
Outcome = tuple[dict[str, float], str]


@dataclass(frozen=True)
class Molecules:
    """A table: its file below OSAN_DATA, its targets and their kind."""

    file: str
    targets: tuple[str, ...]
    kind: str

    @property
    def metric(self) -> str:
        """The metric that methods are compared by."""
        return "mae" if self.kind == "regression" else "rocauc"


TABLES = {
    "molfreesolv": Molecules("ogb/ogbg_molfreesolv/mapping/mol.csv.gz", ("expt",), "regression"),
    "molesol": Molecules(
        "ogb/ogbg_molesol/mapping/mol.csv.gz", ("measured log solubility in mols per litre",), "regression"
    ),
    "clintox": Molecules("moleculenet/clintox.csv.gz", ("FDA_APPROVED", "CT_TOX"), "binary"),
    "molbbbp": Molecules("ogb/ogbg_molbbbp/mapping/mol.csv.gz", ("p_np",), "binary"),
    "molbace": Molecules("ogb/ogbg_molbace/mapping/mol.csv.gz", ("Class",), "binary"),
    "lipophilicity": Molecules("moleculenet/lipophilicity.csv.gz", ("exp",), "regression"),
}


def write_split(name: str, split: str, seed: int, folder: Path) -> Path:
    """A table of the usable rows: SMILES, targets as ``t0``, ``t1``, ..., and the part of each row."""
    table = TABLES[name]
    source = Path(os.environ["OSAN_DATA"]) / table.file
    given: dict[str, Any] = {"targets": list(table.targets), "kind": table.kind, "split": split}
    task = load(source, **given, seed=seed)
    read = read_table(source, ["smiles"])
    smiles = dict(zip(read.lines, read.columns["smiles"], strict=True))
    path = folder / f"{name}-{split}-{seed}.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["smiles", *names(table), "split"])
        for part, graphs in task.splits.items():
            for graph, y in zip(graphs.ids.tolist(), graphs.y.tolist(), strict=True):
                values = ["" if value != value else f"{value:g}" for value in y]
                writer.writerow([smiles[task.lines[graph]], *values, part])
    return path


def names(table: Molecules) -> list[str]:
    """The names of the targets in the file of a split."""
    return [f"t{i}" for i in range(len(table.targets))]


def read_split(path: Path, table: Molecules) -> dict[str, tuple[list[str], torch.Tensor]]:
    """SMILES and targets of each part."""
    parts: dict[str, tuple[list[str], list[list[float]]]] = {
        part: ([], []) for part in ("train", "val", "test")
    }
    with path.open(newline="") as file:
        for row in csv.DictReader(file):
            parts[row["split"]][0].append(row["smiles"])
            parts[row["split"]][1].append([float(row[name] or "nan") for name in names(table)])
    return {part: (smiles, torch.tensor(y)) for part, (smiles, y) in parts.items()}


def scored(prediction: torch.Tensor, y: torch.Tensor, table: Molecules) -> dict[str, float]:
    """The metrics of a kind of target."""
    metrics = ("mae", "rmse") if table.kind == "regression" else ("rocauc",)
    return {metric: float(score(prediction, y, table.kind, metric)) for metric in metrics}


def run_osan(
    path: Path, table: Molecules, seed: int, given: argparse.Namespace, *more: str
) -> tuple[dict[str, float], str]:
    """``osan train``, with nothing but the columns, the seed and ``more``."""
    from importlib.metadata import version

    target = [word for name in names(table) for word in ("--target", name)]
    command = ["train", str(path), "--kind", table.kind, *target, "--split", "split", "--seed", str(seed)]
    command += more
    runs = ["--runs", str(path.parent / "runs"), "--json", "--quiet"]
    done = json.loads(called([sys.executable, "-m", "osan", *command, *runs]))
    metrics = ("mae", "rmse") if table.kind == "regression" else ("rocauc",)
    scores = {metric: done["scores"][metric] for metric in metrics}
    return scores | {"coverage": done["intervals"]["coverage"]}, version("osan")


def run_ensemble(
    path: Path, table: Molecules, seed: int, given: argparse.Namespace
) -> tuple[dict[str, float], str]:
    """``osan train --ensemble 5``; members take turns, so that this is one process like all others."""
    return run_osan(path, table, seed, given, "--ensemble", "5", "--processes", "1")


def run_lightgbm(
    path: Path, table: Molecules, seed: int, given: argparse.Namespace
) -> tuple[dict[str, float], str]:
    """Boosted trees on fingerprints and descriptors, one model per target."""
    import lightgbm

    parts = read_split(path, table)
    every = sorted({text for smiles, _ in parts.values() for text in smiles})  # the same for all splits
    row = {text: i for i, text in enumerate(every)}
    numbers = describe(every, ["rdkit2d", "morgan:2048"]).numpy()
    numbers = np.where(np.isfinite(numbers), numbers, np.nan)  # trees know what to do with missing numbers
    x = {part: numbers[[row[text] for text in smiles]] for part, (smiles, _) in parts.items()}
    classes = table.kind == "binary"
    columns = []
    for column in range(len(table.targets)):
        y = {part: targets[:, column].numpy() for part, (_, targets) in parts.items()}
        there = {part: ~np.isnan(values) for part, values in y.items()}
        kind = lightgbm.LGBMClassifier if classes else lightgbm.LGBMRegressor
        model = kind(
            n_estimators=2000,
            learning_rate=0.05,
            colsample_bytree=0.5,
            random_state=seed,
            n_jobs=1,
            verbose=-1,
        )
        model.fit(
            x["train"][there["train"]],
            y["train"][there["train"]],
            eval_X=x["val"][there["val"]],
            eval_y=y["val"][there["val"]],
            eval_metric="auc" if classes else "mae",
            callbacks=[lightgbm.early_stopping(100, verbose=False)],
        )
        columns.append(model.predict_proba(x["test"])[:, 1] if classes else model.predict(x["test"]))
    prediction = torch.tensor(np.stack(columns, axis=1)).float()
    return scored(prediction, parts["test"][1], table), lightgbm.__version__


def run_chemprop(
    path: Path, table: Molecules, seed: int, given: argparse.Namespace
) -> tuple[dict[str, float], str]:
    """``chemprop train`` in its own environment, and the scores of its predictions."""
    kind = "regression" if table.kind == "regression" else "classification"
    out = path.parent / f"chemprop-{path.stem}"
    command = [given.chemprop, "train", "-i", str(path), "-o", str(out), "-t", kind, "-s", "smiles"]
    command += ["--target-columns", *names(table), "--splits-column", "split", "--pytorch-seed", str(seed)]
    called([*command, "--accelerator", "cpu", "--num-workers", "0"])
    with next(out.rglob("test_predictions.csv")).open(newline="") as file:
        rows = list(csv.DictReader(file))
    prediction = torch.tensor([[float(row[name]) for name in names(table)] for row in rows])
    smiles, y = read_split(path, table)["test"]
    if [row["smiles"] for row in rows] != smiles:
        raise SystemExit(f"{path}: chemprop predicts other molecules than those of the test split")
    python = Path(given.chemprop).with_name("python")
    asked = (
        "import importlib.metadata as m, torch; print(m.version('chemprop') + ' torch ' + torch.__version__)"
    )
    return scored(prediction, y, table), called([str(python), "-c", asked]).strip()


METHODS: dict[str, Callable[..., Outcome]] = {
    "osan": run_osan,
    "osan-ensemble": run_ensemble,
    "lightgbm": run_lightgbm,
    "chemprop": run_chemprop,
}


def called(command: list[str]) -> str:
    """What a command prints; its errors end this one."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{done.stderr[-3000:]}")
    return done.stdout


def processor_seconds() -> float:
    """Of this process and of all that it has waited for."""
    who = (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)
    return sum(use.ru_utime + use.ru_stime for use in map(resource.getrusage, who))


def read_results(path: Path) -> list[dict[str, str]]:
    """The results so far."""
    if not path.is_file():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def key(row: Mapping[str, Any]) -> tuple[str, ...]:
    """What makes a result one of its own."""
    return tuple(str(row[name]) for name in ("method", "table", "split", "seed"))


def run(given: argparse.Namespace) -> None:
    """Everything that is asked for and not there: the first seed of all tables before the second."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    torch.set_num_threads(1)
    done = {key(row) for row in read_results(given.results)}
    wanted = [
        {"method": method, "table": table, "split": split, "seed": seed}
        for seed in given.seeds
        for table in given.tables
        for split in given.splits
        for method in given.methods
    ]
    missing = [each for each in wanted if key(each) not in done]
    for number, each in enumerate(missing, 1):
        table = TABLES[each["table"]]
        with tempfile.TemporaryDirectory() as folder:
            path = write_split(each["table"], each["split"], each["seed"], Path(folder))
            before = processor_seconds()
            values, version = METHODS[each["method"]](path, table, each["seed"], given)
        seconds = round(processor_seconds() - before, 1)
        rounded = {name: f"{value:.5f}" for name, value in values.items()}
        rows = [*read_results(given.results), {**each, "version": version, "seconds": seconds, **rounded}]
        write_results(rows, given.results)
        print(f"{number}/{len(missing)}", *key(each), f"{seconds:.0f} s", flush=True)


def write_results(rows: Iterable[Mapping[str, Any]], path: Path, columns: tuple[str, ...] = COLUMNS) -> None:
    """All results, in an order that does not depend on when they were computed."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(sorted(rows, key=lambda row: [str(row.get(name, "")) for name in columns]))
    write_bytes(path, stream.getvalue().encode())


def show(given: argparse.Namespace) -> None:
    """Means with standard errors, how often osan is level or ahead, coverage, and times."""
    rows = read_results(given.results)
    for metric in ("mae", "rmse"):
        print(table_of(rows, metric), counts_of(rows, metric), sep="\n\n", end="\n\n")
    print(coverage_of(rows), times_of(rows), sep="\n\n")


Values = dict[tuple[str, str, str], dict[str, float]]


def values_of(rows: list[dict[str, str]], number: str) -> Values:
    """The metric of each seed, by method, table and split; ``number`` for regression."""
    found: Values = defaultdict(dict)
    for row in rows:
        metric = "rocauc" if row["rocauc"] else number
        found[row["method"], row["table"], row["split"]][row["seed"]] = float(row[metric])
    return found


def shared(found: Values, name: str, split: str, methods: Iterable[str]) -> dict[str, list[float]]:
    """The values of each method, for the seeds that all of the methods with any result have.

    Random splits differ between seeds, so other means could not be compared.
    """
    there = {method: found[method, name, split] for method in methods if found[method, name, split]}
    seeds = sorted(set.intersection(*(set(each) for each in there.values()))) if there else []
    return {method: [there.get(method, {})[seed] for seed in seeds if method in there] for method in methods}


def table_of(rows: list[dict[str, str]], number: str = "mae") -> str:
    """The results as Markdown, with ``number`` for regression; a row has the seeds that all methods have."""
    found = values_of(rows, number)
    lines = [
        "| table | split | metric | osan | chemprop | LightGBM |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for name, table in TABLES.items():
        metric = number if table.kind == "regression" else "rocauc"
        for split in SPLITS:
            values = shared(found, name, split, ("osan", "chemprop", "lightgbm"))
            lines.append(f"| {name} | {split} | {metric} | {' | '.join(map(words, values.values()))} |")
    return "\n".join(lines)


def counts_of(rows: list[dict[str, str]], number: str = "mae") -> str:
    """How often osan is ahead, level or behind, of all splits that both methods have a seed of.

    Level means: worse by at most one standard error of the difference of the two means.
    """
    found, lines = values_of(rows, number), []
    for ours, other in (("osan", "chemprop"), ("osan", "lightgbm"), ("osan-ensemble", "lightgbm")):
        outcomes = []
        for name, table in TABLES.items():
            direction = "min" if table.kind == "regression" else "max"
            for split in SPLITS:
                first, second = shared(found, name, split, (ours, other)).values()
                if first and second:
                    outcomes.append(compared(first, second, direction))
        ahead, level = outcomes.count("ahead"), outcomes.count("level")
        if outcomes:
            said = f"ahead {ahead}, level {level}, behind {outcomes.count('behind')} of {len(outcomes)}"
            lines.append(f"{ours} and {other}, by {number} and rocauc: {said}.")
    return "\n".join(lines)


def coverage_of(rows: list[dict[str, str]]) -> str:
    """The coverage of intervals at level 0.9 as Markdown."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        if row["method"] == "osan" and row["coverage"]:
            found[row["table"], row["split"]].append(float(row["coverage"]))
    lines = ["| table | random | scaffold |", "| --- | --- | --- |"]
    for name in TABLES:
        cells = [words(found[name, split]) for split in ("random", "scaffold")]
        if any(cells):
            lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def times_of(rows: list[dict[str, str]]) -> str:
    """How many times the processor time of chemprop osan takes, for each table."""
    seconds = {key(row): float(row["seconds"]) for row in rows}
    lines = []
    for name in TABLES:
        ratios = [
            value / seconds[("chemprop", *rest)]
            for (method, *rest), value in sorted(seconds.items())
            if method == "osan" and rest[0] == name and ("chemprop", *rest) in seconds
        ]
        if ratios:
            lines.append(f"{name}: {', '.join(f'{ratio:.2f}' for ratio in ratios)}")
    return "times of osan over those of chemprop: " + "; ".join(lines)


def words(values: list[float]) -> str:
    """Mean, standard error and, if it is not three, the number of runs."""
    if not values:
        return ""
    error = f" ± {standard_error(values):.3f}" if len(values) > 1 else ""
    few = f" ({len(values)})" if len(values) != len(SEEDS) else ""
    return f"{mean(values):.3f}{error}{few}"


def standard_error(values: list[float]) -> float:
    """Of the mean; 0 for a single value, about which nothing is known."""
    return float(stdev(values) / len(values) ** 0.5) if len(values) > 1 else 0.0


def compared(ours: list[float], theirs: list[float], direction: str) -> str:
    """Ahead, level (worse by at most one standard error of the difference) or behind."""
    gain = mean(ours) - mean(theirs) if direction == "max" else mean(theirs) - mean(ours)
    if gain >= 0:
        return "ahead"
    error = (standard_error(ours) ** 2 + standard_error(theirs) ** 2) ** 0.5
    return "level" if -gain <= error else "behind"


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.set_defaults(work=show)
    commands = parser.add_subparsers()
    runs = commands.add_parser("run", help="compute what is missing")
    runs.add_argument("methods", nargs="+", choices=METHODS)
    runs.add_argument("--tables", nargs="+", choices=TABLES, default=list(TABLES))
    runs.add_argument("--splits", nargs="+", choices=SPLITS, default=list(SPLITS))
    runs.add_argument("--seeds", nargs="+", type=int, default=list(SEEDS))
    runs.add_argument("--chemprop", default="chemprop", help="the command of chemprop")
    runs.set_defaults(work=run)
    given = parser.parse_args()
    given.work(given)


if __name__ == "__main__":
    main()
