"""How good are gradient estimators for subgraph selection? Compared where the truth can be enumerated.

    python benchmarks/estimators.py [--draws 4000]

A fixed set of instances (numbers below): a graph of n vertices, weights theta, and a quadratic loss of the
choice, l(z) = z'Qz + c'z. The expected loss and its gradient are enumerated twice: under the paper's p(z; theta), and
under what Gumbel top-k samples, the Plackett-Luce distribution. Each estimator then gives many independent
estimates. Averages over the instances:

    cos p, cos PL   cosine between the mean estimate and the gradient under p(z; theta), under Plackett-Luce
    bias p, bias PL distance of the mean estimate from these gradients, relative to their length
    std             standard deviation of one estimate, relative to the length of the gradient under p
    cos one         mean cosine of a single estimate with the gradient under p (0 for a zero estimate)
    non-zero        share of estimates that are not zero
    cost            time of one forward and backward pass, relative to I-MLE

A second table shows how far samples are from p(z; theta), in total variation.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data

from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Estimator,
    Noise,
    Random,
    Randomness,
    ScoreFunction,
    Selection,
    StraightThrough,
)

# The published set: (operation, n, k, seed) for every combination, weights and losses drawn with that seed.
UNORDERED = [
    (o, n, k, s) for o in ("select", "delete") for n, k in ((5, 1), (6, 2), (7, 3)) for s in range(4)
]
ORDERED = [("select", n, k, s) for n, k in ((4, 2), (5, 3)) for s in range(4)]

ESTIMATORS: dict[str, Callable[[], Estimator]] = {
    "I-MLE, lambda 1": lambda: IMLE(1.0, reduction="sum"),
    "I-MLE, lambda 2": lambda: IMLE(2.0, reduction="sum"),
    "I-MLE, lambda 10": lambda: IMLE(10.0, reduction="sum"),
    "I-MLE, lambda 2, 8 samples": lambda: IMLE(2.0, samples=8, reduction="sum"),
    "adaptive I-MLE": lambda: AdaptiveIMLE(reduction="sum"),
    "SIMPLE": lambda: SIMPLE(reduction="sum"),
    "straight-through": lambda: StraightThrough(reduction="sum"),
    "score function": lambda: ScoreFunction(reduction="sum"),
}


@dataclass(frozen=True)
class Instance:
    """A choice problem that can be enumerated."""

    text: str
    theta: Tensor
    quadratic: Tensor
    linear: Tensor
    states: Tensor

    def loss(self, z: Tensor) -> Tensor:
        return torch.einsum("...i,ij,...j->...", z, self.quadratic, z) + z @ self.linear

    def gradient(self, log_probability: Callable[[Tensor], Tensor]) -> Tensor:
        theta = self.theta.clone().requires_grad_()
        expected = log_probability(theta).exp() @ self.loss(self.states)
        return torch.autograd.grad(expected, theta)[0]

    def log_p(self, theta: Tensor) -> Tensor:
        """The paper's distribution over the states."""
        return torch.log_softmax(self.states @ theta, 0)

    def log_plackett_luce(self, theta: Tensor) -> Tensor:
        """Probability of the states when the best perturbed weights are taken one after another."""
        result = []
        for state in self.states:
            kept = state.nonzero().flatten().tolist()
            ranked = state.unique().numel() > 2 or (len(kept) == 1)
            orders = [sorted(kept, key=lambda v: -state[v])] if ranked else list(itertools.permutations(kept))
            result.append(torch.logsumexp(torch.stack([_sequence(theta, order) for order in orders]), 0))
        return torch.stack(result)


def _sequence(theta: Tensor, order: tuple[int, ...] | list[int]) -> Tensor:
    total, left = theta.new_zeros(()), list(range(len(theta)))
    for vertex in order:
        total = total + theta[vertex] - torch.logsumexp(theta[left], 0)
        left.remove(vertex)
    return total


def instance(operation: str, n: int, k: int, seed: int, ordered: bool) -> Instance:
    generator = torch.Generator().manual_seed(1000 * n + 100 * k + seed)
    theta = torch.randn(n, generator=generator, dtype=torch.float64)
    quadratic = torch.randn(n, n, generator=generator, dtype=torch.float64) / n
    linear = torch.randn(n, generator=generator, dtype=torch.float64)
    kept = n - k if operation == "delete" else k
    states = []
    for order in (
        itertools.permutations(range(n), kept) if ordered else itertools.combinations(range(n), kept)
    ):
        z = torch.zeros(n, dtype=torch.float64)
        z[list(order)] = torch.arange(kept, 0, -1, dtype=torch.float64) if ordered else 1.0
        states.append(z)
    text = f"{operation} {k} vertices" + (" ordered" if ordered else "")
    return Instance(text, theta, quadratic, linear, torch.stack(states))


