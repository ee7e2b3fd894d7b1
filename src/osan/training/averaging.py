"""A moving average of the weights of a model, which predicts better than the weights of the last step."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn


class MovingAverage:
    r"""An exponential moving average of parameters and buffers.

    .. math:: a \leftarrow d_t a + (1 - d_t) w, \quad d_t = \min\left(d, \frac{1 + t}{10 + t}\right)

    in step t, so that the first weights are soon forgotten. Integers are copied.

    Parameters
    ----------
    decay
        The decay d, between 0 and 1.

    References
    ----------
    Polyak and Juditsky, "Acceleration of stochastic approximation by averaging", 1992; the decay of the first
    steps is TensorFlow's.

    Examples
    --------
    >>> model, average = nn.Linear(1, 1, bias=False), MovingAverage(0.9)
    >>> for weight in (1.0, 3.0):
    ...     _ = nn.init.constant_(model.weight, weight)
    ...     average.update(model)
    >>> with average.used(model):
    ...     print(round(model.weight.item(), 4))  # 2/11 of the first, 9/11 of the second
    2.6364
    >>> model.weight.item()
    3.0
    """

    def __init__(self, decay: float) -> None:
        self.decay, self.steps = decay, 0
        self.values: dict[str, Tensor] = {}

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        """Add the weights after a step."""
        now = model.state_dict()
        if not self.values:
            self.values = {name: tensor.detach().clone() for name, tensor in now.items()}
        decay = min(self.decay, (1 + self.steps) / (10 + self.steps))
        real = [name for name, tensor in now.items() if tensor.is_floating_point()]
        averages = [self.values[name] for name in real]
        torch._foreach_lerp_(averages, [now[name] for name in real], 1 - decay)
        for name in now.keys() - set(real):
            self.values[name].copy_(now[name])
        self.steps += 1

    @torch.no_grad()
    def swap(self, model: nn.Module) -> None:
        """Exchange the average with the weights of the model; before the first step nothing happens."""
        now = model.state_dict()
        for name, value in self.values.items():
            kept = now[name].clone()
            now[name].copy_(value)
            value.copy_(kept)

    @contextmanager
    def used(self, model: nn.Module) -> Iterator[None]:
        """The average in place of the weights, within a ``with`` block."""
        self.swap(model)
        try:
            yield
        finally:
            self.swap(model)

    def state(self) -> dict[str, object]:
        """What a checkpoint keeps."""
        return {"steps": self.steps, "values": self.values}

    def restore(self, state: dict[str, object], model: nn.Module) -> None:
        """The inverse of :meth:`state`, on the device of the model."""
        devices = {name: tensor.device for name, tensor in model.state_dict().items()}
        values: dict[str, Tensor] = state["values"]  # type: ignore[assignment]
        self.steps = int(state["steps"])  # type: ignore[call-overload]
        self.values = {name: value.to(devices[name]) for name, value in values.items()}
