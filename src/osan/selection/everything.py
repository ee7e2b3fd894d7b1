"""All subgraphs of a policy: no choice, no learning, and as many subgraphs as there are."""

from __future__ import annotations

from torch_geometric.data import Data

from osan.bags import SubgraphBag, all_edges, all_egos, all_subsets
from osan.bags.operations import Deleted
from osan.errors import OsanError
from osan.selection.policy import Policy


def all_subgraphs(
    policy: Policy, batch: Data, *, deleted: Deleted = "masked", whole_graph: bool = False
) -> SubgraphBag:
    """The bag of every subgraph that an unordered policy allows, as in ESAN (Bevilacqua et al. 2022).

    When to use: on small graphs, as the yardstick of what choosing a few subgraphs gives away.

    Parameters
    ----------
    policy
        Its ``count`` plays no part.
    batch
        The graphs.
    deleted, whole_graph
        See :func:`osan.bags.from_choice`.

    Examples
    --------
    >>> import torch
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> all_subgraphs(Policy.parse("delete 1 vertex x all"), path).num_subgraphs
    3
    """
    if policy.ordered or policy.cover or policy.what == "tree":
        raise OsanError(
            "policy: 'all' is for vertices, edges and ego-nets without order or cover, "
            f"not for {str(policy)!r}"
        )
    operation, size = policy.operation, policy.size
    if policy.what == "vertex":
        return all_subsets(batch, size, operation=operation, deleted=deleted, whole_graph=whole_graph)
    if policy.what == "edge":
        return all_edges(batch, size, operation=operation, deleted=deleted, whole_graph=whole_graph)
    return all_egos(batch, size, operation=operation, deleted=deleted, whole_graph=whole_graph)
