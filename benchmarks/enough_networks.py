"""What networks reach with m subgraphs, beside what m subgraphs allow.

    python benchmarks/enough_networks.py RECORDS [--seeds 3] [--only exp,csl] [--figure FILE] [--show]

Trains small GINs on EXP (deleted vertices, folds instead of seeds), on CSL and on twisted pairs (marked
vertices) with m = 1, 2 and 3 random or learned subgraphs per graph. The ceiling is exact (`osan.wl.enough`):
no network that sees m distinct random subgraphs is right more often, in the mean over pairs; learned choices
may be. Accuracies are those of single predictions, on the test split, in the epoch that is best on the
validation split. RECORDS is a JSON file that is written after each run; a second call goes on where the first
one ended. One thread. EXP needs $OSAN_DATA.
"""

from __future__ import annotations

import argparse
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Any

os.environ.setdefault("NUMBA_NUM_THREADS", "1")

import torch

from osan import wl
from osan.data import FlatLoader, twisted_pairs
from osan.data.generated.tasks import CSL_SKIPS
from osan.experiments import settings_named
from osan.figures import empty_figure
from osan.files import write_bytes, written_whole
from osan.graphs import Pair, csl, read_pairs
from osan.report.pictures import checked_suffix, rendered
from osan.selection import make_noise
from osan.training import Settings, load_model, train
from osan.training.evaluation import evaluating, separate_score
from osan.training.tasks import load_task

SIZES = (1, 2, 3)
# Predictions of each test graph, each from new subgraphs.
SAMPLES = 20
WAYS = {"random": "random", "learned": "imle"}
SMALL = {
    "network.conv": "gin",
    "network.width": 32,
    "network.layers": 6,
    "network.readout": "sum",
    "network.between": 0,
    "training.epochs": 60,
}


@dataclass(frozen=True)
class Case:
    """Data, the policy without its number of subgraphs, the settings to start from, and what to change."""

    title: str
    policy: str
    start: str
    changes: dict[str, Any]
    pairs: Callable[[], list[Pair]]
    test: dict[str, Any]


def _csl_pairs() -> list[Pair]:
    graphs = [csl(41, skip) for skip in CSL_SKIPS]
    return [Pair(a, b) for i, a in enumerate(graphs) for b in graphs[:i]]


def _twisted(k: int) -> Case:
    what = "1 vertex" if k == 1 else f"{k} vertices"
    return Case(
        f"twisted pairs, k = {k}",
        f"mark {what} x {{m}}",
        "twisted-pairs/gin/{way}/mark-1-vertex/x1",
        {"data.options": {"k": k, "num_pairs": 8, "copies": 30}, **SMALL},
        lambda: twisted_pairs(k, 8, seed=0),
        {"k": k, "ordered": False},
    )


CASES = {
    "exp": Case(
        "EXP",
        "delete 1 vertex x {m}",
        "exp/gin/{way}/delete-1-vertex/x3",
        {"training.epochs": 40, "training.min_epochs": 1},
        lambda: read_pairs(Path(os.environ["OSAN_DATA"]) / "EXP/osan/EXP.txt"),
        {"operation": "delete"},
    ),
    "csl": Case(
        "CSL",
        "mark 1 vertex x {m}",
        "csl-generated/gin/{way}/mark-1-vertex/x1",
        {**SMALL, "training.epochs": 200},
        _csl_pairs,
        {},
    ),
    "twisted-1": _twisted(1),
    "twisted-2": _twisted(2),
}


def settings_of(case: Case, m: int, way: str, seed: int) -> Settings:
    start = settings_named(case.start.format(way=WAYS[way]))
    policy = case.policy.format(m=m)
    return start.changed({"selection.policy": policy, "selection.samples": 1, "seed": seed, **case.changes})


def ceilings(case: Case) -> wl.EnoughRow:
    """The exact row of all pairs of a case."""
    pairs = [Pair(pair.a, pair.b, category=case.title) for pair in case.pairs()]
    [row] = wl.enough_pairs(pairs, max_m=max(SIZES), **case.test)
    return row


def wanted(only: list[str], seeds: int) -> Iterator[tuple[str, str, int, int]]:
    """Case, way, m and seed; all seeds of one number before the next, so that an end at any time is fair."""
    for seed in range(seeds):
        for case in only:
            for m in SIZES:
                for way in WAYS:
                    yield case, way, m, seed


