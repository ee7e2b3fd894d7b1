"""How long the data take: raw to ready, from the cache, and one epoch of batches against one of training.

OSAN_DATA=... python benchmarks/data_loading.py
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterable

import torch
from torch import Tensor, nn
from torch_geometric.data import Batch
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GINEConv, global_mean_pool

from osan.data import FlatLoader, Task, load

WIDTH, LAYERS, BATCH, ROUNDS = 64, 4, 128, 5


class Gin(nn.Module):
    """Four GINE layers of width 64 on ZINC's atom and bond types."""

    def __init__(self) -> None:
        super().__init__()
        self.vertex, self.edge = nn.Embedding(28, WIDTH), nn.Embedding(4, WIDTH)
        self.convs = nn.ModuleList(
            GINEConv(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)))
            for _ in range(LAYERS)
        )
        self.norms = nn.ModuleList(nn.BatchNorm1d(WIDTH) for _ in range(LAYERS))
        self.head = nn.Linear(WIDTH, 1)

    def forward(self, batch: Batch) -> Tensor:
        h, e = self.vertex(batch.x[:, 0]), self.edge(batch.edge_attr[:, 0])
        for conv, norm in zip(self.convs, self.norms, strict=True):
            h = norm(conv(h, batch.edge_index, e)).relu()
        return self.head(global_mean_pool(h, batch.batch, batch.num_graphs))


def seconds(run: Callable[[], object]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def train(model: Gin, optimizer: torch.optim.Optimizer, batches: Iterable[Batch]) -> None:
    for batch in batches:
        optimizer.zero_grad()
        (model(batch) - batch.y).abs().mean().backward()
        optimizer.step()


def main() -> None:
    with tempfile.TemporaryDirectory() as cache:
        raw = seconds(lambda: load("zinc", cache=cache))
        warm = min(seconds(lambda: load("zinc", cache=cache)) for _ in range(3))
        task: Task = load("zinc", cache=cache)
    print(f"zinc, raw to ready:  {raw:6.2f} s  (bar: 30)")
    print(f"zinc, from cache:    {warm:6.2f} s  (bar: 2)")

    model = Gin()
    optimizer = torch.optim.Adam(model.parameters())
    flat = FlatLoader(task.train, BATCH, shuffle=True)
    pyg = DataLoader(list(task.train), BATCH, shuffle=True)
    ready = list(flat)
    times: dict[str, list[float]] = {"train": [], "flat": [], "pyg": []}
    for _ in range(ROUNDS):  # alternating, so that a busy moment hits all three
        times["train"].append(seconds(lambda: train(model, optimizer, ready)))
        times["flat"].append(seconds(lambda: list(flat)))
        times["pyg"].append(seconds(lambda: list(pyg)))
    epoch = statistics.median(times["train"])
    print(f"one epoch of GIN ({LAYERS} layers, width {WIDTH}), batches ready: {epoch:.3f} s")
    for name in ("flat", "pyg"):
        spent = statistics.median(times[name])
        print(
            f"batches of {BATCH} from {name:4}: {spent:.3f} s = {100 * spent / epoch:.1f} % of it",
            "(bar: 10 %)" * (name == "flat"),
        )


if __name__ == "__main__":
    main()
