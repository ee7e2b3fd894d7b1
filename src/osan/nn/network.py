"""The k-ordered subgraph aggregation network and its vertex-subgraph variant."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag, straight_through, whole_graphs
from osan.errors import OsanError
from osan.nn.atomic import (
    Atomic,
    InitialFeatures,
    Rank,
    atomic_columns,
    membership,
    ordered_atomic_types,
    tuple_labels,
)
from osan.nn.mlp import MLP
from osan.nn.norm import Activation
from osan.nn.pooling import Pool, PoolName
from osan.nn.stack import Stack

Aggregation = Literal["per-vertex", "per-subgraph"]
Task = Literal["graph", "vertex"]
Admission = Callable[[SubgraphBag], Tensor]


def at_first(bag: SubgraphBag) -> Tensor:
    r"""The admission :math:`\pi_{v,g} = [v = g_1]` of identity-aware GNNs; shape ``[copies]``."""
    if bag.tuples is None:
        raise OsanError(
            "bag.tuples: expected shape [subgraphs, k], found none; make the bag with all_egos, say"
        )
    return bag.vertex == bag.tuples[bag.subgraph, 0]


class LearnedAdmission(Module):
    r"""Admission :math:`\pi_{v,g} = \mathsf{UPD}_\pi(\mathsf{atp}(v, t(g)))`, learned.

    The value is relu of a perceptron and can be exactly 0; what is aggregated is decided by
    :math:`\pi \neq 0`, and the gradient passes to the value as if it were the weight. The perceptron sees the
    encoded features of v (the labels in atp) and its mark; ordered, also those of the tuple, and
    equalities and adjacencies in place of the mark.
    """

    def __init__(self, atomic: Atomic, k: int, width: int) -> None:
        super().__init__()
        self.atomic = atomic
        columns = atomic_columns(k) + k * width if atomic == "ordered" else 1
        self.mlp = MLP([width + columns, width, 1])

    def forward(self, batch: Data, bag: SubgraphBag, vertices: Tensor) -> Tensor:
        """0 or 1 for each copy, with gradients; shape ``[copies]``.

        ``vertices`` are the encoded features of the vertices of the batch, shape ``[vertices, width]``.
        """
        dtype = next(self.parameters()).dtype
        seen = [vertices.index_select(0, bag.vertex)]
        if self.atomic == "ordered":
            named = tuple_labels(vertices, bag).index_select(0, bag.subgraph)
            seen += [named, ordered_atomic_types(batch, bag)]
        else:
            seen += [membership(bag)[:, None]]
        value = torch.relu(self.mlp(torch.cat([part.to(dtype) for part in seen], dim=1))).squeeze(1)
        return straight_through((value != 0).to(dtype), value)


class OSAN(Module):
    r"""A k-ordered subgraph aggregation network (paper, section "Ordered subgraph MPNNs").

    Initial features :math:`h^{(0)}_{v,g} = \mathsf{UPD}(\mathsf{atp}(v, t(g)))`, then T layers inside each
    subgraph, then for ``aggregation="per-vertex"`` (k-OSAN)

    .. math:: h_v = \mathsf{SAGG}\{\!\{h^{(T)}_{v,g} \mid \pi_{v,g} \neq 0\}\!\}, \quad
              h_G = \mathsf{READOUT}\{\!\{\phi(h_v) \mid v \in V(G)\}\!\},

    and for ``"per-subgraph"`` (vertex-subgraph k-OSAN)

    .. math:: h_g = \mathsf{READOUT}\{\!\{h^{(T)}_{v,g} \mid v \in V(G)\}\!\}, \quad
              h_G = \mathsf{SAGG}\{\!\{\phi(h_g) \mid \exists v\, \pi_{v,g} \neq 0\}\!\},

    with a perceptron :math:`\phi`, without which sums of sums would be the same in both orders.

    Parameters
    ----------
    width, layers, out
        The width of all features, the number T of layers, and the number of predictions.
    activation, **layer_options
        The layers (``conv``, ``edge_encoder``, ``neighborhood``, ``marked``, ``norm``, ``dropout``,
        ``residual``, ``last_activation``, ``options``): see :class:`osan.nn.Stack`.
    vertex_encoder, atomic, k, rank, num_ranks
        The initial features: see :class:`osan.nn.InitialFeatures`.
    aggregation
        Which of the two orders.
    sagg, readout
        How subgraphs and how vertices are pooled: see :class:`osan.nn.Pool`.
    between
        The number of linear layers of :math:`\phi`; 0 leaves it out.
    admission
        ``None`` admits all, a function gives :math:`\pi` for each copy of a bag, ``"learned"`` learns it.
    alongside
        Whether a plain network of the same kind runs on the graph itself, its features beside the others.
    head
        The number of linear layers after pooling.
    task
        ``"graph"`` for one prediction per graph, ``"vertex"`` for one per vertex. The vertex features of the
        per-subgraph order are :math:`\mathsf{SAGG}\{\!\{\phi(h_{v,g}, h_g)\}\!\}`. Vertices that are in no
        subgraph of the bag all get the same prediction: mark instead of deleting and selecting, cover, or add
        the whole graph to the bag, where each one counts.

    Examples
    --------
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> network = OSAN(16, 2, 1, k=1, atomic="ordered")
    >>> network(path, bags.all_tuples(path, 1)).shape
    torch.Size([1, 1])
    """

    def __init__(
        self,
        width: int,
        layers: int,
        out: int,
        *,
        vertex_encoder: Module | None = None,
        atomic: Atomic | None = None,
        k: int = 0,
        rank: Rank | None = None,
        num_ranks: int = 0,
        aggregation: Aggregation = "per-subgraph",
        sagg: PoolName = "mean",
        readout: PoolName = "mean",
        between: int = 2,
        admission: Admission | Literal["learned"] | None = None,
        alongside: bool = False,
        head: int = 1,
        task: Task = "graph",
        activation: Activation = torch.nn.functional.relu,
        **layer_options: Any,
    ) -> None:
        super().__init__()
        for name, value, allowed in (
            ("aggregation", aggregation, ("per-vertex", "per-subgraph")),
            ("task", task, ("graph", "vertex")),
        ):
            if value not in allowed:
                raise OsanError(f"{name}: expected {' or '.join(map(repr, allowed))}, got {value!r}")
        self.aggregation, self.task = aggregation, task
        self.initial = InitialFeatures(
            width, vertex_encoder, atomic=atomic, k=k, rank=rank, num_ranks=num_ranks
        )
        self.stack: Module = self._make_stack(width, layers, activation=activation, **layer_options)
        inner, outer = (sagg, readout) if aggregation == "per-vertex" else (readout, sagg)
        self.inner = Pool(inner, width)
        first = self.inner.out_width + width * (task == "vertex" and aggregation == "per-subgraph")
        self.phi = MLP([first] + [width] * between, activation=activation)
        last = width if between else first
        pooled_twice = task == "graph" or aggregation == "per-subgraph"
        self.outer: Any = Pool(outer, last) if pooled_twice else None
        last = last if self.outer is None else self.outer.out_width
        self.plain_start = InitialFeatures(width, vertex_encoder) if alongside else None
        if alongside:
            self.plain = Stack(width, layers, activation=activation, **{**layer_options, "marked": False})
            self.plain_readout = Pool(readout, width) if task == "graph" else None
            last += width if self.plain_readout is None else self.plain_readout.out_width
        self.head = MLP([last] + [width] * (head - 1) + [out], activation=activation)
        if admission == "learned":
            if atomic is None:
                raise OsanError("admission: to learn it, the network needs an atomic type; give atomic")
            self.admission: Any = LearnedAdmission(atomic, k, width)
        else:
            self.admission = admission

    @staticmethod
    def _make_stack(width: int, layers: int, **options: Any) -> Module:
        return Stack(width, layers, **options)

    def forward(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """Predictions, shape ``[graphs, out]`` or ``[vertices, out]``."""
        return self.head(self.embed(batch, bag))

    def embed(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """What the head sees: one row per graph, or per vertex."""
        bag.check(batch)
        h = self.stack(self.initial(batch, bag), batch, bag)
        admitted = self._admitted(batch, bag)
        order = self._per_vertex if self.aggregation == "per-vertex" else self._per_subgraph
        out = order(batch, bag, h, admitted)
        if self.plain_start is None:
            return out
        whole = whole_graphs(batch)
        beside = self.plain(self.plain_start(batch, whole), batch, whole)
        if self.plain_readout is not None:
            beside = self.plain_readout(beside, whole.subgraph, whole.num_graphs)
        return torch.cat((out, beside), dim=1)

    def _admitted(self, batch: Data, bag: SubgraphBag) -> Tensor | None:
        if self.admission is None:
            return None
        if isinstance(self.admission, LearnedAdmission):
            return self.admission(batch, bag, self.initial.vertices(batch))
        given: Tensor = self.admission(bag)
        if given.shape != (bag.num_copies,):
            raise OsanError(f"admission: expected shape [{bag.num_copies}], got {list(given.shape)}")
        return (given != 0).to(torch.get_default_dtype())

    def _per_vertex(self, batch: Data, bag: SubgraphBag, h: Tensor, admitted: Tensor | None) -> Tensor:
        weight = _product(bag.weight, admitted)
        vertices = self.phi(self.inner(h, bag.vertex, bag.num_vertices, weight))
        if self.outer is None:
            return vertices
        graph = getattr(batch, "batch", None)
        graph = torch.zeros(bag.num_vertices, dtype=torch.long, device=h.device) if graph is None else graph
        return self.outer(vertices, graph, bag.num_graphs)

    def _per_subgraph(self, batch: Data, bag: SubgraphBag, h: Tensor, admitted: Tensor | None) -> Tensor:
        subgraphs = self.inner(h, bag.subgraph, bag.num_subgraphs, bag.weight)
        weight = None
        if admitted is not None:
            some = admitted if bag.weight is None else admitted * bag.weight
            weight = some.new_zeros(bag.num_subgraphs).scatter_reduce(0, bag.subgraph, some, "amax")
        if self.task == "graph":
            return self.outer(self.phi(subgraphs), bag.graph, bag.num_graphs, weight)
        joined = torch.cat((h, subgraphs.index_select(0, bag.subgraph)), dim=1)
        weight = _product(bag.weight, None if weight is None else weight[bag.subgraph])
        return self.outer(self.phi(joined), bag.vertex, bag.num_vertices, weight)


def _product(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return left * right
