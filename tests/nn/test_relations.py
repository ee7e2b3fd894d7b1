"""Custom relations to the marks: against the definition, shared or not, and refused if they are wrong."""

import pytest
import torch
from torch_geometric.data import Batch, Data

from osan import bags, nn
from osan.errors import OsanError
from osan.nn.relations import RELATIONS, Distances, related


def graph(size, *edges):
    ends = torch.tensor(edges, dtype=torch.long).reshape(-1, 2).T
    return Data(num_nodes=size, edge_index=torch.cat((ends, ends.flip(0)), dim=1), x=torch.ones(size, 1))


BATCH = Batch.from_data_list([graph(4, (0, 1), (1, 2), (2, 0), (2, 3)), graph(3, (0, 1))])


def marked_neighbors(batch, bag, mark):
    """The mark itself, and the number of marked neighbors."""
    source, target = bag.edge_index
    return torch.stack((mark, torch.zeros_like(mark).index_add(0, target, mark[source])), dim=1)


marked_neighbors.columns = 2


class Learned(torch.nn.Module):
    columns = 1

    def __init__(self):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.tensor([1.0, 1.0, 2.0, 3.0, 5.0, 7.0, 11.0]))

    def forward(self, batch, bag, mark):
        return (mark * self.factor[bag.vertex])[:, None]


def network(atomic, sharing="auto", **options):
    torch.manual_seed(0)
    smooth = {"activation": torch.tanh, **options}
    made = nn.osan(8, 2, 1, vertex_encoder=nn.Numerical(1, 8), atomic=atomic, **smooth)
    nn.set_sharing(made, sharing)
    return made.eval()


@pytest.fixture(autouse=True)
def _everywhere(monkeypatch):
    monkeypatch.setattr("osan.nn.sharing.MOST", 1.0)
    monkeypatch.setattr("osan.nn.sharing.LEAST", 0)


def test_the_columns_are_added_to_the_features():
    initial = nn.InitialFeatures(8, nn.Numerical(1, 8), atomic=marked_neighbors)
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    wanted = initial.vertices(BATCH)[bag.vertex]
    ends = set(zip(*BATCH.edge_index.tolist(), strict=True))
    marked = {(int(s), int(v)) for s, v, m in zip(bag.subgraph, bag.vertex, bag.mark, strict=True) if m}
    for copy, (subgraph, vertex) in enumerate(zip(bag.subgraph.tolist(), bag.vertex.tolist(), strict=True)):
        neighbors = sum((s == subgraph) and ((u, vertex) in ends) for s, u in marked)
        wanted[copy] = (
            wanted[copy]
            + ((subgraph, vertex) in marked) * initial.relation_weight[0]
            + neighbors * initial.relation_weight[1]
        )
    torch.testing.assert_close(initial(BATCH, bag), wanted)
    torch.testing.assert_close(initial(BATCH, bag, torch.tensor([3, 1])), wanted[[3, 1]])


def test_distance_is_a_relation_like_others():
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    assert network(Distances(3))(BATCH, bag).equal(network("distance", reach=3)(BATCH, bag))


@pytest.mark.parametrize("atomic", [marked_neighbors, Learned, Learned()])
def test_sharing_changes_neither_predictions_nor_gradients(atomic):
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    found = []
    for sharing in ("auto", "off"):
        made = network(atomic, sharing)
        made.zero_grad()
        made(BATCH, bag).square().sum().backward()
        found.append([made(BATCH, bag), *(p.grad.clone() for p in made.parameters() if p.grad is not None)])
    torch.testing.assert_close(*found)


def test_a_relation_that_learns_has_gradients_of_its_own():
    made = network(Learned)
    made(BATCH, bags.all_subsets(BATCH, 1, operation="mark")).square().sum().backward()
    # Equal factors of alike vertices: if they were computed as one, one of them would have no gradient.
    assert (made.initial.relation.factor.grad[:4] != 0).all()


def test_a_relation_that_learns_is_stored_once():
    made = network(Learned(), admission="learned")
    assert [name for name in made.state_dict() if "factor" in name] == ["initial.relation.factor"]


LOOPS = Batch.from_data_list([graph(4, (0, 1), (1, 2), (2, 0), (2, 3), (1, 1)), graph(3, (0, 1), (2, 2))])


def test_a_relation_sees_loops_that_layers_replace():
    bag = bags.all_subsets(LOOPS, 1, operation="mark")
    found = [network(marked_neighbors, sharing, conv="gcn")(LOOPS, bag) for sharing in ("auto", "off")]
    torch.testing.assert_close(*found)


