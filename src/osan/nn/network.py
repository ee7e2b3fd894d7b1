"""The k-ordered subgraph aggregation network and its vertex-subgraph variant."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.layout import graph_index, ragged, starts
from osan.bags.union import joined
from osan.errors import OsanError
from osan.nn.alike import keeps_apart, pool_alike
from osan.nn.class_cache import ClassCache
from osan.nn.gaussian_process import GaussianProcess
from osan.nn.learned import learned_layers, run_learned
from osan.nn.options import Admission, Aggregation, Level, check_choice
from osan.nn.sharing import SharedRows, shared_rows, small, stack_alike
from osan.nn.stack import Stack
from osan.words import Sharing


class OSAN(Module):
    r"""A k-ordered subgraph aggregation network (paper, section "Ordered subgraph MPNNs"), from its parts.

    Initial features :math:`h^{(0)}_{v,g} = \mathsf{UPD}(\mathsf{atp}(v, t(g)))`, then T layers inside each
    subgraph, then for ``aggregation="per-vertex"`` (k-OSAN)

    .. math:: h_v = \mathsf{SAGG}\{\!\{h^{(T)}_{v,g} \mid \pi_{v,g} \neq 0\}\!\}, \quad
              h_G = \mathsf{READOUT}\{\!\{\phi(h_v) \mid v \in V(G)\}\!\},

    and for ``"per-subgraph"`` (vertex-subgraph k-OSAN)

    .. math:: h_g = \mathsf{READOUT}\{\!\{h^{(T)}_{v,g} \mid v \in V(G)\}\!\}, \quad
              h_G = \mathsf{SAGG}\{\!\{\phi(h_g) \mid \exists v\, \pi_{v,g} \neq 0\}\!\},

    with a perceptron :math:`\phi`, without which sums of sums would be the same in both orders.
    :func:`osan.nn.osan` makes the parts from a width and options.

    Parameters
    ----------
    initial
        From a batch and a bag to the first features, shape ``[copies, width]``; for example
        :class:`osan.nn.InitialFeatures`. Its ``width`` is that of the network.
    stack
        From features, batch and bag to features, shape ``[copies, width]`` to the same; for example
        :class:`osan.nn.Stack`.
    inner, outer
        The first and the second pooling: see :func:`osan.nn.Pool`. ``outer`` is ``None`` for predictions per
        vertex in the per-vertex order, which pools once.
    head
        From pooled rows to predictions.
    phi
        Between the two poolings; ``None`` for nothing. For predictions per vertex in the per-subgraph order
        it sees the features of a copy beside those of its subgraph.
    aggregation
        Which of the two orders.
    level
        ``"graph"`` for one prediction per graph, ``"vertex"`` for one per vertex. The vertex features of the
        per-subgraph order are :math:`\mathsf{SAGG}\{\!\{\phi(h_{v,g}, h_g)\}\!\}`. Vertices that are in no
        subgraph of the bag all get the same prediction. If each vertex matters, mark vertices instead of
        deleting or selecting them, use a covering policy, or add the whole graph to the bag.
    admission
        :math:`\pi`: ``None`` admits all; a function gives one value per copy of a bag; a module is called
        with the batch, the bag and the encoded vertices, and may have gradients.
    alongside
        From a batch to rows that the head sees beside the pooled ones, one per graph or per vertex.

    Attributes
    ----------
    process
        A :class:`~osan.nn.GaussianProcess` that predictions are blended with; ``None`` at first.

    Examples
    --------
    >>> from osan import bags
    >>> from osan.nn import InitialFeatures, Pool
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> network = OSAN(
    ...     InitialFeatures(16), Stack(16, 2), Pool("sum", 16), Pool("mean", 16), torch.nn.Linear(16, 1)
    ... )
    >>> network(path, bags.all_subsets(path, 1)).shape
    torch.Size([1, 1])
    """

    def __init__(
        self,
        initial: Module,
        stack: Module,
        inner: Module,
        outer: Module | None,
        head: Module,
        *,
        phi: Module | None = None,
        aggregation: Aggregation = "per-subgraph",
        level: Level = "graph",
        admission: Admission | Module | None = None,
        alongside: Module | None = None,
    ) -> None:
        super().__init__()
        check_choice("aggregation", aggregation, ("per-vertex", "per-subgraph"))
        check_choice("level", level, ("graph", "vertex"))
        twice = level == "graph" or aggregation == "per-subgraph"
        if twice != (outer is not None):
            expected = "a second pooling" if twice else "None, since vertices are pooled once,"
            raise OsanError(
                f"outer: expected {expected} for level={level!r} and aggregation={aggregation!r}, got {outer}"
            )
        self.aggregation, self.level = aggregation, level
        self.initial, self.stack, self.inner = initial, stack, inner
        self.phi: Module = torch.nn.Identity() if phi is None else phi
        self.outer = outer
        self.alongside = alongside
        self.head = head
        self.process: GaussianProcess | None = None
        self.admission: Any = admission
        self.sharing: Sharing = "auto"

    @property
    def width(self) -> int:
        """The width of the features."""
        return int(self.initial.width)  # type: ignore[arg-type]

    def forward(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """Predictions, shape ``[graphs, out]`` or ``[vertices, out]``."""
        return self._predicted(batch, self.embed(batch, bag))

    def embed(self, batch: Data, bag: SubgraphBag) -> Tensor:
        """What the head sees: one row per graph, or per vertex."""
        bag.check(batch)
        shared = self._shared(batch, bag)
        if shared is not None:
            return self._alongside(batch, self._embed_samples(batch, bag, shared))[0]
        h = self.initial(batch, bag)
        layers = None if self.sharing == "off" else learned_layers(self.initial, self.stack, batch, bag)
        if layers is None:
            h = self.stack(h, batch, bag)
        else:
            stack = cast(Stack, self.stack)
            h = run_learned(stack, h, stack.views(batch, bag)[0], layers)
        admitted = self._admitted(batch, bag)
        order = self._per_vertex if self.aggregation == "per-vertex" else self._per_subgraph
        return self._alongside(batch, [order(batch, bag, h, admitted)])[0]

    def each(self, batch: Data, bags: Sequence[SubgraphBag]) -> tuple[Tensor, ...]:
        """Predictions for several bags of a batch; in evaluation mode, what they have in common is shared."""
        if len(bags) > 1 and self.keeps_apart:
            shifts = accumulate((bag.num_subgraphs for bag in bags), initial=0)
            samples = [
                (torch.arange(shift, shift + bag.num_subgraphs, device=bag.graph.device), bag.graph)
                for shift, bag in zip(shifts, bags, strict=False)
            ]
            found = self.of_samples(batch, joined(bags), samples)
            if found is not None:
                return found
        return tuple(self(batch, bag) for bag in bags)

    def of_samples(
        self, batch: Data, bag: SubgraphBag, samples: Sequence[tuple[Tensor, Tensor]]
    ) -> tuple[Tensor, ...] | None:
        """Predictions for samples of the subgraphs of a bag, in evaluation mode; ``None`` if of no use.

        Parameters
        ----------
        batch, bag
            The batch, and a bag with all subgraphs of all samples.
        samples
            For each sample its subgraphs, as numbers in the bag, and their graphs.
        """
        if not self.keeps_apart:
            return None
        shared = self._shared(batch, bag)
        if shared is None and not small(bag):
            return None  # one after another, which takes less memory
        rows = self._alongside(batch, self._embed_samples(batch, bag, shared, samples))
        return tuple(self._predicted(batch, each) for each in rows)

    @property
    def keeps_apart(self) -> bool:
        """Whether subgraphs can be computed together with those of other samples, and then pooled."""
        # Layers across subgraphs, and norms in training, would mix the samples.
        beside = self.level == "vertex" and self.aggregation == "per-subgraph"
        alone = self.training or self.sharing == "off" or isinstance(self.admission, Module)
        relation = getattr(self.initial, "relation", None)
        alone = alone or not (relation is None or getattr(relation, "apart", False))
        if alone or beside or type(self.stack) is not Stack:
            return False
        return all(keeps_apart(cast(Any, layer).conv) for layer in self.stack.layers)

    def from_cache(self, batch: Data, cache: ClassCache) -> Tensor | None:
        """Predictions for the bags of a cache of this network; ``None`` if it does not know the batch."""
        if self.sharing == "off" or not stack_alike(self.stack) or (rows := cache.rows(batch)) is None:
            return None
        out = rows.run(self.initial, self.stack, batch, self.inner, self.phi)
        if self.outer is not None:
            out = self.outer(out, rows.graph, batch.num_graphs)
        return self._predicted(batch, self._alongside(batch, [out])[0])

    def _predicted(self, batch: Data, rows: Tensor) -> Tensor:
        out = self.head(rows)
        return out if self.process is None else self.process.blend(batch, out)

    def _alongside(self, batch: Data, rows: list[Tensor]) -> list[Tensor]:
        if self.alongside is None:
            return rows
        plain = self.alongside(batch)
        return [torch.cat((row, plain), dim=1) for row in rows]

    def _shared(self, batch: Data, bag: SubgraphBag) -> SharedRows | None:
        # A learned admission needs the gradient of each copy; some are pooled beside their subgraph.
        beside = self.level == "vertex" and self.aggregation == "per-subgraph"
        if self.sharing == "off" or isinstance(self.admission, Module) or beside:
            return None
        subgraphs = self.aggregation == "per-subgraph" and self.admission is None and pool_alike(self.inner)
        return shared_rows(self.initial, self.stack, batch, bag, only_subgraphs=subgraphs)

    def _embed_samples(
        self,
        batch: Data,
        bag: SubgraphBag,
        shared: SharedRows | None,
        samples: Sequence[tuple[Tensor, Tensor]] | None = None,
    ) -> list[Tensor]:
        """One tensor for each sample; by default one with all subgraphs of the bag."""
        if shared is None:
            h = self.stack(self.initial(batch, bag), batch, bag)
        else:
            bag, h = shared.bag, shared.run(self.initial, self.stack, batch)
        admitted = self._admitted(batch, bag)
        if self.aggregation == "per-vertex":
            return self._vertices(batch, bag, h, admitted, shared, samples)
        assert self.outer is not None
        if shared is None:
            subgraphs = self.phi(self.inner(h, bag.subgraph, bag.num_subgraphs, bag.weight))
        else:
            subgraphs = shared.pooled_subgraphs(self.inner, h, self.phi)
        weight = _admitted_subgraphs(bag, admitted)
        if samples is None:
            return [self.outer(subgraphs, bag.graph, bag.num_graphs, weight)]
        return [
            self.outer(
                subgraphs.index_select(0, members),
                graph,
                bag.num_graphs,
                None if weight is None else weight.index_select(0, members),
            )
            for members, graph in samples
        ]

    def _vertices(
        self,
        batch: Data,
        bag: SubgraphBag,
        h: Tensor,
        admitted: Tensor | None,
        shared: SharedRows | None,
        samples: Sequence[tuple[Tensor, Tensor]] | None,
    ) -> list[Tensor]:
        """The same in the per-vertex order: the copies of each vertex in each sample are a group."""
        weight, index, copies, count = _product(bag.weight, admitted), bag.vertex, None, bag.num_vertices
        if samples is not None:
            sizes = torch.bincount(bag.subgraph, minlength=bag.num_subgraphs)
            members = torch.cat([one for one, _ in samples])
            place, owner = ragged(starts(sizes).index_select(0, members), sizes.index_select(0, members))
            # Copies are sorted by subgraph in some bags only.
            copies = torch.argsort(bag.subgraph, stable=True).index_select(0, place)
            lengths = torch.tensor([one.numel() for one, _ in samples], device=owner.device)
            sample = torch.repeat_interleave(lengths).index_select(0, owner)
            index = index.index_select(0, copies) + count * sample
            weight = None if weight is None else weight.index_select(0, copies)
        size = count * (1 if samples is None else len(samples))
        if shared is not None:
            pooled = shared.pooled(self.inner, h, index, size, weight, self.phi, copies)
        else:
            rows = h if copies is None else h.index_select(0, copies)
            pooled = self.phi(self.inner(rows, index, size, weight))
        vertices = torch.split(pooled, count)
        if self.outer is None:
            return list(vertices)
        graph = graph_index(batch)[0]
        return [self.outer(rows, graph, bag.num_graphs) for rows in vertices]

    def _admitted(self, batch: Data, bag: SubgraphBag) -> Tensor | None:
        if self.admission is None:
            return None
        if isinstance(self.admission, Module):
            return self.admission(batch, bag, self.initial.vertices(batch))  # type: ignore[operator]
        given: Tensor = self.admission(bag)
        if given.shape != (bag.num_copies,):
            raise OsanError(f"admission: expected shape [{bag.num_copies}], got {list(given.shape)}")
        return (given != 0).to(torch.get_default_dtype())

    def _per_vertex(self, batch: Data, bag: SubgraphBag, h: Tensor, admitted: Tensor | None) -> Tensor:
        weight = _product(bag.weight, admitted)
        vertices = self.phi(self.inner(h, bag.vertex, bag.num_vertices, weight))
        if self.outer is None:
            return vertices
        return self.outer(vertices, graph_index(batch)[0], bag.num_graphs)

    def _per_subgraph(self, batch: Data, bag: SubgraphBag, h: Tensor, admitted: Tensor | None) -> Tensor:
        weight = _admitted_subgraphs(bag, admitted)
        assert self.outer is not None
        subgraphs = self.inner(h, bag.subgraph, bag.num_subgraphs, bag.weight)
        if self.level == "graph":
            return self.outer(self.phi(subgraphs), bag.graph, bag.num_graphs, weight)
        joined = torch.cat((h, subgraphs.index_select(0, bag.subgraph)), dim=1)
        weight = _product(bag.weight, None if weight is None else weight[bag.subgraph])
        return self.outer(self.phi(joined), bag.vertex, bag.num_vertices, weight)


def _admitted_subgraphs(bag: SubgraphBag, admitted: Tensor | None) -> Tensor | None:
    """The subgraphs that some vertex admits, as weights."""
    if admitted is None:
        return None
    some = admitted if bag.weight is None else admitted * bag.weight
    return some.new_zeros(bag.num_subgraphs).scatter_reduce(0, bag.subgraph, some, "amax")


def _product(left: Tensor | None, right: Tensor | None) -> Tensor | None:
    if left is None or right is None:
        return right if left is None else left
    return left * right
