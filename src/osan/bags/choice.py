"""From a choice, which the solvers make and gradients come back through, to a bag."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import full_bag, with_whole_graph
from osan.bags.layout import layout_of
from osan.bags.operations import (
    Deleted,
    Operation,
    check_operation,
    operate_on_edges,
    operate_on_vertices,
    touched_by,
)
from osan.errors import OsanError

What = Literal["vertex", "edge"]


class _Indicator(torch.autograd.Function):
    """1 where a choice is non-zero; the gradient passes unchanged (ranks count as being chosen)."""

    @staticmethod
    def forward(ctx: Any, choice: Tensor) -> Tensor:
        return (choice != 0).to(choice.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> Tensor:
        return gradient


class _InducedEdgeWeight(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, choice: Tensor, edge_index: Tensor, agg: str) -> Tensor:
        ctx.save_for_backward(edge_index[1])
        ctx.num_vertices, ctx.agg = len(choice), agg
        chosen = choice != 0
        return (chosen[edge_index[0]] & chosen[edge_index[1]]).to(choice.dtype)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor, None, None]:
        (target,) = ctx.saved_tensors
        total = gradient.new_zeros(ctx.num_vertices, gradient.size(1)).index_add_(0, target, gradient)
        if ctx.agg == "mean":
            degree = torch.bincount(target, minlength=ctx.num_vertices).clamp_(min=1)
            total /= degree.unsqueeze(1)
        return total, None, None


def induced_edge_weight(choice: Tensor, edge_index: Tensor, agg: Literal["mean", "sum"] = "mean") -> Tensor:
    r"""Weight of every edge in the subgraph induced by the chosen vertices, with the paper's gradient.

    Forward, :math:`w_{uv} = [z_u \neq 0][z_v \neq 0]`. Backward it is not the derivative of this product but
    the paper's :math:`\mathbf{agg}` (section "Backpropagating through the subgraph distribution"),

    .. math:: \widehat\nabla_v = \mathbf{agg}\{\!\{\, \partial\ell/\partial w_{vw} \mid w \in N_G(v) \,\}\!\},

    over the edges incident to v in the *original* graph, chosen or not: row v of the adjacency matrix, that
    is the columns of ``edge_index`` that point to v.

    Parameters
    ----------
    choice
        Which vertices each subgraph consists of, shape ``[vertices, m]``.
    edge_index
        The edges of the batch, shape ``[2, edges]``.
    agg
        ``"mean"`` or ``"sum"``.

    Returns
    -------
    Tensor
        Shape ``[edges, m]``, in the data type of ``choice``.

    Examples
    --------
    >>> path = torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]])
    >>> choice = torch.tensor([[1.0], [1.0], [0.0]], requires_grad=True)
    >>> weight = induced_edge_weight(choice, path)
    >>> weight.flatten().tolist()
    [1.0, 1.0, 0.0, 0.0]
    >>> weight.backward(torch.tensor([[1.0], [2.0], [4.0], [8.0]]))
    >>> choice.grad.flatten().tolist()
    [2.0, 4.5, 4.0]
    """
    if agg not in ("mean", "sum"):
        raise OsanError(f"agg: expected 'mean' or 'sum', got {agg!r}")
    weight: Tensor = _InducedEdgeWeight.apply(choice, edge_index, agg)  # type: ignore[no-untyped-call]
    return weight


@torch.compiler.disable  # sizes depend on values: nothing to compile
def from_choice(
    batch: Data,
    choice: Tensor,
    *,
    what: What = "vertex",
    operation: Operation = "select",
    ordered: bool = False,
    deleted: Deleted = "masked",
    whole_graph: bool = False,
    keep_removed: bool | None = None,
    agg: Literal["mean", "sum"] = "mean",
) -> SubgraphBag:
    r"""The bag of the m subgraphs of each graph that a choice names.

    A choice is the set that a subgraph *consists of* (after deleting k vertices: the other n - k); with
    ``operation="mark"`` it is the set of marked vertices (edges), and nothing is removed.

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    choice
        Shape ``[vertices, m]`` or, for ``what="edge"``, ``[edges, m]`` (columns of ``edge_index``, both
        directions alike). Non-zero means part of the subgraph. If ``ordered``, a vertex of rank r among K
        has the value K + 1 - r.
    what
        Whether vertices or edges are chosen.
    operation
        ``"delete"`` and ``"select"`` give the same induced subgraphs of vertices. Of chosen edges,
        ``"delete"`` leaves every vertex, ``"select"`` deletes the vertices that no chosen edge touches.
    ordered
        Whether the values are ranks.
    deleted
        What becomes of deleted vertices: ``"masked"`` leaves them out of messages and pooling (the paper),
        ``"isolated"`` cuts their edges but pools them (ESAN), ``"unpooled"`` lets messages run over the whole
        graph and leaves them out of pooling only (the authors' ordered variant).
    whole_graph
        Whether each graph itself is one more member.
    keep_removed
        Whether removed copies and edges stay with weight 0, so that gradients reach them; by default exactly
        when the choice requires gradients. The numbers that come out are the same.
    agg
        How the gradients of a vertex's edges become its own; see :func:`induced_edge_weight`. Where deleted
        vertices are left out of the pooling, the gradient of the vertex's weight there is added.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> from_choice(path, torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])).vertex.tolist()
    [0, 1, 1, 2]
    """
    check_operation(operation, deleted, what)
    layout = layout_of(batch)
    _check_choice(choice, layout.num_vertices if what == "vertex" else layout.num_edges, what)
    if ordered and what == "edge":
        raise OsanError("ordered: only vertices can be ranked, but the choice is of edges")
    m = choice.size(1)
    if keep_removed is None:
        keep_removed = choice.requires_grad
    graphs = torch.arange(layout.num_graphs, device=layout.device)
    bag = full_bag(layout, graphs.repeat_interleave(m))
    indicator: Tensor = _Indicator.apply(choice)  # type: ignore[no-untyped-call]
    column = bag.subgraph % max(m, 1)
    edge_column = column[bag.edge_index[1]]
    weighted = keep_removed and operation != "mark"
    if what == "vertex":
        chosen = indicator[bag.vertex, column]
        if ordered:
            bag = replace(bag, rank=_ranks(bag, choice.detach()[bag.vertex, column]))
        if weighted:
            weight = None if deleted == "isolated" else chosen
            edge_weight = induced_edge_weight(choice, batch.edge_index, agg)[bag.edge, edge_column]
            bag = replace(bag, weight=weight, edge_weight=None if deleted == "unpooled" else edge_weight)
        else:
            bag = operate_on_vertices(bag, chosen, operation, deleted)
    else:
        chosen = indicator[bag.edge, edge_column]
        if weighted:
            shrinks = operation == "select" and deleted == "masked"
            touched = touched_by(bag, chosen != 0).to(choice.dtype)
            bag = replace(bag, weight=touched if shrinks else None, edge_weight=chosen)
        else:
            bag = operate_on_edges(bag, chosen, operation, deleted)
    return with_whole_graph(bag, layout) if whole_graph else bag


def _ranks(bag: SubgraphBag, values: Tensor) -> Tensor:
    """Ranks from the values K + 1 - r, checked to be the values 1 to K in each subgraph."""
    top = values.new_zeros(bag.num_subgraphs).scatter_reduce_(0, bag.subgraph, values, "amax")
    number = values.new_zeros(bag.num_subgraphs).index_add_(0, bag.subgraph, (values != 0).to(values.dtype))
    total = values.new_zeros(bag.num_subgraphs).index_add_(0, bag.subgraph, values)
    wrong = ((top != number) | (total * 2 != number * (number + 1))).nonzero()
    if wrong.numel():
        s = int(wrong[0, 0])
        raise OsanError(
            "choice: an ordered subgraph of K vertices has the values 1 to K once each, "
            f"but subgraph {s} has {values[(bag.subgraph == s) & (values != 0)].tolist()}"
        )
    rank = (top[bag.subgraph] + 1 - values).long()
    return rank.masked_fill_(values == 0, 0)


def _check_choice(choice: Tensor, rows: int, what: What) -> None:
    if choice.dim() != 2 or len(choice) != rows:
        things = "vertices" if what == "vertex" else "edges"
        raise OsanError(
            f"choice: expected shape [{rows}, m], one row for each of the {things} of the batch, "
            f"got {list(choice.shape)}"
        )
    if not choice.is_floating_point():
        raise OsanError(f"choice: expected a floating point tensor, got {choice.dtype}")
