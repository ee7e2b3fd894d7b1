"""Custom kinds, named in a policy's text."""

import sys
import textwrap
from dataclasses import replace

import networkx as nx
import pytest
import torch
from enumeration import data
from torch_geometric.data import Batch

from osan.bags import all_subsets
from osan.errors import OsanError
from osan.selection import (
    IMLE,
    KINDS,
    EdgeProblem,
    Policy,
    Problem,
    Selection,
    VertexProblem,
    all_subgraphs,
    problem_for,
)
from osan.training.settings import Settings

RING = '''
from dataclasses import dataclass

import networkx as nx
import torch
from osan.selection import Problem


@dataclass(frozen=True)
class Ring(Problem):
    """Choose the cycle of a minimum cycle basis with the largest mean weight."""

    rings: torch.Tensor  # [rings, vertices]
    owner: torch.Tensor  # the graph of each ring

    sized = False

    @classmethod
    def of(cls, policy, batch):
        ground = cls.ground_of(batch)
        graph = nx.Graph(batch.edge_index.t().tolist())
        rings = [sorted(ring) for ring in nx.minimum_cycle_basis(graph)]
        rows = torch.zeros(len(rings), batch.num_nodes)
        for row, ring in zip(rows, rings):
            row[ring] = 1
        return cls(policy, ground, rows, ground.graph[[ring[0] for ring in rings]])

    def solve(self, weights, tie):
        choice = torch.zeros_like(weights)
        for graph in range(self.ground.num_graphs):
            rings = self.rings[self.owner == graph].to(weights.dtype)
            value = rings @ weights / rings.sum(1, keepdim=True)
            choice += rings[value.argmax(0)].T
        return choice


class Size(Ring):
    sized = True
    by = ("mean", "sum")


class NoSolver(Problem):
    sized = False


class Short(Problem):
    sized = False

    def solve(self, weights, tie):
        return torch.ones_like(weights[1:])


def no_kind():
    pass
'''


@pytest.fixture
def rings(tmp_path, monkeypatch):
    """A user's file in the current folder."""
    (tmp_path / "my_rings.py").write_text(textwrap.dedent(RING))
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("my_rings", None)


@pytest.mark.parametrize(
    "text",
    [
        "select my_rings:Ring x 3",
        "delete my_rings:Ring",
        "mark my_rings:Ring x all",
        "delete 2 my_rings:Size x 3",
        "select 1 my_rings:Size by sum",
    ],
)
@pytest.mark.usefixtures("rings")
def test_the_text_of_a_custom_kind_goes_both_ways(text):
    policy = Policy.parse(text)
    assert str(policy) == text
    assert Policy.of_slug(policy.slug, policy.count) == policy
    # The class itself stands for the same policy.
    size, by = policy.size, policy.by
    assert Policy(policy.operation, policy.kind, size, by=by, count=policy.count) == policy


@pytest.mark.usefixtures("rings")
def test_a_ring_is_chosen_and_becomes_a_bag():
    # A triangle and a square that share a vertex, and a triangle with a tail.
    first = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 4), (4, 5), (5, 2)])
    second = nx.Graph([(0, 1), (1, 2), (2, 0), (2, 3)])
    batch = Batch.from_data_list([data(first), data(second)])
    weights = torch.zeros(10, 2)
    weights[0, 0], weights[4, 1] = 1, 1
    weights.requires_grad_()
    selected = Selection("select my_rings:Ring", IMLE(), "none")(batch, weights)
    assert selected.choice.T.tolist() == [[1, 1, 1, 0, 0, 0, 1, 1, 1, 0], [0, 0, 1, 1, 1, 1, 1, 1, 1, 0]]
    bag = selected.problem.bag(batch, selected.choice.detach())
    assert bag.vertex[bag.subgraph == 1].tolist() == [2, 3, 4, 5]
    deleted = problem_for(Policy.parse("mark my_rings:Ring"), batch).bag(batch, selected.choice.detach())
    assert (
        deleted.mark.tolist() == selected.choice.T.reshape(2, -1)[:, :6].flatten().tolist() + [1, 1, 1, 0] * 2
    )
    with pytest.raises(OsanError, match="for 'x all', got 'select my_rings:Ring x all'"):
        Policy.parse("select my_rings:Ring x all").kind.every(
            Policy.parse("select my_rings:Ring x all"), batch
        )


