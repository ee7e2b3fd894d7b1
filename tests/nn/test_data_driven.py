"""The data-driven network: training, evaluation, explanation, and that it learns."""

import itertools
import warnings

import pytest
import torch
from torch import nn
from torch_geometric.data import Batch, Data
from torch_geometric.explain import Explanation
from torch_geometric.loader import DataLoader
from torch_geometric.nn import GIN

from osan.bags import whole_graphs
from osan.data.generated.planted import planted_motif
from osan.errors import OsanError
from osan.nn import DataDrivenOSAN, Numerical, Output, Upstream, osan
from osan.selection import (
    IMLE,
    NOISES,
    SIMPLE,
    AdaptiveIMLE,
    Noise,
    Policy,
    Problem,
    Random,
    ScoreFunction,
    StraightThrough,
    cosine_similarity,
)


def graphs(number=4, seed=0):
    return planted_motif(number, seed)


def model_of(policy, estimator=None, width=8, out=1, conv="gin", **options):
    policy = Policy.parse(policy) if isinstance(policy, str) else policy
    learns = not isinstance(estimator, Random) and policy.count != "all"
    upstream = None
    if learns:
        encoder = Numerical(1, width)
        options_up = {"edges": policy.weighs_edges, "in_turn": policy.channels == "in turn"}
        upstream = Upstream(policy.columns, width, vertex_encoder=encoder, **options_up)
    marks = {"atomic": "unordered"} if policy.operation == "mark" else {}
    ranks = {"rank": "embedding", "num_ranks": 20} if policy.ordered else {}
    downstream = osan(width, 2, out, vertex_encoder=Numerical(1, width), conv=conv, **marks, **ranks)
    return DataDrivenOSAN(upstream, downstream, policy, estimator=estimator, **options)


TEXTS = [
    "delete 1 vertex x 3", "select 5 vertices x 2", "mark 2 vertices x 2", "delete 2 vertices ordered x 2",
    "mark 2 vertices ordered x 2", "delete 3 edges x 2", "select 5 edges x 2", "delete 1-ego x 2",
    "select 2-ego by root x 3", "tree x 3", "cover delete 3 vertices x 3", "mark 1 vertex x 3 distinct",
    "delete 2 edges x 2 distinct", "select 2 vertices x 2 in turn", "delete 1 edge x 2 in turn",
]  # fmt: skip


@pytest.mark.parametrize("text", TEXTS)
def test_every_policy_trains(text):
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = model_of(text, IMLE(lam=1000.0), auxiliary="cosine")
    out = model(batch)
    losses = (out.prediction - batch.y).square().squeeze(1)
    out.objective(losses).backward()
    assert out.prediction.shape == (4, 1)
    in_turn = model.policy.channels == "in turn"
    assert out.weights.shape[1] == (model.policy.count if in_turn else model.policy.columns)
    assert out.selected[0].choice.shape[1] == model.policy.count
    for part in (model.upstream, model.downstream):
        assert any(p.grad is not None and p.grad.abs().sum() > 0 for p in part.parameters())
    assert out.bag.num_subgraphs == 4 * model.policy.count


