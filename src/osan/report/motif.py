"""How much of a planted motif a network finds, and a picture of what it chooses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import networkx as nx
import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data import FlatLoader
from osan.errors import OsanError
from osan.report.drawing import layout
from osan.report.palette import shade
from osan.report.text import title
from osan.training.evaluation import evaluating
from osan.training.run import load_model
from osan.training.tasks import load_task

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# In the drawings the motif is blue, so that it differs from what is chosen for color-blind readers, too.
_MOTIF, _OTHER = "#0b559f", "#aaaaaa"


@dataclass(frozen=True, eq=False)
class Seen:
    """What a network chose in one graph and what it predicts.

    Parameters
    ----------
    graph
        The graph, with integer features ``x`` of shape ``[vertices, 1]`` and one target ``y``.
    motif
        Whether each vertex is part of the motif, shape ``[vertices]``.
    chosen
        Whether each vertex was chosen in each sample, shape ``[samples, vertices]``.
    prediction
        The prediction, the mean over the samples.
    """

    graph: Data
    motif: Tensor
    chosen: Tensor
    prediction: float


def in_triangle(graph: Data) -> Tensor:
    """Whether each vertex is part of a triangle, shape ``[vertices]``.

    >>> paw = torch.tensor([[0, 1, 1, 2, 2, 0, 2, 3], [1, 0, 2, 1, 0, 2, 3, 2]])
    >>> in_triangle(Data(edge_index=paw, num_nodes=4)).tolist()
    [True, True, True, False]
    """
    count = nx.triangles(_networkx(graph))
    return torch.tensor([count[v] > 0 for v in range(len(count))])


def look_for_motif(folder: str | Path, data: Path | None = None) -> list[Seen]:
    """What the network of a run on ``planted-motif`` chooses in every test graph.

    Parameters
    ----------
    folder
        The folder of a finished run with a policy that selects vertices.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    """
    learner, settings, _ = load_model(folder)
    policy = settings.selection.parsed
    if policy is None or policy.weighs_edges or policy.count != 1:
        raise OsanError(
            f"selection.policy: expected one subgraph of vertices, got {settings.selection.policy!r}"
        )
    graphs, found = load_task(settings, data).test, list[Seen]()
    with evaluating(learner):
        for batch in FlatLoader(graphs, 100):
            out = learner.look(batch)
            prediction = learner.renormalized(out.prediction).flatten().tolist()
            chosen = torch.stack([one.choice.squeeze(1) != 0 for one in out.selected])
            for place, (first, last) in enumerate(pairwise(batch.ptr.tolist())):
                graph = graphs[len(found)]
                found.append(Seen(graph, in_triangle(graph), chosen[:, first:last], prediction[place]))
    return found


def share_found(seen: Sequence[Seen]) -> float:
    """The share of the vertices of the motifs that are chosen, over all graphs and samples.

    Examples
    --------
    >>> graph = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    >>> chosen = torch.tensor([[True, False], [False, True]])
    >>> share_found([Seen(graph, torch.tensor([True, False]), chosen, 0.0)])
    0.5
    """
    hits = sum(int(one.chosen[:, one.motif].sum()) for one in seen)
    return hits / max(1, sum(int(one.motif.sum()) * len(one.chosen) for one in seen))


def draw_motifs(networks: Mapping[str, Sequence[Seen]], graphs: int = 3) -> Figure:
    """One row per network, one column per graph: the motif in blue, what is chosen filled.

    Of several samples the first is drawn. Below each panel are the prediction and the target.
    """
    from matplotlib.figure import Figure

    shown = min(graphs, *(len(seen) for seen in networks.values()))
    figure = Figure(figsize=(3.3 * shown, 3.2 * len(networks)), layout="constrained")
    rows = figure.subfigures(len(networks), 1, squeeze=False).flatten()
    for part, (name, seen) in zip(rows, networks.items(), strict=True):
        title(part, f"{name}: {share_found(seen):.0%} of the motif found over all test graphs", fontsize=12)
        for panel, one in zip(part.subplots(1, shown, squeeze=False).flatten(), seen[:shown], strict=True):
            _draw(panel, one)
    return figure


def _draw(panel: Any, one: Seen) -> None:
    graph = _networkx(one.graph)
    place, motif = layout(graph), one.motif.tolist()
    inside = [edge for edge in graph.edges if motif[edge[0]] and motif[edge[1]]]
    outside = [edge for edge in graph.edges if edge not in inside]
    nx.draw_networkx_edges(graph, place, ax=panel, edgelist=outside, edge_color=_OTHER)
    nx.draw_networkx_edges(graph, place, ax=panel, edgelist=inside, edge_color=_MOTIF, width=3.0)
    nx.draw_networkx_nodes(
        graph,
        place,
        ax=panel,
        node_color=[shade(float(chosen)) for chosen in one.chosen[0].tolist()],
        edgecolors=[_MOTIF if part else _OTHER for part in motif],
        linewidths=[2.5 if part else 1.0 for part in motif],
        node_size=240,
    )
    labels = {v: str(int(one.graph.x[v, 0])) for v in graph}
    nx.draw_networkx_labels(graph, place, labels, ax=panel, font_size=8, font_family="sans-serif")
    panel.set_axis_off()
    panel.margins(0.12)
    predicted = round(one.prediction, 1) + 0.0  # no minus in front of a zero
    words = f"predicts {predicted:.1f}, the sum is {float(one.graph.y):.0f}"
    panel.set_title(words, y=-0.06, fontsize=10)


def _networkx(graph: Data) -> nx.Graph:
    out = nx.Graph()
    out.add_nodes_from(range(graph.num_nodes))
    out.add_edges_from(graph.edge_index.t().tolist())
    return out
