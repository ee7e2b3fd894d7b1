"""Initial weights and the first two training losses of every recipe and every run of ``results/plan.toml``.

python scripts/first_steps.py --out table.csv           # compute them; continues a table that is not complete
python scripts/first_steps.py --check table.csv         # exit code 1 if this version gives other values
python scripts/first_steps.py --check table.csv exp/    # only the keys that contain one of these words

A change of the code that keeps all random draws and all formulas keeps this table. Real data is read from
``OSAN_DATA``, all of it, with the batch size of each run (16 for PNA). Alchemy, which has no raw files there,
is replaced by random trees in its format.

The script goes through ``osan.training``'s ``train`` and stops it after two batches, and it reads weights and
losses from Lightning's side. So it does not depend on how the package is built inside, and it also runs on
older versions (``PYTHONPATH=/path/to/old/src``). Versions up to c684ab9 draw a parameter ``edge_mark`` in
every layer, which no recipe uses. ``--drop-edge-marks`` takes these draws from another generator, so that
the remaining weights are those of a version that does not draw them.
"""

from __future__ import annotations

import os

os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")  # keeps the number of threads of torch

import argparse
import csv
import io
import math
import sys
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import torch
from lightning.pytorch import Callback, Trainer

ROOT = Path(__file__).parents[1]
COLUMNS = ("key", "parameters", "sum", "absolute", "mixed", "loss1", "loss2")
# With its batch size of 128, PNA with ten subgraphs needs over 20 GB.
LARGE, SMALL_BATCH = "zinc/pna/", 16
# The same draws give the same weights, up to the last digits of float64 sums and of vectorized logarithms.
WEIGHTS = 1e-6
# The same formulas give the same losses, up to the order of float32 sums. In its first step, Adam divides
# each gradient by its own size, and so makes a step even of one that is only rounding: the second loss of 6
# rows in 18 changed by up to 2e-4 on a processor of another kind, that of two more where biases are not added
# before norms that take them away, and of two rows in 29 by up to 1e-3 with two threads instead of one. So
# tables are computed with one thread, and the second loss may differ by more.
LOSSES = {"loss1": 1e-5, "loss2": 1e-3}


def all_settings() -> dict[str, Any]:
    """The settings of every recipe and every run of the plan by their key, with seed 0."""
    recipes = public("recipes", "osan.experiments", "osan.experiments.recipes")
    read_plan = public("read_plan", "osan.experiments", "osan.experiments.plans")
    found = {key: recipe.settings for key, recipe in recipes().items()}
    for group in read_plan(ROOT / "results" / "plan.toml"):
        found |= {settings.name: settings for settings in group.settings()}
    small = {"training.batch_size": SMALL_BATCH}
    return {key: each.changed(small) if key.startswith(LARGE) else each for key, each in found.items()}


def first_steps(settings: Any, batches: int = 2) -> dict[str, str]:
    """One row of the table: how many weights, three sums over them, and the losses of the first batches."""
    train = public("train", "osan.training", "osan.training.run")
    watch = Watch(batches)
    folder = tempfile.TemporaryDirectory()
    with folder as name, watch.attached(), data_folder(settings) as data, suppress(Enough):
        train(settings, Path(name) / "run", progress=False, data=data)
    return {"key": settings.name, **watch.weights, **{f"loss{i + 1}": x for i, x in enumerate(watch.losses)}}


def public(name: str, *modules: str) -> Any:
    """A function of the package, from the first of the modules that has it; older versions had it deeper."""
    for module in modules:
        value = getattr(import_module(module), name, None)
        if callable(value):
            return value
    raise ImportError(f"no {name} in {' or '.join(modules)}")


class Enough(Exception):
    """Ends a training after its first batches."""


class Watch(Callback):
    """Notes the weights before training and the loss of each batch, and ends training after a few."""

    def __init__(self, batches: int) -> None:
        self.batches = batches
        self.weights: dict[str, str] = {}
        self.losses: list[str] = []

    @contextmanager
    def attached(self) -> Iterator[None]:
        """Make this callback part of every trainer that is started."""
        fit = Trainer.fit

        def watched(trainer: Trainer, model: Any, *args: Any, **kwargs: Any) -> None:
            trainer.callbacks.append(self)
            self.weights = digest(model.named_parameters())
            fit(trainer, model, *args, **kwargs)

        Trainer.fit = watched
        try:
            yield
        finally:
            Trainer.fit = fit

    def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
        self.losses.append(str(np.float32(outputs["loss"].item())))
        if len(self.losses) == self.batches:
            raise Enough


def digest(parameters: Iterable[tuple[str, torch.Tensor]]) -> dict[str, str]:
    """The number of weights, their sum, their absolute sum, and a sum that depends on their places.

    Neither names nor the order of the parameters count; ``edge_mark`` parameters are left out.
    """
    tensors = [p.detach().double().flatten() for name, p in parameters if "edge_mark" not in name]
    places = [torch.cos(torch.arange(len(tensor), dtype=torch.float64)) for tensor in tensors]
    return {
        "parameters": str(sum(map(len, tensors))),
        "sum": f"{math.fsum(float(t.sum()) for t in tensors):.12g}",
        "absolute": f"{math.fsum(float(t.abs().sum()) for t in tensors):.12g}",
        "mixed": f"{math.fsum(float(t @ place) for t, place in zip(tensors, places, strict=True)):.12g}",
    }


