"""What selection costs: sampling and gradient estimation as a share of a training step on ogbg-molesol.

    OSAN_DATA=... python benchmarks/selection_cost.py [--repeats 15] [--turns] [--large]

The paper's network (width 300, five layers), batches of 32 molecules, m = 3 and 10 subgraphs. A training step
is forward pass, backward pass and optimizer; the selection of that step, weights to choice and the choice's
gradient back to the weights, is timed alone on the same batch, in turns with the step. Medians. The bars are
10 % for vertex, edge, ego and tree policies, and 50 % for cover.

``--turns`` compares one-shot, distinct and sequential marks instead: ZINC, the few-marks network (64 x 6),
two marks beside the whole graph, straight-through, batches of 128. It prints the processor time of a training
step and of a validation step, and that of kappa. The bar for marks in turn is 2.2 times the one-shot step.

Then SIMPLE against I-MLE on graphs of 1,000 vertices: the selection alone, in turns, least processor times.
The bar is 1.5 times. ``--large`` prints this part alone, without data.
"""

from __future__ import annotations

import argparse
import itertools
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path

import torch
import torch_geometric.data.data as data_module
import torch_geometric.data.storage as storage_module
from torch_geometric.data import Batch, Data
from torch_geometric.loader import DataLoader

from osan.data import FlatLoader
from osan.experiments.protocols import settings_named
from osan.nn import Categorical, DataDrivenOSAN, Upstream, paper_network
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Estimator,
    Policy,
    ScoreFunction,
    Selection,
    StraightThrough,
)
from osan.training.build import build as build_model
from osan.training.module import Learner
from osan.training.tasks import TaskInfo, load_task

WIDTH = 300
POLICIES = [
    "delete 1 vertex", "delete 5 vertices", "select 10 vertices", "delete 2 vertices ordered",
    "delete 3 edges", "select 5 edges", "delete 2-ego", "select 3-ego", "tree",
    "cover delete 3 vertices", "cover select 5 vertices",
]  # fmt: skip
OTHERS: dict[str, type[Estimator]] = {
    "adaptive I-MLE": AdaptiveIMLE,
    "SIMPLE": SIMPLE,
    "straight-through": StraightThrough,
    "score function": ScoreFunction,
}


def load(root: Path, number: int) -> list:
    """Batches of the training split, read from a copy since the loader writes beside the raw files."""
    from ogb.graphproppred import PygGraphPropPredDataset

    torch.serialization.add_safe_globals(
        [data_module.DataEdgeAttr, data_module.DataTensorAttr, storage_module.GlobalStorage]
    )
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(root / "ogb" / "ogbg_molesol", Path(folder) / "ogbg_molesol")
        dataset = PygGraphPropPredDataset(name="ogbg-molesol", root=folder)
        train = dataset[dataset.get_idx_split()["train"]]
        generator = torch.Generator().manual_seed(0)
        loader = DataLoader(train, batch_size=32, shuffle=True, generator=generator)
        return [batch for batch, _ in zip(loader, range(number), strict=False)]


def build(policy: Policy, estimator: Estimator) -> DataDrivenOSAN:
    upstream = Upstream(
        int(policy.count),
        WIDTH,
        edges=policy.weighs_edges,
        vertex_encoder=Categorical(OGB_ATOM_FEATURES, WIDTH),
        edge_encoder=Categorical(OGB_BOND_FEATURES, WIDTH) if policy.weighs_edges else None,
    )
    ranks = {"rank": "embedding", "num_ranks": 60} if policy.ordered else {}
    downstream = paper_network(
        "ogbg-molesol", 1, vertex_features=OGB_ATOM_FEATURES, edge_features=OGB_BOND_FEATURES, **ranks
    )
    return DataDrivenOSAN(upstream, downstream, policy, estimator=estimator)


def shares(text: str, estimator: Estimator, batches: list) -> tuple[float, float]:
    """Median milliseconds of a training step and of its selection."""
    torch.manual_seed(0)
    policy = Policy.parse(text)
    model = build(policy, estimator)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    select: Selection = model.selection
    steps, selections = [], []
    for place, batch in enumerate(batches):
        start = time.perf_counter()
        out = model(batch)
        optimizer.zero_grad()
        losses = (out.prediction - batch.y).square().squeeze(1)
        out.objective(losses).backward()
        optimizer.step()
        middle = time.perf_counter()
        weights = out.weights.detach().requires_grad_()
        selected = select(batch, weights)
        gradient = torch.randn_like(selected.choice) / batch.num_graphs
        own = torch.rand(batch.num_graphs)
        ((selected.choice * gradient).sum() + estimator.surrogate(own, selected.log_prob)).backward()
        end = time.perf_counter()
        if place > 1:  # the first two warm up
            steps.append(1000 * (middle - start))
            selections.append(1000 * (end - middle))
    return statistics.median(steps), statistics.median(selections)


