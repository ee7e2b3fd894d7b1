"""From a choice to a bag, with gradients back to the choice."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.bags.bag import SubgraphBag
from osan.bags.build import full_bag, thinned, with_whole_graph
from osan.bags.edges import undirected_edges
from osan.bags.layout import layout_of
from osan.bags.operations import (
    check_operation,
    operate_on_edges,
    operate_on_vertices,
    touched_by,
)
from osan.errors import OsanError
from osan.words import Agg, Deleted, Operation, What


class _StraightThrough(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, source: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor]:
        return None, gradient


def straight_through(value: Tensor, source: Tensor) -> Tensor:
    """The numbers of ``value``, with the gradient passed unchanged to ``source``.

    Unlike ``value + source - source.detach()``, this is exact in floating point.

    Parameters
    ----------
    value
        What comes out.
    source
        What gets the gradient; same shape as ``value``.

    Examples
    --------
    >>> soft = torch.tensor([0.2, 0.7], requires_grad=True)
    >>> hard = straight_through(soft.round(), soft)
    >>> (hard * torch.tensor([3.0, 4.0])).sum().backward()
    >>> hard.tolist(), soft.grad.tolist()
    ([0.0, 1.0], [3.0, 4.0])
    """
    out: Tensor = _StraightThrough.apply(value.detach(), source)  # type: ignore[no-untyped-call]
    return out


def inclusion(choice: Tensor) -> Tensor:
    """How much each element is part of its subgraph, from 0 to 1; gradients pass unchanged.

    Ranks count as 1. Values from 0 to 1 stay as they are.

    Examples
    --------
    >>> inclusion(torch.tensor([[2.0], [0.0], [1.0], [0.3]])).T
    tensor([[1.0000, 0.0000, 1.0000, 0.3000]])
    """
    return straight_through(choice.clamp(max=1), choice)


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


def induced_edge_weight(choice: Tensor, edge_index: Tensor, agg: Agg = "mean") -> Tensor:
    r"""Weight of every edge in the subgraph induced by the chosen vertices.

    For a choice of 0 and 1 (or ranks), :math:`w_{uv} = [z_u \neq 0][z_v \neq 0]`. The gradient is not the
    derivative of this product but the paper's :math:`\mathbf{agg}` (section "Backpropagating through the
    subgraph distribution"),

    .. math:: \widehat\nabla_v = \mathbf{agg}\{\!\{\, \partial\ell/\partial w_{vw} \mid w \in N_G(v) \,\}\!\},

    over the edges incident to v in the *original* graph, chosen or not: row v of the adjacency matrix, that
    is, the columns of ``edge_index`` that point to v.

    A soft choice, with a value strictly between 0 and 1, gives :math:`w_{uv} = z_u z_v` with its exact
    derivative, since the product is smooth there.

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
    >>> induced_edge_weight(torch.tensor([[0.5], [1.0], [0.0]]), path).flatten().tolist()
    [0.5, 0.5, 0.0, 0.0]
    """
    if agg not in ("mean", "sum"):
        raise OsanError(f"agg: expected 'mean' or 'sum', got {agg!r}")
    soft = bool(((choice > 0) & (choice < 1)).any())
    return _edge_weight(choice, edge_index, agg, soft)


def _edge_weight(choice: Tensor, edge_index: Tensor, agg: Agg, soft: bool) -> Tensor:
    if soft:
        return choice.index_select(0, edge_index[0]) * choice.index_select(0, edge_index[1])
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
    agg: Agg = "mean",
    symmetric: bool = False,
    columns: tuple[Tensor, Tensor] | None = None,
) -> SubgraphBag:
    r"""The bag of the m subgraphs of each graph that a choice describes.

    A choice is the set that a subgraph *consists of* (after deleting k vertices: the other n - k). With
    ``operation="mark"`` it is the set of marked vertices (edges), and nothing is removed.

    A choice may be soft, with values between 0 and 1. Copies and copied edges then carry these values as
    weights, which scale messages and pooling: an edge between u and v weighs :math:`z_u z_v`. With selected
    edges a vertex weighs as much as the heaviest of its edges. Marks are the values themselves. Only what has
    the value 0 is removed, so batch norms count everything else as a full copy.

    Parameters
    ----------
    batch
        A PyG ``Batch``, or one ``Data``.
    choice
        Shape ``[vertices, m]`` or, for ``what="edge"``, ``[edges, m]`` (columns of ``edge_index``, with equal
        rows for the two directions of an edge). Values from 0 to 1. If ``ordered``, a vertex of rank r among
        K has the value K + 1 - r.
    what
        Whether vertices or edges are chosen.
    operation
        ``"delete"`` and ``"select"`` give the same induced subgraphs of vertices. Of chosen edges,
        ``"delete"`` keeps every vertex, ``"select"`` deletes the vertices that no chosen edge touches.
    ordered
        Whether the values are ranks.
    deleted
        What happens to deleted vertices: ``"masked"`` leaves them out of messages and pooling (the paper),
        ``"isolated"`` cuts their edges but pools them (ESAN), ``"unpooled"`` sends messages over the whole
        graph and leaves them out of pooling only (the authors' ordered variant).
    whole_graph
        Whether each graph itself is one more member.
    keep_removed
        Whether removed copies and edges stay with weight 0, so that gradients reach them. The default is to
        keep them exactly when the choice requires gradients. The predictions are the same either way.
    agg
        How the gradients of a vertex's edges are combined; see :func:`induced_edge_weight`. Where pooling
        leaves out deleted vertices, the gradient of the vertex's weight in the pooling is added.
    symmetric
        Skip the check that the two directions of each edge have equal values.
    columns
        Only some subgraphs: the graph of each, sorted, and its column of the choice; each of shape
        ``[subgraphs]``. By default all columns of every graph.

    Raises
    ------
    OsanError
        If the choice has the wrong shape or type, a value outside 0 to 1, ranks other than 1 to K, or
        different values for the two directions of an edge.

    Examples
    --------
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> from_choice(path, torch.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])).vertex.tolist()
    [0, 1, 1, 2]
    >>> from_choice(path, torch.tensor([[1.0], [0.5], [0.0]])).edge_weight.tolist()
    [0.5, 0.5]
    """
    check_operation(operation, deleted, what)
    layout = layout_of(batch)
    _check_shape(choice, layout.num_vertices if what == "vertex" else layout.num_edges, what)
    if ordered and what == "edge":
        raise OsanError("ordered: expected a choice of vertices, got a choice of edges, which have no ranks")
    soft = not ordered and _is_soft(choice.detach())
    if what == "edge" and not symmetric:
        _check_directions(batch, choice.detach())
    m = choice.size(1)
    if keep_removed is None:
        keep_removed = choice.requires_grad
    if columns is None:
        graphs = torch.arange(layout.num_graphs, device=layout.device)
        bag = full_bag(layout, graphs.repeat_interleave(m))
        column = bag.subgraph % max(m, 1)
    else:
        bag = full_bag(layout, columns[0])
        column = columns[1].index_select(0, bag.subgraph)
    included = inclusion(choice)
    edge_column = column[bag.edge_index[1]]
    weighted = (keep_removed or soft) and operation != "mark"
    if what == "vertex":
        chosen = included[bag.vertex, column]
        if ordered:
            bag = replace(bag, rank=_ranks(bag, choice.detach()[bag.vertex, column]))
        if weighted:
            weight = None if deleted == "isolated" else chosen
            edge_weight = _edge_weight(choice, batch.edge_index, agg, soft)[bag.edge, edge_column]
            bag = replace(bag, weight=weight, edge_weight=None if deleted == "unpooled" else edge_weight)
        else:
            bag = operate_on_vertices(bag, chosen, operation, deleted)
    else:
        chosen = included[bag.edge, edge_column]
        if weighted:
            shrinks = operation == "select" and deleted == "masked"
            bag = replace(bag, weight=_touched(bag, chosen, soft) if shrinks else None, edge_weight=chosen)
        else:
            bag = operate_on_edges(bag, chosen, operation, deleted)
    if weighted and not keep_removed:
        bag = _without_zeros(bag)
    return with_whole_graph(bag, layout) if whole_graph else bag


def _touched(bag: SubgraphBag, chosen: Tensor, soft: bool) -> Tensor:
    """The weight of each copy from those of its copied edges: 0 if all are 0, else their maximum."""
    if not soft:
        return touched_by(bag, chosen != 0).to(chosen.dtype)
    ends, value = bag.edge_index.flatten(), chosen.repeat(2)
    return chosen.new_zeros(bag.num_copies).scatter_reduce(0, ends, value, "amax")


def _without_zeros(bag: SubgraphBag) -> SubgraphBag:
    """Remove copies and copied edges of weight 0; the others keep their weights."""
    copies = None if bag.layer_weight is None else bag.layer_weight.detach() != 0
    edges = None if bag.edge_weight is None else bag.edge_weight.detach() != 0
    return thinned(bag, copies, edges)


def _ranks(bag: SubgraphBag, values: Tensor) -> Tensor:
    """Ranks from the values K + 1 - r, after a check that each subgraph has the values 1 to K once each."""
    ranked = values != 0
    number = values.new_zeros(bag.num_subgraphs).index_add_(0, bag.subgraph, ranked.to(values.dtype))
    number_here = number[bag.subgraph]
    valid = (values >= 1) & (values <= number_here) & (values == values.round())
    wrong = ranked & ~valid
    if not bool(wrong.any()):
        # Values from 1 to K are a ranking if none occurs twice: count them from the first copy on.
        size = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs)
        place = (size.cumsum(0) - size)[bag.subgraph] + values.long() - 1
        times = torch.zeros_like(place).index_add_(0, place[ranked], torch.ones_like(place[ranked]))
        wrong = times > 1
    if bool(wrong.any()):
        s = int(bag.subgraph[wrong][0])
        raise OsanError(
            "choice: expected the values 1 to K once each for an ordered subgraph of K vertices, got "
            f"{values[(bag.subgraph == s) & ranked].tolist()} in subgraph {s}"
        )
    return (number_here + 1 - values).long().masked_fill_(~ranked, 0)


def _is_soft(choice: Tensor) -> bool:
    """Whether a choice has values strictly between 0 and 1; values outside 0 to 1 are an error."""
    if bool(((choice == 0) | (choice == 1)).all()):
        return False
    outside = ~((choice >= 0) & (choice <= 1))
    if bool(outside.any()):
        row, column = outside.nonzero()[0].tolist()
        raise OsanError(
            f"choice: expected values from 0 to 1, got {choice[row, column].item():g} in row {row}, column "
            f"{column}; if the values are ranks, set ordered=True"
        )
    return True


def _check_directions(batch: Data, choice: Tensor) -> None:
    """Refuse a choice that differs in the two directions of an edge.

    Parallel edges may be paired by their attributes or by their order: one of the two has to fit.
    """
    unequal = columns = choice.new_empty(0)
    attributes = getattr(batch, "edge_attr", None)
    for by in (None,) if attributes is None else (attributes, None):
        columns = undirected_edges(batch.edge_index, by)[1]
        unequal = (choice[columns[:, 0]] != choice[columns[:, 1]]).any(dim=1)
        if not bool(unequal.any()):
            return
    first, second = columns[unequal][0].tolist()
    raise OsanError(
        "choice: expected equal values for the two directions of an edge, got "
        f"{choice[first].tolist()} for column {first} of edge_index and {choice[second].tolist()} for "
        f"column {second}"
    )


def _check_shape(choice: Tensor, rows: int, what: What) -> None:
    if choice.dim() != 2 or len(choice) != rows:
        things = "vertices" if what == "vertex" else "edges"
        raise OsanError(
            f"choice: expected shape [{rows}, m], one row for each of the {things} of the batch, "
            f"got {list(choice.shape)}"
        )
    if not choice.is_floating_point():
        raise OsanError(f"choice: expected a floating point tensor, got {choice.dtype}")
