"""Replicates: which seeds and splits they have, and the table of their metrics."""

from __future__ import annotations

import json
from pathlib import Path
from statistics import fmean, stdev

import pytest
from typer.testing import CliRunner

from osan.cli import app
from osan.running import Replicates, open_run
from osan.training import load_task, read_result
from osan.training.replicates import replicate_settings, spread_of
from osan.training.settings import validated


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("table") / "a.csv"
    part = ["train", "train", "train", "val", "test"]
    lines = [f"{'C' * (i // 3 + 1)}{'NOS'[i % 3]},{i % 7},{part[i % 5]}" for i in range(30)]
    path.write_text("\n".join(["smiles,y,part", *lines]) + "\n")
    return path


@pytest.mark.parametrize(
    ("split", "differ"), [(None, True), ("random", True), ("kfold:5", True), ("part", False)]
)
def test_splits_differ_where_they_are_drawn(table: Path, split: str | None, differ: bool) -> None:
    whole = validated({"data": {"dataset": str(table), "targets": ["y"], "split": split}})
    first, second = (load_task(each).test.ids.tolist() for each in replicate_settings(whole, 2))
    assert (first != second) == differ
    if split == "kfold:5":
        assert not set(first) & set(second)


def test_official_splits_stay() -> None:
    whole = validated({"seed": 4, "data": {"dataset": "zinc"}})
    assert [(each.seed, each.data.seed) for each in replicate_settings(whole, 2)] == [(4, 0), (5, 0)]


def test_mean_and_deviation_of_every_metric(table: Path, tmp_path: Path) -> None:
    words = ["train", str(table), "delete 1 vertex", "--target", "y", "--epochs", "1", "--name", "few"]
    words += ["--set", "network.width=4", "--set", "network.layers=1", "--runs", str(tmp_path), "--quiet"]
    words += ["--replicates", "2", "--processes", "1"]
    told = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    folder = tmp_path / "few" / "replicates"
    results = [read_result(folder / f"seed-{i}") for i in range(2)]
    found = json.loads(told.stdout)
    assert found["folder"] == str(folder)
    assert set(found["scores"]) >= {"mae", "rmse", "coverage"}
    for name in ("mae", "rmse"):
        values = [result.scores[name] for result in results if result is not None]
        one = found["scores"][name]
        assert one == {"mean": fmean(values), "deviation": stdev(values), "values": values}
    assert json.loads((folder / "replicates.json").read_text()) == found["scores"]
    # The same command again trains nothing, and other settings do not go into the same folders.
    before = (folder / "seed-0" / "result.json").stat().st_mtime_ns
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    mae = found["scores"]["mae"]
    assert f"test mae      {mae['mean']:.4f} +- {mae['deviation']:.4f}" in told.stdout
    assert (folder / "seed-0" / "result.json").stat().st_mtime_ns == before
    told = CliRunner().invoke(app, [*words, "--set", "training.batch_size=7"])
    assert "holds a run with other settings: training.batch_size: 7" in str(told.exception)
    told = CliRunner().invoke(app, [*words, "--resume", str(folder / "seed-0")])
    assert "leave out" in str(told.exception)
    # One run deviates from nothing.
    told = CliRunner().invoke(app, [*words, "--replicates", "1"], catch_exceptions=False)
    assert f"test mae      {mae['values'][0]:.4f}\n" in told.stdout
    assert told.stdout.endswith(f"\n1 run in {folder}\n")
    assert json.loads((folder / "replicates.json").read_text())["mae"]["deviation"] is None
    alone = Replicates(folder, [open_run(folder / "seed-0")], spread_of(results[:1]))
    assert "<th>deviation" not in alone._repr_html_()
