"""One self-contained HTML page with tables, learning curves, example subgraphs and failures."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from osan import __version__
from osan.errors import OsanError
from osan.experiments.catalog import recipes
from osan.experiments.figures import tables
from osan.files import write_bytes
from osan.report.curves import has_curve, plot_curves
from osan.report.pictures import data_uri, svg
from osan.report.runs import Run, Summary, by_name, find_runs, summarize
from osan.report.table import Line, figure, headings, rows_of, table_lines
from osan.report.templates import filled
from osan.training.folder import ENVIRONMENT, member_folder, read_json

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True)
class Picture:
    """An image in the page."""

    source: str
    caption: str


@dataclass(frozen=True)
class Part:
    """A section of the page: one of the paper's tables, or other runs on one dataset."""

    title: str
    headings: list[str]
    rows: list[list[str]]
    pictures: list[Picture]


def write_page(
    runs: Path,
    out: Path,
    *,
    title: str = "osan runs",
    under: str = "",
    examples: int = 3,
    data: Path | None = None,
    progress: Callable[[str], None] = lambda _: None,
) -> None:
    """Write a page about all runs below a folder.

    Parameters
    ----------
    runs, under
        As in :func:`osan.report.find_runs`.
    out
        The file to write.
    title
        The heading of the page.
    examples
        The number of settings with learned subgraphs of which to draw an example; needs their data.
    data
        The folder of raw files; ``$OSAN_DATA`` by default.
    progress
        Called with a text on the current step.
    """
    found = find_runs(runs, under)
    if not found:
        raise OsanError(f"runs: expected at least one run in {runs / under}, got none")
    progress("tables and curves")
    groups = by_name(found)
    write_bytes(
        out,
        filled(
            "page.html",
            title=title,
            version=__version__,
            parts=[*_paper_parts(groups), *_other_parts(groups)],
            examples=_examples(groups, examples, data, progress),
            failed=[run for run in found if run.error],
            counts={
                "finished": sum(run.result is not None for run in found),
                "failed": sum(bool(run.error) for run in found),
                "unfinished": sum(run.result is None and not run.error for run in found),
            },
            environments=environments(found),
        ).encode(),
    )


def _paper_parts(groups: Mapping[str, Sequence[Run]]) -> list[Part]:
    """The paper's tables of which there are runs."""
    parts = []
    for label in tables():
        lines = table_lines(label, groups, paper_only=True)
        if any(line.key in groups for line in lines):
            row = lines[0].table
            title = f"{row.dataset}, {row.downstream} (table {label})"
            parts.append(Part(title, headings(lines), rows_of(lines), _policy_curves(lines, groups)))
    return parts


def _policy_curves(lines: Sequence[Line], groups: Mapping[str, Sequence[Run]]) -> list[Picture]:
    """A figure for each policy of a table, each with the baseline."""
    keyed = [(line.paper, line.key) for line in lines if line.key in groups and line.key and line.paper]
    baseline = {row.method: groups[key] for row, key in keyed if not row.operation}
    by_policy: dict[str, dict[str, Sequence[Run]]] = {}
    for row, key in keyed:
        if row.operation:
            size = "" if row.size == "--" else f"{row.size} "
            policy = f"{row.operation} {size}{row.type} x {row.subgraphs}".lower()
            by_policy.setdefault(policy, dict(baseline))[row.method] = groups[key]
    drawings = by_policy or ({"baseline": baseline} if baseline else {})
    return [drawn for policy, some in drawings.items() if (drawn := _curves(some, policy))]


def _other_parts(groups: Mapping[str, Sequence[Run]]) -> list[Part]:
    """Runs that are not in the paper, by dataset."""
    by_dataset: dict[str, dict[str, Sequence[Run]]] = {}
    for name, group in groups.items():
        if name not in recipes():
            by_dataset.setdefault(group[0].settings.data.dataset, {})[name] = group
    header = ["run", "policy", "estimator", "metric", "test", "runs", "epochs", "seconds"]
    parts = []
    for dataset, some in by_dataset.items():
        # As in the paper: without, with random, with learned subgraphs.
        ranked = dict(sorted(some.items(), key=lambda item: _method_rank(item[1][0])))
        rows = [_other_row(name, group, summarize(group)) for name, group in ranked.items()]
        picture = _curves(dict(zip(_short(list(ranked)), ranked.values(), strict=True)), dataset)
        parts.append(Part(dataset, header, rows, [picture] if picture else []))
    return parts


def _short(names: Sequence[str]) -> list[str]:
    """Remove the folders with which all names begin.

    >>> _short(["a/b/c", "a/b/d/e"])
    ['c', 'd/e']
    """
    parts = [name.split("/") for name in names]
    common = 0
    while all(len(each) > common + 1 and each[common] == parts[0][common] for each in parts):
        common += 1
    return ["/".join(each[common:]) for each in parts]


def _method_rank(run: Run) -> tuple[bool, bool]:
    choice = run.settings.selection
    return bool(choice.policy), choice.estimator != "random"


def _other_row(name: str, some: Sequence[Run], summary: Summary | None) -> list[str]:
    choice = some[0].settings.selection
    row = [name, choice.policy or "none", choice.estimator if choice.policy else ""]
    results = [run.result for run in some if run.result is not None]
    if summary is None:
        return [*row, "", "", "0", "", ""]
    epochs = sum(result.epochs for result in results) / len(results)
    seconds = sum(result.seconds for result in results) / len(results)
    value = figure(summary.mean, summary.std, 3)
    return [*row, results[0].metric, value, str(summary.runs), f"{epochs:.0f}", f"{seconds:.1f}"]


def _curves(groups: Mapping[str, Sequence[Run]], title: str) -> Picture | None:
    if not any(has_curve(run) for some in groups.values() for run in some):
        return None
    return Picture(_image(plot_curves(groups, title)), f"Learning curves: {title}")


def _image(drawing: Figure) -> str:
    return data_uri(svg(drawing).encode())


def _examples(
    groups: Mapping[str, Sequence[Run]], count: int, data: Path | None, progress: Callable[[str], None]
) -> list[Picture]:
    """Pictures of the first test graph for some settings that learn, if their data are available."""
    from osan.report.drawing import picture
    from osan.report.frequencies import explain

    out: list[Picture] = []
    for name, some in groups.items():
        done = next((run for run in some if run.result is not None), None)
        if len(out) >= count or done is None:
            continue
        try:
            if not done.settings.selection.learns:
                continue
            progress(f"example of {name}")
            seen = explain(done.folder, "0", samples=100, data=data)
        except OsanError as error:
            progress(f"no example of {name}: {error}")
            continue
        what = "edges" if seen.vertices is None else "vertices"
        caption = f"{name}: {seen.name}. Darker {what} are {seen.word} more often ({seen.samples} samples)."
        out.append(Picture(data_uri(picture(seen)), caption))
    return out


def environments(found: Sequence[Run]) -> list[str]:
    """The versions and platforms of the runs, each combination once."""
    seen: dict[str, None] = {}
    members = [member_folder(run.folder, i) for run in found for i in range(run.settings.ensemble)]
    for folder in [*(run.folder for run in found), *members]:
        path = folder / ENVIRONMENT
        if path.is_file():
            try:
                content = read_json(path)
            except OsanError:  # it says nothing about the results
                continue
            known = content.get("versions")
            pairs = known.items() if isinstance(known, dict) else ()
            versions = ", ".join(f"{name} {number}" for name, number in pairs)
            seen[f"{versions}; {content.get('platform', '')}; threads {content.get('threads', '?')}"] = None
    return list(seen)
