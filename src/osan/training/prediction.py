"""Predictions for new molecules, with the spread over samples; rows that cannot be used are reported."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass
from pathlib import Path

import torch

from osan.data import Features, flatten
from osan.data.molecules import Rejected, read_molecules
from osan.data.table import read_table
from osan.errors import OsanError
from osan.nn import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.selection import Policy
from osan.training.evaluation import spread
from osan.training.folder import write_bytes
from osan.training.module import Learner
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo

# OGB's number for an element that it does not know.
_UNKNOWN_ATOM = OGB_ATOM_FEATURES[0] - 1
_DUPLICATE = "duplicate of line "


@dataclass(frozen=True)
class Predicted:
    """The predictions of a table: by line the SMILES, one value per column, and their deviations."""

    columns: tuple[str, ...]
    rows: dict[int, tuple[str, list[float], list[float]]]
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
    rows: dict[int, tuple[str, list[float], list[float]]] = {}
    if usable:
        mean, deviation = spread(learner, flatten([graph for _, graph in usable]), batch_size)
        for (place, _), value, std in zip(usable, mean.tolist(), deviation.tolist(), strict=True):
            rows[table.lines[place]] = (table.columns[smiles][place], value, std)
    # A molecule that stands in the table twice is predicted once and told twice.
    why = {each.line: each.reason for each in rejected}
    for each in bad:
        if each.reason.startswith(_DUPLICATE):
            line = int(each.reason.removeprefix(_DUPLICATE))
            if line in rows:
                rows[each.line] = (each.smiles, *rows[line][1:])
            else:
                rejected.append(Rejected(each.line, each.smiles, why[line]))
    return Predicted(_columns(info), dict(sorted(rows.items())), sorted(rejected, key=lambda each: each.line))


def write_predicted(path: Path, predicted: Predicted) -> None:
    """A line per molecule: where it stood, its SMILES, and the prediction and spread of each target."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    names = [name for column in predicted.columns for name in (column, f"{column}_spread")]
    writer.writerow(["line", "smiles", *names])
    for line, (smiles, values, deviations) in predicted.rows.items():
        pairs = [number for pair in zip(values, deviations, strict=True) for number in pair]
        writer.writerow([line, smiles, *pairs])
    write_bytes(path, stream.getvalue().encode())


def _columns(info: TaskInfo) -> tuple[str, ...]:
    if info.kind == "multiclass":
        return tuple(f"probability_{name}" for name in info.class_names)
    return info.targets


def _unusable(x: torch.Tensor, settings: Settings, info: TaskInfo) -> str:
    """Why a molecule cannot be predicted; empty if it can."""
    if bool((x[:, 0] == _UNKNOWN_ATOM).any()):
        return "unknown atom"
    policy = Policy.parse(settings.selection.policy) if settings.selection.policy else None
    if policy is not None and policy.ordered and len(x) > info.num_ranks:
        return f"more than the {info.num_ranks} atoms that the ordered model knows ranks for"
    return ""
