"""Structural encodings and centralities as tensors of a dataset, computed once and kept in the cache."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from torch import Tensor

from osan.data.centralities import score
from osan.data.columns import cached_columns
from osan.data.encodings import encode
from osan.data.flat import FlatDataset
from osan.data.naming import parse_encoding
from osan.data.published.paths import Folder
from osan.data.task import Task
from osan.words import ENCODINGS

# Part of the key of cached columns: a new number makes old ones unused.
_VERSION = "2"


def with_structure(
    task: Task, encodings: Sequence[str] = (), scored: str | None = None, cache: Folder = None
) -> Task:
    """A task whose graphs have structural encodings, and a centrality by which subgraphs are chosen.

    Parameters
    ----------
    task
        The task; its splits are subsets of one dataset.
    encodings
        Names as in :func:`osan.data.encodings.encode`. Batches then have ``encoding`` of shape
        ``[vertices, columns]``.
    scored
        The name of a centrality in :data:`osan.data.centralities.CENTRALITIES`, or ``module:name``. Batches
        then have ``score`` of shape ``[vertices, 1]``.
    cache
        The folder of the cache.

    Examples
    --------
    >>> from osan.data import load
    >>> task = with_structure(load("planted-motif"), ["cse:4"], scored="degree")
    >>> task.train.batch(torch.tensor([0])).encoding.shape[1]
    4
    """
    if not encodings and scored is None:
        return task
    tensors = structure(task.train, encodings, scored, cache)
    train, val, test = (part.with_tensors(**tensors) for part in task.splits.values())
    return replace(task, train=train, val=val, test=test)


def structure(
    graphs: FlatDataset, encodings: Sequence[str] = (), scored: str | None = None, cache: Folder = None
) -> dict[str, Tensor]:
    """The tensors ``encoding`` and ``score`` of the whole dataset that a subset belongs to."""
    sizes = graphs.edge_ptr.diff()
    edge_index = graphs.tensors["edge_index"]
    edge_index = edge_index + torch.repeat_interleave(graphs.vertex_ptr[:-1], sizes)
    ptr = graphs.vertex_ptr
    found: dict[str, Tensor] = {}
    if any(parse_encoding(name)[0] not in ENCODINGS for name in encodings):
        # Custom code may change, so its result is not kept.
        found["encoding"] = encode(edge_index, ptr, encodings)
    elif encodings:
        found["encoding"] = _cached(
            edge_index, ptr, ",".join(encodings), lambda: encode(edge_index, ptr, encodings), cache
        )
    if scored is not None and ":" in scored:  # not kept either
        found["score"] = score(edge_index, ptr, scored).unsqueeze(1)
    elif scored is not None:
        found["score"] = _cached(
            edge_index, ptr, scored, lambda: score(edge_index, ptr, scored).unsqueeze(1), cache
        )
    return found


def _cached(edge_index: Tensor, ptr: Tensor, name: str, make: Callable[[], Tensor], cache: Folder) -> Tensor:
    """What ``make`` returns, from the cache if it is there for the same graphs and name."""
    digest = hashlib.sha256(f"{_VERSION}\0{name}\0{list(edge_index.shape)}\0".encode())
    for tensor in (edge_index, ptr):
        digest.update(tensor.contiguous().numpy().tobytes())
    return cached_columns(digest, int(ptr[-1]), make, cache)
