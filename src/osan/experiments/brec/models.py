"""The models that are compared with the tests: named ones, settings files, custom modules and functions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import nn as torch_nn
from torch_geometric.data import Data
from torch_geometric.nn import GINConv

from osan import nn
from osan.bags import whole_graphs
from osan.data import Features
from osan.errors import OsanError
from osan.graphs import Graph
from osan.nn.options import Aggregation
from osan.parts import resolve
from osan.wl import WLTest

# From the graphs of a pair and the dimension of embeddings to a function of a PyG batch.
Make = Callable[[Graph, int], Any]


@dataclass(frozen=True)
class BrecModel:
    """A model as the protocol takes it.

    Parameters
    ----------
    name
        What it is called.
    make
        From one graph of a pair (both have one size and one degree) and the dimension of embeddings to a new
        model: a function from a PyG batch to embeddings, shape ``[graphs, dimension]``, or to an
        :class:`osan.nn.Output`. What is a ``Module`` with parameters is trained.
    test
        The exact test that bounds it, if one is known.
    copies
        About how many rows the model computes for a graph; batches are made small accordingly.
    """

    name: str
    make: Make
    test: WLTest | None = None
    copies: Callable[[Graph], int] = lambda graph: graph.num_vertices


def brec_model(model: Any, *, test: WLTest | None = None) -> BrecModel:
    """The model that a name, a file or an object stands for.

    Parameters
    ----------
    model
        A key of :data:`MODELS`; the path of a settings file (``.toml``, ``.yaml`` or ``.json``), whose
        network then embeds graphs; ``"module:name"``; or an object. An object is a function from a PyG batch
        to embeddings, which is used as it is for all pairs; a ``Module``, of which each pair gets a copy; or
        something to call without arguments (a class, a function) that makes such a module for each pair.
    test
        The test that bounds the model; known for named ones.

    Examples
    --------
    >>> str(brec_model("1-osan").test)
    '1-OSWL'
    >>> brec_model(lambda batch: batch.x).test is None
    True
    """
    if isinstance(model, BrecModel):
        return model
    if isinstance(model, str) and Path(model).suffix in (".toml", ".yaml", ".yml", ".json"):
        return BrecModel(model, partial(_from_settings, path=model), test)
    found = resolve(model, MODELS, "model")
    if isinstance(found, BrecModel):
        return found
    if not callable(found):
        raise OsanError(f"model: expected a function from a PyG batch to embeddings, got {found!r}")
    name = model if isinstance(model, str) else getattr(found, "__name__", type(found).__name__)
    return BrecModel(name, partial(_custom, part=found), test)


def _custom(graph: Graph, dimension: int, *, part: Any) -> Any:
    if isinstance(part, torch_nn.Module):
        return deepcopy(part)
    if not inspect.isclass(part):
        try:
            inspect.signature(part).bind()
        except TypeError:  # it needs a batch
            return part
        except ValueError:  # no signature is known
            return part
    made = part()
    if not callable(made):
        raise OsanError(f"model: expected a function from a PyG batch to embeddings, got {made!r}")
    return made


def _from_settings(graph: Graph, dimension: int, *, path: str) -> torch_nn.Module:
    from osan.training.build import build
    from osan.training.settings_files import read_settings
    from osan.training.tasks import TaskInfo

    degree = round(2 * graph.num_edges / max(graph.num_vertices, 1))
    info = TaskInfo(
        dataset="brec",
        kind="regression",
        metric="mae",
        direction="min",
        targets=tuple(f"y{i}" for i in range(dimension)),
        num_targets=dimension,
        vertex_features=Features(width=1),
        edge_features=None,
        mean=(),
        std=(),
        degrees=(0,) * degree + (graph.num_vertices,),
        num_ranks=graph.num_vertices,
    )
    return build(read_settings(path), info)


def _network(
    graph: Graph,
    dimension: int,
    *,
    make: Callable[..., torch_nn.Module],
    first: str = "sum",
    shallow: bool = False,
) -> torch_nn.Module:
    """A deep and narrow network with smooth layers, and weights that keep its features at one size.

    The first pooling is a sum where it has about as many summands as the graph has vertices: a mean makes
    differences so small that the perceptron after it is all but linear, and the second pooling cancels them.

    With ``shallow``, networks for dense graphs, of small diameter, have half as many layers. So rounding
    errors do not grow as much, and weights need not be as small. A deleted edge is one of many there, and
    small weights lose it in rounding.

    Before a first pooling that takes means, weights are smaller, but not in large sparse graphs: rounding
    errors grow less there, and the mean over all pairs of marks would lose the few that tell.
    """
    degree = 2 * graph.num_edges / max(graph.num_vertices, 1)
    dense = shallow and degree > DENSE
    model = make(
        WIDTH,
        LAYERS // 2 if dense else LAYERS,
        dimension,
        vertex_encoder=nn.Numerical(1, WIDTH),
        norm=False,
        activation=torch.sin,
        **dict.fromkeys(("sagg", "readout"), "mean") | {_inner(make): first},
    )
    summands = 1 + degree
    if first == "sum" and not dense:
        summands = max(summands, summands**3 / 36)
    large = graph.num_vertices > LARGE and degree <= DENSE
    spread_weights(model, summands, GAIN["sum" if large else first])
    return model


def spread_weights(model: torch_nn.Module, summands: float, gain: float) -> None:
    """Draw normal weights and biases; layers that sum neighbors are divided by the root of ``summands``.

    With too small weights, what one marked vertex changes shrinks in every layer and is lost in rounding
    after ten of them. With too large weights, rounding errors grow in every layer instead; after a
    pooling that sums they are larger still, so summands above a degree of 5 count more there.
    """
    for part in model.modules():
        if isinstance(part, torch_nn.Linear):
            torch_nn.init.normal_(part.weight, 0, gain / part.in_features**0.5)
            if part.bias is not None:
                torch_nn.init.normal_(part.bias)
    for part in model.modules():
        if isinstance(part, GINConv):
            part.nn.linears[0].weight.data /= summands**0.5


def _inner(make: Any) -> str:
    """The option of a network that names its first pooling."""
    return "sagg" if getattr(make, "keywords", {}).get("aggregation") == "per-vertex" else "readout"


def _plain(width: int, layers: int, out: int, *, sagg: str, **options: Any) -> torch_nn.Module:
    return nn.FixedBags(whole_graphs, nn.osan(width, layers, out, **options))


def _osan(k: int, per_subgraph: bool) -> BrecModel:
    first = "mean" if k > 1 and not per_subgraph else "sum"
    aggregation: Aggregation = "per-subgraph" if per_subgraph else "per-vertex"
    return BrecModel(
        f"{'vs-' if per_subgraph else ''}{k}-osan",
        partial(_network, make=partial(nn.k_osan, k=k, aggregation=aggregation), first=first),
        WLTest("vs-oswl" if per_subgraph else "oswl", k),
        lambda graph: graph.num_vertices ** (k + 1),
    )


def _edge_deleted(name: str, make: Callable[..., torch_nn.Module], test: str) -> BrecModel:
    return BrecModel(
        f"{name}-edge-deleted",
        partial(_network, make=partial(make, policy="edge-deleted"), shallow=True),
        WLTest(test, what="edge", operation="delete"),
        lambda graph: graph.num_vertices * graph.num_edges,
    )


#: The size of the named models, and the deviation of their weights times the root of the width, by the first
#: pooling; for large sparse graphs, it is that of the sum.
WIDTH, LAYERS, GAIN = 16, 12, {"mean": 1.5, "sum": 1.75}
#: The degree above which graphs are dense (networks that delete edges are shallow for them), and the number
#: of vertices above which they are large.
DENSE, LARGE = 10, 20

_NAMED = (
    BrecModel("gin", partial(_network, make=_plain), WLTest("wl")),
    *(_osan(k, per_subgraph) for k in (1, 2) for per_subgraph in (True, False)),
    BrecModel(
        "sswl",
        partial(_network, make=partial(nn.sswl_gnn, aggregation="per-vertex")),
        WLTest("sswl"),
        lambda graph: graph.num_vertices**2,
    ),
    _edge_deleted("ds", nn.ds_gnn, "vs-oswl"),
    _edge_deleted("dss", nn.dss_gnn, "dss"),
)

#: The named models, each with the test that bounds it.
MODELS: dict[str, BrecModel] = {model.name: model for model in _NAMED}


def embeddings(model: Any, batch: Data) -> torch.Tensor:
    """The embeddings of the graphs of a batch, shape ``[graphs, dimension]``."""
    out = model(batch)
    rows = out.prediction if isinstance(out, nn.Output) else out
    if not isinstance(rows, torch.Tensor) or rows.dim() != 2 or len(rows) != batch.num_graphs:
        shape = list(rows.shape) if isinstance(rows, torch.Tensor) else type(rows).__name__
        raise OsanError(f"model: expected embeddings of shape [{batch.num_graphs}, dimension], got {shape}")
    return rows
