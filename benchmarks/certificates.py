"""Certificates of whole corpora, verified by the checker of the tests, which runs no refinement.

    python benchmarks/certificates.py [--only BREC,SR25] [--every 10]

For each pair of a corpus, `osan.wl.explain` says why a test separates it, and `tests/wl/checker.py` counts by
the definitions, in plain Python, what the certificate claims. Prints for each corpus and test the pairs, how
many are separated, how many certificates were verified, and processor time. BREC and SR25 need $OSAN_DATA.
``--every 10`` takes each tenth pair only.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import combinations
from pathlib import Path

os.environ.setdefault("NUMBA_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "wl"))

import networkx as nx
import numpy as np
from checker import holds

from osan.data import twisted_pairs
from osan.graphs import Graph, cfi_pair, from_networkx, read_graphs, read_pairs
from osan.wl import WLTest, distinguishes, explain

Two = tuple[Graph, Graph]


def _data() -> Path:
    if "OSAN_DATA" not in os.environ:
        sys.exit("OSAN_DATA: expected the folder of the datasets, got nothing; or use --only CFI,random")
    return Path(os.environ["OSAN_DATA"])


def brec() -> Iterator[Two]:
    return ((pair.a, pair.b) for pair in read_pairs(_data() / "BREC" / "brec_pairs.tsv.gz"))


def sr25() -> Iterable[Two]:
    return combinations(read_graphs(_data() / "SR" / "sr251256.g6"), 2)


def cfi() -> Iterator[Two]:
    """G_2, H_2 and pairs over random base graphs with feedback vertex number 1, with and without colors."""
    for colors in (True, False):
        yield cfi_pair(2, colors=colors)
    for pair in twisted_pairs(1, 30, seed=0):
        yield pair.a, pair.b
        yield Graph(pair.a.num_vertices, pair.a.edges), Graph(pair.b.num_vertices, pair.b.edges)


def random() -> Iterator[Two]:
    """Pairs with equally many vertices and edges: any graphs, and 3-regular ones."""
    rng = np.random.default_rng(0)
    for _ in range(300):
        n = int(rng.integers(3, 8))
        m = int(rng.integers(1, n * (n - 1) // 2 + 1))
        g, h = (from_networkx(nx.gnm_random_graph(n, m, seed=int(rng.integers(2**31)))) for _ in range(2))
        yield g, h
    for _ in range(200):
        n = 2 * int(rng.integers(3, 7))
        g, h = (from_networkx(nx.random_regular_graph(3, n, seed=int(rng.integers(2**31)))) for _ in range(2))
        yield g, h


CORPORA: dict[str, tuple[Callable[[], Iterable[Two]], list[WLTest]]] = {
    "random": (random, [WLTest("wl"), WLTest("wl", 2), WLTest("oswl"), WLTest("vs-oswl"), WLTest("sswl")]),
    "CFI": (cfi, [WLTest("wl", 2), WLTest("oswl"), WLTest("vs-oswl"), WLTest("gswl"), WLTest("sswl")]),
    "BREC": (brec, [WLTest("vs-oswl"), WLTest("oswl")]),
    "SR25": (sr25, [WLTest("vs-oswl", 2, ordered=False)]),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(CORPORA))
    parser.add_argument("--every", type=int, default=1)
    given = parser.parse_args()
    print("| corpus | test | pairs | separated | verified | seconds |")
    print("| --- | --- | --- | --- | --- | --- |")
    wrong = 0
    for name in given.only.split(","):
        make, tests = CORPORA[name]
        pairs = list(make())[:: given.every]
        for test in tests:
            start = time.process_time()
            separated = [pair for pair in pairs if distinguishes(*pair, test)]
            verified = sum(holds(explain(*pair, test), *pair) for pair in separated)
            wrong += len(separated) - verified
            took = time.process_time() - start
            cells = (name, test, len(pairs), len(separated), verified, f"{took:.0f}")
            print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if wrong:
        sys.exit(f"{wrong} certificates do not hold")


if __name__ == "__main__":
    main()
