"""``osan demo``: plain GIN, random and learned subgraphs on two small tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from osan import interrupts
from osan.cli.options import RUNS, Json, Runs, console, print_json

if TYPE_CHECKING:
    from rich.table import Table

    from osan.training.settings import Settings


def demo(
    runs: Runs = RUNS,
    out: Annotated[Path, typer.Option(help="Page to write.")] = Path("demo.html"),
    picture: Annotated[Path, typer.Option(help="Picture to write.")] = Path("demo.svg"),
    seed: Annotated[int, typer.Option(min=0, help="Seed of the graphs and networks.")] = 0,
    epochs: Annotated[int | None, typer.Option(min=1, help="Epochs of each run.")] = None,
    as_json: Json = False,
) -> None:
    """Train six small networks, compare them, and write a page and a picture. Takes two minutes on a core."""
    from osan.experiments.demo import demo_settings
    from osan.files import write_bytes
    from osan.report.motif import draw_motifs, look_for_motif, share_found
    from osan.report.page import write_page
    from osan.report.pictures import checked_suffix, rendered
    from osan.report.runs import by_name, find_runs, summarize
    from osan.training.folder import run_folder

    suffix = checked_suffix(picture)
    settings = demo_settings(seed, epochs)
    _train(settings, runs, quiet=as_json)
    folders = {each.name: run_folder(runs, each) for each in settings}
    groups = by_name(run for run in find_runs(runs, "demo") if run.settings.seed == seed)
    reached = {name: summary.mean for name in folders if (summary := summarize(groups[name]))}
    seen = {way: look_for_motif(folders[f"demo/motif/{way}"]) for way in ("random", "learned")}
    found = {f"demo/motif/{way}": share_found(graphs) for way, graphs in seen.items()}
    drawing = draw_motifs({f"{way} choice": graphs for way, graphs in seen.items()})
    write_bytes(picture, rendered(drawing, suffix))
    write_page(runs, out, title="osan demo: seeing through subgraphs", under="demo", examples=2)
    if as_json:
        print_json({"reached": reached, "found": found, "page": str(out), "picture": str(picture)})
        return
    for table in tables(reached, found):
        console().print(table)
    typer.echo(f"wrote {out} (tables, learning curves) and {picture} (which vertices are chosen)")


def _train(settings: Sequence[Settings], runs: Path, quiet: bool) -> None:
    """Do what is missing, one run after another.

    All in this process and on one thread: starting a process for each would take as long as the training, and
    the results are the same on any number of cores.
    """
    import torch

    from osan.training.folder import run_folder
    from osan.training.run import train

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        for number, each in enumerate(settings, 1):
            if not quiet:
                typer.echo(f"{number} of {len(settings)}: {each.name}", err=True)
            train(each, run_folder(runs, each), resume=True, progress=not quiet)
    except KeyboardInterrupt:
        typer.echo("osan: interrupted; the same command continues", err=True)
        raise typer.Exit(interrupts.exit_code()) from None
    finally:
        torch.set_num_threads(threads)


def tables(reached: Mapping[str, float], found: Mapping[str, float]) -> list[Table]:
    """The two tables of the demo, from the test metric and the share of the motif found of each run."""
    from rich.table import Table

    from osan.experiments.demo import MOTIF, PAIRS

    motif = Table(title="Trees with one triangle: what is the sum of its features?", title_justify="left")
    for heading in ("network", "mean error", "triangle found"):
        motif.add_column(heading, justify="left" if heading == "network" else "right")
    for way, words in MOTIF.items():
        name = f"demo/motif/{way}"
        motif.add_row(words, f"{reached[name]:.2f}", f"{found[name]:.0%}" if name in found else "")
    pairs = Table(title="Which of a pair is twisted? No GIN can tell", title_justify="left")
    pairs.add_column("network")
    pairs.add_column("accuracy", justify="right")
    for way, words in PAIRS.items():
        pairs.add_row(words, f"{reached[f'demo/pairs/{way}']:.0%}")
    return [motif, pairs]
