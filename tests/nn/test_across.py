"""Layers across subgraphs."""

import pytest
import torch
from torch_geometric.data import Batch

from osan import nn
from osan.data import planted_motif

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


def learned(**options):
    torch.manual_seed(0)
    encoder = nn.Numerical(1, 8)
    upstream = nn.Upstream(count=4, width=8, vertex_encoder=nn.Numerical(1, 8))
    downstream = nn.osan(8, 3, 1, vertex_encoder=encoder, atomic="unordered", **options)
    return nn.DataDrivenOSAN(upstream, downstream, "mark 1 vertex x 4")


@pytest.mark.parametrize("options", [{"conv": Everyone}], ids=["custom"])
def test_samples_do_not_see_each_other(options):
    """In evaluation several samples are drawn; each is predicted as if it were alone."""
    model = learned(**options).eval()
    with torch.no_grad():
        out = model(BATCH)
        alone = [model.downstream(BATCH, bag) for bag in out.bags]
    assert len(out.bags) == 5
    assert torch.allclose(out.prediction, torch.stack(alone).mean(0), atol=1e-5)
    assert not torch.allclose(alone[0], alone[1], atol=1e-5)
