"""Predictions for new molecules and graphs, with the spread over samples; unusable rows are reported."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor

from osan.data import Features, FlatDataset, flatten
from osan.data.custom.fragments import smiles_columns, texts_of
from osan.data.custom.graphs import describe, read_flat
from osan.data.custom.molecules import described, read_molecules
from osan.data.custom.rejected import Rejected
from osan.data.formats.table import Table
from osan.data.naming import table_columns
from osan.errors import OsanError
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.shown import html_table
from osan.training.calibration import Interval
from osan.training.columns import numbered, predicted_columns
from osan.training.evaluation import predict_members
from osan.training.members import Predictor, members_of
from osan.training.neighbors import Cell, Neighbors
from osan.training.settings import Settings
from osan.training.tasks import TaskInfo
from osan.words import counted

# Rows that a notebook shows.
_SHOWN = 10
_COMMA = re.compile(r"[-+]?\d+,\d+(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Predicted:
    """The predictions of a table: its rows that could be used, each with one value per column."""

    table: Table
    columns: list[str]
    values: dict[int, list[Cell]]
    rejected: list[Rejected]

    @property
    def header(self) -> list[str]:
        """The table's columns as they are, then the line and the predictions, under names not yet taken."""
        given = self.table.header
        return [*given, *numbered(["line"], given), *numbered(self.columns, given)]

    @property
    def rows(self) -> list[list[str | int | float]]:
        """The cells under each name of the header; rejected rows are left out."""
        table = self.table
        return [[*table.rows[row], table.lines[row], *values] for row, values in self.values.items()]

    def _repr_html_(self) -> str:
        rows, left = self.rows, len(self.rejected)
        said = counted(len(rows), "molecule")
        said += f", {counted(left, 'row')} that cannot be used" if left else ""
        return html_table(self.header, rows[:_SHOWN], said)


def takes_molecules(info: TaskInfo) -> bool:
    """Whether a model was trained on graphs with the features that the molecules of a table get."""
    count = len(OGB_ATOM_FEATURES)
    return info.vertex_features.sizes[:count] == OGB_ATOM_FEATURES and (
        info.edge_features in (None, Features(sizes=OGB_BOND_FEATURES))
    )


def check_molecules(info: TaskInfo) -> None:
    """Raise unless :func:`takes_molecules`."""
    if not takes_molecules(info):
        raise OsanError(
            f"the model was trained on {info.dataset}, whose graphs do not carry the features that molecules "
            "in a table get; train on a table or an OGB dataset, or give a file of graphs"
        )


def check_columns(smiles: str | Sequence[str], info: TaskInfo) -> None:
    """Raise unless there are as many columns of SMILES as in training."""
    given, extra = len(smiles_columns(smiles)), info.vertex_features.sizes[len(OGB_ATOM_FEATURES) :]
    expected = extra[0] if extra else 1
    if given != expected:
        raise OsanError(f"smiles: expected {expected} columns of SMILES, as in training, got {given}")


def one_molecule(text: str, smiles: str | Sequence[str] = "smiles") -> Table:
    """A table with a single column and row, a SMILES string."""
    if not isinstance(smiles, str):
        raise OsanError(
            f"molecules: expected a table with the columns {', '.join(smiles)}, for the run has several "
            f"molecules in a row, got {text[:80]!r}"
        )
    return Table(Path(), {smiles: [text]}, [1], header=[smiles], rows=[[text]])


def predict_table(
    model: Predictor,
    table: Table,
    smiles: str | Sequence[str] = "smiles",
    batch_size: int = 128,
    interval: Interval | None = None,
    neighbors: Neighbors | None = None,
) -> Predicted:
    """Predict every molecule of a table that was read whole; with intervals and neighbors, if wanted.

    Raises
    ------
    OsanError
        If the model was not trained on molecules with OGB's features.
    """
    places, graphs, repeated, rejected = usable_molecules(model, table, smiles)
    together = torch.zeros(0, model.info.num_targets)
    each = together.expand(len(members_of(model)), 1, 0, -1)
    if graphs is not None:
        together, each = predict_members(model, graphs, batch_size)
    columns, values = predicted_columns(model, together, each, interval)
    found: dict[int, list[Cell]] = dict(zip(places, values.tolist(), strict=True))
    if neighbors is not None:
        columns = [*columns, *neighbors.columns]
        texts = texts_of(table, smiles, places, model.settings.data.fragments)
        for place, cells in zip(places, neighbors.of(texts), strict=True):
            found[place] = [*found[place], *cells]
    # What is in the table twice is predicted once and listed twice.
    found |= {place: found[first] for place, first in repeated.items()}
    return Predicted(table, columns, dict(sorted(found.items())), rejected)


