"""The default for your own data: its predictions do not depend on how vertices are numbered."""

from __future__ import annotations

from collections import Counter
from copy import deepcopy

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data

from osan.data import task_from_graphs
from osan.experiments import default_settings
from osan.nn import DataDrivenOSAN
from osan.training.build import build
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo, load_task


def graph(shape: nx.Graph, features: torch.Tensor, y: float = 0.0) -> Data:
    pairs = torch.tensor(list(shape.edges)).t()
    both = torch.cat([pairs, pairs.flip(0)], dim=1)
    bonds = (features[both[0], 0] + features[both[1], 0]).unsqueeze(1) % 3
    return Data(x=features, edge_index=both, edge_attr=bonds, y=torch.tensor([[y]]))


def renumbered(data: Data) -> Data:
    """The same graph with its vertices and edges in another order."""
    order = torch.randperm(data.num_nodes)
    place = torch.empty_like(order)
    place[order] = torch.arange(data.num_nodes)
    edges = torch.randperm(data.num_edges)
    return Data(x=data.x[order], edge_index=place[data.edge_index][:, edges], edge_attr=data.edge_attr[edges])


def test_the_rule_by_the_number_of_graphs(tmp_path):
    sizes = [default_settings("mols.csv", graphs).training for graphs in (10, 299, 300, 10_000)]
    assert [each.epochs for each in sizes] == [100, 100, 50, 50]
    assert [each.batch_size for each in sizes] == [32, 32, 64, 64]
    assert default_settings("mols.csv", 20_000).data.descriptors == ["rdkit2d", "morgan:1024"]
    for plain in (default_settings("mols.csv", 20_001), default_settings("graphs.pt", 500)):
        assert (plain.data.descriptors, plain.data.encodings) == ([], ["cse:16", "distance:10"])
    # A table is counted; blank lines and the header are no rows.
    table = tmp_path / "mols.csv"
    for rows, epochs in ((299, 100), (300, 50)):
        table.write_text("smiles,y\n" + "CC,1\n" * rows + "\n\n")
        assert default_settings(str(table)).training.epochs == epochs


@pytest.fixture(scope="module")
def trained() -> DataDrivenOSAN:
    """The default model after a few steps, so that the upstream network has moved away from zero."""
    torch.manual_seed(0)
    # Cycles as well, since a network that has seen trees alone may not react to anything in a cycle.
    shapes = [nx.cycle_graph(5 + i % 10) if i % 2 else nx.random_labeled_tree(12, seed=i) for i in range(60)]
    graphs = [
        graph(shape, torch.randint(0, 4, (len(shape), 1)), float(i % 7)) for i, shape in enumerate(shapes)
    ]
    settings = Settings().changed(
        {**flat(default_settings("graphs.pt")), "network.width": 16, "network.layers": 3, "name": "default"}
    )
    task = load_task(settings, task=task_from_graphs(graphs))
    model = build(settings, TaskInfo.of(task, settings))
    optimizer = torch.optim.Adam(model.parameters(), 1e-2)
    batch = task.train.batch(torch.arange(40))
    for _ in range(20):
        out = model(batch)
        optimizer.zero_grad()
        out.objective((out.prediction - batch.y).square().squeeze(1)).backward()
        optimizer.step()
    assert isinstance(model, DataDrivenOSAN)
    return model.eval()


def flat(settings: Settings) -> dict[str, object]:
    tree = settings.model_dump()
    return {
        f"{section}.{key}": value
        for section, values in tree.items()
        if isinstance(values, dict)
        for key, value in values.items()
    }


@torch.no_grad()
def test_predictions_do_not_depend_on_the_numbering(trained):
    torch.manual_seed(1)
    shapes = [nx.gnp_random_graph(14, 0.25, seed=i) for i in range(40)]
    graphs = [graph(shape, torch.randint(0, 4, (14, 1))) for shape in shapes]
    batch = Batch.from_data_list(graphs)
    weights = trained.weigh(batch, trained.draw(batch, 1)[1][0].problem).view(40, 14)
    gaps = weights.sort(dim=1, descending=True).values[:, :3].diff(dim=1).abs().amin(1)
    clear = gaps > 1e-4  # no ties among the first three
    assert clear.sum() > 25
    others = Batch.from_data_list([renumbered(each) for each in graphs])
    first, second = trained(batch).prediction[clear], trained(others).prediction[clear]
    torch.testing.assert_close(first, second, rtol=1e-5, atol=1e-5)


@torch.no_grad()
def test_ties_have_the_same_distribution_under_every_numbering(trained):
    """On a cycle of eight equal vertices, two marks have four distances: 1, 2, 3 (2/7 each) and 4 (1/7)."""
    torch.manual_seed(2)
    cycle = graph(nx.cycle_graph(8), torch.full((8, 1), 1))
    counts, exact = [], deepcopy(trained).double()
    for data in (cycle, renumbered(cycle)):
        many = Batch.from_data_list([data] * 1400)
        many.graph_id = torch.randint(0, 2**40, (1400,))
        values = exact(many).prediction.flatten()
        counts.append(Counter(round(value, 9) for value in values.tolist()))
    assert set(counts[0]) == set(counts[1])
    assert len(counts[0]) == 4
    for found in counts:
        shares = sorted(found.values())
        expected = [200, 400, 400, 400]
        assert sum((a - b) ** 2 / b for a, b in zip(shares, expected, strict=True)) < 16.3  # 0.1 %, 3 degrees


@pytest.mark.parametrize("upstream", ["gin", "gcn"])
def test_a_batch_may_be_a_single_atom(upstream):
    """The last batch of an epoch may hold methane alone."""
    path = nx.path_graph(5)
    task = task_from_graphs([graph(path, torch.randint(0, 3, (5, 2)), float(i)) for i in range(20)])
    settings = default_settings("table.csv").changed({"data.encodings": [], "network.upstream": upstream})
    model = build(settings, TaskInfo.of(task, settings))
    atom = Data(
        x=torch.zeros(1, 2, dtype=torch.long),
        edge_index=torch.empty(2, 0, dtype=torch.long),
        edge_attr=torch.empty(0, 1, dtype=torch.long),
    )
    for batch in (task.train.batch(torch.arange(3)), Batch.from_data_list([atom])):
        out = model(batch)
        assert out.prediction.isfinite().all()
        out.objective(out.prediction.square().squeeze(1)).backward()