@pytest.mark.parametrize(
    "estimator", [IMLE(), AdaptiveIMLE(), SIMPLE(), StraightThrough(), ScoreFunction(), Random()], ids=repr
)
def test_every_estimator_trains_in_the_same_loop(estimator):
    torch.manual_seed(0)
    model = model_of("delete 2 vertices x 2", estimator, auxiliary="uniform", auxiliary_weight=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for batch in DataLoader(graphs(8), batch_size=4):
        out = model(batch)
        losses = (out.prediction - batch.y).square().squeeze(1)
        optimizer.zero_grad()
        out.objective(losses).backward()
        optimizer.step()
    assert all(p.isfinite().all() for p in model.parameters())


def test_the_gradient_of_the_weights_is_the_formula_of_the_paper():
    """Downstream gradients of a hand-made network, aggregated and put through I-MLE by hand."""

    class Linear(nn.Module):
        """The sum of given coefficients over the edges of the subgraphs."""

        def forward(self, batch, bag):
            total = (bag.edge_weight * coefficient[bag.edge]).sum()
            return total.view(1, 1)

    # Path 0 - 1 - 2; columns (0,1), (1,0), (1,2), (2,1) with the coefficients below.
    graph = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    coefficient = torch.tensor([1.0, -3.0, 5.0, 2.0])

    class Given(nn.Module):
        def __init__(self):
            super().__init__()
            self.weights = nn.Parameter(torch.tensor([[3.0], [2.0], [1.0]]))

        def forward(self, batch):
            return self.weights

    given = Given()
    model = DataDrivenOSAN(
        given, Linear(), "select 2 vertices", estimator=IMLE(lam=1.0), noise=Noise("none"), deleted="masked"
    )
    out = model(graph)
    assert out.prediction.item() == 1.0 - 3.0  # the edge between the chosen vertices 0 and 1
    out.objective(out.prediction.view(1)).backward()
    # Means over the edges that point to a vertex, chosen or not: (-3, (1 + 2) / 2, 5). Target weights are
    # (3 + 3, 2 - 1.5, 1 - 5) = (6, 0.5, -4): the same choice, so no gradient ...
    assert given.weights.grad.flatten().tolist() == [0, 0, 0]
    # ... but with the signs turned: (3 - 3, 2 + 1.5, 1 + 5), so vertex 2 takes the place of vertex 0.
    coefficient.neg_()
    given.weights.grad = None
    out = model(graph)
    out.objective(out.prediction.view(1)).backward()
    assert given.weights.grad.flatten().tolist() == [1, 0, -1]


@pytest.mark.parametrize("text", ["delete 1 vertex x 2", "select 2 edges x 2", "tree x 2"])
def test_a_vertex_alone_counts_as_it_does_among_others(text):
    """The last batch of an epoch may hold a single atom; batch norms then cannot but keep what they know."""
    model, others = model_of(text), graphs()
    alone = Data(x=torch.ones(1, 1), edge_index=torch.empty(2, 0, dtype=torch.long))
    out = model(Batch.from_data_list([alone]))
    out.objective(out.prediction.square().squeeze(1)).backward()
    assert all(p.grad is None or p.grad.isfinite().all() for p in model.parameters())
    model.eval()
    among = model(Batch.from_data_list([alone, *others])).prediction[:1]
    assert torch.allclose(model(Batch.from_data_list([alone])).prediction, among)


def test_a_compiled_model_gives_the_same():
    """Only whether torch can trace around what it cannot compile: ``backend="eager"`` compiles nothing."""
    batch, predictions = Batch.from_data_list(graphs()), []
    for compiled in (False, True):
        torch.manual_seed(0)
        model = model_of("delete 1 vertex x 2")
        out = (torch.compile(model, backend="eager") if compiled else model)(batch)
        out.objective(out.prediction.square().squeeze(1)).backward()
        predictions.append((out.prediction, model.upstream.out.weight.grad))
    assert torch.allclose(predictions[0][0], predictions[1][0], atol=1e-6)
    assert torch.allclose(predictions[0][1], predictions[1][1], atol=1e-6)


def test_names_are_no_ids_and_an_output_is_one_line():
    model, named = model_of("delete 1 vertex x 2").eval(), graphs(2)
    assert repr(model(Batch.from_data_list(named))).startswith("Output(prediction=[2, 1], weights=[")
    for graph, name in zip(named, "ab", strict=True):
        graph.graph_id = name
    with pytest.raises(
        OsanError, match=r"graph_id: expected one integer per graph, shape \[2\], got \['a', 'b'\]"
    ):
        model(Batch.from_data_list(named))


def test_evaluation_averages_the_samples():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = model_of("select 5 vertices x 2", samples=4, seed=9).eval()
    with torch.no_grad():
        out = model(batch)
        each = [model.downstream(batch, bag) for bag in out.bags]
    assert len(out.bags) == 4
    assert torch.allclose(out.prediction, torch.stack(each).mean(0), atol=1e-6)
    assert len({tuple(s.choice.flatten().tolist()) for s in out.selected}) > 1


def test_evaluation_votes_for_classes():
    batch = Batch.from_data_list(graphs())
    for out_width in (3, 1):
        torch.manual_seed(0)
        model = model_of("select 5 vertices x 1", out=out_width, samples=5, combine="vote").eval()
        with torch.no_grad():
            out = model(batch)
            each = torch.stack([model.downstream(batch, bag) for bag in out.bags])
        for graph in range(4):
            if out_width == 1:
                share = sum(float(p > 0) for p in each[:, graph, 0]) / 5 - 0.5
                assert out.prediction[graph].item() == pytest.approx(share)
            else:
                winners = each[:, graph].argmax(1).tolist()
                shares = [winners.count(c) / 5 for c in range(3)]
                assert out.prediction[graph].tolist() == pytest.approx(shares)


def test_evaluation_depends_on_seed_and_graph_alone():
    torch.manual_seed(0)
    data = graphs(5)
    model = model_of("delete 3 vertices x 2").eval()

    def predictions(order):
        with torch.no_grad():
            out = model(Batch.from_data_list([data[place] for place in order])).prediction
        return {place: out[at].item() for at, place in enumerate(order)}

    first = predictions([0, 1, 2, 3, 4])
    for order in ([4, 2, 0, 1, 3], [3], [1, 4]):
        again = predictions(order)
        assert all(again[place] == pytest.approx(first[place], abs=1e-5) for place in order)
    model.seed = 1
    other = predictions([0, 1, 2, 3, 4])
    assert any(abs(other[place] - first[place]) > 1e-5 for place in range(5))


def test_evaluation_noise_can_differ_from_that_of_training():
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = model_of("select 5 vertices x 2", evaluation_noise=Noise("none")).eval()
    with torch.no_grad():
        out = model(batch)
    for one in out.selected:
        for graph, channel in itertools.product(range(4), range(2)):
            mine = batch.batch == graph
            best = out.weights[mine, channel].topk(5).indices
            assert one.choice[mine, channel].nonzero().flatten().tolist() == sorted(best.tolist())
    # A little Gaussian noise hardly moves the choice, a lot of it does.
    moved = {}
    for scale in (0.01, 100.0):
        model.evaluation_noise = Noise("gaussian", scale=scale)
        with torch.no_grad():
            choices = torch.stack([one.choice for one in model(batch).selected])
        moved[scale] = (choices != out.selected[0].choice).double().mean().item()
    assert moved[0.01] < 0.1 < moved[100.0]


def test_all_subgraphs_equal_every_single_choice():
    """'x all' gives the prediction for the bag of all vertex-deleted subgraphs, built here one by one."""
    torch.manual_seed(0)
    graph = graphs(1)[0]
    model = model_of("delete 1 vertex x all").eval()
    n = graph.num_nodes
    from osan.bags import from_choice

    by_hand = from_choice(graph, 1 - torch.eye(n), operation="delete")
    with torch.no_grad():
        out = model(graph)
        assert out.prediction.item() == pytest.approx(model.downstream(graph, by_hand).item(), abs=1e-5)
    assert out.objective(torch.ones(1)).item() == 1.0
    with pytest.raises(OsanError, match="which chooses nothing"):
        model.explain(graph)
    with pytest.raises(OsanError, match="without order or cover"):
        model_of("tree x all")(graph)


@pytest.mark.parametrize("text", ["select 5 vertices x 2", "delete 3 edges x 2"])
def test_explanations_are_frequencies(text):
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    model = model_of(text)
    explanation = model.explain(batch, samples=10)
    assert isinstance(explanation, Explanation)
    assert explanation.validate()
    assert model.training
    model.eval()
    model.samples = 10
    with torch.no_grad():
        chosen = torch.stack([(one.choice != 0).float() for one in model(batch).selected])
    assert torch.allclose(explanation.frequency, chosen.mean(0))
    if model.policy.weighs_edges:
        assert torch.allclose(explanation.edge_mask, explanation.frequency.mean(1))
    else:
        assert torch.allclose(explanation.node_mask.squeeze(1), explanation.frequency.mean(1))
        # Five of the vertices of each graph, always.
        assert torch.allclose(explanation.frequency[batch.batch == 0].sum(0), torch.tensor([5.0, 5.0]))


def test_auxiliary_losses_are_added_as_the_reduction_says():
    batch = Batch.from_data_list(graphs())
    for name, reduction in itertools.product(("cosine", "uniform"), ("mean", "sum")):
        torch.manual_seed(0)
        model = model_of(
            "select 5 vertices x 3", IMLE(reduction=reduction), auxiliary=name, auxiliary_weight=0.5
        )
        out = model(batch)
        joined = out.diversity.mean() if reduction == "mean" else out.diversity.sum()
        assert out.auxiliary.item() == pytest.approx(joined.item())
        plain = torch.tensor([1.0, 2.0, 3.0, 4.0])
        total = plain.mean() if reduction == "mean" else plain.sum()
        assert out.objective(plain).item() == pytest.approx((total + joined).item(), abs=1e-5)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"auxiliary": "entropy"}, "expected 'cosine', 'uniform'"),
        ({"combine": "median"}, "'mean' or 'vote'"),
        ({"samples": 0}, "at least 1"),
    ],
)
def test_bad_settings(options, message):
    with pytest.raises(OsanError, match=message):
        model_of("delete 1 vertex", **options)


