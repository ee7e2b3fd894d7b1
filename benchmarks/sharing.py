"""What exact sharing saves: time of training, inference and evaluation, and memory.

Needs ``OSAN_DATA``:

    python benchmarks/sharing.py [steps] [learned] [samples] [memory] [rows] [--threads 1]

Sides take turns within one process, batch by batch, and all times are processor times; ratios are medians
over batches. A training step is bag, classes, forward, backward and Adam; inference is bag, classes and
forward; "cached" has the classes of the dataset from before (``osan.nn.remember``), as a run of many epochs
does. "plain" is a network of the same width on the graphs themselves, without sharing; "PyG" is PyG's own GIN
of the same size. ESAN's code is not part of this: unshared, this package was measured to be 2.2 times as fast
as ESAN in training on ZINC with all vertex-deleted subgraphs, and the last column multiplies with that.
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch_geometric.nn import GIN, global_mean_pool

from osan import bags, data, nn
from osan.nn.encoders import EdgeMLP, encoder
from osan.training.downstream import described
from osan.training.memory import keep_freed_memory

ESAN = 2.2
WIDTH, LAYERS = 64, 4
MakeBag = Callable[[Any], bags.SubgraphBag]


def deletions(m: int | None) -> MakeBag:
    """All deletions of one vertex, or m random ones; new ones in each call."""
    return partial(bags.all_subsets, k=1) if m is None else partial(bags.random_subsets, k=1, m=m)


# Name, dataset, batch size, layers, subgraphs (None: all), and whether the network looks at edges.
RUNS: list[tuple[str, str, int, int, int | None, bool]] = [
    ("zinc all, GIN", "zinc", 128, LAYERS, None, False),
    ("zinc all, GINE", "zinc", 128, LAYERS, None, True),
    ("zinc x 3", "zinc", 128, LAYERS, 3, True),
    ("exp x 3", "exp", 32, 6, 3, False),
    ("molesol x 3", "ogbg-molesol", 32, LAYERS, 3, True),
    ("molesol x 10", "ogbg-molesol", 32, LAYERS, 10, True),
]


class Plain(torch.nn.Module):
    """PyG's GIN with batch norms and mean pooling."""

    def __init__(self, features: Any, layers: int) -> None:
        super().__init__()
        self.encoder = encoder(features, WIDTH)
        self.gin = GIN(WIDTH, WIDTH, layers, norm="batch_norm")
        self.head = torch.nn.Linear(WIDTH, 1)

    def forward(self, batch: Any) -> torch.Tensor:
        h = self.gin(self.encoder(batch.x), batch.edge_index)
        return self.head(global_mean_pool(h, batch.batch, batch.num_graphs))


def network(task: Any, layers: int, edges: bool, width: int = WIDTH, **more: Any) -> nn.OSAN:
    """A DS-GNN."""
    options: dict[str, Any] = {"conv": "gin"}
    if edges:
        features = described(task.edge_features)
        options = {"conv": "gine", "edge_encoder": partial(EdgeMLP, features, width)}
    vertices = encoder(described(task.vertex_features), width)
    return nn.ds_network(width, layers, 1, vertex_encoder=vertices, **options, **more)


def in_turns(sides: Sequence[Callable[[int], None]], rounds: int) -> list[list[float]]:
    """Processor times of each side, batch by batch."""
    times: list[list[float]] = [[] for _ in sides]
    for number in range(-2, rounds):
        for side, spent in zip(sides, times, strict=True):
            start = time.process_time()
            side(max(number, 0))
            if number >= 0:
                spent.append(time.process_time() - start)
    return times


def ratio(above: list[float], below: list[float]) -> float:
    """The median of the quotients."""
    return statistics.median(a / b for a, b in zip(above, below, strict=True))


