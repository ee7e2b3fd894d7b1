"""Weights on the messages of any PyG layer."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.nn import MessagePassing


@contextmanager
def scaled_messages(model: Module, edge_index: Tensor, weight: Tensor) -> Iterator[None]:
    """Multiply each message along the given edges by the weight of its edge, in all PyG layers of a model.

    Layers may drop self-loops and add new ones, whose messages stay as they are. So do the messages of layers
    that run on other edges, for example after a pooling layer or after dropping edges.

    Parameters
    ----------
    model
        A layer, or a module with layers in it.
    edge_index, weight
        The edges that the model is called with, shape ``[2, edges]``, and their weights, shape ``[edges]``.

    Examples
    --------
    >>> from torch_geometric.nn import SimpleConv
    >>> conv, edges = SimpleConv(aggr="sum"), torch.tensor([[0, 1], [2, 2]])
    >>> with scaled_messages(conv, edges, torch.tensor([1.0, 10.0])):
    ...     conv(torch.ones(3, 1), edges).flatten().tolist()
    [0.0, 0.0, 11.0]
    """
    running: dict[Module, Tensor | None] = {}

    def look(layer: Any, inputs: Any) -> None:
        running[layer] = _along(inputs[0], edge_index, weight)

    def scale(layer: Any, inputs: Any, messages: Any) -> Any:
        factor = running[layer]
        if factor is None:
            return messages
        if isinstance(messages, tuple | list):
            return type(messages)(scale(layer, inputs, each) for each in messages)
        along = layer.node_dim % messages.dim()  # some layers have a dimension before that of the edges
        return messages * factor.to(messages.dtype).view(-1, *[1] * (messages.dim() - 1 - along))

    with ExitStack() as handles:
        for layer in model.modules():
            if isinstance(layer, MessagePassing):
                handles.callback(layer.register_propagate_forward_pre_hook(look).remove)
                handles.callback(layer.register_message_forward_hook(scale).remove)
        yield


def _along(found: Any, edge_index: Tensor, weight: Tensor) -> Tensor | None:
    """The weights of the edges that a layer runs on; ``None`` if it runs on other edges.

    >>> edges, weight = torch.tensor([[0, 1, 1], [1, 1, 0]]), torch.tensor([2.0, 3.0, 5.0])
    >>> _along(torch.tensor([[0, 1, 0, 1], [1, 0, 0, 1]]), edges, weight)
    tensor([2., 5., 1., 1.])
    """
    if found is edge_index:
        return weight
    if not isinstance(found, Tensor) or found.layout != torch.strided:
        return None
    loop = edge_index[0] == edge_index[1]
    for kept in (torch.ones_like(loop), ~loop):
        edges, factor = edge_index[:, kept], weight[kept]
        rest = found[:, edges.size(1) :]
        if torch.equal(found[:, : edges.size(1)], edges) and torch.equal(rest[0], rest[1]):
            return torch.cat((factor, factor.new_ones(rest.size(1))))
    return None
