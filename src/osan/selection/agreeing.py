"""How much the choices of different samples agree: a preference, or only noise."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from osan import devices
from osan.errors import OsanError
from osan.selection.ground import GroundSet


def agreement(choices: Sequence[Tensor], ground: GroundSet) -> tuple[Tensor, Tensor]:
    r"""Numerator and denominator of Cohen's kappa between samples, for each graph and subgraph.

    For sets A and B among n elements,

    .. math:: \kappa = \frac{|A \cap B| - |A||B|/n}{(|A| + |B|)/2 - |A||B|/n},

    which is 1 if they are equal, 0 on average if one is drawn at random, and the same for their complements,
    so deleting and selecting need no distinction. Both parts are summed over all pairs of samples. Sum over
    graphs and subgraphs as well before you divide, since single sets are small.

    Parameters
    ----------
    choices
        The choice of each sample, non-zero for what is chosen; shape ``[rows, m]`` each.
    ground
        The ground set of the choices.

    Returns
    -------
    tuple[Tensor, Tensor]
        Shape ``[graphs, m]`` each. Both are 0 for an empty graph, and for sets that are equal by necessity.

    Examples
    --------
    >>> from torch_geometric.data import Data
    >>> four = GroundSet.vertices(Data(num_nodes=4, edge_index=torch.empty(2, 0, dtype=torch.long)))
    >>> first = torch.tensor([[1.0, 1], [1, 1], [0, 0], [0, 0]])
    >>> second = torch.tensor([[1.0, 0], [1, 0], [0, 1], [0, 1]])
    >>> excess, most = agreement([first, second], four)
    >>> (excess / most).tolist()
    [[1.0, -1.0]]
    """
    if len(choices) < 2:
        raise OsanError(f"choices: expected at least 2 samples, got {len(choices)}")
    exact = devices.widest(ground.sizes.device)
    chosen = torch.stack([ground.gather((choice != 0).to(exact)) for choice in choices])
    sizes = torch.stack([ground.sum_per_graph(each) for each in chosen])
    times, total = chosen.sum(0), sizes.sum(0)
    # Over pairs, the sum of products is half of (square of the sum - sum of squares).
    common = ground.sum_per_graph(times.square() - chosen.square().sum(0)) / 2
    by_chance = (total.square() - sizes.square().sum(0)) / 2 / ground.sizes.clamp(min=1).unsqueeze(1)
    return common - by_chance, total * (len(choices) - 1) / 2 - by_chance
