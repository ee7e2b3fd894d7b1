"""Speed of the Weisfeiler-Leman tests, as ratios and against fixed budgets.

python benchmarks/weisfeiler_leman.py            # 1-WL against networkx; BREC if OSAN_DATA is set
python benchmarks/weisfeiler_leman.py --two-oswl # also 2-OSWL on all of BREC (minutes)
"""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path

import networkx as nx
import numpy as np

from osan import wl
from osan.graphs import Graph, read_pairs, to_networkx
from osan.wl import WLTest


def seconds(function, *arguments, **keywords) -> tuple[float, object]:
    start = time.perf_counter()
    value = function(*arguments, **keywords)
    return time.perf_counter() - start, value


def against_networkx(vertices: int, edges: int, repeats: int) -> None:
    """1-WL to stability against as many iterations of networkx's hash, alternating the two."""
    rng = np.random.default_rng(0)
    pairs = np.unique(np.sort(rng.integers(0, vertices, (edges + edges // 50, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    pairs = pairs[rng.permutation(len(pairs))[:edges]]
    graph = Graph(vertices, pairs)
    reference = to_networkx(graph)
    compilation, _ = seconds(wl.refine, [Graph(20_000, pairs[(pairs < 20_000).all(axis=1)])])
    print(f"compilation (or loading it from disk) and a first small run: {compilation:.1f} s, not counted")
    ours, theirs = [], []
    for _ in range(repeats):
        time_ours, coloring = seconds(wl.refine, [graph])
        # One more round than it took shows that the coloring is stable; networkx gets as many.
        rounds = coloring.rounds + 1
        time_theirs, _ = seconds(nx.weisfeiler_lehman_graph_hash, reference, iterations=rounds)
        ours.append(time_ours)
        theirs.append(time_theirs)
    ratio = np.median(theirs) / np.median(ours)
    print(
        f"1-WL, {vertices} vertices, {len(pairs)} edges, {rounds} rounds: osan {np.median(ours):.2f} s, "
        f"networkx {np.median(theirs):.2f} s, ratio {ratio:.0f} (bar: 50)"
    )


def brec(two_oswl: bool) -> None:
    """All 400 pairs of BREC."""
    root = os.environ.get("OSAN_DATA")
    if not root:
        print("BREC: set OSAN_DATA to time it")
        return
    pairs = read_pairs(Path(root) / "BREC" / "brec_pairs.tsv.gz")
    tests = [WLTest("wl"), WLTest("vs-oswl", 1), WLTest("oswl", 1), WLTest("wl", 2)]
    for test in tests:
        wl.distinguishes(pairs[0].a, pairs[0].b, test)
    total = 0.0
    for test in tests:
        took, separated = seconds(lambda test=test: sum(wl.distinguishes(p.a, p.b, test) for p in pairs))
        total += took
        print(f"BREC, {test}: {separated} of {len(pairs)} pairs, {took:.1f} s")
    print(f"BREC, these four together: {total:.1f} s (bar: 60 s)")
    if two_oswl:
        took, separated = seconds(lambda: sum(wl.distinguishes(p.a, p.b, "oswl", k=2) for p in pairs))
        print(f"BREC, 2-OSWL: {separated} of {len(pairs)} pairs, {took:.0f} s (bar: 600 s)")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--two-oswl", action="store_true")
    parser.add_argument("--vertices", type=int, default=200_000)
    parser.add_argument("--edges", type=int, default=1_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    given = parser.parse_args()
    against_networkx(given.vertices, given.edges, given.repeats)
    brec(given.two_oswl)
