"""The downstream networks have the sizes that the paper's appendix gives, and are what it says they are."""

import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GINConv, GINEConv, PNAConv, global_mean_pool

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.encoders import EdgeMLP

# "Downstream and baseline models": layer, number of layers, width, pooling, and the widths of the perceptrons
# before and after the mean over subgraphs. What the text leaves open is as in the authors' configurations.
APPENDIX = {
    "zinc": (GINEConv, 4, 256, "mean", [], [256, 256, 256, 256, 7]),
    "zinc-pna": (PNAConv, 4, 128, "sum", [], [128, 128, 128, 128, 7]),
    "zinc-esan": (GINEConv, 4, 64, "mean", [64, 64, 64], [64, 64, 7]),
    "alchemy": (GINEConv, 6, 64, "set2set", [], [128, 64, 7]),
    "qm9": (GINEConv, 6, 64, "set2set", [], [128, 64, 7]),
    "ogbg-molesol": (GINEConv, 5, 300, "mean", [], [300, 7]),
    "ogbg-molbace": (GINEConv, 5, 300, "mean", [], [300, 7]),
    "exp": (GINConv, 6, 32, "mean", [], [32, 7]),
    "proteins": (GINConv, 4, 32, "mean", [32, 32, 32], [32, 32, 7]),
}


def widths(perceptron):
    linears = list(perceptron.linears)
    return [linear.in_features for linear in linears] + [linear.out_features for linear in linears[-1:]]


def network(dataset, **changes):
    edges = None if dataset in ("exp", "proteins") else [4]
    degrees = torch.tensor([1, 5, 9, 3])
    return nn.paper_network(dataset, 7, vertex_features=[5], edge_features=edges, degrees=degrees, **changes)


@pytest.mark.parametrize("dataset", APPENDIX)
def test_sizes(dataset):
    kind, layers, width, pooling, before, after = APPENDIX[dataset]
    model = network(dataset)
    assert len(model.stack.layers) == layers
    for layer in model.stack.layers:
        assert isinstance(layer.conv, kind)
        if dataset == "alchemy":  # batch norm is named for ZINC alone, and the authors' network has none
            assert layer.norm is None
            assert layer.conv.nn.norms is None
        else:
            assert layer.norm.num_features == width
        assert layer.residual == (dataset == "zinc")
        assert layer.dropout == (0.5 if dataset.startswith("ogbg") else 0.0)
    assert (model.inner.name, model.outer.name) == (pooling, "mean")
    assert (widths(model.phi), widths(model.head)) == (before, after)
    if pooling == "set2set":
        assert model.inner.set2set.processing_steps == 6
    if dataset == "zinc-pna":
        for layer in model.stack.layers:
            assert layer.conv.towers == 4
            # As in PyG's example, which the paper follows: every tower sees all features.
            assert [tower[0].in_channels for tower in layer.conv.pre_nns] == [3 * width] * 4
            assert [tower[0].out_channels for tower in layer.conv.post_nns] == [width // 4] * 4
    if kind is GINEConv and not dataset.startswith("ogbg"):
        # "A 2-layer MLP to map them to the same number of components as the vertex features."
        encoders = [layer.edge_encoder for layer in model.stack.layers]
        assert all(isinstance(each, EdgeMLP) and widths(each.second) == [width, width] for each in encoders)


@pytest.mark.parametrize(
    ("conv", "looks"), [("gin", False), ("gine", True), (lambda w: GINEConv(nn.MLP([w, w])), True)]
)
def test_another_layer_takes_edge_features_where_it_looks_at_edges(conv, looks):
    assert network("zinc", conv=conv).stack.looks_at_edges == looks
    with pytest.raises(OsanError, match=r"the network for exp with conv='gine' looks at edges, got none"):
        network("exp", conv="gine")


def test_where_the_code_differs():
    assert (widths(network("zinc", as_in_code=True).phi), widths(network("zinc", as_in_code=True).head)) == (
        [256, 256, 256, 256],
        [256, 7],
    )
    assert network("proteins", as_in_code=True).inner.name == "sum"


def make_batch():
    torch.manual_seed(0)
    ends = torch.tensor([[0, 1, 2, 3, 0], [1, 2, 3, 0, 2]])
    index = torch.cat([ends, ends.flip(0)], dim=1)
    return Batch.from_data_list(
        [
            Data(x=torch.randint(0, 5, (4, 1)), edge_index=index, edge_attr=torch.randint(0, 4, (10, 1)))
            for _ in range(3)
        ]
    )


@pytest.mark.parametrize("dataset", ["ogbg-molesol", "exp"])
def test_the_gin_of_ogb_and_that_of_exp_written_out(dataset):
    """MLP((1 + eps) h + sum of messages), batch norm, ReLU; mean pooling and one linear map."""
    torch.manual_seed(0)
    ogb, batch = dataset.startswith("ogbg"), make_batch()
    model = network(dataset, dropout=0.0).double()

    def normalized(h, norm):
        mean, variance = h.mean(0), h.var(0, unbiased=False)
        return (h - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias

    h = model.initial.vertex_encoder(batch.x)
    for number, layer in enumerate(model.stack.layers, 1):
        with torch.no_grad():
            layer.conv.eps.fill_(0.3 * ogb)  # learned by OGB, else 0
        first, second = layer.conv.nn.linears
        assert first.out_features == (600 if ogb else 32)
        message = h[batch.edge_index[0]]
        if ogb:  # ReLU of vertex and bond features together
            message = torch.relu(message + layer.edge_encoder(batch.edge_attr))
        total = (1 + 0.3 * ogb) * h + torch.zeros_like(h).index_add(0, batch.edge_index[1], message)
        inner = torch.relu(normalized(first(total), layer.conv.nn.norms[0]))
        h = normalized(second(inner), layer.norm)
        h = h if ogb and number == 5 else torch.relu(h)  # OGB: none after the last layer
    expected = model.head.linears[0](global_mean_pool(h, batch.batch))
    found = model.train()(batch, bags.whole_graphs(batch))
    assert torch.allclose(found, expected, rtol=0, atol=1e-9)
    trained = {name for name, _ in model.named_parameters() if name.endswith("eps")}
    assert len(trained) == (5 if ogb else 0)
