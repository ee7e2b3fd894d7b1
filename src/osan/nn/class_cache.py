"""Classes of fixed bags, found once for a dataset."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.build import thinned
from osan.bags.class_store import Chunk, ClassStore
from osan.bags.classes import Classes, Groups, share, words_of
from osan.data import FlatDataset
from osan.memory import free_memory, in_words
from osan.nn.alike import is_gcn, local, replaces_loops
from osan.nn.atomic import InitialFeatures, membership
from osan.nn.edges import EdgeRows
from osan.nn.layers import AllConv
from osan.nn.sharing import edge_numbers, one_copy_each, pooled, stack_alike, vertex_numbers, views_of
from osan.nn.stack import Stack
from osan.nn.view import View

MakeBag = Callable[[Data], SubgraphBag]
# Graphs whose classes are found at a time.
_GRAPHS = 128
# The largest share of the free memory that a cache may take.
_SHARE = 0.25


@dataclass(frozen=True, eq=False)
class CachedRows:
    """The rows of a batch, put together from a cache.

    Parameters
    ----------
    start
        A bag that has one copy for each class before the first layer.
    classes, views
        The classes, and what each layer sees.
    groups, graph
        The groups that are pooled, and the graph of each.
    """

    start: SubgraphBag
    classes: Classes
    views: list[View]
    groups: Groups
    graph: Tensor

    def run(self, initial: Any, stack: Any, batch: Data, pool: Any, then: Module) -> Tensor:
        """Initial features, layers and the first pooling; one row for each group."""
        h = stack.run(initial(batch, self.start), self.views)
        return pooled(self.groups, pool, h, then)


class ClassCache:
    """The classes of the bags of a dataset for a network, found once.

    A batch of graphs of the dataset then needs neither a bag nor its classes: they are put together from the
    classes of its graphs. Whether a batch is one of the dataset is checked by comparing its features and
    edges with those that the classes were found for.

    Parameters
    ----------
    initial, stack, per_vertex
        The parts of the network, and whether copies are pooled by vertex (or by subgraph).
    make_bag
        From a batch to a bag, always the same for the same graphs.
    dataset
        The graphs.

    Examples
    --------
    >>> from functools import partial
    >>> from osan import bags, nn
    >>> from osan.data import load
    >>> graphs = load("planted-motif", num_graphs=20).train
    >>> network = nn.osan(8, 2, 1)
    >>> cache = ClassCache(network.initial, network.stack, False, partial(bags.all_subsets, k=1), graphs)
    >>> some = torch.tensor([0, 0, 1])
    >>> cache.rows(graphs.batch(some)).graph.bincount().equal(graphs.num_vertices[some])
    True
    """

    def __init__(
        self, initial: Any, stack: Any, per_vertex: bool, make_bag: MakeBag, dataset: FlatDataset
    ) -> None:
        self.dataset, self.per_vertex = dataset, per_vertex
        tensors, count = dataset.tensors, len(dataset.vertex_ptr) - 1
        known = {name: tensors[name] for name in ("x", "encoding") if name in tensors}
        numbers = vertex_numbers(initial, Data(num_nodes=int(dataset.vertex_ptr[-1]), **known))
        self.numbers = (
            torch.zeros(int(dataset.vertex_ptr[-1]), dtype=torch.long) if numbers is None else numbers
        )
        self.most = int(self.numbers.max()) + 1
        self.table: EdgeRows | None = None
        code = torch.zeros(int(dataset.edge_ptr[-1]), dtype=torch.long)
        if stack.looks_at_edges:
            code, self.table = edge_numbers(tensors["edge_attr"])
        self.marked = initial.mark is not None
        self.drops_loops = any(replaces_loops(layer.conv) for layer in stack.layers)
        self.smooth = any(is_gcn(layer.conv) for layer in stack.layers)
        self.position = torch.full((count,), -1)
        self.position[dataset.ids] = torch.arange(len(dataset))
        plain = dataset.with_tensors(x=self.numbers[:, None], edge_attr=code[:, None])
        self.store = ClassStore(self._chunks(plain, make_bag, len(stack.layers)))

    def _chunks(self, graphs: FlatDataset, make_bag: MakeBag, layers: int) -> Iterator[Chunk]:
        for positions in torch.split(torch.arange(len(graphs)), _GRAPHS):
            batch = graphs.batch(positions)
            bag = make_bag(batch)
            if self.drops_loops:
                bag = thinned(bag, edges=bag.edge_index[0] != bag.edge_index[1])
            columns = [batch.x[:, 0].index_select(0, bag.vertex)]
            if self.marked:
                columns.append(torch.from_numpy(words_of(membership(bag).float())[:, 0]))
            if self.smooth:
                columns.append(torch.bincount(bag.edge_index[1], minlength=bag.num_copies) + 1)
            start = torch.stack(columns, dim=1)
            code = batch.edge_attr[:, 0].index_select(0, bag.edge)
            classes = share(batch, bag, layers, start=start, code=code)
            assert classes is not None
            graph = bag.graph.index_select(0, bag.subgraph)
            if self.per_vertex:
                groups, of = classes.groups(bag.vertex, bag.num_vertices), batch.batch
            else:
                groups, of = classes.groups(bag.subgraph, bag.num_subgraphs), bag.graph
            yield Chunk(classes, start.index_select(0, classes.first), groups, graph, of, bag.num_graphs)

    def rows(self, batch: Data) -> CachedRows | None:
        """The rows of a batch; ``None`` if its graphs are not those of the dataset."""
        places = self._places(batch)
        if places is None:
            return None
        classes, start, groups, graph = self.store.gather(self.position[batch.graph_id].numpy())
        vertex = torch.zeros(self.most, dtype=torch.long)
        vertex[self.numbers[places]] = torch.arange(batch.num_nodes)
        columns = list(start.unbind(1))[1:]
        mark = columns.pop(0).int().view(torch.float32) if self.marked else None
        degree = columns.pop(0) if self.smooth else None
        first = one_copy_each(vertex[start[:, 0]], batch, mark)
        marks, degrees = _followed(mark, classes), _followed(degree, classes)
        return CachedRows(first, classes, views_of(classes, marks, degrees, self.table), groups, graph)

    def _places(self, batch: Data) -> Tensor | None:
        """The vertices of the batch in the dataset, if all its graphs are there."""
        graphs, dataset = getattr(batch, "graph_id", None), self.dataset
        if graphs is None or getattr(batch, "ptr", None) is None or len(graphs) + 1 != batch.ptr.numel():
            return None
        if batch.edge_index.device.type != "cpu" or not len(graphs):
            return None
        if int(graphs.min()) < 0 or int(graphs.max()) >= len(self.position):
            return None
        sizes, edge_sizes = dataset.vertex_ptr.diff()[graphs], dataset.edge_ptr.diff()[graphs]
        if bool((self.position[graphs] < 0).any()) or not sizes.equal(batch.ptr.diff()):
            return None
        if int(edge_sizes.sum()) != batch.num_edges:
            return None
        owner, edge_owner = torch.repeat_interleave(sizes), torch.repeat_interleave(edge_sizes)
        first, edge_first = edge_sizes.cumsum(0) - edge_sizes, dataset.edge_ptr[graphs]
        places = torch.arange(len(owner)) + (dataset.vertex_ptr[graphs] - batch.ptr[:-1])[owner]
        edges = torch.arange(len(edge_owner)) + (edge_first - first)[edge_owner]
        tensors = dataset.tensors
        ends = tensors["edge_index"].index_select(1, edges) + batch.ptr[edge_owner]
        same = ends.equal(batch.edge_index)
        for name, rows in (("x", places), ("encoding", places), ("edge_attr", edges)):
            given, known = getattr(batch, name, None), tensors.get(name)
            if (given is None) != (known is None):
                same = False
            elif given is not None and known is not None:
                same = same and known.index_select(0, rows).equal(given)
        return places if same else None


def _followed(values: Tensor | None, classes: Classes) -> list[Tensor] | None:
    """The values of the classes before each layer, which no layer changes."""
    if values is None:
        return None
    out = [values]
    for layer in classes.layers:
        out.append(out[-1].index_select(0, layer.row))
    return out


def can_cache(initial: Any, stack: Any) -> bool:
    """Whether the classes of a network can be cached.

    They can if its copies start from vertex features and marks alone, and if its layers, without dropout,
    look at edges only.
    """
    if type(initial) is not InitialFeatures or type(stack) is not Stack:
        return False
    others = (initial.types, initial.rows, initial.ranks, initial.relation)
    if any(part is not None for part in others):
        return False
    encoders: list[Any] = [layer.edge_encoder for layer in stack.layers if layer.edge_encoder is not None]
    around = any(isinstance(layer.conv, AllConv) for layer in stack.layers)
    return stack_alike(stack) and not around and all(map(local, encoders))


def expected_bytes(bag: SubgraphBag, layers: int, graphs: int) -> int:
    """About the bytes of a cache at most, from the bag of some graphs, per graph times ``graphs``.

    A copy has a list entry for each level, and an edge in each table, if nothing is shared.
    """
    each = 8 * (layers + 2) * bag.num_copies + 4 * layers * (bag.num_copies + 2 * bag.num_copied_edges)
    return each * graphs // max(bag.num_graphs, 1)


def cacheable(bag: SubgraphBag) -> bool:
    """Whether the classes of such bags can be cached: no weights, and no marks on edges."""
    return bag.weight is None and bag.edge_weight is None and bag.edge_mark is None


def refused(needed: int) -> str | None:
    """Why a cache of so many bytes is not made; ``None`` if it may be."""
    allowed = int(_SHARE * free_memory())
    if needed <= allowed:
        return None
    return f"it may take {in_words(needed)}, more than a quarter of the {in_words(4 * allowed)} that are free"
