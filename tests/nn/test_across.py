"""Layers across subgraphs; tests/nn/test_reference.py has their definition as a loop."""

import pytest
import torch
from torch_geometric.data import Batch

from osan import bags, nn
from osan.data import planted_motif
from osan.errors import OsanError
from osan.nn.layers.across import across_edges
from osan.nn.view import view_of

BATCH = Batch.from_data_list(planted_motif(6, seed=0))


class Everyone(torch.nn.Module):
    """A custom layer: the mean over all copies of a vertex, in whatever subgraphs they are."""

    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(2 * width, width)

    def forward(self, h, view):
        number = torch.bincount(view.vertex, minlength=view.num_vertices).clamp(min=1)
        total = h.new_zeros(view.num_vertices, h.size(1)).index_add(0, view.vertex, h)
        return self.linear(torch.cat((h, (total / number[:, None])[view.vertex]), dim=1))


def learned(estimator="imle", **options):
    torch.manual_seed(0)
    encoder = nn.Numerical(1, 8)
    upstream = nn.Upstream(count=4, width=8, vertex_encoder=nn.Numerical(1, 8))
    downstream = nn.osan(8, 3, 1, vertex_encoder=encoder, atomic="unordered", **options)
    return nn.DataDrivenOSAN(upstream, downstream, "mark 1 vertex x 4", estimator=estimator)


@pytest.mark.parametrize("options", [{"across": True}, {"conv": Everyone}], ids=["named", "custom"])
def test_samples_do_not_see_each_other(options):
    """In evaluation several samples are drawn; each is predicted as if it were alone."""
    model = learned(**options).eval()
    with torch.no_grad():
        out = model(BATCH)
        alone = [model.downstream(BATCH, bag) for bag in out.bags]
    assert len(out.bags) == 5
    assert torch.allclose(out.prediction, torch.stack(alone).mean(0), atol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-5)


def test_gradients_reach_the_choice():
    model = learned("straight-through", across=True)  # those of I-MLE are 0 if the target is the choice
    out = model(BATCH)
    out.objective(out.prediction.square().squeeze(1)).backward()
    gradient = model.upstream.out.weight.grad
    assert gradient is not None
    assert bool(gradient.any())


def test_all_marks_have_as_many_edges_across_as_within():
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    edges = across_edges(view_of(bag))
    assert edges.size(1) == bag.num_copied_edges
    assert torch.equal(bag.vertex[edges[0]], bag.vertex[edges[1]])
    assert bool((edges[1].diff() >= 0).all())


def test_a_bag_without_marks_is_an_error():
    network = nn.osan(8, 2, 1, vertex_encoder=nn.Numerical(1, 8), across=True)
    with pytest.raises(OsanError, match=r"bag\.mark: expected one mark per copy, got none"):
        network(BATCH, bags.all_subsets(BATCH, 1))
    with pytest.raises(OsanError, match="across: sswl_gnn sets this option itself"):
        nn.sswl_gnn(8, 2, 1, across=False)
