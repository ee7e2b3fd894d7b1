"""Optimizers by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from torch.optim import SGD, Adam, AdamW, Optimizer

from osan.errors import OsanError
from osan.parts import resolve

OPTIMIZERS: dict[str, Callable[..., Optimizer]] = {
    "adam": partial(Adam, fused=True),
    "adamw": partial(AdamW, fused=True),
    "sgd": SGD,
}


def make_optimizer(
    name: str | Callable[..., Optimizer],
    groups: Sequence[dict[str, Any]],
    weight_decay: float | None = None,
    **options: Any,
) -> Optimizer:
    """An optimizer of groups of parameters, each with its learning rate.

    Parameters
    ----------
    name
        A name in ``OPTIMIZERS``; ``"module:name"``, such as ``"torch.optim:RMSprop"``; or a class or
        function. It is called with the groups and the options and keeps the order of the groups.
    groups
        Dictionaries with ``params`` and ``lr``.
    weight_decay
        The optimizer's default if ``None``: 0 for Adam and SGD, 0.01 for AdamW.
    options
        Further arguments, such as ``momentum``.

    Examples
    --------
    >>> import torch
    >>> weight = torch.nn.Parameter(torch.ones(2))
    >>> make_optimizer("sgd", [{"params": [weight], "lr": 0.1}], momentum=0.9).param_groups[0]["momentum"]
    0.9
    """
    make = resolve(name, OPTIMIZERS, "training.optimizer")
    if weight_decay is not None:
        options["weight_decay"] = weight_decay
    try:
        optimizer = make(list(groups), **options)
    except (TypeError, ValueError) as error:
        raise OsanError(f"training.optimizer: {name} cannot be built ({error})") from error
    if not isinstance(optimizer, Optimizer):
        raise OsanError(
            f"training.optimizer: expected a torch.optim.Optimizer from {name}, "
            f"got {type(optimizer).__name__}"
        )
    return optimizer
