"""The opposite of central: the weigher of some runs of choice.toml, which need this file beside them."""

from __future__ import annotations

from torch import Tensor
from torch_geometric.data import Data

from osan.nn import CentralityWeigher


class Periphery(CentralityWeigher):
    """The less central, the larger the weight."""

    def __init__(self, columns: int, width: int) -> None:
        super().__init__(columns=columns)

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        """Weights of shape ``[vertices, columns]``."""
        return -super().forward(batch, so_far)
