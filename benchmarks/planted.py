"""Every way to choose on the planted task: how much of the motif is found, and the test error.

    python benchmarks/planted.py [--seeds 5] [--epochs 20] [--estimators straight-through,simple]

Random trees of 14 to 20 vertices with one planted triangle; the target is the sum of the triangle's 0/1
features. The network sees one subgraph of three vertices, chosen by a GIN upstream, or the whole graph
("plain"). Evaluation has no noise, except that random choices are averaged over five samples. Prints one line
per estimator and seed.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN

from osan.bags import whole_graphs
from osan.data.generated.planted import planted_motif
from osan.nn import DataDrivenOSAN, FixedBags, Numerical, Upstream, osan
from osan.selection import IMLE, SIMPLE, Estimator, Random, ScoreFunction, StraightThrough

WAYS: dict[str, Estimator | None] = {
    "plain": None,
    "random": Random(),
    "straight-through": StraightThrough(),
    "simple": SIMPLE(),
    "imle": IMLE(lam=2.0, samples=2),
    "score-function": ScoreFunction(),
}


def build(estimator: Estimator | None, width: int = 32) -> nn.Module:
    """Upstream GIN and a downstream that reads the sum of what it is shown; four layers if it sees all."""
    layers = 4 if estimator is None else 1
    downstream = osan(width, layers, 1, vertex_encoder=Numerical(1, width), readout="sum", norm=False)
    if estimator is None:
        return FixedBags(whole_graphs, downstream)
    model = GIN(width, width, 4, norm="batch_norm", jk="last")
    upstream = Upstream(1, width, vertex_encoder=Numerical(1, width), model=model)
    quiet = {} if isinstance(estimator, Random) else {"evaluation_noise": "none", "samples": 1}
    return DataDrivenOSAN(upstream, downstream, "select 3 vertices x 1", estimator=estimator, **quiet)


def train(model: nn.Module, loader: DataLoader, epochs: int) -> None:
    optimizer = torch.optim.Adam(model.parameters())
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=epochs * len(loader))
    model.train()
    for _ in range(epochs):
        for batch in loader:
            out = model(batch)
            losses = nn.functional.mse_loss(out.prediction, batch.y, reduction="none").squeeze(1)
            optimizer.zero_grad()
            out.objective(losses).backward()
            optimizer.step()
            schedule.step()


@torch.no_grad()
def evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float]:
    """The mean absolute error, and the share of planted vertices that are chosen (all without a choice)."""
    model.eval()
    error = graphs = hits = planted = 0.0
    for batch in loader:
        out = model(batch)
        error += (out.prediction - batch.y).abs().sum().item()
        graphs += batch.num_graphs
        planted += batch.planted.sum().item() * max(1, len(out.selected))
        hits += sum(one.choice[batch.planted].sum().item() for one in out.selected)
    return error / graphs, hits / planted


def run(seed: int, epochs: int, way: str, train_graphs: int = 1000) -> tuple[float, float]:
    torch.manual_seed(seed)
    graphs = planted_motif(train_graphs + 300, seed)
    model = build(WAYS[way])
    train(model, DataLoader(graphs[:train_graphs], batch_size=50, shuffle=True), epochs)
    return evaluate(model, DataLoader(graphs[train_graphs:], batch_size=100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--estimators", default=",".join(WAYS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("way               seed  found   error  of random's  seconds")
    wanted = arguments.estimators.split(",")
    for seed in range(arguments.seeds):
        baseline, _ = run(seed, arguments.epochs, "random")
        for way in wanted:
            start = time.process_time()
            error, found = run(seed, arguments.epochs, way)
            seconds = time.process_time() - start
            share = "      " if way == "plain" else f"{found:6.1%}"
            print(
                f"{way:16}  {seed:4d}  {share}  {error:5.3f}  {error / baseline:11.2f}  {seconds:7.1f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
