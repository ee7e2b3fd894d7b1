"""The folder of a run: its files, and how they are written and read.

``settings.toml``, ``environment.json``, ``metrics.csv`` (a line per epoch), ``checkpoint.ckpt`` (to resume),
then ``model.safetensors`` and ``model.json`` (the best model), ``predictions.csv`` (of the test split),
``calibration.json`` (errors on the validation split) and, last of all, ``result.json``: a run is finished if
and only if that file exists. ``failed.json`` holds the reason of a failure. An ensemble has, instead of a
model and what belongs to its training, the folders ``member-0``, ``member-1``, ..., each that of a run.
"""

from __future__ import annotations

import json
import os
import platform
import sys
from collections.abc import Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

from pydantic import TypeAdapter, ValidationError

from osan import __version__
from osan.errors import OsanError
from osan.files import write_bytes
from osan.shown import html_table
from osan.training.settings import Settings, validated
from osan.training.settings_files import read_tree

SETTINGS, ENVIRONMENT, METRICS = "settings.toml", "environment.json", "metrics.csv"
CHECKPOINT, WEIGHTS, MODEL = "checkpoint.ckpt", "model.safetensors", "model.json"
PREDICTIONS, RESULT, FAILED = "predictions.csv", "result.json", "failed.json"

_PACKAGES = (
    "torch",
    "torch_geometric",
    "lightning",
    "torchmetrics",
    "numpy",
    "scipy",
    "numba",
    "rdkit",
    "ogb",
)


@dataclass(frozen=True)
class Result:
    """The content of ``result.json``.

    ``value`` is the metric on the test split, ``validation`` the best one on the validation split, reached
    after epoch ``best_epoch`` (from 0, while commands and pages count from 1); ``scores`` has every metric of
    the task on the test split, and ``test_seconds`` the times of five passes over it. ``best_test`` is the
    best metric on the test split over all epochs, if it was watched: protocols that select the epoch by it
    report this. ``separate`` is the metric with every perturbed sample as a separate prediction, if there are
    several (the authors' way). ``members`` are the metrics of the members of an ensemble on the test split;
    ``value``, ``validation`` and ``scores`` are those of the whole, ``epochs`` and ``best_epoch`` the largest
    of all members, ``seconds`` their sum. ``intervals`` says how often conformal intervals, or sets of
    classes, hold the truth on the test split, see :func:`~osan.training.calibration.coverage`.
    ``share`` is that of the network if it is blended with a Gaussian process; ``value``, ``scores`` and
    ``validation`` are then those of the blend.
    """

    key: str
    seed: int
    dataset: str
    metric: str
    direction: Literal["min", "max"]
    value: float
    validation: float
    epochs: int
    best_epoch: int
    seconds: float
    test_seconds: list[float]
    scores: dict[str, float]
    best_test: float | None = None
    separate: float | None = None
    members: list[float] | None = None
    intervals: dict[str, float | None] | None = None
    share: float | None = None

    def _repr_html_(self) -> str:
        facts = f"{self.key}, seed {self.seed}: epoch {self.best_epoch + 1} of {self.epochs}"
        return html_table(["test", "value"], self.scores.items(), facts)


_RESULT = TypeAdapter(Result)


def run_folder(runs: str | Path, settings: Settings) -> Path:
    """The folder of a run: ``RUNS/<name>/seed-<s>``."""
    return Path(runs).joinpath(*settings.name.split("/"), f"seed-{settings.seed}")


def member_folder(folder: Path, number: int) -> Path:
    """The folder of a member of an ensemble."""
    return folder / f"member-{number}"


def model_folders(folder: Path) -> list[Path]:
    """The folders with the models of a run: those of an ensemble's members, or its own."""
    count = settings_of(folder).ensemble
    return [folder] if count == 1 else [member_folder(folder, i) for i in range(count)]


def read_result(folder: str | Path) -> Result | None:
    """The result of a finished run; ``None`` if it is not finished."""
    path = Path(folder) / RESULT
    if not path.is_file():
        return None
    content = read_json(path)
    names = [field.name for field in fields(Result)]
    needed = [field.name for field in fields(Result) if field.default is MISSING]
    missing = [name for name in needed if name not in content]
    if missing:
        raise OsanError(f"{path}: expected a result of osan, got one without {', '.join(missing)}")
    try:
        return _RESULT.validate_python({name: content[name] for name in names if name in content})
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(map(str, first["loc"]))
        raise OsanError(f"{path}, {place}: {first['msg']}, got {str(first['input'])[:80]!r}") from None


def write_result(folder: Path, result: Result) -> None:
    """Write the last file of a run."""
    write_json(folder / RESULT, asdict(result))


def settings_of(folder: Path) -> Settings:
    """The settings of the run in a folder."""
    if not (folder / SETTINGS).is_file():
        raise OsanError(f"{folder} is not the folder of a run: it has no {SETTINGS}")
    tree = read_tree(folder / SETTINGS)
    if not tree:  # all settings have defaults, but a run writes them
        raise OsanError(f"{folder / SETTINGS}: expected the settings of a run, got an empty file")
    return validated(tree, str(folder / SETTINGS))


def refuse_python(settings: Settings, folder: Path) -> None:
    """Raise if a stored run names functions of Python itself as parts: calling them may do harm."""
    tree = settings.model_dump(include={"network", "selection", "training", "machine"})
    data = settings.data
    for name in (data.dataset, data.metric or "", *data.encodings, *_strings(tree)):
        # A policy has other words before and after.
        for word in name.split():
            if ":" in word and word.partition(":")[0].partition(".")[0] in sys.stdlib_module_names:
                raise OsanError(f"{folder / SETTINGS}: expected parts of osan or yours, got {word!r}")


def _strings(tree: Any) -> Iterator[str]:
    """All strings in nested settings, options of parts left out."""
    if isinstance(tree, str):
        yield tree
    elif isinstance(tree, dict):
        yield from _strings([value for key, value in tree.items() if key != "options"])
    elif isinstance(tree, list):
        for value in tree:
            yield from _strings(value)


def environment() -> dict[str, Any]:
    """Versions, platform and threads: everything a run depends on besides its settings."""
    import torch

    versions = {"osan": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            continue
    return {
        "versions": versions,
        "platform": platform.platform(),
        "processor": platform.processor() or platform.machine(),
        "cpus": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "cuda": torch.cuda.get_device_name() if torch.cuda.is_available() else None,
    }


def write_json(path: Path, content: Mapping[str, Any]) -> None:
    """Write a JSON file, whole or not at all."""
    write_bytes(path, (json.dumps(content, indent=2) + "\n").encode())


def read_json(path: Path) -> dict[str, Any]:
    """A JSON object from a file."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise OsanError(f"{path} cannot be read: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise OsanError(f"{path}: not JSON ({error})") from error
    if not isinstance(content, dict):
        raise OsanError(f"{path}: expected a JSON object, got {type(content).__name__}")
    return content
