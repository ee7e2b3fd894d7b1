"""Counter-based random numbers: the noise of a graph depends only on the seed and the graph."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan import devices
from osan.bags.layout import graph_index
from osan.errors import OsanError
from osan.selection import random_kernels
from osan.selection.ground import GroundSet

# What random numbers are used for.
TIE, NOISE, BAR = 0, 1, 2

# Constants of splitmix64 (Steele, Lea and Flood 2014), written as signed 64-bit integers.
_GOLDEN = 0x9E3779B97F4A7C15 - (1 << 64)
_FIRST = 0xBF58476D1CE4E5B9 - (1 << 64)
_SECOND = 0x94D049BB133111EB - (1 << 64)


@dataclass(frozen=True)
class Randomness:
    """A source of uniform numbers, each with an address.

    The address is (seed, sample, graph, element, channel, purpose, draw, part), and the number is a hash
    (splitmix64) of it. There is no state: a graph gets the same numbers
    at any position in a batch and on any device. Numbers are independent and identically distributed over
    the elements of a graph, so distributions do not depend on the numbering.

    Parameters
    ----------
    seed
        Integer tensor without dimensions.
    graph_id
        An integer per graph, shape ``[graphs]``; graphs with the same id get the same numbers.
    sample
        Which of several repetitions this is.
    channel
        Which channel the first column belongs to.

    Examples
    --------
    >>> pair = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> randomness = Randomness.of(pair, seed=7)
    >>> randomness.uniform(GroundSet.vertices(pair), 3, TIE).shape
    torch.Size([2, 3])
    """

    seed: Tensor
    graph_id: Tensor
    sample: int = 0
    channel: int = 0

    @classmethod
    def of(cls, batch: Data | GroundSet, seed: int | None = None) -> Randomness:
        """The randomness of a batch.

        Parameters
        ----------
        batch
            Its attribute ``graph_id`` (shape ``[graphs]``) identifies the graphs. Without it their positions
            in the batch do, and results are reproducible for equal batches only. A :class:`GroundSet` has
            positions only.
        seed
            ``None`` draws a fresh seed from torch's global generator, as in training.
        """
        if isinstance(batch, GroundSet):
            graphs, device = batch.num_graphs, batch.sizes.device
        else:
            graphs, device = graph_index(batch)[1], batch.edge_index.device
        if seed is None:
            key = torch.randint(2**62, ()).to(device)
        else:
            key = torch.tensor(seed, dtype=torch.long, device=device)
        graph_id = getattr(batch, "graph_id", None)
        if graph_id is None:
            graph_id = torch.arange(graphs, device=device)
        elif not isinstance(graph_id, Tensor) or graph_id.shape != (graphs,) or graph_id.is_floating_point():
            tensor = isinstance(graph_id, Tensor)
            given = f"{graph_id.dtype} of shape {list(graph_id.shape)}" if tensor else repr(graph_id)[:60]
            raise OsanError(f"batch.graph_id: expected one integer per graph, shape [{graphs}], got {given}")
        return cls(key, graph_id)

    def repeat(self, sample: int) -> Randomness:
        """The same source for another repetition."""
        return replace(self, sample=sample)

    def of_channel(self, channel: int) -> Randomness:
        """The same source for one channel alone, which becomes the first column."""
        return replace(self, channel=channel)

    def uniform(self, ground: GroundSet, channels: int, purpose: int, draw: int = 0, part: int = 0) -> Tensor:
        """Numbers strictly between 0 and 1, of shape ``[elements, channels]``.

        In float64; Apple's GPUs get the first 23 bits of the same numbers in float32.

        Parameters
        ----------
        ground
            The elements.
        channels
            The number of columns.
        purpose
            What the numbers are for: ``TIE``, ``NOISE`` or ``BAR``, or another integer from 3 on.
        draw
            Which of several draws this is.
        part
            Which of several numbers of one draw this is.

        Numbers of different purpose, draw or part are independent.
        """
        # Purposes 0 and 1 and the first 512 draws share one counter without overlap: 2 * 512 = 1024. What is
        # beyond is hashed in separately, so that no two addresses collide.
        stream = purpose % 2 + 2 * (draw % 512) + 1024 * part
        beyond = (purpose // 2, draw // 512) if purpose >= 2 or draw >= 512 else ()
        exact = devices.widest(ground.graph.device)
        if devices.on_cpu(ground.graph) and exact == torch.float64:
            counters = np.array([_counter(number) for number in (self.sample, stream, *beyond)])
            arrays = (t.contiguous().numpy() for t in (self.graph_id.long(), ground.graph, ground.position))
            return torch.from_numpy(
                random_kernels.uniform(self.seed.item(), counters, *arrays, self.channel, channels)
            )
        key = _mix(_mix(self.seed + _counter(self.sample)) + _counter(stream))
        if beyond:
            key = _mix(_mix(key + _counter(beyond[0])) + _counter(beyond[1]))
        key = _mix(key ^ _mix(self.graph_id + _GOLDEN))
        key = _mix(key[ground.graph] + _GOLDEN * (ground.position + 1))
        channel = torch.arange(self.channel + 1, self.channel + channels + 1, device=key.device)
        bits = _mix(key.unsqueeze(1) + _GOLDEN * channel)
        # As many bits as fit and half a step, so that neither 0 nor 1 is reached after rounding.
        kept = 52 if exact == torch.float64 else 23
        return (_shift(bits, 64 - kept).to(exact) + 0.5) * 2.0**-kept


def _counter(number: int) -> int:
    """The given multiple of the golden constant, as a signed 64-bit integer."""
    return (_GOLDEN * (number + 1) + (1 << 63)) % (1 << 64) - (1 << 63)


def _mix(bits: Tensor) -> Tensor:
    bits = (bits ^ _shift(bits, 30)) * _FIRST
    bits = (bits ^ _shift(bits, 27)) * _SECOND
    return bits ^ _shift(bits, 31)


def _shift(bits: Tensor, by: int) -> Tensor:
    """Shift to the right and fill with zeros (torch fills with the sign)."""
    return (bits >> by) & ((1 << (64 - by)) - 1)
