"""The choice as an explanation of PyG: masks, pictures and fidelity."""

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explainer
from torch_geometric.explain.metric import fidelity

from osan import nn
from osan.errors import OsanError

BINARY = {"mode": "binary_classification", "task_level": "graph", "return_type": "raw"}


def cycles():
    torch.manual_seed(0)
    out = []
    for n in (4, 5, 6, 7):
        ends = torch.stack([torch.arange(n), (torch.arange(n) + 1) % n])
        out.append(Data(x=torch.randn(n, 2), edge_index=torch.cat([ends, ends.flip(0)], 1)))
    return Batch.from_data_list(out)


def model_of(policy, edges=False):
    torch.manual_seed(1)
    upstream = nn.Upstream(count=2, width=8, vertex_encoder=torch.nn.Linear(2, 8), edges=edges)
    downstream = nn.osan(
        8, 2, 1, vertex_encoder=torch.nn.Linear(2, 8), atomic="unordered" if "mark" in policy else None
    )
    return nn.DataDrivenOSAN(upstream, downstream, policy, samples=3).eval()


def explainer_of(model, **options):
    options = {"node_mask_type": "object", "edge_mask_type": "object", **options}
    algorithm = nn.SelectionExplainer(samples=8)
    return Explainer(
        nn.Explainable(model), algorithm, explanation_type="model", model_config=BINARY, **options
    )


@pytest.mark.parametrize("policy", ["select 3 vertices x 2", "delete 1 vertex x 2", "mark 1 vertex x 2"])
def test_an_edge_counts_with_its_ends(policy, tmp_path):
    batch, model = cycles(), model_of(policy)
    found = model.explain(batch, samples=8)
    _, selected = model.draw(batch, 8)
    meet = any if policy.startswith("mark") else all
    for e, ends in enumerate(batch.edge_index.t().tolist()):
        hits = [meet(one.choice[v, i] != 0 for v in ends) for one in selected for i in range(2)]
        assert found.edge_mask[e].item() == pytest.approx(sum(hits) / len(hits), abs=1e-6)
    found.visualize_graph(str(tmp_path / "choice.png"), backend="networkx")
    assert (tmp_path / "choice.png").stat().st_size > 1000


def test_fidelity_is_what_masking_by_hand_gives():
    batch, model = cycles(), model_of("select 3 vertices x 2")
    explainer = explainer_of(model, threshold_config=("topk_hard", 9))
    found = explainer(batch.x, batch.edge_index, batch=batch.batch)
    assert set(found.node_mask.unique().tolist()) == set(found.edge_mask.unique().tolist()) == {0.0, 1.0}
    assert found.node_mask.sum() == found.edge_mask.sum() == 9

    def classes(nodes, edges):
        masked = Batch(
            x=batch.x * nodes, edge_index=batch.edge_index[:, edges != 0], batch=batch.batch, ptr=batch.ptr
        )
        with torch.no_grad():
            return model(masked).prediction.flatten() > 0

    with torch.no_grad():
        whole = model(batch).prediction.flatten() > 0
    expected = [
        (classes(nodes, edges) != whole).double().mean().item()
        for nodes, edges in ((1 - found.node_mask, 1 - found.edge_mask), (found.node_mask, found.edge_mask))
    ]
    assert list(fidelity(explainer, found)) == pytest.approx(expected)
    with torch.no_grad():  # no mask is left behind
        assert (explainer.model(batch.x, batch.edge_index, batch=batch.batch).flatten() > 0).equal(whole)


def test_categories_stay_integers():
    seen = []

    class Model(torch.nn.Module):
        def forward(self, batch):
            seen.append(batch.x)
            return torch.zeros(1, 1)

    ours = nn.Explainable(Model(), categories=True)
    ours(torch.tensor([[3], [2]]) * torch.tensor([[1.0], [0.0]]), torch.tensor([[0, 1], [1, 0]]))
    assert seen[0].tolist() == [[3], [0]]
    assert not seen[0].is_floating_point()


def test_what_cannot_be_explained_is_refused():
    batch = cycles()
    edges = explainer_of(model_of("select 2 edges x 2", edges=True))
    with pytest.raises(OsanError, match="node_mask_type: expected None"):
        edges(batch.x, batch.edge_index, batch=batch.batch)
    plain = explainer_of(torch.nn.Linear(2, 1))
    with pytest.raises(OsanError, match="only a model that chooses subgraphs"):
        plain.algorithm(plain.model, batch.x, batch.edge_index, target=torch.zeros(1))
    with pytest.raises(ValueError, match="does not support"):
        explainer_of(model_of("mark 1 vertex x 2"), node_mask_type="attributes")
