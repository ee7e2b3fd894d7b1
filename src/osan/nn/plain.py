"""A network on the graphs themselves."""

from __future__ import annotations

from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import whole_graphs
from osan.nn.sharing import shared_rows
from osan.words import Sharing


class PlainNetwork(Module):
    """A network on the graphs themselves, without a bag and without a head.

    Parameters
    ----------
    initial, stack
        As in :class:`osan.nn.OSAN`.
    readout
        The pooling of the vertices; ``None`` for one row per vertex.
    """

    def __init__(self, initial: Module, stack: Module, readout: Module | None) -> None:
        super().__init__()
        self.initial, self.stack, self.readout = initial, stack, readout
        self.sharing: Sharing = "auto"

    @property
    def out_width(self) -> int:
        """The width of the rows."""
        width = self.initial.width if self.readout is None else self.readout.out_width
        return int(width)  # type: ignore[arg-type]

    def forward(self, batch: Data) -> Tensor:
        """One row per graph, or per vertex."""
        whole = whole_graphs(batch)
        shared = None if self.sharing == "off" else shared_rows(self.initial, self.stack, batch, whole)
        if shared is None:
            h = self.stack(self.initial(batch, whole), batch, whole)
        else:
            h = shared.full(shared.run(self.initial, self.stack, batch))
        return h if self.readout is None else self.readout(h, whole.subgraph, whole.num_graphs)
