"""Checkpoints to resume from: plain tensors and numbers, written whole, never unpickled."""

from __future__ import annotations

import io
import warnings
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from lightning.fabric.plugins import CheckpointIO
from torch import nn

from osan import toml
from osan.data import Task
from osan.errors import OsanError
from osan.files import read_bytes, sealed, unsealed, write_bytes
from osan.training.settings import Settings, validated


class SafeCheckpointIO(CheckpointIO):
    """How Lightning writes and reads checkpoints here."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: Any, storage_options: Any = None) -> None:
        """Write a checkpoint; if that fails, the previous one stays."""
        stream = io.BytesIO()
        torch.save(checkpoint, stream)
        write_bytes(Path(path), sealed(stream.getvalue()))

    def load_checkpoint(
        self, path: Any, map_location: Any = None, weights_only: bool | None = True
    ) -> dict[str, Any]:
        """Read a checkpoint; always with ``weights_only``, so no user class is instantiated."""
        return read_checkpoint(Path(path))

    def remove_checkpoint(self, path: Any) -> None:
        """Delete a checkpoint."""
        Path(path).unlink(missing_ok=True)


def read_checkpoint(path: Path) -> dict[str, Any]:
    """The content of a checkpoint; a damaged one is an error with advice."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # on damaged files torch warns of odd pickle protocols
            stored = read_bytes(path)
            plain = unsealed(stored)
            if plain is None:  # of an earlier version: its parts have checksums that torch does not look at
                plain = stored
                with zipfile.ZipFile(io.BytesIO(plain)) as archive:
                    if archive.testzip():
                        raise OsanError("it is damaged")
            content = torch.load(io.BytesIO(plain), weights_only=True, map_location="cpu")
    except Exception as error:  # torch raises nearly anything on damaged files
        reason = " ".join(str(error).split())[:120]
        raise OsanError(
            f"{path}: not a checkpoint that can be read safely ({reason}); "
            "move it away to train again from the start"
        ) from error
    wanted = {"settings", "callbacks", "state_dict", "optimizer_states", "loops"}
    if not isinstance(content, dict) or not wanted <= content.keys():
        raise OsanError(f"{path}: not a checkpoint of osan; move it away to train again from the start")
    return content


def check_settings(path: Path, checkpoint: dict[str, Any], settings: Settings) -> None:
    """Raise if a checkpoint was made with other settings."""
    try:
        tree = toml.loads(checkpoint["settings"])
    except (TypeError, AttributeError, ValueError, RecursionError) as error:
        raise OsanError(
            f"{path}: not a checkpoint of osan ({error}); move it away to train again from the start"
        ) from error
    made = validated(tree, str(path))
    different = settings.differences(made)
    if different:
        raise OsanError(f"{path} belongs to a run with other settings: {'; '.join(different[:5])}")


def check_model(path: Path, checkpoint: dict[str, Any], module: nn.Module) -> None:
    """Raise if a checkpoint was made with another model, custom or of another version."""
    now, stored = module.state_dict(), checkpoint["state_dict"]
    names = now.keys() | stored.keys()
    different = [name for name in names if _shape(now, name) != _shape(stored, name)]
    if different:
        raise OsanError(
            f"{path} holds another model: {min(different)} and {len(different) - 1} others differ; "
            "train again in another folder"
        )


def _shape(state: Mapping[str, Any], name: str) -> object:
    return state[name].shape if name in state else None


def check_data(path: Path, checkpoint: dict[str, Any], task: Task) -> None:
    """Raise if a checkpoint was made with other data. Old checkpoints without a fingerprint pass."""
    if not task.is_that_of(checkpoint.get("data", "")):
        raise OsanError(
            f"{task.name} is not what it was when {path} was written: targets, graphs or splits differ; "
            "restore the data, or train in another folder"
        )
