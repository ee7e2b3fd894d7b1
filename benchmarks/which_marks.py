"""How much it matters to a trained network which vertices are marked.

    python benchmarks/which_marks.py [RUN] [--samples 40]

RUN is the folder of a finished run with a policy "mark 1 vertex x m distinct"; without it, random marks are
trained on ogbg-molesol for 20 epochs. On the validation split, the network gets other marks than those that
it was trained with: its own choice without noise, its own choice with the noise of training, random marks,
the most central and the least central vertices. Prints the score of single predictions and of the mean of
five, how far predictions of one graph differ, and what a choice that knew the target would reach. If its own
marks are soft, it prints how soft they are, and adds a line for them: all others are hard.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from torch import Tensor, nn

from osan.data import FlatDataset, FlatLoader
from osan.experiments import settings_named
from osan.nn import CentralityWeigher, DataDrivenOSAN
from osan.selection import SparseMAP, StraightThrough, make_noise
from osan.training import load_model, train
from osan.training.evaluation import evaluating
from osan.training.scores import score
from osan.training.tasks import load_task


class Factor(nn.Module):
    """Centrality times a number: 0 gives random marks, -1 the least central ones."""

    def __init__(self, factor: float, columns: int) -> None:
        super().__init__()
        self.factor, self.centrality = factor, CentralityWeigher(columns=columns)

    def forward(self, batch, so_far=None):  # type: ignore[no-untyped-def]
        return self.factor * self.centrality(batch)


def sampled(learner, graphs, noise: str, samples: int) -> Tensor:  # type: ignore[no-untyped-def]
    """Predictions of each sample, shape ``[samples, graphs, targets]``, in the unit of the targets."""
    scale = learner.info.normalization
    with evaluating(learner, samples, make_noise(noise)):
        each = torch.cat([torch.stack(learner.model(b).each) for b in FlatLoader(graphs, 100)], dim=1)
    return each if scale is None else each * scale.std + scale.mean


def softness(model: DataDrivenOSAN, graphs: FlatDataset) -> tuple[float, float]:
    """How many vertices have a part of a mark, and how large the largest part is, on average."""
    parts, largest = [], []
    for batch in FlatLoader(graphs, 200):
        _, (drawn,) = model.draw(batch, 1)
        ground = drawn.problem.ground
        parts.append(ground.sum_per_graph((drawn.choice != 0).double()))
        top = torch.zeros(ground.num_graphs, drawn.choice.size(1))
        largest.append(
            top.scatter_reduce(0, ground.graph[:, None].expand_as(drawn.choice), drawn.choice, "amax")
        )
    return float(torch.cat(parts).mean()), float(torch.cat(largest).mean())


def main() -> None:
    """Load a run and score it with other marks."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("run", nargs="?", type=Path)
    parser.add_argument("--samples", type=int, default=40)
    given = parser.parse_args()
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        if given.run is None:
            settings = settings_named("ogbg-molesol/few-marks/random/mark-1-vertex-distinct/x2")
            train(settings.varied({"training.epochs": 20}), folder, progress=False)
        learner, settings, info = load_model(given.run or folder)
    model = learner.model
    assert isinstance(model, DataDrivenOSAN), "the run must choose subgraphs"
    graphs, own = load_task(settings).val, model.upstream
    columns = model.policy.columns
    ways: list[tuple[str, nn.Module | None, str]] = [
        ("random marks", Factor(0.0, columns), "gumbel"),
        ("most central", Factor(1.0, columns), "none"),
        ("least central", Factor(-1.0, columns), "none"),
    ]
    if model.learns and own is not None:
        ways = [("own choice", own, "none"), ("own choice, with noise", own, "gumbel"), *ways]
    print(f"{settings.name}, validation {info.metric}")
    trained_with = model.selection.estimator
    if isinstance(trained_with, SparseMAP):
        parts, largest = softness(model, graphs)
        print(f"a mark has {parts:.2f} parts, the largest of which is {largest:.2f}, on average")
        ways = [("own choice, soft", own, "none"), *ways]
    print(f"{'':24}{'single':>9}{'mean of 5':>11}{'mean of ' + str(given.samples):>12}")
    for name, weigher, noise in ways:
        model.upstream = weigher
        # Random marks would not look at weights.
        model.selection.estimator = trained_with if name == "own choice, soft" else StraightThrough()
        each = sampled(learner, graphs, noise, given.samples)

        def reached(prediction: Tensor) -> float:
            return float(score(prediction, graphs.y, info.kind, info.metric))

        single = sum(map(reached, each[:5])) / 5
        print(
            f"{name:24}{single:9.4f}{reached(each[:5].mean(0)):11.4f}{reached(each.mean(0)):12.4f}",
            flush=True,
        )
        if name == "random marks":
            spread = float(each.std(0).mean())
            error = (each - graphs.y).abs()
            best = each.gather(0, error.nan_to_num(0.0).argmin(0, keepdim=True))[0]
            print(f"{'  best of all samples':24}{reached(best):9.4f}   spread of a graph's {spread:.4f}")


if __name__ == "__main__":
    main()
