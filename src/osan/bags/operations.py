"""Delete, select and mark, for copies that are already there."""

from __future__ import annotations

from dataclasses import replace
from typing import Literal

import torch
from torch import Tensor

from osan.bags.bag import SubgraphBag
from osan.bags.build import thinned
from osan.errors import OsanError

Operation = Literal["delete", "select", "mark"]
Deleted = Literal["masked", "isolated", "unpooled"]


def check_operation(operation: str, deleted: str, what: str = "vertex") -> None:
    """Raise if one of the words is not known, or does not fit what is chosen."""
    for name, value, allowed in (
        ("what", what, ("vertex", "edge")),
        ("operation", operation, ("delete", "select", "mark")),
        ("deleted", deleted, ("masked", "isolated", "unpooled")),
    ):
        if value not in allowed:
            raise OsanError(f"{name}: expected one of {', '.join(map(repr, allowed))}, got {value!r}")
    if what == "edge" and deleted == "unpooled":
        raise OsanError("deleted: 'unpooled' keeps every message, which leaves nothing of a choice of edges")


def operate_on_vertices(
    bag: SubgraphBag, chosen: Tensor, operation: Operation, deleted: Deleted
) -> SubgraphBag:
    """Mark the chosen copies, or let every subgraph consist of them.

    Parameters
    ----------
    bag
        A bag that still has all copies.
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
    """Which copies are an end of one of the given copied edges (boolean, as is the result)."""
    touched = torch.zeros(bag.num_copies, dtype=torch.bool, device=edges.device)
    touched[bag.edge_index[:, edges].flatten()] = True
    return touched


def operate_on_edges(bag: SubgraphBag, chosen: Tensor, operation: Operation, deleted: Deleted) -> SubgraphBag:
    """Mark the chosen copied edges, or let every subgraph consist of them.

    Selecting also deletes the vertices that no chosen edge touches; deleting leaves every vertex.
    """
    if operation == "mark":
        return replace(bag, edge_mark=chosen)
    kept = chosen != 0
    shrinks = operation == "select" and deleted == "masked"
    return thinned(bag, touched_by(bag, kept) if shrinks else None, kept)
