"""A k-ordered subgraph aggregation network from a width and options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast

import torch
from torch.nn import Module
from typing_extensions import Unpack

from osan.errors import OsanError
from osan.nn.admission import LearnedAdmission
from osan.nn.atomic import InitialFeatures
from osan.nn.encoders import as_encoder
from osan.nn.mlp import MLP
from osan.nn.network import OSAN
from osan.nn.norm import Activation
from osan.nn.options import (
    Admission,
    Aggregation,
    Atomic,
    Encoder,
    LayerOptions,
    Level,
    Pooling,
    Rank,
    check_choice,
    checked,
)
from osan.nn.plain import PlainNetwork
from osan.nn.pooling import Pool
from osan.nn.stack import Stack


@checked()
def osan(
    width: int,
    layers: int,
    out: int,
    *,
    vertex_encoder: Encoder | None = None,
    atomic: Atomic | None = None,
    k: int = 0,
    reach: int = 10,
    rank: Rank | None = None,
    num_ranks: int = 0,
    aggregation: Aggregation = "per-subgraph",
    sagg: Pooling = "mean",
    readout: Pooling = "mean",
    between: int = 2,
    admission: Admission | Literal["learned"] | None = None,
    alongside: bool | Module = False,
    head: int = 1,
    level: Level = "graph",
    activation: Activation = torch.nn.functional.relu,
    stack: Callable[..., Module] = Stack,
    **layer_options: Unpack[LayerOptions],
) -> OSAN:
    r"""An :class:`OSAN` of one width, made from options.

    Parameters
    ----------
    width, layers, out
        The width of all features, the number T of layers, and the number of predictions.
    vertex_encoder, atomic, k, reach, rank, num_ranks
        The initial features: see :class:`osan.nn.InitialFeatures`. ``vertex_encoder`` is a module, or a
        function that makes one.
    aggregation, level
        See :class:`OSAN`.
    sagg, readout
        How subgraphs and how vertices are pooled: see :func:`osan.nn.Pool`.
    between
        The number of linear layers of :math:`\phi`; 0 leaves it out.
    admission
        ``None`` admits all, a function gives :math:`\pi` for each copy of a bag, ``"learned"`` learns it.
    alongside
        Whether a plain network of the same kind runs on the graph itself, its features beside the others;
        or any module from a batch to rows, as wide as its ``out_width``.
    head
        The number of linear layers after pooling.
    activation
        The activation of all layers.
    stack
        What makes the layers, from ``width, layers`` and the options; by default :class:`osan.nn.Stack`.
    layer_options
        ``conv``, ``edge_encoder``, ``edge_mark``, ``neighborhood``, ``marked``, ``across``, ``norm``,
        ``dropout``, ``residual``, ``last_activation``, ``hidden``, ``train_eps``, ``degrees`` and ``towers``:
        see :class:`osan.nn.Stack`.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> from osan import bags
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> network = osan(16, 2, 1, k=1, atomic="ordered")
    >>> network(path, bags.all_tuples(path, 1)).shape
    torch.Size([1, 1])
    """
    check_choice("aggregation", aggregation, ("per-vertex", "per-subgraph"))
    check_choice("level", level, ("graph", "vertex"))
    encoder = as_encoder(vertex_encoder, "vertex_encoder")
    initial = InitialFeatures(width, encoder, atomic=atomic, k=k, reach=reach, rank=rank, num_ranks=num_ranks)
    made = stack(width, layers, activation=activation, **layer_options)
    first, second = (sagg, readout) if aggregation == "per-vertex" else (readout, sagg)
    inner = Pool(first, width)
    seen = inner.out_width + (width if level == "vertex" and aggregation == "per-subgraph" else 0)
    phi = MLP([seen] + [width] * between, activation=activation)
    last = width if between else seen
    outer = Pool(second, last) if level == "graph" or aggregation == "per-subgraph" else None
    last = last if outer is None else outer.out_width
    beside = alongside if isinstance(alongside, Module) else None
    if alongside is True:
        unmarked: LayerOptions = {**layer_options, "marked": False, "across": False}
        plain_stack = Stack(width, layers, activation=activation, **unmarked)
        plain_readout = Pool(readout, width) if level == "graph" else None
        beside = PlainNetwork(InitialFeatures(width, encoder), plain_stack, plain_readout)
    last += 0 if beside is None else int(cast(Any, beside).out_width)
    final = MLP([last] + [width] * (head - 1) + [out], activation=activation)
    learned: Any = admission
    if admission == "learned":
        if atomic is None:
            raise OsanError("admission: expected an atomic type in order to learn it, got none; give atomic")
        learned = LearnedAdmission(atomic, k, width)
    return OSAN(
        initial,
        made,
        inner,
        outer,
        final,
        phi=phi,
        aggregation=aggregation,
        level=level,
        admission=learned,
        alongside=beside,
    )
