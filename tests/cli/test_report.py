"""The commands sweep, table, report, explain and demo as a user meets them."""

import json
import os
import sys
from dataclasses import replace
from io import StringIO
from pathlib import Path

import pytest
import typer
from forked import ForkedRun
from rich.console import Console
from typer.testing import CliRunner

from osan.cli import app
from osan.cli.demo import tables
from osan.cli.sweep import follow
from osan.errors import OsanError
from osan.experiments.demo import MOTIF, PAIRS
from osan.report import Record, to_csv

runner = CliRunner()


@pytest.fixture(autouse=True)
def wide(monkeypatch, tmp_path):
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)
    # A relative path to the package would lead nowhere from there.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(sys.path))


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result.stdout


def test_what_a_sweep_would_run():
    plan = json.loads(run("sweep", "exp", "--seeds", "0-1", "--only", "*random*", "--dry-run", "--json"))
    assert plan == {
        "already": 0,
        "missing": [
            f"exp/gin/random/delete-1-{what}/x3 seed {s}" for s in (0, 1) for what in ("vertex", "edge")
        ],
    }


def test_a_sweep_leaves_out_runs_that_a_file_has(tmp_path):
    known = Record("exp/gin/baseline", 1, 0, "accuracy", 0.5, 0.5, None, None, None, 1, 0, 1.0, 120, 0.1)
    table, runs = tmp_path / "runs.csv", tmp_path / "runs"
    table.write_text(to_csv([known, replace(known, name="exp/gin/other", seed=0)]))
    words = ["sweep", "exp", "--only", "*/baseline", "--seeds", "0-2", "--runs", str(runs), "--dry-run"]
    assert json.loads(run(*words, "--finished", table, "--json")) == {
        "already": 1,
        "missing": ["exp/gin/baseline seed 0", "exp/gin/baseline seed 2"],
    }
    with pytest.raises(OsanError, match=r"--finished: expected a CSV file of runs, got .*runs"):
        run(*words, "--finished", runs)


@pytest.mark.parametrize(("done", "word"), [(0, "were"), (1, "was"), (2, "were")])
def test_what_a_sweep_says_of_runs_before(monkeypatch, done, word):
    monkeypatch.setattr("osan.cli.sweep._wanted", lambda *args: ([], done))
    assert f"; {done} {word} finished before." in run("sweep", "exp")


def test_a_sweep_whose_data_are_missing_fails_run_by_run(tmp_path, monkeypatch):
    monkeypatch.setattr("osan.training.jobs.start", ForkedRun)
    monkeypatch.setenv("OSAN_DATA", str(tmp_path))
    monkeypatch.setenv("OSAN_CACHE", str(tmp_path / "cache"))
    out = run("sweep", "exp", "--seeds", "3", "--only", "exp/gin/baseline", "--json", code=1)
    told = json.loads(out)
    assert (told["finished"], told["failed"]) == (0, 1)
    assert told["failures"][0]["run"] == "exp/gin/baseline seed 3"
    rows = json.loads(run("table", "exp", "--json"))
    assert rows[0]["failed"] == 1


def test_a_table_without_runs_is_the_papers():
    rows = json.loads(run("table", "t_zc", "--json"))
    assert len(rows) == 40
    assert rows[0]["paper"] == 0.188
    text = run("table", "t_zc")
    assert "0.155 ± 0.004" in text
    assert "CIN (quoted)" in text
    assert run("table", "t_zc", "--format", "csv").startswith("table,dataset,")
    assert run("table", "t_zc", "--format", "markdown").startswith("| method |")
    assert r"\toprule" in run("table", "t_zc", "--format", "latex")


def test_ctrl_c_ends_the_runs_and_says_how_to_go_on(capsys):
    ended = []

    def events():
        try:
            raise KeyboardInterrupt
            yield
        finally:
            ended.append(True)

    with pytest.raises(typer.Exit) as caught:
        follow(events(), 1)
    assert caught.value.exit_code == 130
    assert ended == [True]
    assert "osan: interrupted; the same command continues" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ("sweep", "t_mol", "--seeds", "x"),
            "--seeds: expected numbers and ranges such as 0-4 or 0,3,7, got 'x'",
        ),
        (("sweep", "t_moll"), "did you mean 't_mol'"),
        (("sweep", "t_mol", "--max-hours", "0"), "--max-hours: expected a positive number"),
        (("table", "nothing"), "unknown table 'nothing'"),
        (("sweep", "t_mol", "--only", "zinc*"), "--only: expected a pattern"),
        (("report",), "runs: expected a folder of runs"),
        (("explain", "nowhere", "0"), "nowhere"),
        (("explain", "nowhere", "0", "--out", "a.doc"), "ends in .svg or .png"),
        (("demo", "--picture", "a.doc"), "ends in .svg or .png"),
    ],
)
def test_errors_are_osans(words, message):
    with pytest.raises(OsanError) as caught:
        run(*words)
    assert message in str(caught.value)


def test_the_demo_end_to_end(tmp_path):
    told = json.loads(run("demo", "--epochs", "1", "--json"))
    # Plain GIN cannot be better or worse than chance, however long it trains.
    assert told["reached"]["demo/pairs/plain"] == 0.5
    ways = ("plain", "random", "learned")
    assert set(told["reached"]) == {f"demo/{part}/{way}" for part in ("motif", "pairs") for way in ways}
    # Three of 14 to 20 vertices by chance.
    assert 3 / 20 - 0.05 < told["found"]["demo/motif/random"] < 3 / 14 + 0.05
    assert (tmp_path / "demo.svg").read_text().startswith("<svg")
    assert "mark 1 vertex x 3" in (tmp_path / "demo.html").read_text()
    # Again: nothing is left to do, and the page of all runs and an explanation come from the same folders.
    assert json.loads(run("demo", "--epochs", "1", "--json")) == told
    run("report", "--examples", "0")
    assert (tmp_path / "report.html").exists()
    found = json.loads(run("explain", "runs/demo/pairs/random/seed-0", "0", "--out", "a.png", "--json"))
    assert found["what"] == "marked"
    assert sum(row[0] for row in found["vertices"]) == pytest.approx(1.0, abs=0.01)
    assert "subgraph 3" in run("explain", "runs/demo/pairs/learned/seed-0", "1", "--samples", "3")
    with pytest.raises(OsanError, match="expected a policy, got none"):
        run("explain", "runs/demo/pairs/plain/seed-0", "0")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_the_pages_show_what_the_demo_prints(page):
    """The block, except for its numbers, is what the command makes of these numbers."""
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    (block,) = (each for each in text.split("```") if "wrote demo.html" in each)
    cells = [[cell.strip() for cell in line.split("│")[1:-1]] for line in block.splitlines() if "│" in line]
    assert len(cells) == len(MOTIF) + len(PAIRS)
    motif = dict(zip(MOTIF, cells, strict=False))
    reached = {f"demo/motif/{way}": float(row[1]) for way, row in motif.items()}
    found = {f"demo/motif/{way}": float(row[2].rstrip("%")) / 100 for way, row in motif.items() if row[2]}
    pairs = zip(PAIRS, cells[len(MOTIF) :], strict=True)
    reached |= {f"demo/pairs/{way}": float(row[1].rstrip("%")) / 100 for way, row in pairs}
    printed = Console(file=StringIO(), width=80)
    for table in tables(reached, found):
        printed.print(table)
    lines = [line.rstrip() for line in printed.file.getvalue().splitlines()]
    assert [line.rstrip() for line in block.strip().splitlines()][: len(lines)] == lines