@pytest.mark.usefixtures("rings")
@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("select my_rings:Rings x 3", "policy: cannot import 'my_rings:Rings'"),
        ("select no_such_module:Ring", "policy: cannot import 'no_such_module:Ring'"),
        (
            "select my_rings:no_kind",
            "policy: expected a subclass of osan.selection.Problem, got 'my_rings:no_kind'",
        ),
        ("select my_rings:NoSolver", r"a kind that defines solve\(weights, tie\), got 'my_rings:NoSolver'"),
        (
            "select 3 my_rings:Ring",
            r"expected a text such as .*; 'my_rings:Ring' takes no number \(its class has sized = False",
        ),
        (
            "select my_rings:Size",
            r"expected a text such as .*; 'my_rings:Size' needs a number \(its class has sized = True",
        ),
        ("delete edges x 2", r"expected a text such as .*; 'edges' needs a number$"),
        ("delete 1 tree", r"expected a text such as .*; 'tree' takes no number$"),
        ("delete 1 node x 2", r"expected a text such as .*; write 'vertex' for 'node'$"),
        ("mark 2 nodes", r"expected a text such as .*; write 'vertices' for 'nodes'$"),
        ("my_rings:Ring x 3", "policy: expected a text such as"),
        ("select my_rings:Ring ordered", "unordered policy for 'my_rings:Ring'"),
        ("cover select my_rings:Ring", "expected vertices for cover, got 'my_rings:Ring'"),
        ("select 1 my_rings:Size by root", "expected 'mean', 'sum' for by, got 'root'"),
    ],
)
def test_what_does_not_fit_is_named(text, message):
    with pytest.raises(OsanError, match=message):
        Policy.parse(text)


@pytest.mark.usefixtures("rings")
def test_a_solver_that_gives_another_shape_is_named():
    """Not the estimator, which hands on what the solver gives."""
    select = Selection("select my_rings:Short", noise="none")
    with pytest.raises(
        OsanError, match=r"policy: expected Short.solve to return shape \[3, 2\], .* \[2, 2\]"
    ):
        select(data(nx.path_graph(3)), torch.zeros(3, 2))


class Core(Problem):
    """With hyphens in its noun, and a number."""

    noun, plural = "k-core", "k-cores"

    def solve(self, weights, tie):
        return torch.ones_like(weights)


def test_a_line_in_kinds_gives_a_noun(monkeypatch):
    monkeypatch.setitem(KINDS, "k-core", Core)
    for text in ("delete 2 k-cores x 3", "select 1 k-core", "mark 3 k-cores x all"):
        policy = Policy.parse(text)
        assert policy.kind is Core
        assert str(policy) == text
        assert Policy.of_slug(policy.slug, policy.count) == policy
    assert Policy.parse("delete 2 k-cores").slug == "delete-2-k-cores"


