"""What a trained network looks at: how often it deletes, keeps or marks each vertex or edge of a graph."""

from __future__ import annotations

import math
from collections.abc import Sequence
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
from osan.report.smiles_lines import smiles_lines
from osan.report.zinc import readable
from osan.selection import Noise, Policy, Selected, agreement
from osan.training.evaluation import evaluating
from osan.training.members import members_of
from osan.training.module import Learner
from osan.training.prediction import one_molecule, takes_molecules
from osan.training.run import load_predictor
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
        column i belongs to the i-th subgraph. Of an ensemble, the first column is the mean over its members,
        the others are those of each member, and it counts what is chosen in any subgraph: the first subgraph
        of one member need not be that of another.
    samples
        The number of samples, of each member.
    members
        The number of networks.
    agreement
        Of an ensemble: how far its members agree without noise, see :func:`members_agreement`; ``None`` for a
        single network, and if there is nothing to choose from.
    soft
        Whether choices have parts, which then count as such.
    """

    graph: Data
    name: str
    word: str
    policy: Policy
    vertices: Tensor | None
    edges: Tensor | None
    samples: int
    members: int = 1
    agreement: float | None = None
    soft: bool = False

    @property
    def columns(self) -> list[str]:
        """The names of the columns."""
        if self.members > 1:
            return ["mean", *(f"member {i}" for i in range(self.members))]
        table = self.edges if self.edges is not None else self.vertices
        return [f"subgraph {i + 1}" for i in range(0 if table is None else table.size(1))]

    @property
    def top(self) -> float:
        """The largest frequency, at which scales of color end; 1 if nothing is chosen."""
        table = self.edges if self.edges is not None else self.vertices
        return 1.0 if table is None or not table.numel() else float(table.max()) or 1.0

    @property
    def question(self) -> str:
        """What the numbers answer."""
        return "how much" if self.soft else "how often"

    @property
    def caption(self) -> str:
        """What is counted, in how many samples, and how far members agree."""
        said = f"{self.name}: {self.policy}, {self.question} {self.word} "
        if self.members == 1:
            return said + f"({self.samples} samples)"
        agreed = "" if self.agreement is None else f", whose agreement is {self.agreement:.2f}"
        return said + f"in any subgraph ({self.samples} samples of each of {self.members} members{agreed})"

    def plain(self) -> dict[str, Any]:
        """Plain values, for JSON; each edge is listed once, with its first column of ``edge_index``."""
        out: dict[str, Any] = {"graph": self.name, "policy": str(self.policy), "what": self.word}
        out |= {"samples": self.samples, "columns": self.columns}
        if self.members > 1:
            out["agreement"] = None if self.agreement is None else round(self.agreement, 4)
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

        said = escape(self.caption)
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
    """Compute what the network of a run, or each member of an ensemble, looks at in one graph.

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
    model = load_predictor(folder)
    settings, info, members = model.settings, model.info, members_of(model)
    if which.lstrip("-").isdecimal():
        graph, name = _test_graph(settings, int(which), data)
    else:
        graph, name = _molecule(which, info, settings), which
    batch = flatten([graph]).batch(torch.tensor([0]))
    if "graph_id" in graph:  # the noise of the evaluation; a single molecule gets that of osan predict
        batch.graph_id = graph.graph_id
    found = [member.explain(batch, samples) for member in members]
    policy: Policy = members[0].model.policy  # type: ignore[assignment]
    agreed = None
    if len(members) > 1:
        each = torch.stack([one.touched for one in found], 1)
        frequency = torch.cat([each.mean(1, keepdim=True), each], 1)
        kappa = members_agreement([_settled_choice(member, batch) for member in members]).item()
        agreed = None if math.isnan(kappa) else kappa
    else:
        frequency = found[0].frequency
        frequency = 1.0 - frequency if policy.operation == "delete" else frequency
    of_edges = policy.weighs_edges
    return Frequencies(
        readable(graph, settings.data.dataset),
        name,
        _WORDS[policy.operation],
        policy,
        None if of_edges else frequency,
        frequency if of_edges else None,
        samples,
        len(members),
        agreed,
        any(one.soft for one in found),
    )


def members_agreement(choices: Sequence[Selected]) -> Tensor:
    """Cohen's kappa between members of an ensemble, by the choice of each; shape ``[graphs]``.

    Compared is what any subgraph selects, marks or deletes: 1 if all members choose the same, 0 if they agree
    as often as by chance. NaN where there is nothing to choose from; see :func:`osan.selection.agreement`.
    """
    excess, most = agreement(
        [chosen_part(one).any(1, keepdim=True) for one in choices], choices[0].problem.ground
    )
    return (excess / most)[:, 0]


def chosen_part(selected: Selected) -> Tensor:
    """The part of each element that is selected, marked or deleted: 0 or 1, or between if it is soft.

    Shape ``[rows, m]``.
    """
    deletes = selected.problem.policy.operation == "delete"
    return 1 - selected.choice if deletes else selected.choice


def _settled_choice(learner: Learner, batch: Data) -> Selected:
    """What a network chooses without noise."""
    model: Any = learner.model
    with evaluating(learner, noise=Noise("none")):
        return model.draw(batch, 1)[1][0]


def _test_graph(settings: Settings, position: int, data: Path | None) -> tuple[Data, str]:
    task = load_task(settings, data)
    test = task.test
    if not 0 <= position < len(test):
        raise OsanError(
            f"graph: expected a position from 0 to {len(test) - 1} in the test split, got {position}"
        )
    name = f"test graph {position} of {settings.data.dataset}"
    if task.lines:
        line = task.lines[int(test.ids[position])]
        smiles = smiles_lines(settings).get(line, "")
        name += f", line {line}" + (f" ({smiles[:80]})" if smiles else "")
    return test[position], name


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