@contextmanager
def data_folder(settings: Any) -> Iterator[Path | None]:
    """The folder of raw files: that of ``OSAN_DATA``, but a temporary one for Alchemy."""
    if settings.data.dataset != "alchemy":
        yield None
        return
    with tempfile.TemporaryDirectory() as name:
        folder, before = Path(name), os.environ.get("OSAN_CACHE")
        write_alchemy(folder / "TU" / "alchemy_full")
        os.environ["OSAN_CACHE"] = str(folder / "cache")
        try:
            yield folder
        finally:
            del os.environ["OSAN_CACHE"]
            if before is not None:
                os.environ["OSAN_CACHE"] = before


def write_alchemy(folder: Path, train: int = 128, rest: int = 4) -> None:
    """Random trees in the format of Alchemy: six kinds of atoms, four kinds of bonds, twelve targets."""
    rng = np.random.default_rng(0)
    (folder / "raw").mkdir(parents=True)
    count = train + 2 * rest
    sizes = rng.integers(8, 13, count)
    starts = np.cumsum(sizes) - sizes + 1
    edges = [
        (start + child, start + rng.integers(child))
        for start, size in zip(starts, sizes, strict=True)
        for child in range(1, size)
    ]
    columns = {
        "A": np.array([arc for u, v in edges for arc in ((u, v), (v, u))]),
        "graph_indicator": np.repeat(np.arange(1, count + 1), sizes),
        "node_labels": np.arange(sizes.sum()) % 6,
        "edge_labels": np.arange(2 * len(edges)) // 2 % 4,
        "graph_attributes": rng.normal(size=(count, 12)),
    }
    for name, values in columns.items():
        form = "%.6f" if name == "graph_attributes" else "%d"
        np.savetxt(folder / "raw" / f"alchemy_full_{name}.txt", values, fmt=form, delimiter=", ")
    parts = {"train": range(train), "val": range(train, train + rest), "test": range(train + rest, count)}
    for name, indices in parts.items():
        (folder / f"{name}.index").write_text(",".join(map(str, indices)))


def drop_edge_marks() -> None:
    """Let the layers of versions up to c684ab9 draw ``edge_mark`` without a trace in torch's generator."""
    from osan.nn import stack

    class Forked:
        """``torch``, as that module sees it; its only draws are those of ``edge_mark``."""

        def __getattr__(self, name: str) -> Any:
            return getattr(torch, name)

        def randn(self, *sizes: int) -> torch.Tensor:
            with torch.random.fork_rng(devices=[]):
                return torch.randn(*sizes)

    stack.torch = Forked()


def differences(old: dict[str, str], new: dict[str, str]) -> list[str]:
    """What differs between two rows by more than rounding."""
    allowed = {"parameters": 0.0}
    allowed |= dict.fromkeys(("sum", "absolute", "mixed"), WEIGHTS * float(old["absolute"]))
    allowed |= {name: share * abs(float(old[name])) for name, share in LOSSES.items()}
    return [
        f"{name}: expected {old[name]}, got {new[name]}"
        for name, most in allowed.items()
        if not abs(float(old[name]) - float(new[name])) <= most
    ]


def read_table(path: Path) -> dict[str, dict[str, str]]:
    """The rows of a table by their key; lines that begin with # are comments."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    return {row["key"]: row for row in csv.DictReader(lines)}


def write_row(path: Path, row: dict[str, str]) -> None:
    """Add a row to a table; a new table begins with what it was computed with."""
    stream = io.StringIO()
    writer = csv.DictWriter(stream, COLUMNS, lineterminator="\n")
    if not path.exists():
        threads = torch.get_num_threads()
        stream.write(f"# {' '.join(['scripts/first_steps.py', *sys.argv[1:]])}\n")
        stream.write(f"# torch {torch.__version__}, {threads} thread{'s' if threads > 1 else ''}\n")
        writer.writeheader()
    writer.writerow(row)
    with path.open("a", encoding="utf-8") as file:
        file.write(stream.getvalue())


def main(words: Sequence[str] | None = None) -> int:
    """Compute or check a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, help="the table to write or continue")
    parser.add_argument("--check", type=Path, help="the table to compare with")
    parser.add_argument("--drop-edge-marks", action="store_true", help="for versions up to c684ab9")
    parser.add_argument("only", nargs="*", help="only keys that contain one of these")
    given = parser.parse_args(words)
    if (given.out is None) == (given.check is None):
        parser.error("expected either --out or --check")
    torch.set_num_threads(1)
    if given.drop_edge_marks:
        drop_edge_marks()
    table = given.out or given.check
    known = read_table(table) if table.exists() else {}
    settings = all_settings()
    bad = done = 0
    for key in known if given.check else settings:
        if (given.only and not any(word in key for word in given.only)) or (given.out and key in known):
            continue
        start = time.perf_counter()
        if key not in settings:
            wrong = ["no recipe or plan has this key"]
        else:
            row = first_steps(settings[key])
            wrong = differences(known[key], row) if given.check else []
            if given.out:
                write_row(given.out, row)
        bad, done = bad + bool(wrong), done + 1
        print(f"{key}: {'; '.join(wrong) or 'ok'} ({time.perf_counter() - start:.1f} s)", flush=True)
    if given.check and not given.only:
        for key in settings.keys() - known.keys():
            print(f"{key}: not in {given.check}")
            bad += 1
    print(f"{bad} of {done} differ" if given.check else f"written to {given.out}")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
