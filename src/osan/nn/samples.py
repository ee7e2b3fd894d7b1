"""The samples of an evaluation, computed together: one bag with the different subgraphs of all of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from inspect import signature
from typing import Any

import torch
from torch import Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.bags.layout import graph_index, num_graphs_of
from osan.bags.samples import joined_choices
from osan.nn.network import OSAN
from osan.selection import Selected


class BagsLater(Sequence[SubgraphBag]):
    """The bag of each sample, made when it is looked at."""

    def __init__(self, batch: Data, selected: Sequence[Selected], look: Mapping[str, Any]) -> None:
        self.batch, self.selected, self.look = batch, selected, look
        self.num_graphs = num_graphs_of(batch)
        self.made: dict[int, SubgraphBag] = {}

    def __len__(self) -> int:
        return len(self.selected)

    def __getitem__(self, index):  # type: ignore[no-untyped-def]
        if isinstance(index, slice):
            return tuple(self[i] for i in range(*index.indices(len(self))))
        number = range(len(self))[index]
        if number not in self.made:
            one = self.selected[number]
            self.made[number] = one.problem.bag(self.batch, one.choice, **self.look)
        return self.made[number]

    def __repr__(self) -> str:
        return repr(tuple(self))


def samples_together(
    network: Module, batch: Data, selected: Sequence[Selected], look: Mapping[str, Any]
) -> tuple[Tensor, ...] | None:
    """The predictions for several samples from one bag; ``None`` if they have to be computed one by one.

    Parameters
    ----------
    network, batch
        A network in evaluation mode, and a batch.
    selected
        The samples.
    look
        ``deleted``, ``whole_graph`` and ``agg`` of :func:`osan.bags.from_choice`.
    """
    problem, choices = selected[0].problem, [one.choice for one in selected]
    if not isinstance(network, OSAN) or not network.keeps_apart:
        return None
    if choices[0].device.type != "cpu" or any(choice.requires_grad for choice in choices):
        return None
    if "columns" not in signature(problem.bag).parameters:
        return None
    graph, num_graphs = graph_index(batch)
    if problem.weighs == "edge":
        graph = graph.index_select(0, batch.edge_index[0])
    joined = joined_choices(choices, graph, num_graphs)
    columns = (joined.graph, joined.column)
    bag = problem.bag(batch, joined.choice, **look, columns=columns)
    members = joined.members(look["whole_graph"])
    graphs = torch.arange(num_graphs).repeat_interleave(members.size(2))
    return network.of_samples(batch, bag, [(sample.flatten(), graphs) for sample in members])
