"""1-WL on large graphs: O((n + m) log n), beside networkx, python-igraph (BLISS) and pynauty where installed.

    python benchmarks/refinement_scale.py [--large]
    python benchmarks/refinement_scale.py --threads

Processor times in seconds, of one thread. The others do other work: networkx hashes as many rounds as it
takes to be stable (at most ten), BLISS and nauty compute canonical forms, which begin with the same
refinement and answer more. ``--large`` adds graphs with 10^7 edges, on which only osan is timed.

``--threads`` compares one and two threads on these graphs, in turn. It prints the processor time of the main
thread, which is the time that the work takes where each thread has a core (threads sleep while they wait),
and the shortest times by the clock, which on a busy machine say more about the machine.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from typing import Any

os.environ["NUMBA_NUM_THREADS"] = "2" if "--threads" in sys.argv else "1"
os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import networkx as nx
import numpy as np

from osan import wl
from osan.compiled import one_thread
from osan.graphs import Graph, from_networkx, to_networkx

Edges = np.ndarray


def path(n: int) -> Graph:
    return Graph(n, np.stack([np.arange(n - 1), np.arange(1, n)], axis=1))


def grid(n: int) -> Graph:
    side = round(n**0.5)
    place = np.arange(side * side).reshape(side, side)
    rows = np.stack([place[:, :-1].ravel(), place[:, 1:].ravel()], axis=1)
    columns = np.stack([place[:-1].ravel(), place[1:].ravel()], axis=1)
    return Graph(side * side, np.concatenate([rows, columns]))


def tree(n: int) -> Graph:
    parents = (np.random.default_rng(0).random(n - 1) * np.arange(1, n)).astype(np.int64)
    return Graph(n, np.stack([np.arange(1, n), parents], axis=1))


def random(n: int, degree: int = 20) -> Graph:
    edges = np.sort(np.random.default_rng(0).integers(0, n, (n * degree // 2, 2)), axis=1)
    numbers = np.unique(edges[edges[:, 0] != edges[:, 1]] @ (n, 1))
    return Graph(n, np.stack(np.divmod(numbers, n), axis=1))


def regular(n: int, degree: int = 20) -> Graph:
    """A circulant graph with its vertices renamed at random."""
    names = np.random.default_rng(0).permutation(n)
    steps = [np.stack([names, names[(np.arange(n) + s) % n]], axis=1) for s in range(1, degree // 2 + 1)]
    return Graph(n, np.concatenate(steps))


def almost_regular(n: int, degree: int = 20) -> Graph:
    """A circulant graph without one edge: the colors spread from it, round by round."""
    whole = regular(n, degree)
    return Graph(n, whole.edges[1:])


def seconds(function: Callable[..., Any], *arguments: Any) -> tuple[float, Any]:
    start = time.process_time()
    value = function(*arguments)
    return time.process_time() - start, value


def others(graph: Graph, rounds: int) -> dict[str, float]:
    """What others take on this graph, without the conversion to their types."""
    taken = {}
    reference = to_networkx(graph)
    iterations = min(10, rounds + 1)
    name = f"networkx, {iterations} rounds"
    taken[name], _ = seconds(lambda: nx.weisfeiler_lehman_graph_hash(reference, iterations=iterations))
    try:
        import igraph

        theirs = igraph.Graph(n=graph.num_vertices, edges=graph.edges)
        taken["BLISS"], _ = seconds(lambda: theirs.canonical_permutation())
    except ImportError:
        pass
    try:
        import pynauty

        if graph.num_vertices <= 5_000:  # sets of neighbors as bits: quadratic memory and more time
            adjacency = {v: list(reference[v]) for v in reference}
            dense = pynauty.Graph(graph.num_vertices, adjacency_dict=adjacency)
            taken["nauty"], _ = seconds(lambda: pynauty.certificate(dense))
    except ImportError:
        pass
    return taken


def with_threads(repeats: int = 5) -> None:
    """Print the times of one and of two threads, in turn, and whether the colors are the same bits."""
    wl.refine([random(50_000)])
    with one_thread():
        wl.refine([random(50_000)])
    print("| graph | main thread, one | main thread, two | ratio | clock, one | clock, two | ratio | same |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for make in (random, regular, almost_regular):
        graph = make(10**6)
        best = {True: (float("inf"),) * 2, False: (float("inf"),) * 2}
        colors = {}
        for _ in range(repeats):
            for alone in (True, False):
                own, clock = time.thread_time(), time.perf_counter()
                with one_thread(alone):
                    colors[alone] = wl.refine([graph]).colors[0]
                taken = time.thread_time() - own, time.perf_counter() - clock
                best[alone] = tuple(map(min, best[alone], taken))
        same = bool((colors[True] == colors[False]).all())
        (own, clock), (own_two, clock_two) = best[True], best[False]
        cells = (own, own_two, own / own_two, clock, clock_two, clock / clock_two)
        print(f"| {make.__name__} | {' | '.join(f'{cell:.2f}' for cell in cells)} | {same} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--large", action="store_true")
    parser.add_argument("--threads", action="store_true")
    given = parser.parse_args()
    if given.threads:
        return with_threads()
    for compiled in (path(10_000), grid(10_000)):
        wl.refine([compiled])
    print("| graph | vertices | edges | rounds | osan | others |")
    print("| --- | --- | --- | --- | --- | --- |")
    rows: list[tuple[str, Graph, bool]] = []
    for n in (1_000, 10_000, 100_000, 1_000_000):
        with_others = n <= 100_000
        rows += [(make.__name__, make(n), with_others) for make in (path, grid, tree)]
    rows += [("random", random(50_000), True), ("regular", regular(5_000), True)]
    if given.large:
        rows += [(make.__name__, make(10**6), False) for make in (random, regular, almost_regular)]
    for name, graph, with_others in rows:
        ours, coloring = seconds(wl.refine, [graph])
        taken = others(graph, coloring.rounds) if with_others else {}
        told = ", ".join(f"{other} {value:.2f}" for other, value in taken.items())
        cells = (name, graph.num_vertices, graph.num_edges, coloring.rounds, f"{ours:.2f}", told)
        print(f"| {' | '.join(map(str, cells))} |", flush=True)
    reference = nx.gnm_random_graph(200_000, 1_000_000, seed=0)
    took, _ = seconds(from_networkx, reference)
    print(f"\nfrom_networkx, 1,000,000 edges: {took:.2f} s")


if __name__ == "__main__":
    main()
