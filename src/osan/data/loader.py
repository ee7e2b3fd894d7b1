"""Batches of a flat dataset; their order depends on the seed and the epoch alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import torch
from torch import Tensor
from torch_geometric.data import Batch

from osan.data.flat import FlatDataset
from osan.errors import OsanError


class FlatLoader:
    """Batches of a :class:`FlatDataset`, in order or shuffled anew in every epoch.

    The order of an epoch is a function of ``(seed, epoch)``, so a run that is resumed sees the same batches
    as one that never stopped. With several processes (``world``), each gets an equal share of every batch.
    If the last shuffled batch cannot be shared equally, up to ``world - 1`` of its graphs are left out.

    Parameters
    ----------
    dataset
        The graphs.
    batch_size
        Graphs per batch, over all processes; the last batch may be smaller.
    shuffle
        Whether each epoch has a new order.
    epoch
        Gives the number of the epoch. By default the loader counts how often it was iterated over.
    seed
        Seed of the order.
    rank, world
        The number of this process, and how many processes there are.

    Examples
    --------
    >>> from osan.data import load
    >>> train = load("planted-motif", num_graphs=20).train
    >>> [batch.num_graphs for batch in FlatLoader(train, batch_size=6)]
    [6, 6, 4]
    >>> def order(epoch):
    ...     return [batch.graph_id.tolist() for batch in FlatLoader(train, 6, shuffle=True, epoch=epoch)]
    >>> order(lambda: 0) == order(lambda: 0), order(lambda: 0) == order(lambda: 1)
    (True, False)
    """

    def __init__(
        self,
        dataset: FlatDataset,
        batch_size: int,
        shuffle: bool = False,
        *,
        epoch: Callable[[], int] | None = None,
        seed: int = 0,
        rank: int = 0,
        world: int = 1,
    ) -> None:
        if not isinstance(dataset, FlatDataset):
            raise OsanError(
                f"dataset: expected a FlatDataset, got {type(dataset).__name__}; "
                "convert PyG Data with osan.data.flatten, or use PyG's DataLoader"
            )
        if batch_size < 1:
            raise OsanError(f"batch_size: expected at least 1, got {batch_size}")
        if shuffle and batch_size % world:
            raise OsanError(f"batch_size: expected a multiple of the {world} processes, got {batch_size}")
        self.dataset, self.batch_size, self.shuffle, self.seed = dataset, batch_size, shuffle, seed
        self.rank, self.world = rank, world
        self._epoch, self._passes = epoch, 0

    def __len__(self) -> int:
        count = len(self.dataset)
        if self.shuffle:
            count -= count % self.batch_size % self.world
        return -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        epoch = self._passes if self._epoch is None else self._epoch()
        self._passes += 1
        for positions in self._positions(epoch):
            yield self.dataset.batch(positions)

    def _positions(self, epoch: int) -> Iterator[Tensor]:
        count = len(self.dataset)
        if not self.shuffle:
            # A process may get no graph of a small last batch. It then has one batch less, which does no
            # harm where no gradients are exchanged.
            for positions in torch.split(torch.arange(count), self.batch_size):
                share = positions[self.rank :: self.world]
                if len(share):
                    yield share
            return
        generator = torch.Generator().manual_seed(mix_seed(self.seed, epoch))
        order = torch.randperm(count, generator=generator)
        for positions in torch.split(order, self.batch_size):
            share = positions[: len(positions) - len(positions) % self.world][self.rank :: self.world]
            if len(share):
                yield share


def mix_seed(seed: int, epoch: int) -> int:
    """One seed for a pair of numbers, by the steps of splitmix64.

    >>> len({mix_seed(seed, epoch) for seed in range(50) for epoch in range(50)})
    2500
    """
    bits = 0
    for number in (seed, epoch):
        bits = (bits + (number + 1) * 0x9E3779B97F4A7C15) % (1 << 64)
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % (1 << 64)
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % (1 << 64)
        bits ^= bits >> 31
    return bits >> 1
