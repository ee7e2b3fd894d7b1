"""Any model of graphs on the subgraphs of a bag."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import replace
from inspect import Parameter, signature
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Batch, Data

from osan.bags import SubgraphBag, as_batch
from osan.bags.union import without_removed
from osan.errors import OsanError
from osan.nn.hooks import scaled_messages
from osan.nn.pooling import Pool

Call = Callable[[Any, Batch], Tensor]


class OnSubgraphs(Module):
    r"""A model of your own, run on every subgraph of a bag; its predictions are joined for each graph.

    .. math:: f(G) = \mathsf{SAGG}\{\!\{\mathrm{model}(g) \mid g \text{ in the bag of } G\}\!\}

    The model is called with the subgraphs as an ordinary PyG batch (:func:`osan.bags.as_batch`): what is
    removed is not there, with gradients or without, so predictions are those of the model on the subgraphs
    one by one. A learned choice (:class:`osan.nn.DataDrivenOSAN`) gets gradients along two ways, in both of
    which the weights have the value 1: messages of every PyG layer are multiplied by the weight of their
    edge, and rows of ``x``, where it is a floating point tensor, by the weight of their vertex. What was
    removed gets none; :class:`osan.nn.OSAN` with GIN, GINE, GCN or PNA also learns from it.

    Marks and ranks are attributes of the batch, ``mark``, ``edge_mark`` and ``rank``; the model (or ``call``)
    has to look at them, or subgraphs that differ in nothing else look the same to it.

    Parameters
    ----------
    model
        From a batch of graphs to one row of predictions for each.
    sagg
        How the predictions of subgraphs are joined: ``"mean"``, ``"sum"`` or ``"max"``. Subgraphs without
        vertices are left out of it; where a graph has no others, the prediction is 0.
    call
        How to call the model with a batch of subgraphs, where ``model(batch)`` is not the way.

    Examples
    --------
    >>> from torch_geometric.nn import GIN, global_add_pool
    >>> from osan import bags
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> gin = GIN(3, 8, num_layers=2, out_channels=1)
    >>> model = OnSubgraphs(gin, call=lambda gin, b: global_add_pool(gin(b.x, b.edge_index), b.batch))
    >>> model(path, bags.all_subsets(path, k=1)).shape
    torch.Size([1, 1])
    """

    def __init__(
        self, model: Module, *, sagg: Literal["mean", "sum", "max"] = "mean", call: Call | None = None
    ) -> None:
        super().__init__()
        if sagg not in ("mean", "sum", "max"):
            raise OsanError(f"sagg: expected 'mean', 'sum' or 'max', got {sagg!r}")
        if call is None and not takes(model, "batch"):
            raise OsanError(
                f"model: {type(model).__name__} cannot be called with a batch alone ({_header(model)}); give "
                "call, such as lambda model, b: model(b.x, b.edge_index, b.edge_attr, b.batch)"
            )
        self.model, self.call, self.sagg = model, call, sagg
        self.join = Pool(sagg, 1)

    def forward(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """One row of predictions per graph, shape ``[graphs, ...]``."""
        bag.check(batch)
        bag = _without_empty(without_removed(bag))
        subgraphs = as_batch(batch, replace(bag, weight=None, edge_weight=None))
        x = getattr(subgraphs, "x", None)
        if bag.weight is not None and x is not None and x.is_floating_point():
            subgraphs.x = x * bag.weight.to(x.dtype).view(-1, *[1] * (x.dim() - 1))
        weighted = (
            nullcontext()
            if bag.edge_weight is None
            else scaled_messages(self.model, subgraphs.edge_index, bag.edge_weight)
        )
        with weighted:
            out = self.model(subgraphs) if self.call is None else self.call(self.model, subgraphs)
        if not isinstance(out, Tensor) or out.dim() == 0 or len(out) != bag.num_subgraphs:
            given = f"shape {list(out.shape)}" if isinstance(out, Tensor) else f"a {type(out).__name__}"
            raise OsanError(
                f"model: expected one row for each of {bag.num_subgraphs} subgraphs with "
                f"{bag.num_copies} vertices, got {given}; pool vertices by the batch vector, as in "
                "global_mean_pool(h, b.batch)"
            )
        rows = out.flatten(1) if out.dim() > 1 else out.unsqueeze(1)
        return self.join(rows, bag.graph, bag.num_graphs).view(bag.num_graphs, *out.shape[1:])

    def extra_repr(self) -> str:
        return f"sagg={self.sagg!r}"


def takes(module: Any, *names: str) -> bool:
    """Whether a module can be called with arguments that play the given roles, as far as it can be told.

    >>> takes(torch.nn.Identity(), "batch"), takes(torch.nn.Identity(), "batch", "bag")
    (True, False)
    """
    try:
        parameters = signature(getattr(module, "forward", module))
    except (TypeError, ValueError):  # none to be had of compiled code
        return True
    try:
        bound = parameters.bind(*names)
    except TypeError:
        return False
    # The models of PyG take x, edge_index and only optional things beyond.
    places = [name for name, p in parameters.parameters.items() if p.kind is not Parameter.VAR_POSITIONAL]
    return "edge_index" not in places[: len(bound.args)]


def _header(module: Module) -> str:
    return f"forward{signature(module.forward)}"


def _without_empty(bag: SubgraphBag) -> SubgraphBag:
    """The bag without subgraphs that have no copies."""
    there = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs) > 0
    if bool(there.all()):
        return bag
    return replace(
        bag,
        subgraph=(there.cumsum(0) - 1)[bag.subgraph],
        graph=bag.graph[there],
        tuples=None if bag.tuples is None else bag.tuples[there],
    )
