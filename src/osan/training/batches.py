"""Batches in an order that depends only on the seed and the epoch, shared between processes."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch_geometric.data import Batch

from osan.data import FlatDataset
from osan.errors import OsanError


class Batches:
    """Batches of a dataset: shuffled anew in every epoch, or in order.

    The order of an epoch is a function of ``(seed, epoch)``, so a resumed run sees the same batches as one
    that never stopped. With several processes (``world``) each gets an equal part of every batch; of a
    last training batch that cannot be shared equally, up to ``world - 1`` graphs are left out.

    Parameters
    ----------
    dataset, batch_size
        The graphs, and how many of them all processes together see at a time.
    epoch
        Gives the number of the epoch, for shuffled batches; ``None``: in order.
    seed
        Of the shuffling.
    rank, world
        Which of how many processes this is.

    Examples
    --------
    >>> from osan.data import load
    >>> train = load("planted-motif", num_graphs=20).train
    >>> first = [batch.graph_id.tolist() for batch in Batches(train, 8, lambda: 0)]
    >>> first == [batch.graph_id.tolist() for batch in Batches(train, 8, lambda: 0)]
    True
    >>> first == [batch.graph_id.tolist() for batch in Batches(train, 8, lambda: 1)]
    False
    """

    def __init__(
        self,
        dataset: FlatDataset,
        batch_size: int,
        epoch: Callable[[], int] | None = None,
        *,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if epoch is not None and batch_size % world:
            raise OsanError(
                f"training.batch_size: expected a multiple of {world} (processes), got {batch_size}"
            )
        self.dataset, self.batch_size, self.epoch, self.seed = dataset, batch_size, epoch, seed
        self.rank, self.world = rank, world

    def __len__(self) -> int:
        count = len(self.dataset)
        if self.epoch is not None:
            count -= count % self.batch_size % self.world
        return -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        for positions in self._positions():
            yield self.dataset.batch(positions)

    def _positions(self) -> Iterator[Tensor]:
        count = len(self.dataset)
        if self.epoch is None:
            # Some process may get no graph of a small last batch: it has one batch less, which does no harm:
            # no gradients are exchanged here.
            for positions in torch.split(torch.arange(count), self.batch_size):
                mine = positions[self.rank :: self.world]
                if len(mine):
                    yield mine
            return
        generator = torch.Generator().manual_seed(mixed(self.seed, self.epoch()))
        order = torch.randperm(count, generator=generator)
        for positions in torch.split(order, self.batch_size):
            mine = positions[: len(positions) - len(positions) % self.world][self.rank :: self.world]
            if len(mine):
                yield mine


def mixed(seed: int, epoch: int) -> int:
    """One seed for a pair of numbers, by the steps of splitmix64.

    >>> len({mixed(seed, epoch) for seed in range(50) for epoch in range(50)})
    2500
    """
    bits = 0
    for number in (seed, epoch):
        bits = (bits + (number + 1) * 0x9E3779B97F4A7C15) % (1 << 64)
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % (1 << 64)
        bits ^= bits >> 31
    return bits >> 1
