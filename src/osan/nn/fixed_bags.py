"""A network together with the function that makes its bags."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan import bags
from osan.bags import SubgraphBag
from osan.bags.layout import num_graphs_of
from osan.data import FlatDataset
from osan.nn.alike import pool_alike
from osan.nn.class_cache import ClassCache, cacheable, can_cache, expected_bytes, refused
from osan.nn.network import OSAN
from osan.nn.output import Output
from osan.nn.sharing import shared_rows

MakeBag = Callable[[Data], SubgraphBag]


class FixedBags(Module):
    """A network with bags that are not learned: all subgraphs of a kind, random ones, or whole graphs.

    Its :class:`~osan.nn.Output` is that of :class:`~osan.nn.DataDrivenOSAN`, without weights.

    Parameters
    ----------
    make_bag
        From a batch to a bag, for example ``functools.partial(bags.all_egos, hops=2)``.
    network
        From a batch and a bag to predictions.

    Examples
    --------
    >>> import torch
    >>> from osan import bags, nn
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> model = FixedBags(bags.whole_graphs, nn.osan(16, 2, 1))
    >>> model(path).prediction.shape
    torch.Size([1, 1])
    """

    #: Whether the model learns which subgraphs to look at.
    learns = False

    def __init__(self, make_bag: MakeBag, network: Module) -> None:
        super().__init__()
        self.make_bag, self.network = make_bag, network
        self.cache: ClassCache | None = None

    @property
    def width(self) -> int:
        """The width of the network's features."""
        return int(self.network.width)  # type: ignore[arg-type]

    def forward(self, batch: Data, bag: SubgraphBag | None = None) -> Output:
        """Predict; a bag that was made before saves making it."""
        if bag is None:
            return Output(*predicted(self.network, batch, self.make_bag, self.cache))
        prediction: Tensor = self.network(batch, bag)
        return Output(prediction, (bag,))


def brings_bags(model: Module) -> bool:
    """Whether a model makes its bags itself; the others are called with a batch and a bag.

    >>> from osan import nn
    >>> brings_bags(nn.k_osan(16, 2, 1, k=1)), brings_bags(nn.osan(16, 2, 1))
    (True, False)
    """
    return isinstance(model, FixedBags)


class MadeLater(Sequence[SubgraphBag]):
    """A bag that is made when it is looked at."""

    def __init__(self, make_bag: MakeBag, batch: Data) -> None:
        self.make_bag, self.batch, self.num_graphs = make_bag, batch, num_graphs_of(batch)

    @cached_property
    def made(self) -> SubgraphBag:
        """The bag."""
        return self.make_bag(self.batch)

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        return (self.made,)[index]

    def __repr__(self) -> str:
        return repr((self.made,))


def predicted(
    network: Module, batch: Data, make_bag: MakeBag, cache: ClassCache | None
) -> tuple[Tensor, Sequence[SubgraphBag]]:
    """Predictions and the bag behind them, which need not be made if a cache knows the batch."""
    if cache is not None and isinstance(network, OSAN):
        prediction = network.from_cache(batch, cache)
        if prediction is not None:
            return prediction, MadeLater(make_bag, batch)
    bag = make_bag(batch)
    return network(batch, bag), (bag,)


def predictions(network: Module, batch: Data, bags: Sequence[SubgraphBag]) -> tuple[Tensor, ...]:
    """The predictions of a network for each of several bags, together if it can do that."""
    together: Any = getattr(network, "each", None)
    if callable(together) and len(bags) > 1:
        return together(batch, bags)
    return tuple(network(batch, bag) for bag in bags)


_FIXED = (bags.whole_graphs, bags.all_tuples, bags.all_subsets, bags.all_edges, bags.all_egos, bags.all_walks)


def remember(model: Any, dataset: FlatDataset) -> str | None:
    """Find the classes of the fixed bags of a dataset once, for a model that is going to see it often.

    Predictions and gradients stay the same up to rounding. The classes are kept in ``model.cache``; set it to
    ``None`` to forget them.

    Parameters
    ----------
    model
        A :class:`FixedBags`, or a :class:`~osan.nn.DataDrivenOSAN` with a policy ``x all``.
    dataset
        The graphs.

    Returns
    -------
    str
        Why nothing is remembered; ``None`` if something is.

    Examples
    --------
    >>> from osan import nn
    >>> from osan.data import load
    >>> graphs = load("planted-motif", num_graphs=20).train
    >>> model = nn.ds_gnn(8, 2, 1, policy="vertex-deleted")
    >>> remember(model, graphs)
    >>> model(graphs.batch(torch.arange(3))).prediction.shape
    torch.Size([3, 1])
    """
    model.cache = None
    network = getattr(model, "network", getattr(model, "downstream", None))
    make = model.make_bag if hasattr(model, "make_bag") else None
    plain = make.func if isinstance(make, partial) else make
    if make is None or not (plain in _FIXED or getattr(model, "always_the_same", False)):
        return "the model does not make the same bags every time"
    if not isinstance(network, OSAN) or network.sharing == "off" or network.admission is not None:
        return "the network does not share rows"
    twice = network.level == "vertex" and network.aggregation == "per-subgraph"
    if twice or not pool_alike(network.inner) or not can_cache(network.initial, network.stack):
        return "the network does not share rows of which classes can be kept"
    some = dataset.batch(torch.arange(min(32, len(dataset))))
    bag, layers = make(some), len(network.stack.layers)  # type: ignore[arg-type]
    if not cacheable(bag):
        return "the bags have weights, or marks on edges"
    if shared_rows(network.initial, network.stack, some, bag, least=1) is None:
        return "too few rows are equal"
    reason = refused(expected_bytes(bag, layers, len(dataset)))
    if reason is None:
        per_vertex = network.aggregation == "per-vertex"
        model.cache = ClassCache(network.initial, network.stack, per_vertex, make, dataset)
    return reason
