"""One pair: relabeled copies, contrastive training, and Hotelling's test on fresh copies."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import torch
from torch import Tensor
from torch.nn import Module
from torch.nn.functional import cosine_embedding_loss
from torch_geometric.data import Batch, Data

from osan.arguments import integer
from osan.data import relabeled
from osan.errors import OsanError, TooLarge
from osan.experiments.brec.models import BrecModel, brec_model, embeddings
from osan.experiments.brec.statistic import Rows, t_squared, threshold
from osan.graphs import Graph, Pair, to_pyg
from osan.nn import set_sharing

Precision = Literal["float32", "float64"]
# Rows that a batch of training may have, unless one pair alone has more; a graph of many rows is embedded
# alone, since exact sharing within it pays.
_ROWS, _MANY = 20_000, 1_500
# Training ends where a difference stands out this many times more than it has to.
_CLEARLY = 10.0
_NOT_FINITE = "embeddings are not finite"


@dataclass(frozen=True)
class Protocol:
    """How a pair is compared.

    Parameters
    ----------
    copies
        The relabeled copies of each graph, for training, and as many fresh ones for the test.
    dimension
        The dimension of embeddings of models that let one choose it.
    confidence
        Of the F distribution, see :func:`threshold`.
    steps
        Steps of training at most (20 epochs of 2 batches); it ends when a batch is clearly separated.
    batch_size
        Graphs in a step of training, half of them copies of each graph; fewer where graphs are large.
    learning_rate, weight_decay
        Of Adam. The benchmark's weight decay of 1e-4 is all that Adam sees where embeddings hardly differ.
    precision
        ``"float64"`` or ``"float32"``.
    floor
        Differences that count as rounding, see :func:`t_squared`; by default the square root of the
        precision's epsilon: 1.5e-8 or 3.5e-4.
    seconds
        Time for a pair; a pair that takes longer is listed as not finished.
    seed
        Of weights and copies.
    """

    copies: int = 32
    dimension: int = 16
    confidence: float = 0.95
    steps: int = 40
    batch_size: int = 32
    learning_rate: float = 1e-3
    weight_decay: float = 0.0
    precision: Precision = "float64"
    floor: float | None = None
    seconds: float | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        counts = (("copies", 1), ("dimension", 1), ("steps", 0), ("batch_size", 2), ("seed", 0))
        for name, least in counts:
            object.__setattr__(self, name, integer(getattr(self, name), name, least=least))
        threshold(self.copies, self.dimension, self.confidence)
        for name in ("learning_rate", "weight_decay", "floor", "seconds"):
            value = getattr(self, name)
            if value is not None and not value >= 0:  # nan is refused as well
                raise OsanError(f"{name}: expected a number of at least 0, got {value}")
        if self.precision not in ("float32", "float64"):
            raise OsanError(f"precision: expected 'float32' or 'float64', got {self.precision!r}")


@dataclass(frozen=True)
class PairResult:
    """What a model makes of a pair.

    Parameters
    ----------
    separated
        Whether T-squared exceeds the threshold and the controls do not; ``None`` if the pair was not
        finished, and ``note`` says why.
    t_squared, limit
        Of the copies of both graphs, and what it has to exceed.
    control
        T-squared of copies of the first graph against other copies of it: the reliability check.
    confirmed
        T-squared of the same weights in float64; ``None`` in float64, and where there is nothing to confirm.
    distance
        The distance between the mean embeddings, relative to their size.
    steps
        The steps of training.
    seconds
        The processor time.
    note
        Why the pair was not finished or not separated, if there is something to say.
    """

    separated: bool | None
    t_squared: float | None = None
    control: float | None = None
    confirmed: float | None = None
    distance: float | None = None
    steps: int = 0
    seconds: float = 0
    note: str = ""
    limit: float | None = None


class _OutOfTime(Exception):
    pass


@dataclass
class _Clock:
    limit: float | None
    start: float

    @property
    def seconds(self) -> float:
        return time.process_time() - self.start

    def check(self) -> None:
        if self.limit is not None and self.seconds > self.limit:
            raise _OutOfTime


def compare(pair: Pair, model: Any, protocol: Protocol | None = None, *, number: int = 0) -> PairResult:
    """Train a model to separate a pair, and test whether it does.

    Training sees relabeled copies of both graphs and pushes their embeddings apart (cosine embedding loss, as
    the benchmark does). It ends as soon as a batch is clearly separated, often before the first step. The
    test embeds fresh copies, of which none shares a computation with another.

    Parameters
    ----------
    pair
        The graphs, without labels.
    model
        See :func:`brec_model`.
    protocol
        How; by default that of the benchmark.
    number
        Of the pair, for its random numbers.

    References
    ----------
    Wang and Zhang, "An empirical study of realized GNN expressiveness", ICML 2024.

    Examples
    --------
    >>> from osan.graphs import cycle_pair
    >>> hexagon = Pair(*cycle_pair(3))
    >>> [compare(hexagon, name, Protocol(steps=2)).separated for name in ("gin", "1-osan")]
    [False, True]
    """
    if any(g.vertex_labels is not None or g.edge_labels is not None for g in (pair.a, pair.b)):
        raise OsanError("pair: expected graphs without labels, which the networks do not see, got labels")
    protocol = protocol or Protocol()
    chosen, clock = brec_model(model), _Clock(protocol.seconds, time.process_time())
    try:
        with _precision(protocol.precision), torch.random.fork_rng(devices=[]):
            torch.manual_seed(protocol.seed * 1_000_003 + number)
            return _compared(pair, chosen, protocol, number, clock)
    except _OutOfTime:
        return PairResult(None, seconds=clock.seconds, note=f"not finished in {protocol.seconds:g} s")
    except TooLarge as error:
        return PairResult(None, seconds=clock.seconds, note=str(error))


def _compared(pair: Pair, chosen: BrecModel, protocol: Protocol, number: int, clock: _Clock) -> PairResult:
    def copies(stage: int) -> list[Pair]:
        seed = int(np.random.SeedSequence((protocol.seed, number, stage)).generate_state(1)[0])
        return relabeled(pair, protocol.copies, seed)

    model = chosen.make(pair.a, protocol.dimension)
    steps = _train(model, copies(0), chosen, protocol, clock)
    if isinstance(model, Module):
        model.eval()
    fresh, others = copies(1), copies(2)
    x, y, z = (
        _embedded(model, chosen, [getattr(each, side) for each in part], clock)
        for part, side in ((fresh, "a"), (fresh, "b"), (others, "a"))
    )
    found, control = (t_squared(x, rows, _floor(protocol)) for rows in (y, z))
    limit = threshold(len(x), x.shape[1], protocol.confidence)
    separated, note, confirmed = found > limit, "", None
    if not np.isfinite(x).all() or not np.isfinite(y).all():
        note = _NOT_FINITE
    elif separated and not control <= limit:
        separated, note = False, "copies of one graph differ as well"
    elif separated and protocol.precision == "float32" and isinstance(model, Module):
        confirmed = _in_float64(model, chosen, fresh, clock)
        if not confirmed > limit:
            separated, note = False, "the difference is rounding: it is gone in float64"
    distance = None if note == _NOT_FINITE else _distance(x, y)
    return PairResult(
        bool(separated), found, control, confirmed, distance, steps, round(clock.seconds, 3), note, limit
    )


def _distance(x: Rows, y: Rows) -> float:
    """The distance between the means, relative to the size of the rows."""
    size = float(np.sqrt((x**2).sum(1).mean() / 2 + (y**2).sum(1).mean() / 2))
    return float(np.linalg.norm(x.mean(0) - y.mean(0))) / size if size else 0.0


def _floor(protocol: Protocol) -> float:
    if protocol.floor is not None:
        return protocol.floor
    return float(torch.finfo(getattr(torch, protocol.precision)).eps ** 0.5)


def _in_float64(model: Module, chosen: BrecModel, fresh: Sequence[Pair], clock: _Clock) -> float:
    """T-squared of the weights of a model in float64."""
    with _precision("float64"):
        exact = deepcopy(model).double()
        x, y = (_embedded(exact, chosen, [getattr(each, side) for each in fresh], clock) for side in "ab")
        return t_squared(x, y, float(torch.finfo(torch.float64).eps ** 0.5))


@contextmanager
def _precision(name: Precision) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(getattr(torch, name))
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def as_batch(graphs: Sequence[Graph]) -> Batch:
    """The graphs as one PyG batch, with a column of ones as features.

    >>> as_batch([Graph(2, [(0, 1)]), Graph(1)]).x.flatten().tolist()
    [1.0, 1.0, 1.0]
    """
    parts: list[Data] = []
    for graph in graphs:
        data = to_pyg(graph)
        data.x = torch.ones(graph.num_vertices, 1)
        parts.append(data)
    return Batch.from_data_list(parts)


def _embedded(model: Any, chosen: BrecModel, graphs: Sequence[Graph], clock: _Clock) -> Rows:
    """The embeddings of graphs, of which none shares a computation with another.

    Small graphs go in batches without exact sharing, large ones one by one, each sharing within itself.
    """
    size = len(graphs) if chosen.copies(graphs[0]) < _MANY else 1
    if isinstance(model, Module):
        set_sharing(model, "off" if size > 1 else "auto")
    rows = []
    for first in range(0, len(graphs), size):
        with torch.no_grad():
            rows.append(embeddings(model, as_batch(graphs[first : first + size])))
        clock.check()
    return torch.cat(rows).double().cpu().numpy()


def _train(model: Any, pairs: Sequence[Pair], chosen: BrecModel, protocol: Protocol, clock: _Clock) -> int:
    """Push the embeddings of both graphs apart; the steps that it took, 0 if they were apart before."""
    weights = [w for w in model.parameters() if w.requires_grad] if isinstance(model, Module) else []
    if not weights:
        return 0
    rows = max(chosen.copies(pairs[0].a), 1)
    size = max(1, min(protocol.batch_size, _ROWS // rows) // 2)
    batches = [
        as_batch([graph for pair in pairs[first : first + size] for graph in (pair.a, pair.b)])
        for first in range(0, len(pairs), size)
    ]
    optimizer = torch.optim.Adam(weights, lr=protocol.learning_rate, weight_decay=protocol.weight_decay)
    model.train()
    for step in range(protocol.steps):
        out = embeddings(model, batches[step % len(batches)])
        if _clearly_apart(out, protocol):
            return step
        one, other = out[0::2], out[1::2]
        optimizer.zero_grad()
        loss = cosine_embedding_loss(one, other, torch.full((len(one),), -1.0))
        torch.autograd.backward(loss)
        optimizer.step()
        clock.check()
    return protocol.steps


def _clearly_apart(out: Tensor, protocol: Protocol) -> bool:
    """Whether training can end: both graphs of the batch differ clearly, also against rounding."""
    rows = out.detach().double().cpu().numpy()
    limit = threshold(protocol.copies, rows.shape[1], protocol.confidence)
    return t_squared(rows[0::2], rows[1::2], _CLEARLY * _floor(protocol)) > limit
