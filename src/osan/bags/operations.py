"""Delete, select and mark, on a bag that has all copies."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

import torch
from torch import Tensor

from osan.bags.bag import SubgraphBag
from osan.bags.build import thinned
from osan.errors import OsanError
from osan.words import Deleted, Operation, What


def check_operation(operation: str, deleted: str, what: str = "vertex") -> None:
    """Raise if a word is unknown, or if the words do not go together."""
    for name, value, allowed in (
        ("what", what, get_args(What)),
        ("operation", operation, get_args(Operation)),
        ("deleted", deleted, get_args(Deleted)),
    ):
        if value not in allowed:
            raise OsanError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")
    if what == "edge" and deleted == "unpooled":
        raise OsanError("deleted: expected 'masked' or 'isolated' for a choice of edges, got 'unpooled'")


def operate_on_vertices(
    bag: SubgraphBag, chosen: Tensor, operation: Operation, deleted: Deleted
) -> SubgraphBag:
    """Mark the chosen copies, or reduce every subgraph to them.

    Parameters
    ----------
    bag
        A bag that has all copies.
    chosen
        0 or 1 for each copy, shape ``[copies]``.
    operation, deleted
        As in :func:`osan.bags.from_choice`.
    """
    kept = chosen != 0
    if operation == "mark":
        return replace(bag, mark=chosen)
    if deleted == "isolated":
        return thinned(bag, edges=kept[bag.edge_index[0]] & kept[bag.edge_index[1]])
    if deleted == "unpooled":
        return replace(bag, weight=chosen)
    return thinned(bag, kept)


def touched_by(bag: SubgraphBag, edges: Tensor) -> Tensor:
    """Whether each copy is an end of one of the given copied edges; both are boolean."""
    touched = torch.zeros(bag.num_copies, dtype=torch.bool, device=edges.device)
    touched[bag.edge_index[:, edges].flatten()] = True
    return touched


def operate_on_edges(bag: SubgraphBag, chosen: Tensor, operation: Operation, deleted: Deleted) -> SubgraphBag:
    """Mark the chosen copied edges, or reduce every subgraph to them.

    Selecting also removes the vertices that no chosen edge touches; deleting keeps every vertex.
    """
    if operation == "mark":
        return replace(bag, edge_mark=chosen)
    kept = chosen != 0
    shrinks = operation == "select" and deleted == "masked"
    return thinned(bag, touched_by(bag, kept) if shrinks else None, kept)