def turns(repeats: int) -> None:
    """Times of one-shot, distinct and sequential marks, taken in turns on the same batches."""
    learners, batches = {}, []
    for name in ("mark-1-vertex", "mark-1-vertex-distinct", "mark-1-vertex-in-turn"):
        settings = settings_named(f"zinc/few-marks/straight-through/{name}/x2")
        settings = settings.changed({"data.limit": 128 * (repeats + 2)})
        task = load_task(settings)
        info = TaskInfo.of(task, settings)
        torch.manual_seed(0)
        learner = Learner(build_model(settings, info), settings, info)
        learners[name] = (learner, learner.configure_optimizers())
        batches = list(FlatLoader(task.train, settings.training.batch_size))
    times: dict[tuple[str, str], list[float]] = {}
    for place, batch in enumerate(batches):
        for name, (learner, optimizer) in learners.items():
            clock = [time.process_time()]
            learner.train()
            optimizer.zero_grad()
            learner.training_step(batch, place).backward()
            optimizer.step()
            clock.append(time.process_time())
            learner.eval()
            with torch.inference_mode():
                out = learner.look(batch)
                clock.append(time.process_time())
                learner.model.agreement(batch, out)
                clock.append(time.process_time())
            if place > 1:  # the first two warm up
                for part, (start, end) in zip(
                    ("train", "look", "kappa"), itertools.pairwise(clock), strict=True
                ):
                    times.setdefault((name, part), []).append(1000 * (end - start))
    medians = {key: statistics.median(values) for key, values in times.items()}
    one = medians["mark-1-vertex", "train"]
    print(f"{'policy x 2':24s} training step ms  times one-shot  validation step ms  kappa ms  of an epoch")
    for name in learners:
        train, look, kappa = (medians[name, part] for part in ("train", "look", "kappa"))
        share = kappa / (10 * train + look + kappa)  # ZINC has ten training graphs for each validation graph
        verdict = "" if train / one <= 2.2 else "  MISSED"
        print(
            f"{name:24s} {train:16.1f} {train / one:15.2f} {look:19.1f} {kappa:9.1f} {share:11.1%}{verdict}"
        )


def large(repeats: int) -> None:
    """Print the cost of SIMPLE, as a multiple of that of I-MLE, on random graphs of 1,000 vertices."""
    n = 1000
    print("n = 1,000: graphs   k   m  I-MLE ms  SIMPLE ms  ratio  bar")
    for graphs, k, m in ((1, 1, 3), (1, 5, 3), (8, 5, 3), (1, 10, 10)):
        generator = torch.Generator().manual_seed(0)
        members = [
            Data(num_nodes=n, edge_index=torch.randint(n, (2, 4 * n), generator=generator))
            for _ in range(graphs)
        ]
        batch = Batch.from_data_list(members)
        weights, slope = (torch.randn(graphs * n, m, generator=generator) for _ in range(2))
        selections = [Selection(f"select {k} vertices x {m}", estimator()) for estimator in (IMLE, SIMPLE)]
        least = [float("inf") for _ in selections]
        for _ in range(repeats + 2):
            for i, select in enumerate(selections):
                leaf = weights.clone().requires_grad_()
                start = time.process_time()
                (select(batch, leaf).choice * slope).sum().backward()
                least[i] = min(least[i], 1000 * (time.process_time() - start))
        ratio = least[1] / least[0]
        verdict = "1.5" + ("" if ratio <= 1.5 else "  MISSED")
        print(f"{graphs:17d} {k:3d} {m:3d} {least[0]:9.2f} {least[1]:10.2f} {ratio:6.2f}  {verdict}")


def main() -> None:
    parser = argparse.ArgumentParser(description="Share of a training step that selection takes.")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--turns", action="store_true", help="compare one-shot, distinct and in turn")
    parser.add_argument("--large", action="store_true", help="only SIMPLE against I-MLE on large graphs")
    arguments = parser.parse_args()
    repeats = arguments.repeats
    if arguments.large:
        large(repeats)
        return
    if "OSAN_DATA" not in os.environ:
        parser.error("set OSAN_DATA to the folder that holds ogb/ogbg_molesol")
    if arguments.turns:
        turns(repeats)
        return
    batches = load(Path(os.environ["OSAN_DATA"]), repeats + 2)
    print(f"{'policy':28s} {'estimator':17s}   m  step ms  selection ms  share  bar")
    cases = [(text, "I-MLE") for text in POLICIES]
    cases += [(text, name) for text in ("delete 5 vertices", "delete 3 edges") for name in OTHERS]
    for text, name in cases:
        for count in (3, 10):
            estimator = OTHERS[name]() if name in OTHERS else IMLE()
            step, selection = shares(f"{text} x {count}", estimator, batches)
            bar = 0.5 if text.startswith("cover") else 0.1
            share = selection / step
            verdict = f"{bar:.0%}" + ("" if share <= bar else "  MISSED")
            print(f"{text:28s} {name:17s} {count:3d} {step:8.1f} {selection:13.2f} {share:6.1%}  {verdict}")
    large(repeats)


if __name__ == "__main__":
    main()
