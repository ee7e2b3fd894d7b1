"""Selection stays on the device of the batch, for every estimator."""

from contextlib import contextmanager

import networkx as nx
import pytest
import torch
from enumeration import data
from torch.utils._python_dispatch import TorchDispatchMode
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import (
    IMLE,
    SIMPLE,
    AdaptiveIMLE,
    Draw,
    Estimator,
    Noise,
    Random,
    ScoreFunction,
    Selection,
    StraightThrough,
    cosine_similarity,
    uniform_divergence,
)  # fmt: skip

FORBIDDEN = ("cpu", "numpy", "item", "tolist", "__int__", "__float__", "__array__")


class NoScalars(TorchDispatchMode):
    """Refuse the operation by which a value leaves the device, except for ``reads`` booleans."""

    def __init__(self, reads):
        super().__init__()
        self.left = reads

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        if func is torch.ops.aten._local_scalar_dense.default:
            if self.left == 0 or args[0].dtype != torch.bool:
                raise AssertionError("a value was read back from the device")
            self.left -= 1
        return func(*args, **(kwargs or {}))


@contextmanager
def on_device(reads=0):
    """Nothing leaves the device but exactly ``reads`` booleans."""

    def refuse(name):
        def method(*args, **kwargs):
            raise AssertionError(f"Tensor.{name} was called")

        return method

    with pytest.MonkeyPatch.context() as patch, NoScalars(reads) as scalars:
        for name in FORBIDDEN:
            patch.setattr(torch.Tensor, name, refuse(name))
        # What other devices do; the CPU has compiled loops.
        patch.setattr("osan.devices.on_cpu", lambda tensor: False)
        yield
        assert scalars.left == 0


ESTIMATORS = [IMLE(samples=2), AdaptiveIMLE(), SIMPLE(), StraightThrough(), ScoreFunction(), Random()]
TEXTS = ["delete 1 vertex", "select 2 vertices", "mark 1 vertex", "delete 1 edge", "select 2 edges"]
CASES = [(text, estimator) for text in TEXTS for estimator in ESTIMATORS]
CASES += [
    (text, estimator)
    for text in ("select 1-ego", "delete 1-ego by root", "select 2 vertices ordered")
    for estimator in (IMLE(), AdaptiveIMLE(), Random())
]


def two_graphs():
    """A cycle, one edge of which is doubled, and a path; with edge attributes."""
    doubled = nx.MultiGraph(nx.cycle_graph(5))
    doubled.add_edge(0, 1)
    attributes = [torch.arange(2 * edges).remainder(3) for edges in (6, 3)]
    return Batch.from_data_list(
        [data(doubled, edge_attr=attributes[0]), data(nx.path_graph(4), edge_attr=attributes[1])]
    )


@pytest.mark.parametrize(("text", "estimator"), CASES, ids=lambda case: str(case).split("(")[0])
def test_only_whether_weights_are_finite_leaves_the_device(text, estimator):
    batch = two_graphs()
    select = Selection(text, estimator)
    rows = batch.num_edges if select.policy.weighs_edges else batch.num_nodes
    weights = torch.rand(rows, 2).requires_grad_()
    with on_device(reads=1):
        selected = select(batch, weights)
        losses = torch.zeros(2)
        for loss in (cosine_similarity, uniform_divergence):
            losses = losses + loss(selected.problem.ground.gather(selected.choice), selected.problem.ground)
        total = estimator.join(losses) + estimator.surrogate(losses, selected.log_prob)
        if total.requires_grad:
            total.backward()
    assert (weights.grad is None) == isinstance(estimator, Random)


@pytest.mark.parametrize("kind", ["gumbel", "sum-of-gamma", "gaussian", "none"])
def test_no_noise_leaves_the_device(kind):
    batch = two_graphs()
    with on_device(reads=1):
        selected = Selection("select 2 vertices", noise=Noise(kind))(batch, torch.rand(9, 2))
    # Two vertices of each of the two graphs, in each of the two subgraphs.
    assert selected.problem.ground.sum_per_graph(selected.choice).tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_the_guard_works():
    with pytest.raises(AssertionError), on_device():
        torch.ones(1).sum().item()
    with pytest.raises(AssertionError, match="read back"), on_device():
        torch.ops.aten._local_scalar_dense(torch.ones(()))
    with pytest.raises(AssertionError, match="read back"), on_device():
        bool(torch.ones(()).isfinite())
    with pytest.raises(AssertionError, match="read back"), on_device(reads=1):
        torch.ops.aten._local_scalar_dense(torch.ones(()))


def test_an_estimator_that_gives_no_draw_is_named():
    class Bare(Estimator):
        def forward(self, problem, weights, noise, randomness):
            return problem.solve(weights, torch.rand_like(weights))

    class Short(Estimator):
        def forward(self, problem, weights, noise, randomness):
            return Draw(problem.solve(weights, torch.rand_like(weights))[:, :1])

    batch = two_graphs()
    for estimator, given in ((Bare(), "got Tensor"), (Short(), r"got a choice of shape \[9, 1\]")):
        with pytest.raises(OsanError, match=rf"to return Draw\(choice\) .* \[9, 2\], .*{given}"):
            Selection("select 2 vertices", estimator)(batch, torch.rand(9, 2))
