"""Every convolution of PyG that takes (x, edge_index): removed copies change nothing, in training either."""

import pytest
import torch
import torch_geometric.nn as pyg
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.errors import OsanError

WIDTH = 8


def mlp(width, **options):
    return pyg.MLP([width, width, width], **options)


CONVS = {
    "GIN, batch norm": lambda w: pyg.GINConv(mlp(w)),
    "GIN, layer norm over all rows": lambda w: pyg.GINConv(mlp(w, norm="LayerNorm")),
    "GIN, no norm": lambda w: pyg.GINConv(mlp(w, norm=None)),
    "GIN, maximum, batch norm": lambda w: pyg.GINConv(mlp(w), aggr="max"),
    "GIN, norm without parameters": lambda w: pyg.GINConv(
        torch.nn.Sequential(torch.nn.Linear(w, w), torch.nn.BatchNorm1d(w, affine=False))
    ),
    "GINE, batch norm": lambda w: pyg.GINEConv(mlp(w)),
    "GINE, edge_dim, batch norm": lambda w: pyg.GINEConv(mlp(w), edge_dim=w),
    "GEN": lambda w: pyg.GENConv(w, w),
    "GEN, edges": lambda w: pyg.GENConv(w, w, edge_dim=w, msg_norm=True),
    "PNA": lambda w: pyg.PNAConv(w, w, ["mean", "max", "std"], ["identity"], torch.tensor([1, 3, 4])),
    "GCN": lambda w: pyg.GCNConv(w, w),
    "GCN, no loops": lambda w: pyg.GCNConv(w, w, add_self_loops=False),
    "GCN, no normalization": lambda w: pyg.GCNConv(w, w, normalize=False),
    "Cheb": lambda w: pyg.ChebConv(w, w, 3),
    "SAGE": lambda w: pyg.SAGEConv(w, w, aggr=["mean", "max"]),
    "SAGE, LSTM": lambda w: pyg.SAGEConv(w, w, aggr="lstm"),
    "Graph": lambda w: pyg.GraphConv(w, w),
    "GatedGraph": lambda w: pyg.GatedGraphConv(w, 2),
    "ResGatedGraph": lambda w: pyg.ResGatedGraphConv(w, w, edge_dim=w),
    "GAT": lambda w: pyg.GATConv(w, w // 2, heads=2),
    "GATv2": lambda w: pyg.GATv2Conv(w, w, edge_dim=w),
    "Transformer": lambda w: pyg.TransformerConv(w, w),
    "Transformer, edges": lambda w: pyg.TransformerConv(w, w // 2, heads=2, edge_dim=w),
    "AGNN": lambda w: pyg.AGNNConv(),
    "TAG": lambda w: pyg.TAGConv(w, w),
    "ARMA": lambda w: pyg.ARMAConv(w, w, num_stacks=3),
    "SG": lambda w: pyg.SGConv(w, w, K=2),
    "SSG": lambda w: pyg.SSGConv(w, w, alpha=0.1),
    "APPNP": lambda w: pyg.APPNP(2, 0.1),
    "MF": lambda w: pyg.MFConv(w, w, max_degree=6),
    "CG": lambda w: pyg.CGConv(w, dim=w, batch_norm=True),
    "Edge, batch norm": lambda w: pyg.EdgeConv(pyg.MLP([2 * w, w, w])),
    "FeaSt": lambda w: pyg.FeaStConv(w, w, heads=2),
    "LE": lambda w: pyg.LEConv(w, w),
    "ClusterGCN": lambda w: pyg.ClusterGCNConv(w, w),
    "FiLM": lambda w: pyg.FiLMConv(w, w),
    "SuperGAT": lambda w: pyg.SuperGATConv(w, w),
    "EG": lambda w: pyg.EGConv(w, w, num_heads=2),
    "PDN": lambda w: pyg.PDNConv(w, w, edge_dim=w, hidden_channels=w),
    "General": lambda w: pyg.GeneralConv(w, w, in_edge_channels=w),
    "LG": lambda w: pyg.LGConv(),
    "NN": lambda w: pyg.NNConv(w, w, torch.nn.Linear(w, w * w)),
    "GMM": lambda w: pyg.GMMConv(w, w, dim=w, kernel_size=2),
    "AntiSymmetric": lambda w: pyg.AntiSymmetricConv(w),
    "DirGNN": lambda w: pyg.DirGNNConv(pyg.GCNConv(w, w)),
    "MixHop": lambda w: pyg.Sequential(
        "x, edge_index", [(pyg.MixHopConv(w, w), "x, edge_index -> x"), torch.nn.Linear(3 * w, w)]
    ),
    "GPS": lambda w: pyg.GPSConv(w, pyg.GINConv(mlp(w)), heads=2),
    "GPS, edges, graph norm": lambda w: pyg.GPSConv(
        w, pyg.GINEConv(torch.nn.Linear(w, w)), heads=2, norm="GraphNorm"
    ),
    "GPS, performer": lambda w: pyg.GPSConv(w, pyg.SAGEConv(w, w), heads=2, attn_type="performer"),
}
EDGES = {name for name in CONVS if nn.make_layer(CONVS[name], WIDTH).looks_at_edges}
SMOOTH = {
    "GIN, batch norm",
    "GIN, layer norm over all rows",
    "GIN, no norm",
    "GIN, norm without parameters",
    "GINE, batch norm",
    "GCN",
    "GCN, no normalization",
}


def make_batch(loops=False):
    generator = torch.Generator().manual_seed(0)
    graphs = []
    for n, pairs in ((5, [(0, 1), (1, 2), (2, 0), (2, 3), (3, 4)]), (4, [(0, 1), (1, 2), (2, 3)]), (1, [])):
        columns = pairs + [(v, u) for u, v in pairs] + ([(1, 1)] if loops and n > 1 else [])
        arcs = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()
        x = torch.randn(n, 4, generator=generator)
        graphs.append(Data(x=x, edge_index=arcs, edge_attr=torch.randn(arcs.size(1), 3, generator=generator)))
    return Batch.from_data_list(graphs)


def make_model(name, **options):
    torch.manual_seed(0)
    edges = (lambda: nn.Numerical(3, WIDTH)) if name in EDGES else None
    encoder = nn.Numerical(4, WIDTH)
    return nn.osan(WIDTH, 2, 1, vertex_encoder=encoder, conv=CONVS[name], edge_encoder=edges, **options)


def make_choice(what, batch):
    generator = torch.Generator().manual_seed(2)
    if what == "edge":
        edge, columns = bags.undirected_edges(batch.edge_index)
        return torch.randint(0, 2, (len(columns), 2), generator=generator).float()[edge]
    return torch.tensor([[1, 1, 0, 1, 1, 0, 1, 1, 1, 0.0], [1, 0, 1, 1, 0, 1, 1, 0, 0, 1]]).t().contiguous()


@pytest.mark.parametrize("loops", [False, True])
@pytest.mark.parametrize("what", ["vertex", "edge"])
@pytest.mark.parametrize("name", CONVS)
def test_removed_copies_change_nothing(name, what, loops):
    """Predictions, gradients of parameters and running statistics of one training step."""
    batch = make_batch(loops)
    choice = make_choice(what, batch)
    found = []
    for learned in (False, True):
        model = make_model(name).train()
        for module in model.modules():  # dropout draws other numbers for other rows
            if hasattr(module, "dropout") and isinstance(module.dropout, float):
                module.dropout = 0.0
        bag = bags.from_choice(batch, choice.clone().requires_grad_(learned), what=what, operation="delete")
        torch.manual_seed(3)
        out = model(batch, bag)
        out.square().sum().backward()
        found.append({"out": out, **{key: p.grad for key, p in model.named_parameters()}})
        found[-1] |= dict(model.named_buffers())
    for key, thin in found[0].items():
        thick = found[1][key]
        assert (thin is None) == (thick is None), key
        if thin is not None:
            scale = max(1.0, float(thin.detach().abs().max()))
            assert torch.allclose(thick.float(), thin.float(), rtol=0, atol=1e-5 * scale), key


@pytest.mark.parametrize("name", CONVS)
def test_gradients_reach_the_choice(name):
    batch = make_batch(loops=True)
    choice = make_choice("vertex", batch).requires_grad_()
    bag = bags.from_choice(batch, choice)
    bag.edge_weight.retain_grad()
    make_model(name).train()(batch, bag).square().sum().backward()
    assert bool(choice.grad.isfinite().all())
    assert bool(choice.grad.any())
    removed = bag.edge_weight.grad[bag.edge_weight == 0]
    assert bool(removed.any()) == (name in SMOOTH)


# A performer of PyG subtracts the maximum over the whole batch, so it is not invariant by itself.
@pytest.mark.parametrize("name", ["GPS", "GPS, edges, graph norm"])
def test_attention_stays_within_a_subgraph(name):
    batch = make_batch()
    model = make_model(name).eval()
    together = model(batch, bags.all_subsets(batch, 1, whole_graph=True))
    for g in range(batch.num_graphs):
        alone = Batch.from_data_list([batch[g]])
        expected = model(alone, bags.all_subsets(alone, 1, whole_graph=True))
        assert torch.allclose(together[g], expected[0], atol=1e-5)


def test_a_learned_loop_of_gcn():
    """GCN adds a loop where there is none; a loop that is removed is none, and its vertex has a degree."""
    graph = Data(x=torch.randn(2, 4), edge_index=torch.tensor([[0, 1, 0], [1, 0, 0]]))
    choice = torch.tensor([[1.0], [1.0], [0.0]])
    model = make_model("GCN", norm=False)
    thin = model(graph, bags.from_choice(graph, choice, what="edge", operation="delete"))
    choice.requires_grad_()
    thick = model(graph, bags.from_choice(graph, choice, what="edge", operation="delete"))
    assert torch.allclose(thin, thick, atol=1e-6)
    thick.sum().backward()
    assert bool(choice.grad.isfinite().all())


def test_layers_without_edges():
    class Dynamic(torch.nn.Module):
        """Called as PyG's DynamicEdgeConv."""

        def forward(self, x, batch=None):
            return x

    with pytest.raises(OsanError, match=r"called with \(x, edge_index\) or \(h, view\), got Dynamic"):
        nn.make_layer(lambda width: Dynamic(), WIDTH)

    class Deaf(torch.nn.Module):
        def forward(self, x, edge_index):
            return x

    batch = make_batch()
    model = nn.osan(WIDTH, 1, 1, vertex_encoder=nn.Numerical(4, WIDTH), conv=lambda width: Deaf())
    assert model(batch, bags.all_subsets(batch, 1)).shape == (3, 1)
    with pytest.raises(OsanError, match="expected a layer with PyG's MessagePassing inside for edge weights"):
        model(batch, bags.from_choice(batch, make_choice("vertex", batch).requires_grad_()))
