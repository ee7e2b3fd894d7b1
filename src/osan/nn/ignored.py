"""A warning for networks that do not look at the choice they get."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor


@torch.compiler.disable
def warn_if_ignored(prediction: Tensor, choice: Tensor) -> None:
    """Warn if no gradient flows from the prediction back to the choice."""
    goal = choice.grad_fn
    if goal is None:
        return
    waiting: list[Any] = [prediction.grad_fn]
    seen: set[Any] = {None}
    while waiting:
        node = waiting.pop()
        if node is goal:
            return
        if node not in seen:
            seen.add(node)
            waiting += [before for before, _ in node.next_functions]
    warnings.warn(
        "downstream: the prediction does not depend on which subgraphs are chosen, so the upstream network "
        "learns nothing; use bag.weight and bag.edge_weight (or marks), as osan.nn.convolve, osan.nn.Pool "
        "and osan.nn.OnSubgraphs do",
        stacklevel=3,
    )
