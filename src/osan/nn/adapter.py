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
from osan.nn.options import Level
from osan.nn.pooling import Pool

Call = Callable[[Any, Batch], Tensor]


class OnSubgraphs(Module):
    r"""Run a custom model on every subgraph of a bag, and join its predictions for each graph or vertex.

    .. math:: f(G) = \mathsf{SAGG}\{\!\{\mathrm{model}(g) \mid g \text{ in the bag of } G\}\!\}

    The model is called with the subgraphs as an ordinary PyG batch (:func:`osan.bags.as_batch`). What is
    removed is not in it, with gradients or without, so predictions are those of the model on each subgraph
    alone. A learned choice (:class:`osan.nn.DataDrivenOSAN`) gets gradients in two ways: the messages of
    every PyG layer are multiplied by the weight of their edge, and the rows of ``x``, if it is a floating
    point tensor, by the weight of their vertex. For a choice of zeros and ones these weights are 1; soft
    choices scale messages and features. What was removed gets no gradient; :class:`osan.nn.OSAN` with GIN,
    GINE, GCN or PNA also learns from it.

    Marks and ranks are attributes of the batch: ``mark``, ``edge_mark`` and ``rank``. The model (or ``call``)
    has to use them, or subgraphs that differ only in them look the same to it.

    Parameters
    ----------
    model
        From a batch of graphs to one row of predictions for each graph or, with ``level="vertex"``, for each
        vertex.
    sagg
        How predictions are joined over subgraphs: ``"mean"``, ``"sum"`` or ``"max"``. Subgraphs without
        vertices are left out; a graph without other subgraphs has the prediction 0. Predictions of vertices
        are weighted with ``bag.weight``, and a vertex that is in no subgraph has the prediction 0.
    level
        ``"graph"`` for one prediction per graph, ``"vertex"`` for one per vertex.
    call
        How to call the model with a batch of subgraphs, if ``model(batch)`` does not work.

    Examples
    --------
    >>> from torch_geometric.nn import GIN, global_add_pool
    >>> from osan import bags
    >>> path = Data(x=torch.eye(3), edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> gin = GIN(3, 8, num_layers=2, out_channels=1)
    >>> model = OnSubgraphs(gin, call=lambda gin, b: global_add_pool(gin(b.x, b.edge_index), b.batch))
    >>> model(path, bags.all_subsets(path, k=1)).shape
    torch.Size([1, 1])
    >>> vertices = OnSubgraphs(gin, level="vertex", call=lambda gin, b: gin(b.x, b.edge_index))
    >>> vertices(path, bags.all_subsets(path, k=1)).shape
    torch.Size([3, 1])
    """

    def __init__(
        self,
        model: Module,
        *,
        sagg: Literal["mean", "sum", "max"] = "mean",
        level: Level = "graph",
        call: Call | None = None,
    ) -> None:
        super().__init__()
        if sagg not in ("mean", "sum", "max"):
            raise OsanError(f"sagg: expected 'mean', 'sum' or 'max', got {sagg!r}")
        if level not in ("graph", "vertex"):
            raise OsanError(f"level: expected 'graph' or 'vertex', got {level!r}")
        if call is None and not takes(model, "batch"):
            raise OsanError(
                f"model: expected a model that is called with a batch alone, got {type(model).__name__} "
                f"({_header(model)}); pass call, such as "
                "lambda model, b: model(b.x, b.edge_index, b.edge_attr, b.batch)"
            )
        self.model, self.call, self.sagg, self.level = model, call, sagg, level
        self.join = Pool(sagg, 1)

    def forward(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """One row of predictions per graph, shape ``[graphs, ...]``, or per vertex, ``[vertices, ...]``."""
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
        self._check(out, bag)
        rows = out.flatten(1) if out.dim() > 1 else out.unsqueeze(1)
        if self.level == "vertex":
            joined = self.join(rows, bag.vertex, bag.num_vertices, bag.weight)
        else:
            joined = self.join(rows, bag.graph, bag.num_graphs)
        return joined.view(len(joined), *out.shape[1:])

    def _check(self, out: Any, bag: SubgraphBag) -> None:
        vertices = self.level == "vertex"
        expected = bag.num_copies if vertices else bag.num_subgraphs
        if isinstance(out, Tensor) and out.dim() and len(out) == expected:
            return
        given = f"shape {list(out.shape)}" if isinstance(out, Tensor) else f"a {type(out).__name__}"
        every = (
            f"one row for each of {bag.num_copies} vertices of {bag.num_subgraphs} subgraphs"
            if vertices
            else f"one row for each of {bag.num_subgraphs} subgraphs with {bag.num_copies} vertices"
        )
        advice = (
            "use level='graph' for a model that pools vertices"
            if vertices
            else "pool vertices, as in global_mean_pool(h, b.batch), or use level='vertex'"
        )
        raise OsanError(f"model: expected {every}, got {given}; {advice}")

    def extra_repr(self) -> str:
        return f"sagg={self.sagg!r}, level={self.level!r}"


def takes(module: Any, *names: str) -> bool:
    """Whether a module can be called with arguments of the given roles, as far as its signature tells.

    >>> takes(torch.nn.Identity(), "batch"), takes(torch.nn.Identity(), "batch", "bag")
    (True, False)
    """
    try:
        parameters = signature(getattr(module, "forward", module))
    except (TypeError, ValueError):  # compiled code has no signature
        return True
    try:
        bound = parameters.bind(*names)
    except TypeError:
        return False
    # PyG's models take x, edge_index, and only optional arguments after them.
    places = [name for name, p in parameters.parameters.items() if p.kind is not Parameter.VAR_POSITIONAL]
    return "edge_index" not in places[: len(bound.args)]


def _header(module: Module) -> str:
    return f"forward{signature(module.forward)}"


def _without_empty(bag: SubgraphBag) -> SubgraphBag:
    """The bag without subgraphs that have no copies."""
    full = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs) > 0
    if bool(full.all()):
        return bag
    return replace(
        bag,
        subgraph=(full.cumsum(0) - 1)[bag.subgraph],
        graph=bag.graph[full],
        tuples=None if bag.tuples is None else bag.tuples[full],
    )
