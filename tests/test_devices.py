"""Apple's GPUs have no float64: nothing in a run makes or sends a tensor of that type there.

No such device is needed: the CPU is made to count as one, and every operation of torch is watched.
"""

import re
from pathlib import Path

import pytest
import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch_geometric.data import Batch

from osan import data, devices, nn
from osan.bags import random_subsets, random_trees, random_tuples
from osan.errors import OsanError
from osan.selection import Noise
from osan.selection.ground import GroundSet
from osan.selection.randomness import NOISE, Randomness
from osan.training.settings import Settings


class NoFloat64(TorchDispatchMode):
    """Fail at the first operation that takes or makes a float64 tensor."""

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        out = function(*args, **(kwargs or {}))
        for value in tree_leaves((args, kwargs, out)):
            assert not (isinstance(value, torch.Tensor) and value.dtype == torch.float64), function
        return out


class Waits(TorchDispatchMode):
    """Count the operations whose result has a size or a value that the processor waits for."""

    NAMES = ("_local_scalar_dense", "nonzero", "masked_select", "repeat_interleave", "bincount", "equal")
    count = 0

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        name = function._schema.name.removeprefix("aten::")
        known = (kwargs or {}).get("output_size") is not None
        by_mask = name == "index" and any(i is not None and i.dtype == torch.bool for i in args[1])
        self.count += by_mask or ((name in self.NAMES or "unique" in name) and not known)
        return function(*args, **(kwargs or {}))


@pytest.fixture
def like_mps(monkeypatch):
    monkeypatch.setattr(devices, "widest", lambda device: torch.float32)
    monkeypatch.setattr(devices, "on_cpu", lambda tensor: False)


@pytest.fixture
def batch():
    return Batch.from_data_list(data.planted_motif(3, seed=0))


def test_a_batch_is_sent_without_float64(like_mps, batch):
    batch.score = torch.ones(batch.num_nodes, 1, dtype=torch.float64)
    moved = devices.sent(batch, torch.device("cpu"))
    assert moved.score.dtype == torch.float32
    assert batch.score.dtype == torch.float64
    assert moved.edge_index.dtype == torch.int64


@pytest.mark.parametrize(
    ("estimator", "noise"),
    [
        ("imle", "gumbel"),
        ("imle", "sum-of-gamma"),
        ("imle", "gaussian"),
        ("simple", "gumbel"),
        ("straight-through", "gumbel"),
        ("score-function", "gumbel"),
    ],
)
def test_no_float64_in_a_training_step(like_mps, batch, estimator, noise):
    policy = "select 3 vertices x 2"
    upstream = nn.Upstream(count=2, width=8, vertex_encoder=torch.nn.Linear(1, 8))
    downstream = nn.osan(width=8, layers=2, out=1, vertex_encoder=torch.nn.Linear(1, 8))
    model = nn.DataDrivenOSAN(upstream, downstream, policy, estimator=estimator, noise=Noise(noise))
    with NoFloat64():
        out = model(batch)
        out.objective((out.prediction - batch.y).abs().squeeze(1)).backward()
        model.eval()(batch)
    assert any(parameter.grad is not None for parameter in upstream.parameters())


def test_no_float64_with_a_centrality_and_marks_in_turn(like_mps, batch):
    batch.score = torch.rand(batch.num_nodes, 1)
    encoder = torch.nn.Linear(1, 8)
    downstream = nn.osan(width=8, layers=2, out=1, vertex_encoder=encoder, atomic="unordered")
    model = nn.DataDrivenOSAN(nn.CentralityWeigher(), downstream, "mark 1 vertex x 2 in turn")
    with NoFloat64():
        model(batch)


@pytest.mark.parametrize("k", [1, 3])
def test_random_bags_send_no_float64(like_mps, batch, monkeypatch, k):
    sent, types = devices.sent, []

    def seen(values, device):
        types.append(sent(values, device).dtype)
        return sent(values, device)

    monkeypatch.setattr(devices, "sent", seen)
    generator = torch.Generator().manual_seed(0)
    bags = [
        random_tuples(batch, k, 4, generator=generator, distinct=True),
        random_subsets(batch, k, 4, generator=generator, distinct=True, ordered=True),
        random_trees(batch, 2, generator=generator),
    ]
    assert all(bag.num_subgraphs > 0 for bag in bags)
    assert set(types) == {torch.float32}


def test_float32_numbers_are_the_first_bits_of_the_float64_ones(batch, monkeypatch):
    ground, randomness = GroundSet.vertices(batch), Randomness.of(batch, seed=3)
    exact = randomness.uniform(ground, 500, NOISE)
    monkeypatch.setattr(devices, "widest", lambda device: torch.float32)
    short = randomness.uniform(ground, 500, NOISE)
    assert short.dtype == torch.float32
    assert (short.double() - exact).abs().max() <= 2.0**-24
    assert short.min() > 0
    assert short.max() < 1


def test_how_often_a_step_waits(monkeypatch, batch):
    """The page on GPUs states the number; the CPU has a few more checks than other devices."""
    monkeypatch.setattr(devices, "on_cpu", lambda tensor: False)
    upstream = nn.Upstream(count=3, width=8, vertex_encoder=torch.nn.Linear(1, 8))
    downstream = nn.osan(width=8, layers=3, out=1, vertex_encoder=torch.nn.Linear(1, 8))
    model = nn.DataDrivenOSAN(upstream, downstream, "select 3 vertices x 3")
    with Waits() as waits:
        out = model(batch)
        out.objective((out.prediction - batch.y).abs().squeeze(1)).backward()
    page = (Path(__file__).parents[1] / "docs" / "gpu.md").read_text()
    assert waits.count <= int(re.search(r"at most (\d+) times per step", page)[1])


def test_double_precision_is_refused():
    settings = Settings().changed({"machine.accelerator": "mps"})
    with pytest.raises(OsanError, match=r"expected '32' with .* 'mps', got '64'"):
        settings.changed({"training.precision": "64"})
