"""A network together with the function that makes its bags."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.nn.output import Output

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

    @property
    def width(self) -> int:
        """The width of the network's features."""
        return int(self.network.width)  # type: ignore[arg-type]

    def forward(self, batch: Data, bag: SubgraphBag | None = None) -> Output:
        """Predict; a bag that was made before saves making it."""
        bag = self.make_bag(batch) if bag is None else bag
        prediction: Tensor = self.network(batch, bag)
        return Output(prediction, (bag,))


def brings_bags(model: Module) -> bool:
    """Whether a model makes its bags itself; the others are called with a batch and a bag.

    >>> from osan import nn
    >>> brings_bags(nn.k_osan(16, 2, 1, k=1)), brings_bags(nn.osan(16, 2, 1))
    (True, False)
    """
    return isinstance(model, FixedBags)
