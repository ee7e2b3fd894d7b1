"""Every way to choose on the planted task: how much of the motif is found, and the test error.

    python benchmarks/planted.py [--seeds 5] [--first 0] [--epochs 30] [--estimators imle,simple] [--peek]

Random trees of 14 to 20 vertices with one planted triangle; the target is the sum of the triangle's 0/1
features. The network sees one subgraph of three vertices, chosen by a GIN upstream, or the whole graph
("plain"). The upstream network sees the structure only. With ``--peek`` it also sees the features, and can
pass on the answer by where it points. Evaluation has no noise, except that random choices are averaged over
five samples. The temperature of straight-through was chosen with ``--first 10 --seeds 4``. Prints one line
per estimator and seed: the share of planted vertices that are found, the test error, its ratio to random's,
the error in graphs of which no planted vertex is chosen ("none found"; nan if there are none), and processor
time.
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
from osan.nn import Constant, DataDrivenOSAN, FixedBags, Numerical, Upstream, osan
from osan.selection import IMLE, SIMPLE, Estimator, Random, ScoreFunction, SparseMAP, StraightThrough

WAYS: dict[str, Estimator | None] = {
    "plain": None,
    "random": Random(),
    "straight-through": StraightThrough(tau=5.0),
    "sparsemap": SparseMAP(),
    "simple": SIMPLE(),
    "imle": IMLE(lam=2.0, samples=2),
    "score-function": ScoreFunction(),
}


def build(estimator: Estimator | None, peek: bool = False, width: int = 32) -> nn.Module:
    """Upstream GIN and a downstream that reads the sum of what it is shown; four layers if it sees all."""
    layers = 4 if estimator is None else 1
    downstream = osan(width, layers, 1, vertex_encoder=Numerical(1, width), readout="sum", norm=False)
    if estimator is None:
        return FixedBags(whole_graphs, downstream)
    model = GIN(width, width, 4, norm="batch_norm", jk="last")
    encoder = Numerical(1, width) if peek else Constant(width)
    upstream = Upstream(1, width, vertex_encoder=encoder, model=model)
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
def evaluate(model: nn.Module, loader: DataLoader) -> tuple[float, float, float]:
    """The share of planted vertices chosen, the mean absolute error, and that of graphs with none chosen."""
    model.eval()
    errors, hits = [], []
    for batch in loader:
        out = model(batch)
        errors.append((out.prediction - batch.y).abs().squeeze(1))
        chosen = [one.choice.squeeze(1) * batch.planted for one in out.selected] or [batch.planted.float()]
        found = torch.stack(chosen).mean(0)
        hits.append(found.new_zeros(batch.num_graphs).index_add(0, batch.batch, found) / 3)
    error, share = torch.cat(errors), torch.cat(hits)
    return share.mean().item(), error.mean().item(), error[share == 0].mean().item()


def run(seed: int, epochs: int, way: str, peek: bool, train_graphs: int = 1000) -> list[float]:
    """The results of :func:`evaluate` and the seconds of one way."""
    start = time.process_time()
    torch.manual_seed(seed)
    graphs = planted_motif(train_graphs + 300, seed)
    model = build(WAYS[way], peek)
    train(model, DataLoader(graphs[:train_graphs], batch_size=50, shuffle=True), epochs)
    results = evaluate(model, DataLoader(graphs[train_graphs:], batch_size=100))
    return [*results, time.process_time() - start]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--estimators", default=",".join(WAYS))
    parser.add_argument("--peek", action="store_true", help="the upstream network sees the features, too")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    print("way               seed   found  error  of random's  none found  seconds")
    wanted = ["random", *(way for way in arguments.estimators.split(",") if way != "random")]
    for seed in range(arguments.first, arguments.first + arguments.seeds):
        baseline = 0.0
        for way in wanted:
            found, error, missed, seconds = run(seed, arguments.epochs, way, arguments.peek)
            baseline = error if way == "random" else baseline
            share = "     -" if way == "plain" else f"{found:6.1%}"
            errors = f"{error:5.3f}  {error / baseline:11.2f}  {missed:10.3f}"
            print(f"{way:16}  {seed:4d}  {share}  {errors}  {seconds:7.1f}", flush=True)


if __name__ == "__main__":
    main()
