"""Draw the five figures of docs/results.md from the CSV files in results/.

    python scripts/results_figures.py           # writes docs/images/{alone,ways,cost,marks,kappa}.svg
    python scripts/results_figures.py --check   # exit code 1 if one of them is not what the files say

``alone`` shows the test error of networks that see a few chosen vertices and nothing else, ``ways`` that of
every way to choose marks beside the whole graph, ``cost`` the same over the time of training, ``marks``
error, time and memory over the number of marks, ``kappa`` how settled the choice of each estimator is after
every epoch.
"""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable
from pathlib import Path
from statistics import mean, stdev
from typing import Any, NamedTuple

from osan.figures import empty_figure
from osan.files import write_bytes
from osan.report.pictures import rendered
from osan.report.records import Record, read_records

ROOT = Path(__file__).parents[1]
IMAGES, RESULTS = ROOT / "docs" / "images", ROOT / "results"
MARKS = "mark-1-vertex-distinct/x2"
SOFT, SOFT_CENTRAL = f"prior-sparsemap/{MARKS}", f"centrality-sparsemap/{MARKS}"
# What is said of a way, the part of the name of its runs, its color, and where cost.csv has its time.
WAYS = (
    ("whole graph", "baseline", "#555555", ("whole graph", "0")),
    ("random marks", f"random/{MARKS}", "#7570b3", ("random", "2")),
    ("central marks", f"centrality/{MARKS}", "#1b9e77", ("central", "2")),
    ("learned marks", f"prior-straight-through/{MARKS}", "#d95f02", ("learned", "2")),
    ("soft central marks", SOFT, "#66a61e", ("soft central", "2")),
    ("soft learned marks", SOFT, "#c2185b", ("soft learned", "2")),
    ("spread learned mark", "sparsemap/mark-1-vertex/x1", "#7b1fa2", ("soft learned", "1")),
    ("distance encoding", "baseline", "#000000", ("whole graph", "0")),
)


class Compared(NamedTuple):
    """One network and one budget on a dataset: where its runs are, and what the panel says."""

    dataset: str
    name: str  # the end of the names of its runs
    title: str
    metric: str
    own: dict[str, str]  # all that follows the network in the names of runs, where it is something else


