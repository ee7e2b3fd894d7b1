"""One page about one run: scores, figures, the worst predictions, what was chosen, and how to repeat it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch_geometric.data import Data

from osan import __version__
from osan.errors import OsanError, Unfinished
from osan.files import write_bytes
from osan.report import run_figures as figures
from osan.report.choice_effects import Looked, effects
from osan.report.choice_page import graph_picture
from osan.report.chosen_parts import Substructure, edge_parts, molecule_of, substructures
from osan.report.command import command_of
from osan.report.molecule import molecule_svg
from osan.report.page import environments
from osan.report.runs import Run, read_run
from osan.report.scored import Scored, read_scored
from osan.report.smiles_lines import smiles_lines
from osan.report.templates import filled
from osan.report.zinc import readable
from osan.shown import html_frame
from osan.training.folder import model_folders
from osan.training.scores import score
from osan.training.stored import read_info
from osan.training.tasks import load_task

# Targets that get figures, and graphs on which chosen substructures are counted.
_MOST_TARGETS, _COUNTED, _LISTED = 6, 30, 12
_WORDS = {"delete": "deleted", "select": "kept", "mark": "marked"}
PAGE = "report.html"


@dataclass(frozen=True)
class Page:
    """A page that was written; in a notebook it shows itself."""

    path: Path

    def _repr_html_(self) -> str:
        return html_frame(self.path.read_text(encoding="utf-8"))


def write_run_page(
    run: Run,
    out: Path | None = None,
    *,
    worst: int = 12,
    data: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> Page:
    """Write a self-contained page about a finished run.

    Parameters
    ----------
    run
        The run.
    out
        The file to write; ``report.html`` in the folder of the run by default.
    worst
        The number of worst predictions to show, with pictures if the data are still there.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    progress
        Called with a text on the current step.
    """
    out = run.folder / PAGE if out is None else out
    write_bytes(out, run_page(run, worst=worst, data=data, progress=progress).encode(errors="replace"))
    return Page(out)


def run_page(
    run: Run,
    *,
    worst: int = 12,
    data: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> str:
    """The page as one HTML text; see :func:`write_run_page`."""
    if run.result is None:
        raise Unfinished(f"{run.folder} holds no result yet: the run is not finished", run.folder)
    # Of an ensemble, how it was learned is shown for the first member.
    first = model_folders(run.folder)[0]
    info = read_info(first)
    scored = read_scored(run.folder, info)
    progress("figures")
    names = list(info.targets)
    shown = [0] if info.kind == "multiclass" else list(range(len(names)))[:_MOST_TARGETS]
    parts = [
        {"name": names[i] if len(names) > 1 else "", "figures": target_figures(scored, i)} for i in shown
    ]
    progress("the worst predictions")
    cards, listed, soft, problem = _cards(run, scored, worst, data)
    policy = run.settings.selection.parsed
    many = info.kind == "multiclass" and info.num_targets > _LISTED
    return filled(
        "run_page.html",
        run=run,
        result=run.result,
        info=info,
        title=", ".join(names[:3]) + (", ..." if len(names) > 3 else ""),
        scored=scored,
        scores=run.scores,
        per_target=_per_target(scored),
        parts=parts,
        legend=[
            (color, info.class_names[c])
            for color, c in zip(figures.COLORS, _drawn_classes(scored), strict=False)
            if info.kind == "multiclass"
        ],
        confusion=[] if many or info.kind != "multiclass" else confusion(scored),
        left_out=0 if info.kind == "multiclass" else len(names) - len(shown),
        coverage=[] if many else _coverage(scored),
        cards=cards,
        substructures=listed,
        soft=soft,
        problem=problem,
        word=_WORDS[policy.operation] if policy else "",
        counted=_COUNTED,
        learning=figures.learning(run if first == run.folder else read_run(first)),
        command=command_of(run.settings),
        environments=environments([run]),
        version=__version__,
    )


def target_figures(scored: Scored, target: int) -> list[tuple[str, str]]:
    """The figures of one target (of all classes, if there are several), each with a caption."""
    kind = scored.info.kind
    if kind == "multiclass":
        known = scored.y[:, 0] >= 0
        y, predicted = scored.y[known, 0].astype(int), scored.predicted[known]
        drawn = _drawn_classes(scored)
        labels = [(y == c).astype(np.float64) for c in drawn]
        probabilities = [predicted[:, c].copy() for c in drawn]
        sure, right = predicted.max(1), (predicted.argmax(1) == y).astype(np.float64)
        words = "Calibration of the predicted class."
    else:
        known = ~np.isnan(scored.y[:, target])
        y, predicted = scored.y[known, target], scored.predicted[known, target]
        if not len(y):
            return []
        if kind == "regression":
            ends = [None if end is None else end[known, target] for end in (scored.lower, scored.upper)]
            error = predicted - y
            drawn_ends = all(end is not None and np.isfinite(end).all() for end in ends)
            return [
                (
                    figures.parity(y, predicted, *ends),
                    "Predictions over targets; on the dashed line they agree."
                    + (" Vertical: intervals." if drawn_ends else ""),
                ),
                (
                    figures.residuals(y, predicted),
                    f"Residuals: mean {error.mean():.3g} (orange), deviation {error.std():.3g}.",
                ),
            ]
        labels, probabilities = ([y], [predicted]) if 0 < y.sum() < len(y) else ([], [])
        sure, right, words = predicted, y, "Calibration: observed share over predicted probability."
    out = []
    if labels:
        out.append((figures.roc(labels, probabilities), "ROC curve."))
        out.append(
            (figures.precision_recall(labels, probabilities), "Precision and recall; dotted: by chance.")
        )
    if len(sure):
        out.append((figures.calibration(right, sure), f"{words} Larger dots have more graphs."))
    return out


def _drawn_classes(scored: Scored) -> list[int]:
    """The classes that have curves: some of the test graphs are in them, some are not."""
    y = scored.y[scored.y[:, 0] >= 0, 0]
    there = [c for c in range(scored.predicted.shape[1]) if 0 < (y == c).sum() < len(y)]
    return there[: len(figures.COLORS)]


def confusion(scored: Scored) -> list[list[int]]:
    """How many graphs of each class (row) are predicted to be in each class (column)."""
    known, count = scored.y[:, 0] >= 0, scored.predicted.shape[1]
    pairs = scored.y[known, 0].astype(int) * count + scored.predicted[known].argmax(1)
    return np.bincount(pairs, minlength=count * count).reshape(count, count).tolist()


def _per_target(scored: Scored) -> list[tuple[str, int, dict[str, float | None]]]:
    """Name, number of known values and metrics of each target, if there are several."""
    info = scored.info
    if info.kind == "multiclass" or len(info.targets) < 2:
        return []
    y, predicted = torch.from_numpy(scored.y), torch.from_numpy(scored.predicted)
    outputs = predicted if info.kind == "regression" else torch.logit(predicted)
    rows = []
    for i, name in enumerate(info.targets):
        values: dict[str, float | None] = {}
        for metric in info.metrics:
            try:
                values[metric] = float(score(outputs[:, [i]], y[:, [i]], info.kind, metric))
            except OsanError:  # one class, or one value, only
                values[metric] = None
        rows.append((name, int((~y[:, i].isnan()).sum()), values))
    return rows


def _coverage(scored: Scored) -> list[tuple[str, float, float]]:
    """Name, share of targets within their interval and mean width, if the run has intervals.

    Sets of classes have their number of classes as width. Of several classes, each one has a row.
    """
    if scored.lower is None or scored.upper is None:
        return []
    if scored.info.kind == "multiclass":
        inside = [scored.upper[scored.y[:, 0] == c] for c in range(scored.upper.shape[1])]
        return [
            (scored.info.class_names[c], float(rows[:, c].mean()), float(rows.sum(1).mean()))
            for c, rows in enumerate(inside)
            if len(rows)
        ]
    more = 1.0 if scored.info.kind == "binary" else 0.0
    rows = []
    for i, name in enumerate(scored.info.targets):
        y, lower, upper = (
            each[~np.isnan(scored.y[:, i]), i] for each in (scored.y, scored.lower, scored.upper)
        )
        rows.append((name, float(((lower <= y) & (y <= upper)).mean()), float((upper - lower).mean()) + more))
    return rows


def _cards(
    run: Run, scored: Scored, count: int, data: Path | None
) -> tuple[list[dict[str, Any]], list[Substructure], bool, str]:
    """The worst predictions, what is chosen, whether in parts, and why there are no pictures."""
    worst = scored.worst(count)
    looked: dict[int, Looked] = {}
    graphs: dict[int, Data] = {}
    listed: list[Substructure] = []
    problem, of_edges, soft = "", False, False
    try:
        if run.settings.selection.parsed is not None and run.settings.selection.parsed.count != "all":
            some = range(min(_COUNTED, len(scored.y)))
            found = effects(run.folder, sorted({*worst, *some}), samples=1, draws=0, data=data)
            looked = {one.number: one for one in found.looked}
            graphs = {number: one.graph for number, one in looked.items()}
            of_edges, soft = found.policy.weighs_edges, found.soft
            listed = substructures(found.of(some))[:_LISTED]
        else:
            test = load_task(run.settings, data).test
            graphs = {place: readable(test[place], run.settings.data.dataset) for place in worst}
    except OsanError as error:
        problem = str(error)
    smiles = smiles_lines(run.settings) if scored.lines else {}
    cards = [
        {
            **_facts(scored, place),
            "line": scored.lines[place] if scored.lines else None,
            "smiles": smiles.get(scored.lines[place], "") if scored.lines else "",
            "picture": (
                _picture(graphs[place], looked.get(place), of_edges, run.settings.ensemble)
                if place in graphs
                else ""
            ),
        }
        for place in worst
    ]
    return cards, listed, soft, problem


def _facts(scored: Scored, place: int) -> dict[str, Any]:
    """Targets (empty for the right class) and predictions of one graph as texts, and its error."""
    info, y, predicted = scored.info, scored.y[place], scored.predicted[place]
    if info.kind == "multiclass":
        likely = int(predicted.argmax())
        texts = [
            (
                "class",
                "" if likely == int(y[0]) else info.class_names[int(y[0])],
                f"{info.class_names[likely]} ({predicted[likely]:.2f})",
            )
        ]
    else:
        texts = [
            (name, f"{y[i]:.4g}", f"{predicted[i]:.4g}")
            for i, name in enumerate(info.targets)
            if not np.isnan(y[i])
        ][:4]
    return {"values": texts, "error": float(scored.errors[place])}


def _picture(graph: Data, looked: Looked | None, of_edges: bool, members: int) -> str:
    """A graph with what is chosen in any of its subgraphs, paler by parts and by members."""
    total: dict[int, float] = defaultdict(float)
    for one in looked.subgraphs if looked else ():
        for element, part in zip(one.elements, one.parts, strict=True):
            total[element] += part * one.members
    parts = {element: min(1.0, count / members) for element, count in sorted(total.items())}
    if molecule_of(graph) is None:
        return graph_picture(graph, parts, of_edges)
    if of_edges:
        return molecule_svg(graph, bonds=edge_parts(graph, parts))
    return molecule_svg(graph, atoms=parts)
