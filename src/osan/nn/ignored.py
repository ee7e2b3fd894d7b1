"""Warnings for networks that learn nothing: the choice is not looked at, or weights have no gradient."""

from __future__ import annotations

import warnings
from typing import Any

import torch
from torch import Tensor, nn


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


@torch.compiler.disable
def warn_if_constant(weights: Tensor, upstream: nn.Module) -> None:
    """Warn if no gradient flows from the weights back to the upstream network, unless it was frozen."""
    parameters = list(upstream.parameters())
    frozen = bool(parameters) and not any(each.requires_grad for each in parameters)
    if weights.requires_grad or frozen or not torch.is_grad_enabled():
        return
    warnings.warn(
        f"upstream: the weights of {type(upstream).__name__} have no gradient, so the choice of subgraphs is "
        "not learned; compute them from parameters without detach(), or use the estimator 'fixed', "
        "which takes the best choice as it is",
        stacklevel=3,
    )