# Sharp marks have settings of their own, chosen on the validation split. Soft central marks are those of runs
# whose upstream network does not learn.
COMPARED = (
    Compared(
        "zinc",
        "distance-30-epochs",
        "ZINC",
        "MAE",
        {
            "soft central marks": f"{SOFT}/distance-30-epochs-not-learned",
            "distance encoding": "baseline/distance-encoding-30-epochs",
        },
    ),
    Compared(
        "zinc",
        "distance",
        "ZINC, encodings",
        "MAE",
        {
            "whole graph": "baseline",
            "soft central marks": f"{SOFT}/distance-not-learned",
            "distance encoding": "baseline/cse-and-distance-encoding",
        },
    ),
    Compared(
        "lipophilicity.csv.gz",
        "distance-40-epochs",
        "Lipophilicity",
        "MAE",
        {
            "soft learned marks": f"{SOFT}/distance-40-epochs-sharp",
            "soft central marks": f"{SOFT}/distance-40-epochs-sharp-not-learned",
            "distance encoding": "baseline/distance-encoding-40-epochs",
        },
    ),
    Compared(
        "qm9-12k.csv",
        "r2-distance-30-epochs",
        "QM9, extent",
        "MAE in bohr²",
        {
            "soft learned marks": f"{SOFT}/r2-distance-30-epochs-sharp",
            "soft central marks": f"{SOFT}/r2-distance-30-epochs-sharp-not-learned",
            "distance encoding": "baseline/r2-distance-encoding-30-epochs",
        },
    ),
    Compared(
        "ogbg-molesol",
        "distance-40-epochs-sharp",
        "ogbg-molesol",
        "RMSE",
        {
            "learned marks": f"prior-straight-through/{MARKS}/distance-40-epochs",
            "soft central marks": f"{SOFT_CENTRAL}/distance-40-epochs-sharp",
            "distance encoding": "baseline/distance-encoding-40-epochs",
        },
    ),
    Compared(
        "ogbg-molbace",
        "distance-40-epochs-sharp",
        "ogbg-molbace",
        "ROC-AUC ↑",
        {
            "learned marks": f"prior-straight-through/{MARKS}/distance-40-epochs",
            "soft central marks": f"{SOFT_CENTRAL}/distance-40-epochs-sharp",
            "distance encoding": "baseline/distance-encoding-40-epochs",
        },
    ),
    Compared(
        "proteins",
        "distance-30-epochs",
        "PROTEINS, encodings",
        "ROC-AUC ↑",
        {"distance encoding": "baseline/cse-and-distance-encoding-30-epochs"},
    ),
)
# Networks that see the chosen vertices and nothing else: datasets with their number, and ways to choose.
SEEN = (
    (Compared("lipophilicity.csv.gz", "baseline/distance-40-epochs", "Lipophilicity", "MAE", {}), "8"),
    (Compared("zinc", "baseline/distance-30-epochs", "ZINC", "MAE", {}), "8"),
    (Compared("ogbg-molesol", "baseline/distance-40-epochs-sharp", "ogbg-molesol", "RMSE", {}), "4"),
)
ALONE = (
    ("whole graph", "baseline", "#555555"),
    ("random atoms", "random -long", "#7570b3"),
    ("central atoms", "centrality -long", "#1b9e77"),
    ("PageRank", "pagerank -long", "#66a61e"),
    ("outer atoms", "centrality -long-periphery", "#a6761d"),
    ("untrained choice", "straight-through -not-learned", "#999999"),
    ("learned choice", "neutral-straight-through -starts", "#d95f02"),
)
# Over the number of vertices, with a single start; and at which number, how far above the line, its name is.
OVER_NUMBERS = (
    ("random atoms", "random", "#7570b3", 0, 6),
    ("outer atoms", "centrality -periphery", "#a6761d", 2, -14),
    ("learned choice", "neutral-straight-through", "#d95f02", 0, -14),
)
# Where the name of a way is: random and central marks take almost as long as each other, and so do both kinds
# of learned ones.
_BESIDE = {
    "whole graph": "below",
    "random marks": "upper left",
    "central marks": "lower left",
    "soft central marks": "above",
    "learned marks": "right",
    "soft learned marks": "right",
    "spread learned mark": "below",
    "distance encoding": "left",
}
_SHIFTS = {
    "above": ((0, 5), "center"),
    "below": ((0, -14), "center"),
    "right": ((6, -3), "left"),
    "left": ((-6, -8), "right"),
    "upper left": ((-6, 2), "right"),
    "lower left": ((-6, -8), "right"),
}
NUMBERS = ("0", "1", "2", "4", "8", "all")
# The ways whose number of marks varies: their names in cost.csv and in the names of runs, and their color.
NUMBERED = (
    ("random", "random", "#7570b3"),
    ("central", "centrality", "#1b9e77"),
    ("soft learned", "prior-sparsemap", "#c2185b"),
)
# At which number of marks the name of a line is, and where from there.
_BESIDE_LINE = {
    "random": ("4", (6, 4), "left"),
    "central": ("4", (2, -16), "right"),
    "soft learned": ("1", (0, -12), "center"),
}
ESTIMATORS = (
    ("straight-through", "#d95f02"),
    ("simple", "#1b9e77"),
    ("score-function", "#7570b3"),
    ("imle", "#555555"),
)


def errors(records: list[Record], compared: Compared, label: str, way: str) -> list[float]:
    """The test scores of the runs of a way, in a single pass."""
    wanted = f"{compared.dataset}/few-marks/" + compared.own.get(label, f"{way}/{compared.name}")
    found = [record for record in records if record.name == wanted]
    return [record.value if record.separate is None else record.separate for record in found]


def titled(records: list[Record], compared: Compared) -> str:
    """The title of a panel, with the number of seeds."""
    counts = {len(errors(records, compared, label, way)) for label, way, *_ in WAYS} - {0}
    seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
    return f"{compared.title}\n{compared.metric} ({seeds} seed{'' if seeds == '1' else 's'})"


def ways() -> Any:
    """One panel per dataset: the score of every seed, their mean and two standard errors."""
    records = read_records(RESULTS / "runs.csv")
    figure = empty_figure(9.6, 6.2)
    rows = figure.subplots(2, 4, sharey=True)
    for panel in rows.flat[len(COMPARED) :]:
        panel.set_axis_off()
    for panel, compared in zip(rows.flat, COMPARED, strict=False):
        for place, (label, way, color, _) in enumerate(WAYS):
            found = errors(records, compared, label, way)
            if not found:
                continue
            _row(panel, place, found, color)
        _style(panel, titled(records, compared))
        panel.margins(x=0.18)
    rows[0, 0].set_yticks([-place for place in range(len(WAYS))], [way for way, *_ in WAYS])
    rows[0, 0].set_ylim(0.5 - len(WAYS), 0.5)
    return figure


