"""``osan theory``: the paper's claims, checked by computation."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan.cli.options import Json, MaxMemory, memory_limit, print_json, progress_bar
from osan.errors import OsanError

if TYPE_CHECKING:
    from osan.wl.theory import Verdict


def theory(
    quick: Annotated[bool, typer.Option("--quick", help="Skip the slow checks.")] = False,
    only: Annotated[
        str, typer.Option(help="Only rows whose place, claim or instance contains this.", metavar="TEXT")
    ] = "",
    max_memory: MaxMemory = None,
    diagram: Annotated[
        Path | None,
        typer.Option(
            help="Only compute and draw the hierarchy of subgraph tests into this .svg or .png file."
        ),
    ] = None,
    as_json: Json = False,
) -> None:
    """Check the paper's propositions, lemmas and theorems on small instances."""
    if diagram is not None:
        _draw(diagram)
        return
    from osan.wl.theory import checks, run

    limit = memory_limit(max_memory)
    chosen = [
        check
        for check in checks()
        if not (quick and check.slow) and only in f"{check.place} | {check.claim} | {check.instance}"
    ]
    if not chosen:
        raise OsanError(
            f"--only: expected a text from a check (osan theory --quick lists them), got {only!r}"
        )
    verdicts = []
    with progress_bar() as bar:
        task = bar.add_task("checks", total=len(chosen))
        for check in chosen:
            bar.update(task, description=check.claim[:60])
            verdicts.append(run(check, limit))
            bar.advance(task)
    if as_json:
        print_json([_plain(verdict) for verdict in verdicts])
    else:
        _print(verdicts)


def _draw(path: Path) -> None:
    from osan.files import write_bytes
    from osan.report.pictures import checked_suffix, rendered
    from osan.wl.theory import draw_subgraph_tests

    suffix = checked_suffix(path)  # before the work
    write_bytes(path, rendered(draw_subgraph_tests(), suffix))
    typer.echo(f"wrote {path}")


def _plain(verdict: Verdict) -> dict[str, object]:
    check = verdict.check
    return {
        "place": check.place,
        "claim": check.claim,
        "instance": check.instance,
        "agrees": verdict.agrees,
        "seconds": round(verdict.seconds, 3),
        "note": verdict.note,
    }


def _print(verdicts: list[Verdict]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="The paper's claims, computed")
    for heading in ("place in the paper", "claim", "instance", "computed", "s"):
        table.add_column(heading, justify="right" if heading == "s" else "left")
    words = {True: "[green]holds", False: "[bold red]does not hold", None: "[yellow]left open"}
    for v in verdicts:
        row = (v.check.place, v.check.claim, v.check.instance, words[v.agrees], f"{v.seconds:.1f}")
        table.add_row(*row)
    console = Console()
    console.print(table)
    held = sum(v.agrees is True for v in verdicts)
    against = sum(v.agrees is False for v in verdicts)
    console.print(
        f"{held} hold{'s' * (held == 1)}, {against} do{'es' * (against == 1)} not, "
        f"{len(verdicts) - held - against} left open."
    )
    for note in dict.fromkeys(v.note for v in verdicts if v.note):
        console.print(f"Left open: {note}")
    if against:
        console.print("Why some do not hold is explained in docs/theory.md.")