class Share(VertexProblem):
    """A share of the vertices, in percent."""

    @classmethod
    def of(cls, policy, batch):
        ground = cls.ground_of(batch)
        return cls(policy, ground, ground.sizes * policy.size // 100)


class Bonds(EdgeProblem):
    """Edges by another name."""


@pytest.mark.parametrize(("noun", "kind"), [("share", Share), ("bond", Bonds)])
def test_a_subclass_in_kinds_keeps_its_noun(monkeypatch, noun, kind):
    """It inherits the plural of the other kind, which stands for the other kind."""
    monkeypatch.setitem(KINDS, noun, kind)
    for text in (f"select 50 {noun} x 2", f"delete 1 {noun}"):
        policy = Policy.parse(text)
        assert policy.kind is kind
        assert str(policy) == text
        assert Policy.of_slug(policy.slug, policy.count) == policy
    assert Settings().changed({"selection.policy": f"select 50 {noun}"}).selection.parsed.kind is kind


@pytest.mark.parametrize(("noun", "kind"), [("share", Share), ("bond", Bonds)])
def test_all_sets_of_a_subclass_that_has_other_sizes_are_not_listed(noun, kind):
    graph = data(nx.path_graph(4))
    policy = Policy("select", kind, 50, count="all")
    if kind is Share:
        with pytest.raises(OsanError, match=r"for 'x all', got 'select 50 .*Share x all'"):
            all_subgraphs(policy, graph)
    else:
        assert all_subgraphs(replace(policy, size=2), graph).num_subgraphs == 3


class Sized(VertexProblem):
    """As many vertices of each graph as the test says."""

    sized, number = False, torch.tensor([0, 0])

    @classmethod
    def of(cls, policy, batch):
        return cls(policy, cls.ground_of(batch), cls.number)


@pytest.mark.parametrize("operation", ["select", "delete"])
@pytest.mark.parametrize("estimator", ["imle", "simple", "sparsemap", "straight-through"])
def test_estimators_agree_on_sizes(monkeypatch, operation, estimator):
    """Also on the least and the largest ones."""
    pair = Batch.from_data_list([data(nx.path_graph(3)), data(nx.path_graph(5))])
    for number in ([0, 0], [3, 5], [0, 5], [2, 3]):
        monkeypatch.setattr(Sized, "number", torch.tensor(number))
        choice = Selection(Policy(operation, Sized), estimator)(pair, torch.randn(8, 2)).choice
        torch.testing.assert_close(choice[:3].sum(0), torch.full((2,), float(number[0])))
        torch.testing.assert_close(choice[3:].sum(0), torch.full((2,), float(number[1])))


@pytest.mark.parametrize("operation", ["select", "delete"])
@pytest.mark.parametrize("estimator", ["imle", "simple", "sparsemap", "random"])
@pytest.mark.parametrize(
    ("number", "message"),
    [
        (torch.tensor([3, 6]), "expected keep of Sized from 0 to 5, the size of graph 1, got 6; use"),
        (
            torch.tensor([-1, 2]),
            "expected keep of Sized from 0 to 3, the size of graph 0, got -1; use",
        ),
        (
            torch.tensor([1.5, 2.5]),
            r"integers of shape \[2\] as keep of Sized, got torch.float32 of",
        ),
        (
            torch.tensor([2]),
            r"integers of shape \[2\] as keep of Sized, got torch.int64 of shape \[1\]",
        ),
        (2, r"integers of shape \[2\] as keep of Sized, got 2;"),
    ],
)
def test_sizes_that_no_choice_has_are_refused(monkeypatch, operation, estimator, number, message):
    monkeypatch.setattr(Sized, "number", number)
    pair = Batch.from_data_list([data(nx.path_graph(3)), data(nx.path_graph(5))])
    with pytest.raises(OsanError, match=message):
        Selection(Policy(operation, Sized), estimator)(pair, torch.randn(8, 2))


class Pairs(Share):
    """With a list of its own."""

    @classmethod
    def every(cls, policy, batch, **look):
        return all_subsets(batch, 2, operation=policy.operation, **look)


def test_a_subclass_can_list_its_sets():
    policy = Policy("select", Pairs, 50, count="all")
    assert all_subgraphs(policy, data(nx.path_graph(4))).num_subgraphs == 6


def test_a_class_that_cannot_be_imported_still_works():
    class Local(Problem):
        sized = False

        def solve(self, weights, tie):
            return (weights > 0).to(weights.dtype)

    policy = Policy("select", Local)
    assert policy.what is Local
    assert str(policy).endswith("Local")
    choice = Selection(policy, noise="none")(data(nx.path_graph(3)), torch.tensor([[1.0], [-1], [1]])).choice
    assert choice.flatten().tolist() == [1, 0, 1]