def _row(panel: Any, place: int, found: list[float], color: str) -> None:
    """The mean with two standard errors, and every seed below."""
    spread = 2 * stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
    panel.errorbar(mean(found), -place, xerr=spread, fmt="o", color=color, capsize=3, markersize=6)
    panel.plot(found, [-place - 0.22] * len(found), "|", color=color, markersize=7, alpha=0.7)
    said = f"{mean(found):#.3g}"
    panel.annotate(said, (mean(found), -place), (0, 6), textcoords="offset points", ha="center", fontsize=7)


def alone() -> Any:
    """Three datasets: the error of networks that see a few vertices; on one, over their number."""
    records = read_records(RESULTS / "runs.csv")
    figure = empty_figure(9.6, 5.6)
    panels = figure.subplots(2, 2).flat
    for panel, (compared, number) in zip(panels, SEEN, strict=False):
        found = {label: _seen(records, compared, way, number) for label, way, _ in ALONE}
        for place, (label, _, color) in enumerate(ALONE):
            if found[label]:
                _row(panel, place, found[label], color)
        counts = {len(each) for each in found.values()} - {0}
        seeds = " to ".join(map(str, sorted({min(counts), max(counts)})))
        _style(panel, f"{compared.title}: {number} atoms are seen\n{compared.metric} ({seeds} seeds)")
        panel.margins(x=0.15)
        panel.set_yticks([-place for place in range(len(ALONE))], [label for label, *_ in ALONE])
        panel.set_ylim(0.5 - len(ALONE), 0.5)
    last, (compared, _) = panels[3], SEEN[0]
    numbers = ("4", "8", "16", "all")
    for label, way, color, at, shift in OVER_NUMBERS:
        scores = [_seen(records, compared, way, n, 3) for n in numbers[:3]]
        scores.append(_seen(records, compared, "baseline", "", 3))
        _line(last, {n: mean(each) if each else None for n, each in zip(numbers, scores, strict=True)}, color)
        if all(scores):
            last.annotate(
                label,
                (at, mean(scores[at])),
                (0, shift),
                textcoords="offset points",
                ha="right" if at else "left",
                color=color,
                fontsize=8,
            )
    last.margins(y=0.15)
    last.set_xlabel("atoms that are seen, of 27 on average", fontsize=8)
    _style(last, f"{compared.title}, one start\n{compared.metric} (3 seeds)")
    last.set_xticks(range(len(numbers)), numbers)
    return figure


def _seen(
    records: list[Record], compared: Compared, way: str, number: str, seeds: int | None = None
) -> list[float]:
    """The test errors of a way to choose what is seen, of the first seeds; those of the whole graph too."""
    method, _, learned = way.partition(" ")
    policy = f"{method}/select-{number}-vertices/x1/alone{learned}"
    name = compared.name if method == "baseline" else policy
    found = [record for record in records if record.name == f"{compared.dataset}/few-marks/{name}"]
    return [
        record.value if record.separate is None else record.separate
        for record in found
        if seeds is None or record.seed < seeds
    ]


def cost() -> Any:
    """The first four datasets: error over the time of a training step, as multiples of the whole graph's."""
    times = costs("training_ms")
    records = read_records(RESULTS / "runs.csv")
    figure = empty_figure(8.0, 5.2)
    for panel, compared in zip(figure.subplots(2, 2).flat, COMPARED[:4], strict=True):
        for label, way, color, timed in WAYS:
            found = errors(records, compared, label, way)
            if not found:
                continue
            x = times[timed] / times["whole graph", "0"]
            spread = stdev(found) / len(found) ** 0.5 if len(found) > 1 else 0.0
            panel.errorbar(x, mean(found), yerr=2 * spread, fmt="o", color=color, capsize=3, markersize=6)
            side = _BESIDE[label]
            top = mean(found) + {"above": 2, "below": -2}.get(side, 0) * spread
            shift, align = _SHIFTS[side]
            panel.annotate(
                label.removesuffix(" marks").replace("distance ", "distance\n"),
                (x, top),
                shift,
                textcoords="offset points",
                ha=align,
                color=color,
                fontsize=8,
            )
        _style(panel, titled(records, compared))
        panel.set_xlabel("time of a training step, whole graph = 1", fontsize=8)
        panel.set_xlim(0.2, 4.0)
        panel.margins(y=0.2)
    return figure