def steps(rounds: int, only: str) -> None:
    """Training steps and inference, shared against not, and against plain networks."""
    words = ("ms", "off, ms", "off / it", "/ plain", "/ PyG", "ESAN / it")
    print(f"{'':16}{'':11}{'':9}" + "".join(f"{word:>10}" for word in words))
    for name, dataset, size, layers, m, edges in RUNS:
        if only not in name:
            continue
        task = data.load(dataset)
        graphs = task.train[:1000] if len(task.train) > 1000 else task.train
        order = torch.randperm(len(graphs), generator=torch.Generator().manual_seed(0)).split(size)
        batches = [graphs.batch(part) for part in order if len(part) == size]
        make = deletions(m)
        for training in (True, False):
            torch.manual_seed(0)
            shared, unshared = network(task, layers, edges), network(task, layers, edges)
            plain, pyg = network(task, layers, edges), Plain(described(task.vertex_features), layers)
            nn.set_sharing(unshared, "off")
            nn.set_sharing(plain, "off")
            sides = [
                _side(plain, batches, bags.whole_graphs, training),
                _side(pyg, batches, None, training),
                _side(unshared, batches, make, training),
                _side(shared, batches, make, training),
            ]
            if m is None:
                # The same with the classes of the dataset known, as in a run of many epochs.
                cached = nn.FixedBags(make, network(task, layers, edges))
                reason = nn.remember(cached, graphs)
                assert reason is None, reason
                sides.append(_side(cached, batches, None, training))
            base, other, off, *ours = in_turns(sides, rounds)
            for what, one in zip(("shared", "cached"), ours, strict=False):
                saved = ratio(off, one)
                esan = f"{ESAN * saved:10.1f}" if name == "zinc all, GIN" and training else ""
                numbers = (1e3 * statistics.median(one), 1e3 * statistics.median(off), saved)
                print(
                    f"{name:16}{'training' if training else 'inference':11}{what:9}"
                    + "".join(f"{value:10.2f}" for value in (*numbers, ratio(one, base), ratio(one, other)))
                    + esan,
                    flush=True,
                )


def _side(
    model: torch.nn.Module, batches: Sequence[Any], make: MakeBag | None, training: bool
) -> Callable[[int], None]:
    adam = torch.optim.Adam(model.parameters(), fused=True)
    model.train(training)

    def run(number: int) -> None:
        batch = batches[number % len(batches)]
        torch.default_generator.manual_seed(number)  # torch.manual_seed takes a millisecond
        with torch.set_grad_enabled(training):
            out = model(batch) if make is None else model(batch, make(batch))
            out = out.prediction if isinstance(out, nn.Output) else out
        if training:
            loss = (out - batch.y[:, :1]).square().mean()
            loss.backward()
            adam.step()
            adam.zero_grad()

    return run


def learned(rounds: int, only: str) -> None:
    """Training steps with I-MLE, whose copies have gradients of their own: wider and narrower layers."""
    print(f"{'I-MLE':16}{'width':>7}{'ms':>9}{'off, ms':>9}{'off / it':>10}")
    for name, dataset, size, layers, m, edges in RUNS:
        for width in (128, 256) if m == 3 and only in name else ():
            task = data.load(dataset)
            batches = [task.train.batch(part) for part in torch.arange(size * 4).split(size)]
            features, sides = described(task.vertex_features), []
            for sharing in ("auto", "off"):
                torch.manual_seed(0)
                upstream = nn.Upstream(3, WIDTH, vertex_encoder=encoder(features, WIDTH))
                model = nn.DataDrivenOSAN(
                    upstream, network(task, layers, edges, width=width), "delete 1 vertex x 3"
                )
                nn.set_sharing(model, sharing)
                sides.append(_side(model, batches, None, True))
            one, off = in_turns(sides, rounds)
            here, there = (1e3 * statistics.median(each) for each in (one, off))
            print(f"{name:16}{width:7}{here:9.1f}{there:9.1f}{ratio(off, one):10.2f}", flush=True)


