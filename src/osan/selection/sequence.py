"""Draws that leave elements alone: one subgraph after another, or with a random share of elements barred."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from osan import devices
from osan.bags.choice import inclusion
from osan.selection.estimator import Draw, tie_of
from osan.selection.randomness import BAR, Randomness
from osan.selection.topk import SubsetProblem, ranks

# From the number of the step, the free elements of shape [elements] (None: all), and what was selected,
# marked or deleted so far, of shape [elements, steps], to a draw of one column.
Step = Callable[[int, Tensor | None, Tensor], Draw]


def draw_in_sequence(
    problem: SubsetProblem, count: int, draw: Step, randomness: Randomness, allowed: Tensor | None = None
) -> Draw:
    r"""Draw subgraphs one after another, each among the elements that the earlier ones left alone.

    .. math:: p(z_1, \dots, z_m) = \prod_{t=1}^m p(z_t \mid z_1, \dots, z_{t-1})

    with :math:`z_t` disjoint from all others (for deletion: the deleted sets are disjoint). A graph of n
    elements has room for n // k disjoint sets of k. After these, all elements are free again and the next
    sets are disjoint from each other, so sizes are always exact.

    Parameters
    ----------
    problem
        The problem of a single subgraph.
    count
        The number m of subgraphs.
    draw
        Draws one of them.
    randomness
        Says which of equally soft elements count as taken.
    allowed
        Elements to choose from, shape ``[elements]``, in each graph at least as many as one subgraph needs;
        by default all.

    Returns
    -------
    Draw
        A choice of shape ``[elements, m]`` and the log-probability of each subgraph given the earlier ones.
    """
    ground = problem.ground
    number = ground.sizes
    if allowed is not None:
        number = ground.sum_per_graph(allowed.long().unsqueeze(1)).squeeze(1)
    rounds = (number // problem.changed.clamp(min=1)).clamp(min=1)
    taken = torch.zeros(ground.num_elements, dtype=torch.bool, device=ground.graph.device)
    draws: list[Draw] = []
    touched = taken.new_empty(len(taken), 0, dtype=torch.get_default_dtype())
    for step in range(count):
        again = step % rounds == 0  # a new round of disjoint sets
        taken = taken & ~again[ground.graph]
        free = allowed if step == 0 else ~taken if allowed is None else allowed & ~taken
        drawn = draw(step, free, touched)
        draws.append(drawn)
        # By size, so that a soft choice takes as many elements as a hard one.
        soft = drawn.choice.detach()
        hard = problem.solve(soft, tie_of(problem, soft, randomness.of_channel(step))).squeeze(1) != 0
        taken = taken | (~hard if problem.deletes else hard)
        part = inclusion(drawn.choice)
        touched = torch.cat([touched.to(part.dtype), 1 - part if problem.deletes else part], dim=1)
    log_probs = [one.log_prob for one in draws if one.log_prob is not None]
    return Draw(
        torch.cat([one.choice for one in draws], dim=1), torch.cat(log_probs, dim=1) if log_probs else None
    )


def draw_among(
    problem: SubsetProblem, weights: Tensor, free: Tensor, draw: Callable[[SubsetProblem, Tensor], Draw]
) -> Draw:
    """Draw among the free elements; the others are neither selected nor marked nor deleted.

    Parameters
    ----------
    problem
        The problem on all elements.
    weights
        Shape ``[elements, m]``.
    free
        Boolean, shape ``[elements]``.
    draw
        From the problem on the free elements and their weights to a draw.
    """
    elements = free.nonzero().flatten()
    drawn = draw(problem.among(elements), weights.index_select(0, elements))
    rest = drawn.choice.new_full(weights.shape, float(problem.deletes))
    return Draw(rest.index_copy(0, elements, drawn.choice), drawn.log_prob)


def unbarred(problem: SubsetProblem, share: float, count: int, randomness: Randomness) -> Tensor:
    """The elements that are left after a random share of every graph is barred.

    Of n elements, ``share * n`` are barred, rounded down, but never any that ``count`` disjoint subgraphs
    need.

    Parameters
    ----------
    problem
        The problem of a single subgraph.
    share
        At least 0 and below 1.
    count
        The number of subgraphs that have to be disjoint.
    randomness
        The same elements are barred in all subgraphs.

    Returns
    -------
    Tensor
        Boolean, shape ``[elements]``.
    """
    ground = problem.ground
    spare = (ground.sizes - count * problem.changed).clamp(min=0)
    number = torch.minimum((share * ground.sizes.to(devices.widest(ground.sizes.device))).long(), spare)
    order = randomness.uniform(ground, 1, BAR)
    return (ranks(order, order, ground) >= number[ground.graph].unsqueeze(1)).squeeze(1)
