"""Depth and the size of weights on BREC: how far apart a pair is, and how large rounding errors are.

    python benchmarks/brec_weights.py [--pair 360]

An edge-deleted DS-GNN with random weights, in float64, seed 0. For each number of layers and each divisor of
the weights of neighbors, prints the distance of the two graphs and of two numberings of the first graph,
relative to the size of the embedding. Needs $OSAN_DATA.
"""

from __future__ import annotations

import argparse

import numpy as np
import torch

from osan import nn
from osan.data import brec
from osan.experiments.brec.models import GAIN, WIDTH, embeddings, spread_weights
from osan.experiments.brec.protocol import as_batch
from osan.graphs import Pair


def distances(pair: Pair, layers: int, summands: float, gain: float) -> tuple[float, float]:
    """How far the two graphs, and two numberings of the first one, are apart."""
    torch.manual_seed(0)
    encoder = nn.Numerical(1, WIDTH)
    options = {"norm": False, "activation": torch.sin, "readout": "sum", "sagg": "mean"}
    model = nn.ds_gnn(WIDTH, layers, 2, policy="edge-deleted", vertex_encoder=encoder, **options)
    spread_weights(model, summands, gain)
    again = pair.a.permuted(np.random.default_rng(0).permutation(pair.a.num_vertices))
    with torch.no_grad():
        one, other, same = (embeddings(model, as_batch([graph])) for graph in (pair.a, pair.b, again))
    size = one.norm()
    return float((one - other).norm() / size), float((one - same).norm() / size)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pair", type=int, default=360)
    given = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    pair = brec()[given.pair]
    summands = 1 + 2 * pair.a.num_edges / pair.a.num_vertices
    print("| layers | weights divided by | gain | two graphs | two numberings |")
    print("| --- | --- | --- | --- | --- |")
    for gain in (GAIN["sum"], 3.0):
        for divided in (summands**3 / 36, summands):
            for layers in (12, 6):
                apart, rounding = distances(pair, layers, divided, gain)
                print(
                    f"| {layers} | {divided**0.5:.1f} | {gain} | {apart:.0e} | {rounding:.0e} |", flush=True
                )


if __name__ == "__main__":
    main()
