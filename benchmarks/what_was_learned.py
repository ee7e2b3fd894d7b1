"""Which vertices trained runs choose, and whether independently trained runs choose the same ones.

    python benchmarks/what_was_learned.py [RUN ...]

Each RUN is the folder of a finished run that learns which vertices to choose; all have the same data. Without
any, two runs of 20 epochs are trained on ogbg-molesol. For the choices without noise on the validation split
it prints

- the share of chosen vertices that are on a cycle, and their mean degree, beside those of all vertices; if
  the choice is soft, also with each vertex counted by its part;
- kinds of vertices (first feature) that are chosen more, or less, often than they occur;
- the agreement with the most and the least central vertices, and between each two runs: the share of vertices
  of one choice that are in the other, beside what random choices would have.
"""

from __future__ import annotations

import argparse
import tempfile
from itertools import combinations
from pathlib import Path

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data
from torch_geometric.utils import degree

from osan.data import FlatDataset, FlatLoader
from osan.experiments import settings_named
from osan.nn import CentralityWeigher, DataDrivenOSAN
from osan.training import load_model, train
from osan.training.evaluation import evaluating
from osan.training.tasks import load_task


class Outer(CentralityWeigher):
    """The less central, the larger the weight."""

    def forward(self, batch: Data, so_far: Tensor | None = None) -> Tensor:
        return -super().forward(batch, so_far)


def chosen(  # type: ignore[no-untyped-def]
    learner, graphs: FlatDataset, weigher: type[CentralityWeigher] | None = None
) -> Tensor:
    """The largest part of each vertex in any subgraph, shape ``[vertices]``: as learned, or by a rule."""
    model: DataDrivenOSAN = learner.model
    own, found = model.upstream, []
    model.upstream = own if weigher is None else weigher(columns=model.policy.columns)
    with evaluating(learner, 1, None):
        found = [model.explain(batch, 1).frequency.amax(1) for batch in FlatLoader(graphs, 200)]
    model.upstream = own
    return torch.cat(found)


def on_cycle(batch: Data) -> Tensor:
    """Whether each vertex is on a cycle: whether it has an edge that is no bridge."""
    graph = nx.Graph(batch.edge_index.t().tolist())
    bridges = {frozenset(edge) for edge in nx.bridges(graph)}
    out = torch.zeros(batch.num_nodes, dtype=torch.bool)
    for u, v in graph.edges:
        if u != v and frozenset((u, v)) not in bridges:
            out[[u, v]] = True
    return out


def overlap(a: Tensor, b: Tensor, graph: Tensor) -> tuple[float, float]:
    """The share of vertices of one choice that are in the other, and its expectation at random."""
    sizes = torch.bincount(graph).double()
    count = torch.zeros_like(sizes).index_add(0, graph, b.double())
    return float(b[a].double().mean()), float((count / sizes)[graph[a]].mean())


def main() -> None:
    """Look at the given runs, or at two small ones."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="*", type=Path)
    given = parser.parse_args()
    torch.set_num_threads(1)
    if given.runs:
        compare(given.runs)
        return
    settings = settings_named("ogbg-molesol/few-marks/prior-straight-through/mark-1-vertex-distinct/x2")
    with tempfile.TemporaryDirectory() as folder:
        runs = [Path(folder) / f"seed-{seed}" for seed in range(2)]
        for seed, run in enumerate(runs):
            train(settings.changed({"training.epochs": 20, "seed": seed}), run, progress=False)
        compare(runs)


def compare(runs: list[Path]) -> None:
    """Print what each run chooses, and what each two have in common."""
    choices: dict[Path, Tensor] = {}
    for run in runs:
        learner, settings, _ = load_model(run)
        graphs = load_task(settings).val
        batch = next(iter(FlatLoader(graphs, len(graphs))))
        parts = chosen(learner, graphs)
        choices[run] = marks = parts > 0
        cycle, degrees = on_cycle(batch), degree(batch.edge_index[1], batch.num_nodes)
        print(f"{settings.name}, seed {settings.seed}: {int(marks.sum())} of {len(marks)} vertices")
        print(
            f"  on a cycle {cycle[marks].double().mean():.2f} (all vertices {cycle.double().mean():.2f}), "
            f"degree {degrees[marks].mean():.2f} ({degrees.mean():.2f})"
        )
        if bool((parts[marks] < 1).any()):
            share = parts / parts.sum()
            on, of = float(share @ cycle.to(share)), float(share @ degrees.to(share))
            print(f"  by parts: on a cycle {on:.2f}, degree {of:.2f}")
        kind = batch.x.view(batch.num_nodes, -1)[:, 0].long()
        of_all = torch.bincount(kind).double() / len(kind)
        of_marks = torch.bincount(kind[marks], minlength=len(of_all)).double() / int(marks.sum())
        often = [i for i in of_all.argsort(descending=True).tolist() if of_all[i] > 0.01]
        print("  kinds: " + ", ".join(f"{i} {of_marks[i]:.2f} ({of_all[i]:.2f})" for i in often[:8]))
        most, chance = overlap(marks, chosen(learner, graphs, CentralityWeigher) > 0, batch.batch)
        least, _ = overlap(marks, chosen(learner, graphs, Outer) > 0, batch.batch)
        print(
            f"  among the most central {most:.2f}, least central {least:.2f} (chance {chance:.2f})",
            flush=True,
        )
    for one, other in combinations(choices, 2):
        same, chance = overlap(choices[one], choices[other], batch.batch)
        print(f"{one} and {other}: {same:.2f} in common (chance {chance:.2f})")


if __name__ == "__main__":
    main()
