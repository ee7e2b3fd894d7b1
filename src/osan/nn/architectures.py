"""The architectures that the paper proves k-OSANs to capture, each a short composition of the same parts.

Every function takes ``width, layers, out`` and the options of :func:`osan.nn.osan`. Most return a
:class:`osan.nn.FixedBags`: a network together with the function that makes its bags. :func:`osan.nn.osan`,
:func:`ds_network` and :func:`osan.nn.dss_network` return a network that is called with a batch and any bag.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Literal

from torch import Generator
from torch.nn import Module
from typing_extensions import Unpack

from osan import bags
from osan.errors import OsanError
from osan.nn.admission import at_first
from osan.nn.dss import dss_network
from osan.nn.fixed_bags import FixedBags, MakeBag
from osan.nn.from_options import osan
from osan.nn.nested import ego_network
from osan.nn.network import OSAN
from osan.nn.options import Aggregation, BagOptions, EgoOptions, NetworkOptions, Pooling, checked
from osan.parts import resolve

Architecture = Callable[..., Module]
ESANPolicy = Literal["vertex-deleted", "edge-deleted", "ego", "ego+"]


@checked(sets=("atomic",))
def k_osan(
    width: int,
    layers: int,
    out: int,
    *,
    k: int,
    aggregation: Aggregation = "per-vertex",
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    """k-OSAN (or vertex-subgraph k-OSAN) over all of V(G)^k, as powerful as k-OSWL (paper, proposition 1)."""
    network = osan(width, layers, out, k=k, atomic="ordered", aggregation=aggregation, **options)
    return FixedBags(partial(bags.all_tuples, k=k), network)


@checked(sets=("atomic", "aggregation", "marked"))
def marked_gnn(width: int, layers: int, out: int, *, k: int, **options: Unpack[NetworkOptions]) -> FixedBags:
    """k-marked GNN: all sets of k marked vertices, marked and unmarked neighbors aggregated separately.

    References
    ----------
    Papp and Wattenhofer, "A theoretical comparison of graph neural network extensions", ICML 2022; with
    ``alongside=True`` a plain network runs beside it, as in that paper.
    """
    options["marked"] = True
    network = osan(width, layers, out, atomic="unordered", aggregation="per-vertex", **options)
    return FixedBags(partial(bags.all_subsets, k=k, operation="mark"), network)


@checked(sets=("aggregation",))
def dropout_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    m: int,
    generator: Generator | None = None,
    p: float | None = None,
    k: int | None = None,
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    """Dropout GNN: m runs, each without random vertices, every one with probability p, or k of them.

    References
    ----------
    Papp et al., "DropGNN: random dropouts increase the expressiveness of graph neural networks", NeurIPS
    2021.
    """
    make_bag: MakeBag
    if p is not None and k is None:
        make_bag = partial(bags.random_dropout, p=p, m=m, generator=generator)
    elif k is not None and p is None:
        make_bag = partial(bags.random_subsets, k=k, m=m, generator=generator)
    else:
        got = "neither" if k is None else f"both: p={p}, k={k}"
        raise OsanError(f"dropout_gnn: expected the probability p or the number k, got {got}")
    return FixedBags(make_bag, osan(width, layers, out, aggregation="per-vertex", **options))


@checked(sets=("aggregation",))
def reconstruction_gnn(
    width: int, layers: int, out: int, *, k: int, **options: Unpack[NetworkOptions]
) -> FixedBags:
    """k-reconstruction GNN: the induced subgraphs on all sets of k vertices.

    References
    ----------
    Cotta, Morris and Ribeiro, "Reconstruction for powerful graph representations", NeurIPS 2021.
    """
    network = osan(width, layers, out, aggregation="per-subgraph", **options)
    return FixedBags(partial(bags.all_subsets, k=k, operation="select"), network)


@checked(sets=("atomic", "aggregation", "admission", "marked"))
def identity_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    k: int = 1,
    hops: int | None = None,
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    r"""Identity-aware GNN and its k-extension: ego-nets in which a walk from the center is marked.

    A vertex v admits the walks that start at it, :math:`\pi_{v,g} = [v = g_1]`. Marked and unmarked neighbors
    are aggregated by different layers. By default the ego-nets are as deep as the network, and subgraphs are
    summed.

    References
    ----------
    You et al., "Identity-aware graph neural networks", AAAI 2021; the extension to k > 1 is the paper's
    (appendix "Identity-aware GNNs").
    """
    options = {"sagg": "sum", **options, "marked": True, "admission": at_first}
    network = osan(width, layers, out, atomic="unordered", aggregation="per-vertex", **options)
    return FixedBags(partial(bags.all_walks, k=k, hops=layers if hops is None else hops), network)


@checked(sets=("starts",))
def nested_gnn(width: int, layers: int, out: int, *, hops: int, **options: Unpack[EgoOptions]) -> FixedBags:
    """Nested GNN: the ego-net of every vertex, pooled into the vertex.

    References
    ----------
    Zhang and Li, "Nested graph neural networks", NeurIPS 2021.
    """
    return FixedBags(partial(bags.all_egos, hops=hops), ego_network(width, layers, out, **options))


@checked(sets=("atomic", "across"))
def sswl_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    aggregation: Aggregation = "per-vertex",
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    """GNN-SSWL: one marked vertex per subgraph, and messages between subgraphs whose marks are neighbors.

    As powerful as the test ``"sswl"`` of :mod:`osan.wl`: more than any 1-OSAN, less than 2-WL.

    References
    ----------
    Zhang et al., "A complete expressiveness hierarchy for subgraph GNNs via subgraph Weisfeiler-Lehman
    tests", ICML 2023.
    """
    options["across"] = True
    network = osan(width, layers, out, atomic="unordered", aggregation=aggregation, **options)
    return FixedBags(partial(bags.all_subsets, k=1, operation="mark"), network)


@checked()
def kernel_gnn(
    width: int, layers: int, out: int, *, hops: int, starts: int, **options: Unpack[EgoOptions]
) -> FixedBags:
    """GNN-as-kernel: a nested GNN that starts again from the vertex features it computed.

    References
    ----------
    Zhao et al., "From stars to subgraphs: uplifting any GNN with local structure awareness", ICLR 2022.
    """
    network = ego_network(width, layers, out, starts=starts, **options)
    return FixedBags(partial(bags.all_egos, hops=hops), network)


def esan_policy(name: ESANPolicy, *, k: int = 1, hops: int = 2) -> MakeBag:
    """The bags of equivariant subgraph aggregation networks, with deleted vertices isolated as in ESAN."""
    policies: dict[str, MakeBag] = {
        "vertex-deleted": partial(bags.all_subsets, k=k, operation="delete", deleted="isolated"),
        "edge-deleted": partial(bags.all_edges, k=k, operation="delete"),
        "ego": partial(bags.all_egos, hops=hops, deleted="isolated"),
        "ego+": partial(bags.all_egos, hops=hops, deleted="isolated", mark_center=True),
    }
    made: MakeBag = resolve(name, policies, "policy")
    return made


@checked(sets=("aggregation",))
def ds_network(width: int, layers: int, out: int, **options: Unpack[BagOptions]) -> OSAN:
    """The network of a DS-GNN, for any bag: a network on each subgraph, then one on the set of them.

    It is :func:`osan.nn.osan` with ``aggregation="per-subgraph"``.
    """
    options["aggregation"] = "per-subgraph"
    return osan(width, layers, out, **options)


@checked(sets=("aggregation", "atomic"))
def ds_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    policy: ESANPolicy,
    k: int = 1,
    hops: int = 2,
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    """DS-GNN: a network on each subgraph of an ESAN policy, then a network on the set of them.

    References
    ----------
    Bevilacqua et al., "Equivariant subgraph aggregation networks", ICLR 2022.
    """
    make_bag = esan_policy(policy, k=k, hops=hops)
    atomic: Literal["unordered"] | None = "unordered" if policy == "ego+" else None
    return FixedBags(make_bag, osan(width, layers, out, atomic=atomic, **options))


@checked(sets=("aggregation", "atomic"))
def dss_gnn(
    width: int,
    layers: int,
    out: int,
    *,
    policy: ESANPolicy,
    k: int = 1,
    hops: int = 2,
    share: Pooling = "mean",
    **options: Unpack[NetworkOptions],
) -> FixedBags:
    """DSS-GNN: as :func:`ds_gnn`, and every layer shares information between the subgraphs.

    References
    ----------
    Bevilacqua et al., "Equivariant subgraph aggregation networks", ICLR 2022. The paper leaves open whether
    OSANs capture it.
    """
    make_bag = esan_policy(policy, k=k, hops=hops)
    atomic: Literal["unordered"] | None = "unordered" if policy == "ego+" else None
    return FixedBags(make_bag, dss_network(width, layers, out, share=share, atomic=atomic, **options))


@checked(sets=("aggregation",))
def few_marks(width: int = 64, layers: int = 6, out: int = 1, **options: Unpack[BagOptions]) -> OSAN:
    """The network for few marked subgraphs beside the whole graph: residual layers, then means over views.

    The features of a vertex are the mean over the views that it is in, followed by a perceptron; then
    vertices are pooled, and another perceptron predicts. Without the first one the two means could be
    exchanged, and the network would see each mark alone. It is :func:`osan.nn.osan` with
    ``aggregation="per-vertex"``, ``residual=True`` and ``head=2``; options can change all but the first.

    References
    ----------
    Bevilacqua et al., "Efficient subgraph GNNs by learning effective selection policies", ICLR 2024; Southern
    et al., "Balancing efficiency and expressiveness: subgraph GNNs with walk-based centrality", ICML 2025.

    Examples
    --------
    >>> import torch
    >>> from torch_geometric.data import Data
    >>> path = Data(num_nodes=3, edge_index=torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    >>> few_marks(8, 2, 1, conv="gin")(path, bags.whole_graphs(path)).shape
    torch.Size([1, 1])
    """
    chosen: BagOptions = {"residual": True, "head": 2, **options}
    chosen["aggregation"] = "per-vertex"
    return osan(width, layers, out, **chosen)


@checked(sets=("aggregation",))
def few_marks_500k(width: int = 148, layers: int = 10, out: int = 1, **options: Unpack[BagOptions]) -> OSAN:
    """:func:`few_marks` with about 500,000 parameters."""
    return few_marks(width, layers, out, **options)


#: The architectures by name: functions ``(width, layers, out, **options)`` that return a
#: :class:`~osan.nn.FixedBags`, or a network that is called with a batch and a bag. Which of the two,
#: :func:`osan.nn.brings_bags` says.
ARCHITECTURES: dict[str, Architecture] = {
    "osan": osan,
    "k-osan": k_osan,
    "marked": marked_gnn,
    "dropout": dropout_gnn,
    "reconstruction": reconstruction_gnn,
    "identity": identity_gnn,
    "nested": nested_gnn,
    "kernel": kernel_gnn,
    "sswl": sswl_gnn,
    "ds": ds_network,
    "dss": dss_network,
    "few-marks": few_marks,
    "few-marks-500k": few_marks_500k,
}
