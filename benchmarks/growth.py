"""How time and memory of a training step grow with the size n of a graph and the number m of subgraphs.

    python benchmarks/growth.py [--most 100000] [--repeats 3]

One sparse random graph (mean degree 4), random subgraphs that miss one vertex, four GIN layers of width 64,
one thread. First n = 10^2 ... 10^5 with m = 3, then m = 1 ... 100 with n = 1,000; without exact sharing
(``osan.nn.set_sharing``) and with it. A step is bag, forward, backward and Adam; times are the least
processor times of a few steps after one that warms up. ``MB`` is the largest size of the process in a step,
less its size before; each figure comes from a process of its own. The exponent b of time ~ n^b is fitted by
least squares of logarithms: over all rows, and over the last three, where fixed costs matter less.
"""

from __future__ import annotations

import argparse
import json
import math
import resource
import subprocess
import sys
import time

SIZES = [(10**2, 3), (10**3, 3), (10**4, 3), (10**5, 3)]
NUMBERS = [(1000, 1), (1000, 3), (1000, 10), (1000, 30), (1000, 100)]


def measured(n: int, m: int, sharing: str, repeats: int) -> dict[str, float]:
    """Seconds, bytes and copies of a step."""
    import torch
    from torch_geometric.data import Data

    from osan import bags, nn
    from osan.training.memory import keep_freed_memory

    torch.set_num_threads(1)
    keep_freed_memory()
    torch.manual_seed(0)
    half = torch.randint(n, (2, 2 * n))
    graph = Data(num_nodes=n, x=torch.randn(n, 8), edge_index=torch.cat([half, half.flip(0)], 1))
    # A first step on a small graph brings in code and libraries, which are no part of the growth.
    small = Data(num_nodes=3, x=torch.randn(3, 8), edge_index=torch.tensor([[0, 1], [1, 0]]))
    network = nn.osan(64, 4, 1, vertex_encoder=torch.nn.Linear(8, 64))
    nn.set_sharing(network, sharing)
    optimizer = torch.optim.Adam(network.parameters(), lr=1e-3, fused=True)

    def step(batch: Data) -> int:
        optimizer.zero_grad()
        bag = bags.random_subsets(batch, 1, m)
        network(batch, bag).square().mean().backward()
        optimizer.step()
        return bag.num_copies

    step(small)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    copies = step(graph)
    seconds = math.inf
    for _ in range(repeats):
        start = time.process_time()
        step(graph)
        seconds = min(seconds, time.process_time() - start)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": seconds, "bytes": 1024.0 * (after - before), "copies": copies}


def apart(n: int, m: int, sharing: str, repeats: int) -> dict[str, float]:
    """The same in a new process."""
    command = [sys.executable, __file__, "--row", str(n), str(m), sharing, "--repeats", str(repeats)]
    out = subprocess.run(command, capture_output=True, text=True)
    if out.returncode:
        raise SystemExit(out.stderr)
    return json.loads(out.stdout.splitlines()[-1])


def exponent(sizes: list[float], values: list[float]) -> float:
    """The slope of the line through the logarithms with the least squares."""
    x, y = [math.log(s) for s in sizes], [math.log(max(v, 1e-9)) for v in values]
    mean_x, mean_y = sum(x) / len(x), sum(y) / len(y)
    up = sum((a - mean_x) * (b - mean_y) for a, b in zip(x, y, strict=True))
    return up / sum((a - mean_x) ** 2 for a in x)


def table(name: str, pairs: list[tuple[int, int]], repeats: int) -> None:
    """Rows for pairs of n and m, and the exponents in what differs between them."""
    rows: dict[str, list[dict[str, float]]] = {"off": [], "auto": []}
    print(f"{'':22} |       each copy on its own      |    shared")
    print(
        f"{'n':>7} {'m':>4} {'copies':>9} | {'step ms':>9} {'us per copy':>12} {'MB':>8} | "
        f"{'step ms':>9} {'MB':>8}",
        flush=True,
    )
    for n, m in pairs:
        for sharing, mine in rows.items():
            mine.append(apart(n, m, sharing, repeats))
        plain, shared = (mine[-1] for mine in rows.values())
        print(
            f"{n:7} {m:4} {plain['copies']:9.0f} | {1e3 * plain['seconds']:9.2f} "
            f"{1e6 * plain['seconds'] / plain['copies']:12.2f} {plain['bytes'] / 1e6:8.1f} | "
            f"{1e3 * shared['seconds']:9.2f} {shared['bytes'] / 1e6:8.1f}",
            flush=True,
        )
    x = [float(n if name == "n" else m) for n, m in pairs]
    for sharing, label in (("off", "each copy on its own"), ("auto", "shared")):
        for what in ("seconds", "bytes"):
            y = [row[what] for row in rows[sharing]]
            last = exponent(x[-3:], y[-3:])
            print(f"exponent of {what} in {name}, {label}: {exponent(x, y):.2f}, last three {last:.2f}")


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--most", type=int, default=10**5, help="the largest n")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--row", nargs=3, help="one figure, as JSON: n, m and 'auto' or 'off'")
    given = parser.parse_args()
    if given.row:
        n, m, sharing = given.row
        print(json.dumps(measured(int(n), int(m), sharing, given.repeats)))
        return
    table("n", [pair for pair in SIZES if pair[0] <= given.most], given.repeats)
    print()
    table("m", NUMBERS, given.repeats)


if __name__ == "__main__":
    main()
