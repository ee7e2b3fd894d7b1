"""Predictions for new molecules, with the spread over samples; rows that cannot be used are reported."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import torch

from osan.data import Features, flatten
from osan.data.molecules import Rejected, read_molecules
from osan.data.table import read_table
from osan.errors import OsanError
from osan.nn import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.selection import Policy
from osan.training.columns import predicted_columns, write_csv
from osan.training.evaluation import joined_and_each
from osan.training.module import Learner
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo

# OGB's number for an element that it does not know.
_UNKNOWN_ATOM = OGB_ATOM_FEATURES[0] - 1
_DUPLICATE = "duplicate of line "


@dataclass(frozen=True)
class Predicted:
    """The predictions of a table: by line the SMILES and one value per column."""

    columns: list[str]
    rows: dict[int, tuple[str, list[float]]]
    rejected: list[Rejected]


def predict_table(learner: Learner, path: Path, smiles: str = "smiles", batch_size: int = 128) -> Predicted:
    """Predict every molecule of a CSV, TSV or Parquet file.

    Raises
    ------
    OsanError
        If the file is no such table, or the model was not trained on molecules with OGB's features.
    """
    info, settings = learner.info, learner.settings
    if info.vertex_features != Features(sizes=OGB_ATOM_FEATURES) or (
        info.edge_features not in (None, Features(sizes=OGB_BOND_FEATURES))
    ):
        raise OsanError(
            f"the model was trained on {info.dataset}, whose graphs do not carry the features that molecules "
            "in a table get; train on a table or an OGB dataset"
        )
    table = read_table(path, [smiles])
    none = torch.zeros(len(table.lines), 1)
    molecules, places, bad = read_molecules(table, smiles, none)
    usable, rejected = [], [each for each in bad if not each.reason.startswith(_DUPLICATE)]
    for graph, place in zip(molecules, places, strict=True):
        reason = _unusable(graph.x, settings, info)
        if reason:
            rejected.append(Rejected(table.lines[place], table.columns[smiles][place], reason))
        else:
            usable.append((place, graph))
    joined, each_sample = torch.zeros(0, info.num_targets), torch.zeros(1, 0, info.num_targets)
    if usable:
        graphs = flatten([graph for _, graph in usable])
        joined, each_sample = joined_and_each(learner, graphs, batch_size)
    columns, values = predicted_columns(learner, joined, each_sample)
    rows = {
        table.lines[place]: (table.columns[smiles][place], value)
        for (place, _), value in zip(usable, values.tolist(), strict=True)
    }
    # A molecule that stands in the table twice is predicted once and told twice.
    why = {each.line: each.reason for each in rejected}
    for each in bad:
        if each.reason.startswith(_DUPLICATE):
            line = int(each.reason.removeprefix(_DUPLICATE))
            if line in rows:
                rows[each.line] = (each.smiles, rows[line][1])
            else:
                rejected.append(Rejected(each.line, each.smiles, why[line]))
    return Predicted(columns, dict(sorted(rows.items())), sorted(rejected, key=lambda each: each.line))


def write_predicted(path: Path, predicted: Predicted) -> None:
    """A line per molecule: where it stood, its SMILES, and what is predicted."""
    rows = ([line, smiles, *values] for line, (smiles, values) in predicted.rows.items())
    write_csv(path, ["line", "smiles", *predicted.columns], rows)


def _unusable(x: torch.Tensor, settings: Settings, info: TaskInfo) -> str:
    """Why a molecule cannot be predicted; empty if it can."""
    if bool((x[:, 0] == _UNKNOWN_ATOM).any()):
        return "unknown atom"
    policy = Policy.parse(settings.selection.policy) if settings.selection.policy else None
    if policy is not None and policy.ordered and len(x) > info.num_ranks:
        return f"more than the {info.num_ranks} atoms that the ordered model knows ranks for"
    return ""
