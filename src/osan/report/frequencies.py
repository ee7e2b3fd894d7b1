"""What a trained network looks at: how often it deletes, keeps or marks each vertex or edge of a graph."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data

from osan.data import flatten
from osan.data.custom.fragments import MoleculeReader
from osan.errors import OsanError
from osan.report.zinc import readable
from osan.selection import Policy
from osan.training.prediction import one_molecule, takes_molecules
from osan.training.run import load_model
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo, load_task

_WORDS = {"delete": "deleted", "select": "kept", "mark": "marked"}


@dataclass(frozen=True, eq=False)
class Frequencies:
    """How often each vertex or edge of a graph is chosen, over perturbed samples.

    Parameters
    ----------
    graph
        The graph, with the features that the network sees; those of ZINC with OGB's, which can be drawn.
    name
        The name of the graph.
    word
        What happens to a chosen vertex or edge: ``"deleted"``, ``"kept"`` or ``"marked"``.
    policy
        The policy of the run.
    vertices, edges
        Shape ``[vertices, m]`` or ``[edges, m]`` (one row per column of ``edge_index``), the other ``None``;
        column i belongs to the i-th subgraph.
    samples
        The number of samples.
    """

    graph: Data
    name: str
    word: str
    policy: Policy
    vertices: Tensor | None
    edges: Tensor | None
    samples: int

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON; each edge is listed once, with its first column of ``edge_index``."""
        out: dict[str, Any] = {"graph": self.name, "policy": str(self.policy), "what": self.word}
        out["samples"] = self.samples
        if self.vertices is not None:
            out["vertices"] = [[round(f, 4) for f in row] for row in self.vertices.tolist()]
        if self.edges is not None:
            out["edges"] = [
                {"ends": [u, v], "frequency": [round(f, 4) for f in self.edges[e].tolist()]}
                for (u, v), e in first_arcs(self.graph.edge_index).items()
            ]
        return out

    def _repr_html_(self) -> str:
        from osan.report.drawing import picture
        from osan.report.pictures import data_uri

        said = escape(f"{self.name}: {self.policy}, how often {self.word} ({self.samples} samples)")
        image = f'<img src="{data_uri(picture(self))}" alt="{said}">'
        return f"<figure>{image}<figcaption>{said}</figcaption></figure>"


def first_arcs(edge_index: Tensor) -> dict[tuple[int, int], int]:
    """The first column of ``edge_index`` of each edge, by its ends, smaller first.

    >>> first_arcs(torch.tensor([[0, 1, 1, 2], [1, 0, 2, 1]]))
    {(0, 1): 0, (1, 2): 2}
    """
    out: dict[tuple[int, int], int] = {}
    for column, (u, v) in enumerate(edge_index.t().tolist()):
        out.setdefault((min(u, v), max(u, v)), column)
    return out


def explain(folder: str | Path, which: str, samples: int = 100, data: Path | None = None) -> Frequencies:
    """Compute what the network of a run looks at in one graph.

    Parameters
    ----------
    folder
        The folder of a finished run with a policy.
    which
        A SMILES string, or the position of a graph in the test split.
    samples
        The number of perturbed samples.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    """
    learner, settings, info = load_model(folder)
    if which.lstrip("-").isdecimal():
        graph, name = _test_graph(settings, int(which), data)
    else:
        graph, name = _molecule(which, info, settings), which
    batch = flatten([graph]).batch(torch.tensor([0]))
    if "graph_id" in graph:  # the noise of the evaluation; a single molecule gets that of osan predict
        batch.graph_id = graph.graph_id
    frequency = learner.explain(batch, samples).frequency
    policy: Policy = learner.model.policy  # type: ignore[assignment]
    if policy.operation == "delete":
        frequency = 1.0 - frequency
    of_edges = policy.weighs_edges
    return Frequencies(
        readable(graph, settings.data.dataset),
        name,
        _WORDS[policy.operation],
        policy,
        None if of_edges else frequency,
        frequency if of_edges else None,
        samples,
    )


def _test_graph(settings: Settings, position: int, data: Path | None) -> tuple[Data, str]:
    test = load_task(settings, data).test
    if not 0 <= position < len(test):
        raise OsanError(
            f"graph: expected a position from 0 to {len(test) - 1} in the test split, got {position}"
        )
    return test[position], f"test graph {position} of {settings.data.dataset}"


def _molecule(smiles: str, info: TaskInfo, settings: Settings) -> Data:
    """Read a molecule for a network that was trained on OGB's features."""
    from osan.data.custom.molecules import featurize

    if not takes_molecules(info):
        raise OsanError(
            f"graph: expected a position in the test split of {info.dataset}, whose graphs do not have OGB's "
            f"features of molecules, got {smiles!r}"
        )
    one_molecule(smiles, settings.data.smiles)  # raises for several columns
    with MoleculeReader(settings.data.fragments) as reader:
        molecule, reason = reader.read(smiles)
    if reason:
        raise OsanError(
            f"graph: expected a position in the test split or a SMILES string, got {smiles[:80]!r} ({reason})"
        )
    return featurize(molecule, torch.zeros(1, info.num_targets))