def usable_molecules(
    model: Predictor, table: Table, smiles: str | Sequence[str]
) -> tuple[list[int], FlatDataset | None, dict[int, int], list[Rejected]]:
    """The molecules of a table that a model can look at.

    Returns
    -------
    tuple
        The rows of the table, and their graphs (``None`` if there are none); further rows that are equal to
        one before, each with that one; and the rejected rows.

    Raises
    ------
    OsanError
        If the model was not trained on molecules with OGB's features.
    """
    info, settings = model.info, model.settings
    check_molecules(info)
    check_columns(smiles, info)
    none, fragments = torch.zeros(len(table.lines), 1), settings.data.fragments
    beside = table_columns(settings.data.descriptors)
    molecules, places, bad = read_molecules(table, smiles, none, fragments, beside)
    usable, rejected = [], [each for each in bad if each.duplicate_of is None]
    for graph, place in zip(molecules, places, strict=True):
        reason = _unusable(graph.x, settings, info)
        if reason:
            text = ".".join(table.columns[name][place] for name in smiles_columns(smiles))
            rejected.append(Rejected(table.lines[place], text, reason))
        else:
            usable.append((place, graph))
    places = [place for place, _ in usable]
    graphs = flatten([graph for _, graph in usable]) if usable else None
    if graphs is not None and settings.data.descriptors:
        # Not kept: tables to predict may be of any length.
        numbers = described(table, smiles, places, settings.data.descriptors, keep=False, fragments=fragments)
        check_descriptors(numbers, info)
        graphs = graphs.with_tensors(descriptors=numbers)
    why = {each.line: each.reason for each in rejected}
    row_of = {line: row for row, line in enumerate(table.lines)}
    repeated = {}
    for each in bad:
        if each.duplicate_of in why:
            rejected.append(Rejected(each.line, each.smiles, why[each.duplicate_of]))
        elif each.duplicate_of is not None:
            repeated[row_of[each.line]] = row_of[each.duplicate_of]
    rejected.sort(key=lambda each: each.line)
    return places, graphs, repeated, rejected


def check_descriptors(numbers: Tensor, info: TaskInfo) -> None:
    """Raise unless there are as many columns as in training; versions of RDKit differ in their number."""
    if numbers.size(1) != info.descriptors:
        raise OsanError(
            f"descriptors: expected {info.descriptors} columns, as in training, got {numbers.size(1)}; RDKit "
            "must have the version of environment.json"
        )


def decimal_commas(table: Table) -> bool:
    """Whether a table has a number with a decimal comma."""
    return table.decimal_comma and any(_COMMA.fullmatch(cell.strip()) for row in table.rows for cell in row)


def printed_rows(predicted: Predicted, commas: bool) -> list[list[str | int | float]]:
    """The rows with their predictions; numbers get a decimal comma if ``commas``."""
    if not commas:
        return predicted.rows
    return [[str(v).replace(".", ",") if isinstance(v, float) else v for v in row] for row in predicted.rows]


def predict_graphs(
    model: Predictor, path: Path, batch_size: int = 128, interval: Interval | None = None
) -> tuple[list[str], Tensor]:
    """Names of columns, and predictions for every graph of a file, of shape ``[graphs, columns]``.

    The columns are those of :func:`~osan.training.columns.predicted_columns`.

    Raises
    ------
    OsanError
        If the graphs do not carry the features that the model was trained with.
    """
    info = model.info
    graphs, _ = read_flat(path, info.alphabets, targets=False)
    check_features(graphs, info, str(path))
    most, sizes = most_vertices(model.settings, info), graphs.num_vertices
    if int(sizes.max()) > most:
        raise OsanError(
            f"{path}, graph {int(sizes.argmax())}: {int(sizes.max())} vertices, but the ordered model knows "
            f"ranks for {info.num_ranks}"
        )
    return predicted_columns(model, *predict_members(model, graphs, batch_size), interval)


def check_features(graphs: FlatDataset, info: TaskInfo, where: str) -> None:
    """Raise unless the graphs have features of the kind and number that the model was trained with."""
    for name, expected in (("x", info.vertex_features), ("edge_attr", info.edge_features)):
        values = graphs.tensors.get(name)
        found = None if values is None else describe(values, f"{where}: {name}")
        if _fits(found, expected):
            continue
        trained = f"the model was trained on {info.dataset}, "
        if found is not None and expected is not None and len(found.sizes) == len(expected.sizes) > 0:
            column = next(i for i, size in enumerate(found.sizes) if size > expected.sizes[i])
            raise OsanError(
                f"{where}: column {column} of {name} holds the category {found.sizes[column] - 1}, but "
                f"{trained}where the categories are 0 to {expected.sizes[column] - 1}"
            )
        raise OsanError(f"{where}: {name} has {_words(found)}, but {trained}where it has {_words(expected)}")


def _fits(found: Features | None, expected: Features | None) -> bool:
    if found is None or expected is None:
        return found is expected
    if found.categorical and len(found.sizes) == len(expected.sizes):
        return all(size <= most for size, most in zip(found.sizes, expected.sizes, strict=True))
    return found == expected


def _words(features: Features | None) -> str:
    if features is None:
        return "no columns"
    count = len(features.sizes) or features.width
    return (
        f"{count} column{'' if count == 1 else 's'} of {'categories' if features.categorical else 'numbers'}"
    )


def _unusable(x: torch.Tensor, settings: Settings, info: TaskInfo) -> str:
    """Why a molecule cannot be predicted; empty if it can."""
    if len(x) > most_vertices(settings, info):
        return f"more than the {info.num_ranks} atoms that the ordered model knows ranks for"
    return ""


def most_vertices(settings: Settings, info: TaskInfo) -> float:
    """How many vertices a graph may have: an ordered model knows the ranks that it has seen."""
    policy = settings.selection.parsed
    return info.num_ranks if policy is not None and policy.ordered else float("inf")