def marks() -> Any:
    """Error on ZINC (first seed), time of training and memory over the number of marks; one line per way."""
    records = [record for record in read_records(RESULTS / "runs.csv") if record.seed == 0]
    figure = empty_figure(8.0, 2.8)
    panels = figure.subplots(1, 3)
    titles = ("ZINC without encodings (1 seed)\nMAE", "Training\nms per graph", "Training\nmemory in MB")
    for panel, title in zip(panels, titles, strict=True):
        _style(panel, title)
        panel.set_xticks(range(len(NUMBERS)), NUMBERS)
        panel.set_xlabel("marked views beside the whole graph", fontsize=8)
        panel.set_xlim(-0.3, len(NUMBERS) - 0.4)
    for label, method, color in NUMBERED:
        errors_of = {number: _error_with(records, method, number) for number in NUMBERS}
        _line(panels[0], errors_of, color)
        for panel, column in zip(panels[1:], ("training_ms", "memory_mb"), strict=True):
            known = costs(column)
            keys = {"0": ("whole graph", "0"), "all": ("all", "all")}
            _line(panel, {n: known.get(keys.get(n, (label, n))) for n in NUMBERS}, color)
        number, shift, side = _BESIDE_LINE[label]
        at = (NUMBERS.index(number), errors_of[number])
        panels[0].annotate(label, at, shift, textcoords="offset points", ha=side, color=color, fontsize=8)
    return figure


def _error_with(records: list[Record], method: str, number: str) -> float | None:
    """The test error of the first seed with a number of marks; ``None`` if it was not run."""
    way = {"0": "baseline", "all": "all/mark-1-vertex"}.get(number, f"{method}/{MARKS[:-1]}{number}")
    name = "distance-30-epochs" if number in ("0", "2") else "number-of-marks"
    return next(iter(errors(records, Compared("zinc", name, "", "", {}), "", way)), None)


def _line(panel: Any, values: dict[str, float | None], color: str) -> None:
    """A line through the values that are known, each above its number of marks."""
    known = [(place, value) for place, value in enumerate(values.values()) if value is not None]
    panel.plot(*zip(*known, strict=True), "o-", color=color, markersize=4, linewidth=1.5)


def costs(column: str) -> dict[tuple[str, str], float]:
    """A column of results/cost.csv, by way and number of marks."""
    with (RESULTS / "cost.csv").open(encoding="utf-8", newline="") as file:
        return {(line["way"], line["marks"]): float(line[column]) for line in csv.DictReader(file)}


def kappa() -> Any:
    """How far the choices of different samples agree after every epoch, beyond chance; one line each."""
    with (RESULTS / "kappa.csv").open(encoding="utf-8", newline="") as file:
        lines = list(csv.DictReader(file))
    figure = empty_figure(5.0, 2.8)
    panel = figure.subplots()
    for number, (estimator, color) in enumerate(ESTIMATORS):
        some = [line for line in lines if line["name"].split("/")[2] == estimator]
        epochs = sorted({int(line["epoch"]) for line in some})
        values = [mean(float(line["kappa"]) for line in some if int(line["epoch"]) == e) for e in epochs]
        panel.plot([epoch + 1 for epoch in epochs], values, color=color, linewidth=1.8)
        if epochs:
            at = (epochs[-1] + 1, values[-1])
            shift = (4, 2 if number % 2 else -8)  # two pairs end close to each other
            panel.annotate(estimator, at, shift, textcoords="offset points", color=color, fontsize=8)
    _style(panel, "QM9: do two draws choose the same vertices?\n1 = always, 0 = no more than by chance")
    panel.set_xlabel("epoch", fontsize=8)
    panel.margins(x=0.25)
    panel.set_xlim(left=0)
    return figure


def _style(panel: Any, title: str) -> None:
    panel.locator_params(nbins=5)
    panel.set_title(title, fontsize=9, loc="left")
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)
    panel.spines[["top", "right"]].set_visible(False)


FIGURES: dict[str, Callable[[], Any]] = {
    "alone": alone,
    "ways": ways,
    "cost": cost,
    "marks": marks,
    "kappa": kappa,
}

if __name__ == "__main__":
    made = {name: rendered(draw(), "svg") for name, draw in FIGURES.items()}
    if "--check" in sys.argv:
        sys.exit(any((IMAGES / f"{name}.svg").read_bytes() != content for name, content in made.items()))
    for name, content in made.items():
        write_bytes(IMAGES / f"{name}.svg", content)
