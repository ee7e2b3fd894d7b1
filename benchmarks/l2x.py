"""Which 4 of 10 features matter? Every estimator on sets without a graph, after "learning to explain".

    python benchmarks/l2x.py [--seeds 5] [--steps 1500] [--estimators simple-10,imle-10] [--peek]
    python benchmarks/l2x.py --signal

The label is that of "orange skin" (Chen, Song, Wainwright and Jordan 2018), y ~ Bernoulli(sigmoid(4 - sum of
x_j^2 over the four relevant j)) with ten normal features. There are five kinds of instances, each with its
own four relevant features. The selector sees the kind and chooses four elements of the set of features; the
predictor, an MLP, sees the chosen values and zeros. With ``--peek`` the selector is an MLP that also sees the
values: then it can pass on the label by which features it chooses. Prints per estimator and seed the share of
the relevant features that are among the four with the largest weights (40 % by chance), the test accuracy
with these, and processor time. The number after I-MLE is lambda, the one after SIMPLE the temperature, chosen
with ``--first 10 --seeds 6``: at 1, SIMPLE settles early, and sometimes on wrong features.

``--signal`` prints why I-MLE fails here. The predictor is trained on random choices, then the gradient of the
expected loss with respect to the weights, at equal weights, is enumerated over all 210 choices and compared
with the mean of many estimates. "relevant" and "others" are means over these features; a negative entry makes
training raise the weight, so what counts is the difference.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections.abc import Callable

import torch
from torch import Tensor, nn

from osan.selection import (
    IMLE,
    SIMPLE,
    Fixed,
    GroundSet,
    Random,
    ScoreFunction,
    Selection,
    SparseMAP,
    StraightThrough,
)

FEATURES, CHOSEN, KINDS = 10, 4, 5
POLICY = f"select {CHOSEN} elements"
WAYS: dict[str, Callable[[], Selection]] = {
    "random": lambda: Selection(POLICY, Random()),
    "straight-through": lambda: Selection(POLICY, StraightThrough()),
    "sparsemap": lambda: Selection(POLICY, SparseMAP()),
    "simple-1": lambda: Selection(POLICY, SIMPLE()),
    "simple-10": lambda: Selection(POLICY, SIMPLE(), temperature=10.0),
    "score-function": lambda: Selection(POLICY, ScoreFunction()),
    "imle-1": lambda: Selection(POLICY, IMLE(lam=1.0)),
    "imle-10": lambda: Selection(POLICY, IMLE(lam=10.0)),
    "imle-100": lambda: Selection(POLICY, IMLE(lam=100.0)),
}


def instances(count: int, relevant: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Kinds of shape ``[count]``, values of shape ``[count, features]`` and labels of shape ``[count]``."""
    kind, x = torch.randint(KINDS, (count,)), torch.randn(count, FEATURES)
    logit = 4 - (x.square() * relevant[kind]).sum(1)
    return kind, x, (torch.rand(count) < logit.sigmoid()).float()


def mlp(columns: int, out: int, width: int = 64) -> nn.Module:
    return nn.Sequential(
        nn.Linear(columns, width), nn.ReLU(), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, out)
    )


class Selector(nn.Module):
    """Weights of the features: one row for each kind, or an MLP of kind and values."""

    def __init__(self, peek: bool) -> None:
        super().__init__()
        self.rows = nn.Embedding(KINDS, FEATURES)
        nn.init.zeros_(self.rows.weight)
        self.of_values = mlp(KINDS + FEATURES, FEATURES) if peek else None

    def forward(self, kind: Tensor, x: Tensor) -> Tensor:
        if self.of_values is None:
            return self.rows(kind)
        return self.of_values(torch.cat([nn.functional.one_hot(kind, KINDS).to(x), x], dim=1))


def run(seed: int, way: str, steps: int, peek: bool, batch: int = 128) -> tuple[float, float, float]:
    """The share of relevant features found, the test accuracy and the seconds of one way."""
    start = time.process_time()
    torch.manual_seed(seed)
    relevant = torch.stack([torch.randperm(FEATURES) for _ in range(KINDS)]) < CHOSEN
    data, test = instances(10_000, relevant), instances(5_000, relevant)
    selector, predictor = Selector(peek), mlp(FEATURES, 1)
    select = WAYS[way]()
    ground = GroundSet.of_sizes([FEATURES] * batch)
    groups = [
        {"params": selector.parameters(), "lr": 1e-3 if peek else 1e-2},
        {"params": predictor.parameters(), "lr": 1e-3},
    ]
    optimizer = torch.optim.Adam(groups)
    for _ in range(steps):
        rows = torch.randint(len(data[0]), (batch,))
        kind, x, y = (each[rows] for each in data)
        drawn = select(ground, selector(kind, x).reshape(-1, 1))
        logits = predictor(x * drawn.choice.view(-1, FEATURES)).squeeze(1)
        losses = nn.functional.binary_cross_entropy_with_logits(logits, y, reduction="none")
        optimizer.zero_grad()
        (select.estimator.join(losses) + select.estimator.surrogate(losses, drawn.log_prob)).backward()
        optimizer.step()
    kind, x, y = test
    with torch.no_grad():
        theta = selector(kind, x).reshape(-1, 1)
        best = Selection(POLICY, Fixed())
        choice = best(GroundSet.of_sizes([FEATURES] * len(x)), theta).choice.view(-1, FEATURES)
        found = choice[relevant[kind]].mean().item()
        right = (predictor(x * choice).squeeze(1) > 0) == (y > 0.5)
    return found, right.float().mean().item(), time.process_time() - start


