"""The kinds of choices by the noun that a policy's text has for them."""

from __future__ import annotations

from inspect import isabstract
from typing import TYPE_CHECKING, cast

import torch
from torch_geometric.data import Data

from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.parts import resolve
from osan.selection.cover import CoverProblem
from osan.selection.ego import EgoProblem
from osan.selection.ground import GroundSet
from osan.selection.problem import Problem
from osan.selection.topk import EdgeProblem, ElementProblem, VertexProblem
from osan.selection.tree import TreeProblem
from osan.words import Deleted

if TYPE_CHECKING:
    from osan.selection.policy import Policy

KINDS: dict[str, type[Problem]] = {
    kind.noun: kind for kind in (VertexProblem, EdgeProblem, EgoProblem, TreeProblem, ElementProblem)
}
# The kinds of policies that begin with "cover".
COVERS: dict[str, type[Problem]] = {CoverProblem.noun: CoverProblem}


def kind_named(what: str | type[Problem], cover: bool = False) -> type[Problem]:
    """The class behind a noun, ``module:Name`` or the class itself.

    Examples
    --------
    >>> kind_named("ego").__name__
    'EgoProblem'
    >>> kind_named("path")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: policy: expected 'vertex', 'edge', 'ego', 'tree', 'element' or ..., got 'path'
    """
    kind = resolve(what, KINDS, "policy")
    if not (isinstance(kind, type) and issubclass(kind, Problem)):
        raise OsanError(f"policy: expected a subclass of osan.selection.Problem, got {what!r}")
    if isabstract(kind):
        raise OsanError(f"policy: expected a kind that defines solve(weights, tie), got {what!r}")
    if not cover:
        return kind
    if what not in COVERS:
        allowed = " or ".join(each.plural for each in COVERS.values())
        raise OsanError(f"policy: expected {allowed} for cover, got {what!r}")
    return COVERS[str(what)]


@torch.compiler.disable  # sizes depend on values: nothing to compile
def problem_for(policy: Policy, batch: Data | GroundSet) -> Problem:
    """The problem that a policy poses on a batch, or on sets for a policy of elements.

    Examples
    --------
    >>> from osan.selection import Policy
    >>> path = Data(edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]), num_nodes=3)
    >>> problem_for(Policy.parse("select 1-ego"), path).solve(torch.eye(3), torch.zeros(3, 3))
    tensor([[1., 1., 0.],
            [1., 1., 1.],
            [0., 0., 1.]])
    """
    # Kinds that need a graph refuse sets when they look for its edges.
    problem = policy.kind.of(policy, cast(Data, batch))
    if not isinstance(problem, Problem):
        raise OsanError(
            f"policy: expected {policy.kind.__name__}.of(policy, batch) to return a Problem, got "
            f"{type(problem).__name__}"
        )
    return problem


def all_subgraphs(
    policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
) -> SubgraphBag:
    """The bag of every subgraph that an unordered policy allows, as in ESAN (Bevilacqua et al. 2022).

    When to use: on small graphs, to see what is lost by choosing only a few subgraphs.

    Parameters
    ----------
    policy
        Its ``count`` is ignored.
    batch
        The graphs.
    deleted, whole_graph
        See :func:`osan.bags.from_choice`.

    Examples
    --------
    >>> from osan.selection import Policy
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> all_subgraphs(Policy.parse("delete 1 vertex x all"), path).num_subgraphs
    3
    """
    return policy.kind.every(policy, batch, deleted=deleted, whole_graph=whole_graph)