def estimates(problem: Instance, estimator: Estimator, draws: int, seed: int = 0) -> tuple[Tensor, float]:
    """Independent estimates, shape ``[draws, n]``, and the seconds one pass took."""
    n = len(problem.theta)
    ring = torch.arange(n)
    index = torch.stack([ring, ring.roll(-1)])
    batch = Batch.from_data_list([Data(edge_index=torch.cat([index, index.flip(0)], 1), num_nodes=n)] * draws)
    select = Selection(problem.text, estimator)
    warm_up = 40 if isinstance(estimator, AdaptiveIMLE) else 2 if isinstance(estimator, ScoreFunction) else 1
    for step in range(warm_up + 1):  # lets adaptive steps and baselines settle
        weights = problem.theta.repeat(draws).unsqueeze(1).requires_grad_()
        start = time.perf_counter()
        selected = select(batch, weights, Randomness.of(batch, seed=seed + step))
        losses = problem.loss(selected.choice.view(draws, n))
        (estimator.join(losses) + estimator.surrogate(losses, selected.log_prob)).backward()
        seconds = time.perf_counter() - start
    gradient = torch.zeros(draws, n) if weights.grad is None else weights.grad.view(draws, n)
    return gradient, seconds


def measure(problem: Instance, estimator: Estimator, draws: int) -> list[float]:
    truth, sampled = problem.gradient(problem.log_p), problem.gradient(problem.log_plackett_luce)
    each, seconds = estimates(problem, estimator, draws)
    mean = each.mean(0)
    single = torch.nn.functional.cosine_similarity(each, truth.expand_as(each), dim=1)
    deviation = (each - mean).square().sum(1).mean().sqrt() / truth.norm()
    return [
        torch.nn.functional.cosine_similarity(mean, truth, dim=0).item(),
        torch.nn.functional.cosine_similarity(mean, sampled, dim=0).item(),
        ((mean - truth).norm() / truth.norm()).item(),
        ((mean - sampled).norm() / sampled.norm()).item(),
        deviation.item(),
        single.mean().item(),
        (each != 0).any(1).double().mean().item(),
        seconds,
    ]


def table(title: str, instances: list[Instance], names: list[str], draws: int) -> None:
    print(f"\n{title} ({len(instances)} instances, {draws} estimates each)")
    print(f"{'estimator':28s} cos p cos PL bias p bias PL    std cos one non-zero  cost")
    rows = {
        name: torch.tensor([measure(one, ESTIMATORS[name](), draws) for one in instances]).mean(0).tolist()
        for name in names
    }
    unit = rows["I-MLE, lambda 2"][-1]
    for name, (*row, seconds) in rows.items():
        a, b, c, d, e, f, g = row
        print(
            f"{name:28s} {a:5.2f} {b:6.2f} {c:6.2f} {d:7.2f} {e:6.2f} {f:7.2f} {g:8.2f} {seconds / unit:5.1f}"
        )


def distances(instances: list[Instance], draws: int) -> None:
    print("\ndistance of samples from p(z; theta), total variation; 0 is best")
    rules: dict[str, tuple[Estimator, Noise]] = {
        "Gumbel top-k": (IMLE(), Noise()),
        "sum of gamma": (IMLE(), Noise("sum-of-gamma")),
        "SIMPLE (exact)": (SIMPLE(), Noise()),
        "uniform": (Random(), Noise()),
    }
    for name, (estimator, noise) in rules.items():
        total = 0.0
        for problem in instances:
            n = len(problem.theta)
            batch = Batch.from_data_list([Data(edge_index=torch.tensor([[0], [1]]), num_nodes=n)] * draws)
            weights = problem.theta.repeat(draws).unsqueeze(1)
            choice = Selection(problem.text, estimator, noise)(batch, weights, Randomness.of(batch, 1)).choice
            same = (choice.view(draws, 1, n) == problem.states).all(-1).double().mean(0)
            total += 0.5 * (same - problem.log_p(problem.theta).exp()).abs().sum().item()
        print(f"{name:20s} {total / len(instances):.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Compare gradient estimators on enumerable instances.")
    parser.add_argument("--draws", type=int, default=4000)
    draws = parser.parse_args().draws
    torch.set_default_dtype(torch.float64)
    unordered = [instance(*numbers, ordered=False) for numbers in UNORDERED]
    ordered = [instance(*numbers, ordered=True) for numbers in ORDERED]
    table("unordered: select or delete 1 of 5, 2 of 6, 3 of 7", unordered, list(ESTIMATORS), draws)
    with_order = [name for name in ESTIMATORS if "I-MLE" in name or name == "score function"]
    table("ordered: select 2 of 4, 3 of 5", ordered, with_order, draws)
    distances(unordered, draws)


if __name__ == "__main__":
    main()
