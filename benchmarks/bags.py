"""Bags and training steps against the obvious way and against the matrix products alone.

Needs ``OSAN_DATA``. Both sides of every ratio are timed alternately in one run:

    python benchmarks/bags.py [--repeats 5] [--profile]

``build``: making the bag against a list of ``Data`` per subgraph and ``Batch.from_data_list``.
``step``: bag, forward, backward and optimizer against the same with that batch and plain PyG layers.
``floor``: forward, backward and optimizer against the same model's linear layers alone, forward and
backward, on the same number of copies.

As in training, freed memory stays with the process (``osan.training.memory``); this helps all sides.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINEConv, global_mean_pool
from torch_geometric.utils import subgraph

from osan import bags, nn
from osan.data import load
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.training.memory import keep_freed_memory

SETTINGS = [
    ("ogbg-molesol", 300, 32, OGB_ATOM_FEATURES, OGB_BOND_FEATURES),
    ("zinc", 256, 128, [28], [4]),
    ("zinc", 64, 128, [28], [4]),
]


def obvious_bag(graphs: list[Data], m: int | None, generator: torch.Generator) -> tuple[Batch, Tensor]:
    """One ``Data`` per subgraph, batched; and the graph of each subgraph."""
    members, owner = [], []
    for g, data in enumerate(graphs):
        n = data.num_nodes
        gone = range(n) if m is None else torch.randint(n, (m,), generator=generator).tolist()
        for v in gone:
            kept = torch.arange(n) != v
            edge_index, edge_attr = subgraph(
                kept, data.edge_index, data.edge_attr, relabel_nodes=True, num_nodes=n
            )
            members.append(Data(x=data.x[kept], edge_index=edge_index, edge_attr=edge_attr))
            owner.append(g)
    return Batch.from_data_list(members), torch.tensor(owner)


def obvious_forward(network: nn.OSAN, big: Batch, owner: Tensor, num_graphs: int) -> Tensor:
    """The same weights through plain PyG layers on a batch of subgraphs."""
    h = network.initial.vertex_encoder(big.x)
    for layer in network.stack.layers:
        out = GINEConv.forward(layer.conv, h, big.edge_index, layer.edge_encoder(big.edge_attr))
        out = torch.nn.BatchNorm1d.forward(layer.norm, out)
        out = out if layer.activation is None else torch.relu(out)
        out = torch.nn.functional.dropout(out, layer.dropout) if layer.dropout else out
        h = out + h if layer.residual else out
    pooled = global_mean_pool(h, big.batch, big.num_graphs)
    return network.head(global_mean_pool(network.phi(pooled), owner, num_graphs))


def floor_step(network: nn.OSAN, copies: int, width: int) -> Callable[[], None]:
    """The linear layers that the network applies to copies, one after another, forward and backward."""
    linears = [linear for layer in network.stack.layers for linear in layer.conv.nn.linears]
    start = torch.randn(copies, width, requires_grad=True)
    last = torch.randn(copies, width)

    def step() -> None:
        h = start
        for linear in linears:
            h = linear(h)
        h.backward(last)
        start.grad = None
        network.zero_grad(set_to_none=True)

    return step


def timed(sides: list[Callable[[], object]], repeats: int) -> list[float]:
    """Least seconds of each side, measured alternately after one warm-up: the run disturbed least."""
    times: list[list[float]] = [[] for _ in sides]
    for repeat in range(repeats + 1):
        for side, mine in zip(sides, times, strict=True):
            begin = time.perf_counter()
            side()
            if repeat:
                mine.append(time.perf_counter() - begin)
    return [min(mine) for mine in times]


def run(name: str, width: int, size: int, m: int | None, options: argparse.Namespace) -> None:
    """One line of the table."""
    atoms, bonds = next((a, b) for n, w, _, a, b in SETTINGS if (n, w) == (name, width))
    graphs = [load(name).train[i] for i in range(size)]
    graphs = [Data(x=g.x, edge_index=g.edge_index, edge_attr=g.edge_attr, y=g.y) for g in graphs]
    batch = Batch.from_data_list(graphs)
    torch.manual_seed(0)
    network = nn.paper_network(name, 1, vertex_features=atoms, edge_features=bonds, width=width)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)
    generator = torch.Generator().manual_seed(0)
    target = batch.y.view(-1, 1)

    def make() -> bags.SubgraphBag:
        if m is None:
            return bags.all_subsets(batch, 1)
        return bags.random_subsets(batch, 1, m, generator=generator)

    def learn(out: Tensor) -> None:
        optimizer.zero_grad(set_to_none=True)
        torch.nn.functional.l1_loss(out, target).backward()
        optimizer.step()

    bag = make()
    big, owner = obvious_bag(graphs, m, generator)
    repeats = options.repeats
    build = timed([make, lambda: obvious_bag(graphs, m, generator)], repeats)
    step = timed(
        [
            lambda: learn(network(batch, make())),
            lambda: learn(obvious_forward(network, *obvious_bag(graphs, m, generator), size)),
            lambda: learn(obvious_forward(network, big, owner, size)),
        ],
        repeats,
    )
    floor = timed(
        [lambda: learn(network(batch, bag)), floor_step(network, bag.num_copies, width)], 2 * repeats
    )
    print(
        f"{name:13} {width:4} {'all' if m is None else m:>4} {bag.num_copies:7} | "
        f"{build[0] * 1e3:8.1f} {build[1] / build[0]:6.0f}x | {step[0] * 1e3:8.0f} {step[1] / step[0]:6.2f}x "
        f"{step[2] / step[0]:6.2f}x | {floor[1] * 1e3:8.0f} {floor[0] / floor[1]:5.2f}",
        flush=True,
    )
    if options.profile:
        with torch.profiler.profile() as profile:
            learn(network(batch, bag))
        print(profile.key_averages().table(sort_by="self_cpu_time_total", row_limit=22))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--profile", action="store_true")
    parser.add_argument("--only", type=int, default=None, help="index of one setting")
    parser.add_argument("--m", type=int, default=None, help="only this number of subgraphs; 0 is all")
    options = parser.parse_args()
    keep_freed_memory()
    print(f"torch {torch.__version__}, {torch.get_num_threads()} threads; times in ms")
    print(
        "dataset      width   m   copies |    build  faster |     step  faster (built) | floor ms  ratio",
        flush=True,
    )
    for index, (name, width, size, _, _) in enumerate(SETTINGS):
        for m in (3, 10, None):
            if options.only in (None, index) and options.m in (None, m or 0):
                run(name, width, size, m, options)


if __name__ == "__main__":
    main()