def samples(rounds: int, only: str) -> None:
    """Evaluation of a random policy with five samples."""
    print(f"{'five samples':16}{'shared':>8}{'off':>8}{'off/shared':>12}")
    for name, dataset, size, layers, m, edges in RUNS:
        if m != 3 or only not in name:
            continue
        task = data.load(dataset)
        batches = [task.train.batch(part) for part in torch.arange(size * 8).split(size)]
        sides = []
        for sharing in ("auto", "off"):
            torch.manual_seed(0)
            model = nn.DataDrivenOSAN(
                None, network(task, layers, edges), "delete 1 vertex x 3", estimator="random", samples=5
            )
            nn.set_sharing(model, sharing)
            sides.append(_evaluated(model.eval(), batches))
        one, off = in_turns(sides, rounds)
        print(
            f"{name:16}{1e3 * statistics.median(one):8.1f}{1e3 * statistics.median(off):8.1f}"
            f"{ratio(off, one):12.2f}",
            flush=True,
        )


def _evaluated(model: torch.nn.Module, batches: Sequence[Any]) -> Callable[[int], None]:
    def run(number: int) -> None:
        with torch.inference_mode():
            model(batches[number % len(batches)])

    return run


def memory() -> None:
    """Peak memory of training on ZINC with all subgraphs, each way in a process of its own."""
    for sharing in ("none", "auto", "off"):
        done = subprocess.run(
            [sys.executable, __file__, "peak", "--sharing", sharing],
            capture_output=True,
            text=True,
            check=True,
        )
        what = "imports and data" if sharing == "none" else f"sharing {sharing}"
        print(f"peak memory, {what}: {done.stdout.strip()} MB", flush=True)


def peak(sharing: str) -> None:
    """Train for some steps and print the peak."""
    task = data.load("zinc")
    if sharing != "none":
        model = network(task, LAYERS, False)
        nn.set_sharing(model, "off" if sharing == "off" else "auto")
        batches = [task.train.batch(part) for part in torch.arange(640).split(128)]
        run = _side(model, batches, deletions(None), True)
        for number in range(8):
            run(number)
    # Not ru_maxrss: a new process inherits that of the one that started it.
    status = Path("/proc/self/status").read_text()
    print(round(int(status.split("VmHWM:")[1].split()[0]) * 1024 / 1e6))


def rows() -> None:
    """The share of rows that are left after each layer."""
    kinds: list[tuple[str, MakeBag]] = [
        ("the graph itself", bags.whole_graphs),
        ("delete 1 vertex x 3", deletions(3)),
        ("delete 1 vertex x 10", deletions(10)),
        ("delete 1 vertex, all", deletions(None)),
        ("mark 1 vertex, all", partial(bags.all_subsets, k=1, operation="mark")),
        ("2-ego, all", partial(bags.all_egos, hops=2)),
    ]
    print(f"{'':14}{'':22}{'copies':>8}   rows left after each layer; in all")
    for dataset, size in (("zinc", 128), ("ogbg-molesol", 32), ("exp", 32), ("proteins", 32)):
        task = data.load(dataset)
        batch = task.train.batch(torch.arange(size))
        for name, make in kinds:
            torch.manual_seed(0)
            bag = make(batch)
            classes = bags.share(batch, bag, LAYERS)
            assert classes is not None
            left = [count / bag.num_copies for count in classes.num_rows]
            print(
                f"{dataset:14}{name:22}{bag.num_copies:8}   "
                + " ".join(f"{share:.2f}" for share in left)
                + f"; 1 / {1 / statistics.mean(left):.1f}",
                flush=True,
            )


def main() -> None:
    """Run the parts that were asked for."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", default=["steps", "learned", "samples", "memory", "rows"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=14)
    parser.add_argument("--only", default="")
    parser.add_argument("--sharing", default="auto")
    given = parser.parse_args()
    torch.set_num_threads(given.threads)
    keep_freed_memory()
    for part in given.parts:
        if part in ("steps", "learned", "samples"):
            {"steps": steps, "learned": learned, "samples": samples}[part](given.rounds, given.only)
        elif part == "peak":
            peak(given.sharing)
        else:
            {"memory": memory, "rows": rows}[part]()


if __name__ == "__main__":
    main()