def test_ranks_see_loops_that_layers_replace():
    choice = torch.tensor([[1.0, 2], [2, 0], [0, 1], [0, 0], [1, 1], [2, 2], [0, 0]])
    bag = bags.from_choice(LOOPS, choice, ordered=True)
    options = {"rank": "adjacency", "num_ranks": 2, "conv": "gcn"}
    torch.testing.assert_close(
        *(network(None, sharing, **options)(LOOPS, bag) for sharing in ("auto", "off"))
    )


def marked_elsewhere(batch, bag, mark):
    """In how many subgraphs the vertex is marked."""
    return mark.new_zeros(bag.num_vertices).index_add(0, bag.vertex, mark)[bag.vertex, None]


marked_elsewhere.columns = 1


def test_a_relation_may_look_at_all_subgraphs_of_a_sample():
    made = network(marked_elsewhere)
    first = bags.from_choice(BATCH, torch.eye(7)[:, :2], operation="mark")
    second = bags.from_choice(BATCH, torch.eye(7)[:, 1:3], operation="mark")
    alone = (made(BATCH, first), made(BATCH, second))
    torch.testing.assert_close(made.each(BATCH, (first, second)), alone)
    model = nn.DataDrivenOSAN(
        nn.Upstream(2, 8, vertex_encoder=nn.Numerical(1, 8)), made, "mark 1 vertex x 2", samples=3
    )
    out = model.eval()(BATCH)
    for bag, each in zip(out.bags, out.each, strict=True):
        torch.testing.assert_close(each, made(BATCH, bag))


def at_heights(batch, bag, mark):
    return (mark * batch.height[bag.vertex])[:, None]


at_heights.columns = 1


def test_what_a_relation_looks_at_gets_gradients_of_its_own():
    bag, found = bags.all_subsets(BATCH, 1, operation="mark"), []
    for sharing in ("auto", "off"):
        batch = BATCH.clone()
        batch.height = torch.ones(7, requires_grad=True)  # alike, so that sharing would take one for all
        network(at_heights, sharing)(batch, bag).square().sum().backward()
        found.append(batch.height.grad)
    torch.testing.assert_close(*found)


def test_learned_marks_get_a_gradient_through_the_relation():
    upstream = nn.Upstream(2, 8, vertex_encoder=nn.Numerical(1, 8))
    model = nn.DataDrivenOSAN(
        upstream, network(marked_neighbors), "mark 1 vertex x 2", estimator="straight-through"
    )
    out = model.train()(BATCH)
    out.prediction.sum().backward()
    assert upstream.out.weight.grad.abs().sum() > 0


def test_a_name_in_the_table(monkeypatch):
    monkeypatch.setitem(RELATIONS, "neighbors", marked_neighbors)
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    assert network("neighbors")(BATCH, bag).equal(network(marked_neighbors)(BATCH, bag))


def no_columns(batch, bag, mark):
    return mark


def too_few(batch, bag, mark):
    return mark


def fails(batch, bag, mark):
    raise ValueError("no luck")


too_few.columns = fails.columns = 1


@pytest.mark.parametrize(
    ("atomic", "message"),
    [
        ("distnace", r"atomic: expected 'ordered', 'unordered', 'distance' or 'module:name'.*did you mean"),
        ("nowhere:Walks", r"atomic: cannot import 'nowhere:Walks'"),
        (no_columns, r"atomic: expected a function of batch, bag and mark whose attribute 'columns'"),
        (3, r"atomic: expected a function of batch"),
    ],
)
def test_what_is_no_relation_is_refused(atomic, message):
    with pytest.raises(OsanError, match=message):
        nn.osan(8, 1, 1, atomic=atomic)


@pytest.mark.parametrize(
    ("relation", "message"),
    [
        (too_few, r"atomic: expected a tensor of shape \[25, 1\], a row for each copy, got \[25\]"),
        (fails, r"atomic: 'fails' failed \(ValueError: no luck\)"),
    ],
)
def test_what_a_relation_returns_is_checked(relation, message):
    bag = bags.all_subsets(BATCH, 1, operation="mark")
    with pytest.raises(OsanError, match=message):
        related(relation, BATCH, bag, bag.mark.float())


def test_samples_are_computed_together_if_a_relation_says_so():
    def apart(batch, bag, mark):
        return mark[:, None]

    apart.columns = 1
    assert not network(apart).keeps_apart
    apart.apart = True
    assert network(apart).keeps_apart
    assert network("distance").keeps_apart
