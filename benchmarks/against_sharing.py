"""Training steps and evaluations against a version of this package without sharing, in one run.

Needs ``OSAN_DATA``:

    python benchmarks/against_sharing.py /path/to/other/src [--rounds 16] [--only exp]

Each version runs in a process of its own with one thread; the two take turns, batch by batch. Times are
processor times; ``faster`` is the median over batches of the other's time divided by this version's, and
``least`` the ratio of the shortest. Width 64, 4 layers (EXP: 6), batches of 128 (ZINC) and 32 graphs, as in
``benchmarks/sharing.py``: "training" is bag, forward, backward and Adam for three random vertex-deleted
subgraphs, "samples" the evaluation of five samples of three.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

from against import HERE, Worker, answer

WARM = 3
# Name, dataset, batch size, layers, and whether the network looks at edges.
RUNS = {
    "exp x 3": ("exp", 32, 6, False),
    "zinc x 3": ("zinc", 128, 4, True),
    "molesol x 3": ("ogbg-molesol", 32, 4, True),
}


def work() -> None:
    """Answer each line, a run and a kind, and then each line \"step\" by the seconds of a step."""
    import torch

    from osan import bags, data, nn
    from osan.nn.encoders import EdgeMLP, encoder
    from osan.training.downstream import described
    from osan.training.memory import keep_freed_memory

    torch.set_num_threads(1)
    keep_freed_memory()
    for line in sys.stdin:
        name, kind = line.strip().split(":")
        dataset, size, layers, edges = RUNS[name]
        task = data.load(dataset)
        batches = [task.train.batch(part) for part in torch.arange(size * 8).split(size)]
        options: dict[str, Any] = {"conv": "gin"}
        if edges:
            features = described(task.edge_features)
            options = {"conv": "gine", "edge_encoder": partial(EdgeMLP, features, 64)}
        torch.manual_seed(0)
        vertices = encoder(described(task.vertex_features), 64)
        model: Any = nn.ds_network(64, layers, 1, vertex_encoder=vertices, **options)
        if kind == "samples":
            given = {"estimator": "random", "samples": 5}
            model = nn.DataDrivenOSAN(None, model, "delete 1 vertex x 3", **given).eval()
        adam = torch.optim.Adam(model.parameters(), fused=True)
        answer("ready")
        for number, word in enumerate(iter(sys.stdin.readline, "stop\n")):
            assert word == "step\n"
            batch = batches[number % len(batches)]
            torch.manual_seed(number)
            start = time.process_time()
            if kind == "samples":
                with torch.inference_mode():
                    model(batch)
            else:
                out = model(batch, bags.random_subsets(batch, 1, 3))
                (out - batch.y[:, :1]).square().mean().backward()
                adam.step()
                adam.zero_grad()
            answer(time.process_time() - start)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="the folder src of the other version")
    parser.add_argument("--rounds", type=int, default=16)
    parser.add_argument("--only", default="", help="only runs whose name contains this")
    given = parser.parse_args()
    if given.other is None:
        print("nothing to compare with: give the folder src of another version")
        return
    sides = [Worker(HERE, __file__), Worker(given.other.resolve(), __file__)]
    print(f"{'':14}{'':10}{'this ms':>9}{'other ms':>10}{'faster':>8}{'least':>8}", flush=True)
    for name in RUNS:
        for kind in ("training", "samples"):
            if given.only not in name:
                continue
            times: list[list[float]] = [[], []]
            for side in sides:
                side.ask(f"{name}:{kind}")
            for step in range(WARM + given.rounds):
                for i in (0, 1) if step % 2 else (1, 0):
                    times[i].append(sides[i].ask("step"))
            for side in sides:
                side.tell("stop")
            mine, theirs = (each[WARM:] for each in times)
            faster = statistics.median(b / a for a, b in zip(mine, theirs, strict=True))
            here, there = (1e3 * statistics.median(each) for each in (mine, theirs))
            least = min(theirs) / min(mine)
            print(f"{name:14}{kind:10}{here:9.1f}{there:10.1f}{faster:8.2f}{least:8.2f}", flush=True)
    for side in sides:
        assert side.process.stdin is not None
        side.process.stdin.close()
        side.process.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        main()
