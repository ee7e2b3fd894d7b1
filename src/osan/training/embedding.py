"""What a network knows of a molecule: the row that its head turns into a prediction."""

from __future__ import annotations

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from osan.data import FlatDataset, FlatLoader
from osan.data.custom.fragments import texts_of
from osan.data.custom.rejected import Rejected
from osan.data.formats.table import Table
from osan.errors import OsanError
from osan.extras import optional
from osan.files import write_bytes
from osan.training.evaluation import evaluating
from osan.training.members import Predictor, members_of
from osan.training.module import Learner
from osan.training.prediction import usable_molecules


@dataclass(frozen=True)
class Embedded:
    """The embeddings of a table: lines, SMILES, rows of shape ``[molecules, width]``, and rejected rows."""

    lines: list[int]
    smiles: list[str]
    rows: Tensor
    rejected: list[Rejected]


def embed(model: Predictor, graphs: FlatDataset, batch_size: int = 128) -> Tensor:
    """What the head sees of each graph, shape ``[graphs, width]``: pooled features, and descriptors if any.

    It is the mean over the perturbed samples of the choice. The rows of an ensemble are those of its members,
    side by side.

    Raises
    ------
    OsanError
        If the network is a custom one without a ``head``.
    """
    return torch.cat([_embed(member, graphs, batch_size) for member in members_of(model)], dim=1)


def _embed(learner: Learner, graphs: FlatDataset, batch_size: int) -> Tensor:
    device = next(learner.model.parameters()).device
    seen: list[Tensor] = []
    # Networks have several ways to the head, some of which compute all samples together.
    hook = _head(learner).register_forward_pre_hook(lambda head, given: seen.append(given[0]))
    parts = []
    try:
        with evaluating(learner):
            for batch in FlatLoader(graphs, batch_size):
                seen.clear()
                learner.look(batch.to(device))
                parts.append(torch.stack(seen).mean(0).cpu())
    finally:
        hook.remove()
    return torch.cat(parts)


def _head(learner: Learner) -> nn.Module:
    model: Any = learner.model
    network = getattr(model, "downstream", None) or getattr(model, "network", None)
    head = getattr(network, "head", None)
    if not isinstance(head, nn.Module):
        name = learner.settings.network.architecture
        raise OsanError(f"network.architecture: expected a network of osan, with a head, got {name!r}")
    return head


def embed_table(
    model: Predictor, table: Table, smiles: str | Sequence[str] = "smiles", batch_size: int = 128
) -> Embedded:
    """The embedding of every molecule of a table that was read whole."""
    places, graphs, repeated, rejected = usable_molecules(model, table, smiles)
    if graphs is None:
        raise OsanError(f"{table.path}: expected at least one molecule that can be used, got none")
    rows = embed(model, graphs, batch_size)
    row_of = {place: row for row, place in enumerate(places)}
    row_of |= {place: row_of[first] for place, first in repeated.items()}
    kept = sorted(row_of)
    texts = texts_of(table, smiles, kept)
    return Embedded([table.lines[place] for place in kept], texts, rows[[row_of[p] for p in kept]], rejected)


def write_embedded(path: Path, embedded: Embedded) -> None:
    """Write embeddings as ``.npz`` or ``.parquet``, whole or not at all.

    An ``.npz`` file has the arrays ``embedding``, ``line`` and ``smiles``, and is read without pickle. A
    Parquet file has the columns ``line``, ``smiles``, ``e0``, ``e1``, ...
    """
    rows, stream = embedded.rows.float().numpy(), io.BytesIO()
    if path.suffix.lower() == ".npz":
        texts, lines = np.array(embedded.smiles, dtype=np.str_), np.array(embedded.lines)
        np.savez_compressed(stream, embedding=rows, line=lines, smiles=texts)
    elif path.suffix.lower() in (".parquet", ".pq"):
        arrow = optional("pyarrow", "parquet", "writing Parquet")
        parquet = optional("pyarrow.parquet", "parquet", "writing Parquet")
        columns = {"line": embedded.lines, "smiles": embedded.smiles}
        columns |= {f"e{i}": rows[:, i] for i in range(rows.shape[1])}
        parquet.write_table(arrow.table(columns), stream)
    else:
        raise OsanError(f"out: expected a .npz or .parquet file, got {path}")
    write_bytes(path, stream.getvalue())