def test_missing_upstream_and_wrong_losses():
    with pytest.raises(OsanError, match=r"upstream: expected a module .*, got None"):
        DataDrivenOSAN(None, osan(8, 1, 1), "delete 1 vertex")
    batch = Batch.from_data_list(graphs())
    upstream = Upstream(2, 8, vertex_encoder=Numerical(1, 8))
    with pytest.raises(
        OsanError, match=r"expected 3 columns, one per subgraph of policy 'delete 1 vertex x 3'"
    ):
        DataDrivenOSAN(upstream, osan(8, 1, 1), "delete 1 vertex x 3")(batch)
    out = model_of("delete 1 vertex")(batch)
    with pytest.raises(OsanError, match=r"one per graph, shape \[4\]"):
        out.objective(torch.zeros(4, 1))


def test_a_model_of_graphs_is_no_downstream_network():
    for model in (nn.Linear(1, 1), GIN(1, 8, 2)):
        name = type(model).__name__
        with pytest.raises(OsanError, match=rf"a batch and a bag, got {name}; .*OnSubgraphs\({name}\("):
            DataDrivenOSAN(Upstream(1, 8), model, "delete 1 vertex")

    class Raises(nn.Module):
        def forward(self, batch, bag):
            raise TypeError("inside")

    model = DataDrivenOSAN(Upstream(1, 8, vertex_encoder=Numerical(1, 8)), Raises(), "delete 1 vertex")
    with pytest.raises(TypeError, match="inside"):
        model(graphs(1)[0])


