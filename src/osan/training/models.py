"""The one kind of model that is trained: from a batch to an :class:`~osan.nn.Output`."""

from __future__ import annotations

from torch import nn
from torch_geometric.data import Data

from osan.bags import whole_graphs
from osan.errors import OsanError
from osan.nn import Output


class CustomModel(nn.Module):
    """A custom model: called with a batch, gives predictions or an :class:`~osan.nn.Output`.

    Parameters
    ----------
    network
        Any module; predictions have shape ``[graphs, targets]``.

    Examples
    --------
    >>> import torch
    >>> class Size(nn.Module):
    ...     def forward(self, batch):
    ...         return torch.bincount(batch.batch).float().unsqueeze(1)
    >>> from osan.data import load
    >>> batch = load("planted-motif", num_graphs=10).train.batch(torch.arange(2))
    >>> CustomModel(Size())(batch).prediction.shape
    torch.Size([2, 1])
    """

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        if type(network).__module__.startswith("torch.nn.modules.") and not isinstance(
            network, nn.Sequential
        ):
            raise OsanError(
                "network.architecture: expected a module that is called with a batch, got torch's "
                f"{type(network).__name__}, which is called with a tensor"
            )
        self.network = network

    @property
    def learns(self) -> bool:
        """Whether the network learns which subgraphs to choose."""
        return bool(getattr(self.network, "learns", False))

    def forward(self, batch: Data) -> Output:
        """Predictions, with the bag of whole graphs unless the network returns an output."""
        out = self.network(batch)
        return out if isinstance(out, Output) else Output(out, (whole_graphs(batch),))
