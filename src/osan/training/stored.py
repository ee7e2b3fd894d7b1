"""The best model on disk: its weights, the facts of its task, and the checksums of both."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn

from osan.errors import OsanError, Unfinished
from osan.files import read_bytes, write_bytes
from osan.training.folder import MODEL, WEIGHTS, read_json, write_json
from osan.training.formats import FORMATS, upgrade_weights
from osan.training.tasks import TaskInfo


def write_model(folder: Path, weights: dict[str, Tensor], info: TaskInfo, custom: bool) -> None:
    """Write the weights, then what they belong to."""
    packed = save(weights)
    write_bytes(folder / WEIGHTS, packed)
    content = {
        "format": FORMATS[-1],
        "custom": custom,
        "task": info.to_json(),
        "weights_sha256": hashlib.sha256(packed).hexdigest(),
    }
    write_json(folder / MODEL, {**content, "sha256": _checksum(content)})


def read_info(folder: Path) -> TaskInfo:
    """The facts of the task of a finished run."""
    if not (folder / MODEL).is_file():
        raise Unfinished(f"{folder} holds no model yet: the run is not finished", folder)
    content = _content(folder)
    try:
        return TaskInfo.from_json(content.get("task", {}))
    except OsanError as error:
        raise OsanError(f"{folder / MODEL}: {error}") from error


def load_weights(folder: Path, model: nn.Module) -> None:
    """Give a model the weights that are stored in a folder.

    Raises
    ------
    OsanError
        If they are damaged, not finite, or those of another model.
    """
    path, content = folder / WEIGHTS, _content(folder)
    packed = read_bytes(path)
    stored = content.get("weights_sha256")
    if stored is not None and hashlib.sha256(packed).hexdigest() != stored:
        raise OsanError(
            f"{path} does not hold the weights of this run: they do not fit the checksum in {MODEL}; "
            "restore both files, or train again"
        )
    try:
        model.load_state_dict(upgrade_weights(load(packed), content["format"], model))
    except (SafetensorError, RuntimeError, ValueError, LookupError) as error:
        reason = " ".join(str(error).split())[:200]
        raise OsanError(f"{path} does not hold the weights of this run: {reason}") from error
    for name, tensor in model.state_dict().items():
        if tensor.is_floating_point() and bool(tensor.isnan().any()):
            raise OsanError(f"{path}: expected finite weights, got NaN in {name}")
    for name, weight in model.named_parameters():
        if weight.is_floating_point() and not bool(weight.isfinite().all()):
            raise OsanError(f"{path}: expected finite weights, got infinite ones in {name}")


def _content(folder: Path) -> dict[str, Any]:
    """What ``model.json`` holds, if it is what was written."""
    path = folder / MODEL
    content = read_json(path)
    known = content.get("format")
    if known not in FORMATS:
        raise OsanError(f"{path}: expected format {' or '.join(FORMATS)}, got {known!r}")
    stored = content.pop("sha256", None)
    # Earlier formats had no checksums.
    if known not in ("1", "2") and stored != _checksum(content):
        raise OsanError(f"{path}: the content does not fit its checksum, so the file is damaged")
    return content


def _checksum(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