def test_a_downstream_network_that_ignores_the_choice_is_said_once():
    class Blind(nn.Module):
        def __init__(self):
            super().__init__()
            self.linear = nn.Linear(1, 1)

        def forward(self, batch, bag):
            rows = self.linear(batch.x)[bag.vertex]
            return rows.new_zeros(bag.num_graphs, 1).index_add(0, bag.graph[bag.subgraph], rows)

    batch = Batch.from_data_list(graphs())
    for text in ("delete 1 vertex", "delete 1 edge", "mark 1 vertex"):
        model = model_of(text, auxiliary="uniform")
        seeing = model.downstream
        model.downstream = Blind()
        with pytest.warns(UserWarning, match="does not depend on which subgraphs are chosen"):
            model(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(batch)
            DataDrivenOSAN(model.upstream, seeing, text)(batch)
            DataDrivenOSAN(None, Blind(), text, estimator=Random())(batch)


class Constant(nn.Module):
    """Weights of a parameter, with or without their gradient."""

    def __init__(self, detached):
        super().__init__()
        self.factor, self.detached = nn.Parameter(torch.ones(1)), detached

    def forward(self, batch):
        weights = batch.x[:, :1] * self.factor
        return weights.detach() if self.detached else weights


def test_an_upstream_network_without_a_gradient_is_said_once():
    batch = Batch.from_data_list(graphs())
    for estimator in ("imle", "simple", "straight-through", "sparsemap", "score-function"):
        model = model_of("delete 1 vertex", estimator=estimator)
        model.upstream = Constant(detached=True)
        with pytest.warns(UserWarning, match="upstream: the weights of Constant have no gradient"):
            model(batch)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model(batch)


def test_where_no_gradient_is_wanted_nothing_is_said():
    batch = Batch.from_data_list(graphs())
    frozen = Constant(detached=False).requires_grad_(False)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for upstream, estimator in ((Constant(False), "imle"), (Constant(True), "fixed"), (frozen, "imle")):
            model = model_of("delete 1 vertex", estimator=estimator)
            model.upstream = upstream
            model(batch)
        settled, unseen = model_of("delete 1 vertex"), model_of("delete 1 vertex")
        settled.upstream = unseen.upstream = Constant(detached=True)
        settled.settled = True
        settled(batch)
        with torch.no_grad():
            unseen(batch)


class Above(Problem):
    """Whatever weighs more than 0."""

    sized = False

    def solve(self, weights, tie):
        return (weights > 0).to(weights.dtype)


class EdgesAbove(Above):
    weighs = "edge"


class NoProblem(Above):
    @classmethod
    def of(cls, policy, batch):
        return "above"


@pytest.mark.parametrize(("operation", "kind"), [("select", Above), ("delete", EdgesAbove)])
def test_a_custom_kind(operation, kind):
    torch.manual_seed(0)
    batch = Batch.from_data_list(graphs())
    policy = Policy(operation, kind, count=2)
    model = model_of(policy, IMLE(lam=1000.0), noise=Noise("none"))
    out = model(batch)
    ground = out.selected[0].problem.ground
    assert torch.equal(ground.gather(out.selected[0].choice) != 0, ground.gather(out.weights) > 0)
    out.objective((out.prediction - batch.y).square().squeeze(1)).backward()
    assert model.upstream.vertex_encoder.linear.weight.grad.abs().sum() > 0
    frequency = model.explain(batch, samples=2).frequency
    model.eval()
    assert torch.equal(frequency, model(batch).selected[0].choice)
    for estimator in (SIMPLE(), StraightThrough(), ScoreFunction()):
        with pytest.raises(OsanError, match=r"estimator: expected a policy .*, got '.*Above x 2'; use IMLE"):
            model_of(policy, estimator)(batch)
    with pytest.raises(OsanError, match="to return a Problem, got str"):
        model_of(Policy("select", NoProblem, count=2))(batch)
    with pytest.raises(OsanError, match="for 'x all', got"):
        model_of(Policy(operation, kind, count="all"))(batch)


def test_parts_by_name():
    """Names, objects and functions give the same predictions; what does not fit is refused."""
    batch = Batch.from_data_list(graphs())

    def made(**options):
        torch.manual_seed(0)
        model = model_of("select 3 vertices x 2", **options)
        out = model(batch)
        return torch.cat((out.prediction, out.diversity[:, None]), dim=1)

    for options in (
        {"estimator": SIMPLE, "noise": NOISES["gaussian"], "auxiliary": cosine_similarity},
        {"estimator": "simple", "noise": "gaussian", "auxiliary": "cosine"},
        {
            "estimator": "osan.selection:SIMPLE",
            "noise": "osan.selection.noise:gaussian",
            "auxiliary": "osan.selection:cosine_similarity",
        },
    ):
        objects = {"estimator": SIMPLE(), "noise": Noise("gaussian"), "auxiliary": "cosine"}
        assert torch.equal(made(**options), made(**objects))
    for options, message in (
        ({"estimator": "simpel"}, "estimator: expected 'imle', .*; did you mean 'simple'"),
        ({"estimator": nn.Linear}, "estimator: expected .* a subclass of it, got"),
        ({"estimator": "torch.nn:Linear"}, "estimator: expected .*, got 'torch.nn:Linear'"),
        ({"estimator": Noise()}, "estimator: expected"),
        ({"estimator": "osan.selection:Estimator.nothing"}, "estimator: cannot import"),
        ({"noise": "gumble"}, "noise: expected .*; did you mean 'gumbel'"),
        ({"noise": 1.0}, "noise: expected a function"),
        ({"auxiliary": "cosin"}, "auxiliary: expected 'cosine', 'uniform' .*; did you mean 'cosine'"),
        ({"auxiliary": 3}, "auxiliary: expected a function"),
        ({"auxiliary": lambda choice, ground: choice}, r"one loss per graph, shape \[4\], got shape"),
        ({"noise": lambda problem, weights, uniform: uniform(0)[:, :1]}, r"to return shape \[\d+, 2\], got"),
    ):
        with pytest.raises(OsanError, match=message):
            made(**options)


def test_it_learns_or_not():
    assert model_of("delete 1 vertex x 2").learns
    assert not model_of("delete 1 vertex x 2", Random()).learns
    assert not model_of("delete 1 vertex x all").learns


def test_an_output_without_selection():
    """A model with one fixed bag: the mean of the losses, no auxiliary loss, one prediction."""
    batch = Batch.from_data_list(graphs())
    out = Output(torch.zeros(4, 1), (whole_graphs(batch),))
    assert out.objective(torch.tensor([1.0, 2.0, 3.0, 6.0])).item() == 3.0
    assert (out.auxiliary.item(), len(out.each), out.selected, out.weights) == (0.0, 1, (), None)
    with pytest.raises(OsanError, match=r"one per graph, shape \[4\]"):
        out.objective(torch.zeros(3))


def test_learned_selection_finds_the_planted_triangle():
    """At least 4 times the uniform frequency, and at most half of the error of random selection."""
    width = 32
    data = graphs(1200, seed=0)
    train = DataLoader(data[:1000], batch_size=50, shuffle=True)
    test = Batch.from_data_list(data[1000:])
    errors = {}
    for estimator in (IMLE(lam=2.0, samples=2), Random()):
        torch.manual_seed(0)
        gin = GIN(width, width, 4, norm="batch_norm", jk="last")
        upstream = Upstream(1, width, vertex_encoder=Numerical(1, width), model=gin)
        downstream = osan(width, 1, 1, vertex_encoder=Numerical(1, width), readout="sum", norm=False)
        model = DataDrivenOSAN(upstream, downstream, "select 3 vertices x 1", estimator=estimator)
        epochs = 20 if isinstance(estimator, IMLE) else 8
        optimizer = torch.optim.Adam(model.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 5e-3, total_steps=epochs * len(train))
        for _ in range(epochs):
            for batch in train:
                out = model(batch)
                optimizer.zero_grad()
                out.objective((out.prediction - batch.y).square().squeeze(1)).backward()
                optimizer.step()
                schedule.step()
        model.eval()
        with torch.no_grad():
            errors[type(estimator)] = (model(test).prediction - test.y).abs().mean().item()
        if isinstance(estimator, IMLE):
            frequency = model.explain(test).frequency[test.planted].sum().item()
    uniform = (9 / test.ptr.diff()).sum().item()  # three planted vertices, each chosen with 3 / n
    assert frequency / uniform >= 4
    assert errors[IMLE] <= 0.5 * errors[Random]
