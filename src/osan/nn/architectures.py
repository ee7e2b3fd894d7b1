"""The architectures that the paper proves k-OSANs to capture, each a short composition of the same parts.

Every function gives a :class:`PolicyNetwork`: a policy that makes the bag, and a network that looks at it.
The arguments ``width, layers, out`` and all options are those of :class:`osan.nn.OSAN`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, Literal

from torch import Generator, Tensor
from torch.nn import Module
from torch_geometric.data import Data

from osan import bags
from osan.bags import SubgraphBag
from osan.errors import OsanError
from osan.nn.dss import DSSNetwork
from osan.nn.nested import EgoNetwork
from osan.nn.network import OSAN, at_first

Policy = Callable[[Data], SubgraphBag]
ESANPolicy = Literal["vertex-deleted", "edge-deleted", "ego", "ego+"]


class PolicyNetwork(Module):
    """A network together with the policy that makes its bags.

    Parameters
    ----------
    policy
        From a batch to a bag.
    network
        From a batch and a bag to predictions.

    Examples
    --------
    >>> import torch
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> reconstruction_gnn(16, 2, 1, k=2)(path).shape
    torch.Size([1, 1])
    """

    def __init__(self, policy: Policy, network: Module) -> None:
        super().__init__()
        self.policy, self.network = policy, network

    def forward(self, batch: Data, bag: SubgraphBag | None = None) -> Tensor:
        """Predictions; a bag that was made beforehand saves making it."""
        return self.network(batch, self.policy(batch) if bag is None else bag)


def k_osan(
    width: int,
    layers: int,
    out: int,
    *,
    k: int,
    aggregation: Literal["per-vertex", "per-subgraph"] = "per-vertex",
    **options: Any,
) -> PolicyNetwork:
    """k-OSAN (or vertex-subgraph k-OSAN) over all of V(G)^k, as powerful as k-OSWL (paper, proposition 1)."""
    network = OSAN(width, layers, out, k=k, atomic="ordered", aggregation=aggregation, **options)
    return PolicyNetwork(partial(bags.all_tuples, k=k), network)


def marked_gnn(
    width: int, layers: int, out: int, *, k: int, alongside: bool = False, **options: Any
) -> PolicyNetwork:
    """k-marked GNN: all sets of k marked vertices, marked and unmarked neighbors aggregated apart.

    References
    ----------
    Papp and Wattenhofer, "A theoretical comparison of graph neural network extensions", ICML 2022; with
    ``alongside`` a plain network runs beside it, as there.
    """
    network = OSAN(
        width,
        layers,
        out,
        atomic="unordered",
        marked=True,
        aggregation="per-vertex",
        alongside=alongside,
        **options,
    )
    return PolicyNetwork(partial(bags.all_subsets, k=k, operation="mark"), network)


def dropout_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    m: int,
    generator: Generator | None = None,
    p: float | None = None,
    k: int | None = None,
    **options: Any,
) -> PolicyNetwork:
    """Dropout GNN: m runs, in each of which every vertex is missing with probability p, or k random ones are.

    References
    ----------
    Papp et al., "DropGNN: random dropouts increase the expressiveness of graph neural networks", NeurIPS
    2021.
    """
    policy: Policy
    if p is not None and k is None:
        policy = partial(bags.random_dropout, p=p, m=m, generator=generator)
    elif k is not None and p is None:
        policy = partial(bags.random_subsets, k=k, m=m, generator=generator)
    else:
        got = "neither" if k is None else f"both: p={p}, k={k}"
        raise OsanError(f"dropout_gnn: expected the probability p or the number k, got {got}")
    return PolicyNetwork(policy, OSAN(width, layers, out, aggregation="per-vertex", **options))


def reconstruction_gnn(width: int, layers: int, out: int, *, k: int, **options: Any) -> PolicyNetwork:
    """k-reconstruction GNN: the induced subgraphs on all sets of k vertices.

    References
    ----------
    Cotta, Morris and Ribeiro, "Reconstruction for powerful graph representations", NeurIPS 2021.
    """
    network = OSAN(width, layers, out, aggregation="per-subgraph", **options)
    return PolicyNetwork(partial(bags.all_subsets, k=k, operation="select"), network)


def identity_gnn(
    width: int, layers: int, out: int, *, k: int = 1, hops: int | None = None, **options: Any
) -> PolicyNetwork:
    r"""Identity-aware GNN and its k-extension: ego-nets in which a walk from the center is marked.

    A vertex v admits the walks that start at it, :math:`\pi_{v,g} = [v = g_1]`; marked neighbors have a
    layer of their own. By default the ego-nets are as deep as the network.

    References
    ----------
    You et al., "Identity-aware graph neural networks", AAAI 2021; the extension to k > 1 is the paper's
    (appendix "Identity-aware GNNs").
    """
    network = OSAN(
        width,
        layers,
        out,
        atomic="unordered",
        marked=True,
        aggregation="per-vertex",
        admission=at_first,
        **{"sagg": "sum", **options},
    )
    return PolicyNetwork(partial(bags.all_walks, k=k, hops=layers if hops is None else hops), network)


def nested_gnn(width: int, layers: int, out: int, *, hops: int, **options: Any) -> PolicyNetwork:
    """Nested GNN: the ego-net of every vertex, pooled into the vertex.

    References
    ----------
    Zhang and Li, "Nested graph neural networks", NeurIPS 2021.
    """
    return PolicyNetwork(partial(bags.all_egos, hops=hops), EgoNetwork(width, layers, out, **options))


def kernel_gnn(width: int, layers: int, out: int, *, hops: int, starts: int, **options: Any) -> PolicyNetwork:
    """GNN-as-kernel: a nested GNN that starts again from the vertex features it made.

    References
    ----------
    Zhao et al., "From stars to subgraphs: uplifting any GNN with local structure awareness", ICLR 2022.
    """
    network = EgoNetwork(width, layers, out, starts=starts, **options)
    return PolicyNetwork(partial(bags.all_egos, hops=hops), network)


def esan_policy(name: ESANPolicy, *, k: int = 1, hops: int = 2) -> Policy:
    """The policies of equivariant subgraph aggregation networks, with deleted vertices isolated as there."""
    policies: dict[str, Policy] = {
        "vertex-deleted": partial(bags.all_subsets, k=k, operation="delete", deleted="isolated"),
        "edge-deleted": partial(bags.all_edges, k=k, operation="delete"),
        "ego": partial(bags.all_egos, hops=hops, deleted="isolated"),
        "ego+": partial(bags.all_egos, hops=hops, deleted="isolated", mark_center=True),
    }
    if name not in policies:
        raise OsanError(f"policy: expected one of {', '.join(map(repr, policies))}, got {name!r}")
    return policies[name]


def ds_gnn(
    width: int, layers: int, out: int, *, policy: ESANPolicy, k: int = 1, hops: int = 2, **options: Any
) -> PolicyNetwork:
    """DS-GNN: a network on each subgraph of a policy, then a network on the set.

    References
    ----------
    Bevilacqua et al., "Equivariant subgraph aggregation networks", ICLR 2022.
    """
    atomic: dict[str, Any] = {"atomic": "unordered"} if policy == "ego+" else {}
    network = OSAN(width, layers, out, aggregation="per-subgraph", **atomic, **options)
    return PolicyNetwork(esan_policy(policy, k=k, hops=hops), network)


def dss_gnn(
    width: int, layers: int, out: int, *, policy: ESANPolicy, k: int = 1, hops: int = 2, **options: Any
) -> PolicyNetwork:
    """DSS-GNN: as :func:`ds_gnn`, and every layer shares information between the subgraphs.

    References
    ----------
    Bevilacqua et al., "Equivariant subgraph aggregation networks", ICLR 2022. The paper leaves open whether
    OSANs capture it.
    """
    atomic: dict[str, Any] = {"atomic": "unordered"} if policy == "ego+" else {}
    network = DSSNetwork(width, layers, out, aggregation="per-subgraph", **atomic, **options)
    return PolicyNetwork(esan_policy(policy, k=k, hops=hops), network)
