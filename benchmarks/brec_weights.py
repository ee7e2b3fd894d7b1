"""Depth and the size of weights on BREC: how far apart a pair is, and how large rounding errors are.

    python benchmarks/brec_weights.py [--pair 360]
    python benchmarks/brec_weights.py --model 2-osan [--pair 275]

A network with random weights, in float64. Prints the distance of the two graphs and of two numberings of the
first graph, relative to the size of the embedding: of an edge-deleted DS-GNN (seed 0) for each number of
layers and each divisor of the weights of neighbors, and of a 2-OSAN (as `osan brec` draws it) for each gain
of its weights. Needs $OSAN_DATA.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import torch

from osan import nn
from osan.data import brec
from osan.experiments.brec.models import GAIN, LAYERS, WIDTH, embeddings, spread_weights
from osan.experiments.brec.protocol import as_batch
from osan.graphs import Pair

SMOOTH: dict[str, Any] = {"norm": False, "activation": torch.sin}


def distances(pair: Pair, model: torch.nn.Module) -> str:
    """How far the two graphs, and two numberings of the first one, are apart, as two cells."""
    again = pair.a.permuted(np.random.default_rng(0).permutation(pair.a.num_vertices))
    model.eval()
    with torch.no_grad():
        one, other, same = (embeddings(model, as_batch([graph])) for graph in (pair.a, pair.b, again))
    return " | ".join(f"{float((one - rows).norm() / one.norm()):.0e}" for rows in (other, same))


def edge_deleted(pair: Pair, summands: float) -> None:
    print("| layers | weights divided by | gain | two graphs | two numberings |")
    print("| --- | --- | --- | --- | --- |")
    for gain in (GAIN["sum"], 3.0):
        for divided in (summands**3 / 36, summands):
            for layers in (12, 6):
                torch.manual_seed(0)
                encoder = nn.Numerical(1, WIDTH)
                options = {"vertex_encoder": encoder, "readout": "sum", "sagg": "mean", **SMOOTH}
                model = nn.ds_gnn(WIDTH, layers, 2, policy="edge-deleted", **options)
                spread_weights(model, divided, gain)
                print(f"| {layers} | {divided**0.5:.1f} | {gain} | {distances(pair, model)} |", flush=True)


def two_marks(pair: Pair, summands: float, number: int) -> None:
    print("| pair | vertices | degree | gain | two graphs | two numberings |")
    print("| --- | --- | --- | --- | --- | --- |")
    for gain in (GAIN["mean"], GAIN["sum"], 2.0):
        torch.manual_seed(number)
        options = {"vertex_encoder": nn.Numerical(1, WIDTH), "readout": "mean", "sagg": "mean", **SMOOTH}
        model = nn.k_osan(WIDTH, LAYERS, 2, k=2, aggregation="per-vertex", **options)
        spread_weights(model, summands, gain)
        cells = (number, pair.a.num_vertices, f"{summands - 1:.1f}", gain, distances(pair, model))
        print(f"| {' | '.join(map(str, cells))} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--model", choices=("ds-edge-deleted", "2-osan"), default="ds-edge-deleted")
    parser.add_argument("--pair", type=int, help="360 by default, or 275 for 2-osan")
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    two = given.model == "2-osan"
    number = given.pair if given.pair is not None else 275 if two else 360
    pair = brec()[number]
    summands = 1 + 2 * pair.a.num_edges / pair.a.num_vertices
    if two:
        two_marks(pair, summands, number)
    else:
        edge_deleted(pair, summands)


if __name__ == "__main__":
    main()