def signal(draws: int = 400, batch: int = 500) -> None:
    """Mean estimates on relevant and other features beside the enumerated gradient."""
    torch.manual_seed(0)
    relevant = torch.zeros(KINDS, FEATURES, dtype=torch.bool)
    relevant[:, :CHOSEN] = True
    predictor, random = mlp(FEATURES, 1), Selection(POLICY, Random())
    optimizer = torch.optim.Adam(predictor.parameters())
    ground = GroundSet.of_sizes([FEATURES] * batch)
    zeros = torch.zeros(batch * FEATURES, 1)
    for _ in range(1000):
        _, x, y = instances(batch, relevant)
        z = random(ground, zeros).choice.view(-1, FEATURES)
        optimizer.zero_grad()
        nn.functional.binary_cross_entropy_with_logits(predictor(x * z).squeeze(1), y).backward()
        optimizer.step()
    predictor.requires_grad_(False)

    def losses_of(x: Tensor, y: Tensor, z: Tensor) -> Tensor:
        return nn.functional.binary_cross_entropy_with_logits(
            predictor(x * z).squeeze(1), y, reduction="none"
        )

    _, x, y = instances(5_000, relevant)
    subsets = list(itertools.combinations(range(FEATURES), CHOSEN))
    states = torch.zeros(len(subsets), FEATURES).scatter(1, torch.tensor(subsets), 1.0)
    losses = torch.stack([losses_of(x, y, state).mean() for state in states])
    # At equal weights all choices are equally likely, and the gradient of E l(z) is the covariance with z.
    exact = (losses.unsqueeze(1) * (states - states.mean(0))).mean(0)
    print("mean gradient      relevant    others  difference")

    def show(name: str, gradient: Tensor) -> None:
        one, other = gradient[:CHOSEN].mean().item(), gradient[CHOSEN:].mean().item()
        print(f"{name:17}  {one:8.4f}  {other:8.4f}    {one - other:8.4f}", flush=True)

    show("enumerated", exact)
    slopes: dict[str, list[Tensor]] = {"chosen": [], "left out": []}
    for way in list(WAYS)[1:]:
        select, total = WAYS[way](), torch.zeros(FEATURES)
        for _ in range(draws):
            _, x, y = instances(batch, relevant)
            theta = zeros.clone().requires_grad_()
            drawn = select(ground, theta)
            z = drawn.choice
            if way == "straight-through":
                z.retain_grad()
            losses = losses_of(x, y, z.view(-1, FEATURES))
            (losses.mean() + select.estimator.surrogate(losses, drawn.log_prob)).backward()
            total += theta.grad.view(-1, FEATURES).sum(0) / draws
            if way == "straight-through":
                slope, chosen = z.grad.view(-1, FEATURES) * batch, z.view(-1, FEATURES) > 0.5
                slopes["chosen"].append(torch.where(chosen, slope, torch.nan).detach())
                slopes["left out"].append(torch.where(chosen, torch.nan, slope).detach())
        show(way, total)
    print("\nslope of the loss in the choice: mean and standard deviation over instances")
    for name, parts in slopes.items():
        rows = torch.cat(parts)
        for group, columns in (("relevant", rows[:, :CHOSEN]), ("others", rows[:, CHOSEN:])):
            values = columns[~columns.isnan()]
            print(f"{group:9} {name:9} {values.mean():8.4f} {values.std():8.4f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--estimators", default=",".join(WAYS))
    parser.add_argument("--peek", action="store_true", help="the selector sees the values, too")
    parser.add_argument("--signal", action="store_true", help="compare mean estimates with the true gradient")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    if arguments.signal:
        signal()
        return
    print("way               seed   found  accuracy  seconds")
    for way in arguments.estimators.split(","):
        for seed in range(arguments.first, arguments.first + arguments.seeds):
            found, accuracy, seconds = run(seed, way, arguments.steps, arguments.peek)
            print(f"{way:16}  {seed:4d}  {found:6.1%}  {accuracy:8.1%}  {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()