def run(settings: Settings) -> dict[str, float]:
    start = time.process_time()
    with tempfile.TemporaryDirectory() as folder:
        result = train(settings, Path(folder) / "run", progress=False)
        learner, _, info = load_model(Path(folder) / "run")
    test = load_task(settings).test
    torch.manual_seed(settings.seed)
    with torch.no_grad(), evaluating(learner, SAMPLES, make_noise(settings.selection.noise)):
        each = torch.cat([torch.stack(learner.model(batch).each) for batch in FlatLoader(test, 100)], dim=1)
    accuracy = separate_score(each, test.y, info)
    assert accuracy is not None
    return {
        "accuracy": accuracy,
        "validation": result.validation,
        "epochs": result.epochs,
        "seconds": round(time.process_time() - start, 1),
    }


def accuracies(records: dict[str, dict[str, float]], name: str, way: str, m: int) -> list[float]:
    wanted = f"{name}/{way}/{m}/"
    return [record["accuracy"] for key, record in records.items() if key.startswith(wanted)]


def show(records: dict[str, dict[str, float]], only: list[str], figure: Path | None) -> None:
    """Print the table; draw random and learned accuracies beside the ceilings."""
    rows = {name: ceilings(CASES[name]) for name in only}
    print("| data | subgraphs | random, at most | random | learned | at best | runs |")
    print("| --- | --- | --- | --- | --- | --- | --- |")
    for name, row in rows.items():
        for m in SIZES:
            found = [accuracies(records, name, way, m) for way in WAYS]
            reached = [f"{mean(some):.3f}" if some else "" for some in found]
            missed = sum(n for least, n in row.smallest.items() if least is None or least > m)
            cells = (CASES[name].title, CASES[name].policy.format(m=m), f"{(1 + row.distances[m]) / 2:.3f}")
            runs = " + ".join(str(len(some)) for some in found)
            print(f"| {' | '.join((*cells, *reached, f'{1 - missed / row.pairs / 2:.3f}', runs))} |")
    spent = sum(record["seconds"] for record in records.values())
    print(f"\n{len(records)} runs, {spent / 60:.0f} minutes of processor time")
    if figure is not None:
        write_bytes(figure, rendered(drawn(records, rows), checked_suffix(figure)))


def drawn(records: dict[str, dict[str, float]], rows: dict[str, wl.EnoughRow]) -> Any:
    """One panel for each case: the ceiling of random subgraphs, and what networks reach."""
    picture = empty_figure(2.4 * len(rows), 2.6)
    panels = picture.subplots(1, len(rows), sharey=True, squeeze=False)[0]
    for ax, (name, row) in zip(panels, rows.items(), strict=True):
        bounds = [(1 + row.distances[m]) / 2 for m in SIZES]
        ax.plot(SIZES, bounds, color="#555555", label="random, at most")
        for way, marker, color in (("random", "o", "#0277bd"), ("learned", "^", "#bf360c")):
            points = [(m, value) for m in SIZES for value in accuracies(records, name, way, m)]
            ax.plot(*zip(*points, strict=True) if points else ((), ()), marker, color=color, label=way)
        ax.set_title(CASES[name].title, fontsize=9)
        ax.set_xlabel("subgraphs")
        ax.set_xticks(SIZES)
        ax.grid(alpha=0.3)
    panels[0].set_ylabel("accuracy")
    panels[0].legend(fontsize=7, frameon=False)
    return picture


def main() -> None:
    """Train what is missing, then print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("records", type=Path)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", default=",".join(CASES))
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--show", action="store_true", help="train nothing")
    given = parser.parse_args()
    torch.set_num_threads(1)
    only = given.only.split(",")
    records = json.loads(given.records.read_text()) if given.records.exists() else {}
    for name, way, m, seed in [] if given.show else wanted(only, given.seeds):
        key = f"{name}/{way}/{m}/{seed}"
        if key in records:
            continue
        records[key] = run(settings_of(CASES[name], m, way, seed))
        print(key, records[key], flush=True)
        with written_whole(given.records) as temporary:
            temporary.write_text(json.dumps(records, indent=1) + "\n")
    show(records, only, given.figure)


if __name__ == "__main__":
    main()
