"""Custom kinds, named in a policy's text."""

import sys
import textwrap

import networkx as nx
import pytest
import torch
from enumeration import data
from torch_geometric.data import Batch

from osan.errors import OsanError
from osan.selection import IMLE, KINDS, Policy, Problem, Selection, problem_for

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
        ("select 3 my_rings:Ring", "policy: expected a text such as"),
        ("select my_rings:Size", "policy: expected a text such as"),
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
