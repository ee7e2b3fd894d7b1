"""Learned against random selection on the planted task: frequency of the motif, and test error.

    python benchmarks/planted.py [--seeds 3] [--epochs 20]

Random trees of 14 to 20 vertices with one planted triangle; the target is the sum of the triangle's 0/1
features; one subgraph of three vertices is chosen, by a GIN upstream. Prints one line per seed.
"""

from __future__ import annotations

import argparse
import time

import torch
from torch import nn
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN

from osan.data.generated.planted import planted_motif
from osan.nn import DataDrivenOSAN, Numerical, Upstream, osan
from osan.selection import IMLE, Estimator, Random


def build(estimator: Estimator, width: int = 32) -> DataDrivenOSAN:
    """Upstream GIN and a downstream that reads the sum of what it is shown."""
    model = GIN(width, width, 4, norm="batch_norm", jk="last")
    upstream = Upstream(1, width, vertex_encoder=Numerical(1, width), model=model)
    downstream = osan(width, 1, 1, vertex_encoder=Numerical(1, width), readout="sum", norm=False)
    return DataDrivenOSAN(upstream, downstream, "select 3 vertices x 1", estimator=estimator)


def train(model: DataDrivenOSAN, loader: DataLoader, epochs: int) -> None:
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
def evaluate(model: DataDrivenOSAN, loader: DataLoader) -> tuple[float, float]:
    """Mean absolute error, and selection frequency of planted vertices in multiples of uniform selection."""
    model.eval()
    error = graphs = hits = expected = 0.0
    for batch in loader:
        error += (model(batch).prediction - batch.y).abs().sum().item()
        graphs += batch.num_graphs
        hits += model.explain(batch).frequency[batch.planted].sum().item()
        expected += (9.0 / batch.ptr.diff()).sum().item()  # three planted vertices, each with 3 / n
    return error / graphs, hits / expected


def run(seed: int, epochs: int, learned: bool, train_graphs: int = 1000) -> tuple[float, float]:
    torch.manual_seed(seed)
    graphs = planted_motif(train_graphs + 300, seed)
    model = build(IMLE(lam=2.0, samples=2) if learned else Random())
    train(model, DataLoader(graphs[:train_graphs], batch_size=50, shuffle=True), epochs)
    return evaluate(model, DataLoader(graphs[train_graphs:], batch_size=100))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--epochs", type=int, default=20)
    arguments = parser.parse_args()
    began = time.perf_counter()
    print("seed  frequency/uniform  error learned  error random  ratio  seconds")
    for seed in range(arguments.seeds):
        start = time.perf_counter()
        error, frequency = run(seed, arguments.epochs, learned=True)
        baseline, _ = run(seed, arguments.epochs, learned=False)
        seconds = time.perf_counter() - start
        ratio = error / baseline
        print(f"{seed:4d}  {frequency:17.2f}  {error:13.3f}  {baseline:12.3f}  {ratio:5.2f}  {seconds:7.1f}")
    print(f"total {time.perf_counter() - began:.1f} s")


if __name__ == "__main__":
    main()
