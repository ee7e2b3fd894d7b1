"""Progress bars for runs in other processes."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import closing
from pathlib import Path

from osan.training.course import Course
from osan.training.jobs import Event

_STYLES = {"finished": "green", "failed": "red", "interrupted": "yellow"}


def watched(events: Generator[Event], total: int, quiet: bool = False) -> list[Event]:
    """Show one bar for all runs and one for each, on stderr, and return how the runs ended.

    Ctrl-C closes the iterator, which ends the runs.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    shown = Console(markup=False, emoji=False, stderr=True, quiet=quiet)
    words = TextColumn("{task.description}", markup=False)
    columns = (words, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    ended: list[Event] = []
    with closing(events), Progress(*columns, console=shown, transient=True) as progress:
        whole = progress.add_task("runs", total=total)
        bars: dict[Path, TaskID] = {}
        for event in events:
            job = event.job
            if job.folder not in bars:
                choice = job.settings.selection
                # Custom parts are imported by the run itself, whose failure stops no other run.
                custom = any(":" in name for name in (choice.policy, choice.weigher, choice.estimator))
                course = Course.of(job.settings, learns=custom or choice.learns)
                bars[job.folder] = progress.add_task(str(job), total=course.total)
            progress.update(bars[job.folder], completed=event.epochs)
            if event.state in _STYLES:
                ended.append(event)
                progress.remove_task(bars[job.folder])
                progress.advance(whole)
                text = f"{event.state} {job}" + (f": {event.error}" if event.error else "")
                progress.console.print(text, style=_STYLES[event.state], highlight=False)
    return ended
