"""Files of numbers and of graph indices, checked line by line."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from osan.errors import OsanError
from osan.files import read_text

_NUMBER = r"\s*[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?\s*"
_ROW = re.compile(rf"{_NUMBER}(?:,{_NUMBER})*", re.ASCII)
# At most 18 digits, so that every integer fits into 64 bits.
_INDEX = re.compile(r"[0-9]{1,18}")
_INTEGER_ROW = re.compile(r"\s*[-+]?\d{1,18}\s*(?:,\s*[-+]?\d{1,18}\s*)*", re.ASCII)


def read_rows(
    path: Path, *, integers: bool, columns: int | None = None, line_break: bool = False
) -> npt.NDArray[Any]:
    """The numbers of a file (also ``.gz``), of shape (lines, columns).

    Parameters
    ----------
    path
        One row per line, its values separated by commas.
    integers
        Whether only integers are allowed.
    columns
        How many values each line must have; by default as many as the first line.
    line_break
        Whether the last line must end with a line break; otherwise PyG's reader silently drops it.

    Raises
    ------
    OsanError
        The message names the file and the line.
    """
    lines = read_text(path).split("\n")
    if lines[-1] and line_break:
        raise OsanError(f"{path}, line {len(lines)}: expected a line break at the end, got none")
    if not lines[-1]:
        lines.pop()
    if not lines:
        raise OsanError(f"{path}, line 1: the file is empty")
    pattern, kind = (_INTEGER_ROW, "integers") if integers else (_ROW, "numbers")
    width = columns or lines[0].count(",") + 1
    for place, line in enumerate(lines, 1):
        if not pattern.fullmatch(line):
            raise OsanError(f"{path}, line {place}: expected {kind} separated by commas, got {line[:40]!r}")
        if line.count(",") + 1 != width:
            raise OsanError(f"{path}, line {place}: expected {width} values, got {line.count(',') + 1}")
    values = np.array(",".join(lines).split(","), dtype=np.float64 if not integers else np.int64)
    return values.reshape(len(lines), width)


def read_folds(folder: Path, count: int) -> dict[str, Tensor]:
    """Fold files ``{train,test}_idx-{1..10}.txt`` with one index per line; empty if there is no folder."""
    return {
        f"fold{i - 1}/{part}": read_index(folder / f"{part}_idx-{i}.txt", count)
        for i in range(1, 11)
        for part in ("train", "test")
        if folder.is_dir()
    }


def read_index_files(folder: Path, count: int) -> dict[str, Tensor]:
    """Index files ``train.index``, ``val.index`` and ``test.index``; empty unless all three exist."""
    paths = {part: folder / f"{part}.index" for part in ("train", "val", "test")}
    if not all(path.is_file() for path in paths.values()):
        return {}
    return {part: read_index(path, count) for part, path in paths.items()}


def read_index(path: Path, count: int) -> Tensor:
    """The integers of a file, separated by commas, blanks or line breaks, from 0 to ``count - 1``."""
    return torch.tensor([i for line in read_index_lines(path, count) for i in line])


def read_index_lines(path: Path, count: int) -> list[list[int]]:
    """The integers of each line, for files with one fold per line; see :func:`read_index`."""
    lines = read_text(path).splitlines()
    out = []
    for place, line in enumerate(lines, 1):
        words = line.replace(",", " ").split()
        wrong = next((w for w in words if not (_INDEX.fullmatch(w) and int(w) < count)), None)
        if wrong is not None:
            raise OsanError(
                f"{path}, line {place}: expected integers from 0 to {count - 1}, got {wrong[:20]!r}"
            )
        if words:
            out.append([int(w) for w in words])
    if not out:
        raise OsanError(f"{path}, line 1: the file holds no index")
    return out
