"""Records of runs: from folders, to CSV and back, and what they come to."""

import json
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.experiments.recipes import recipe
from osan.report.records import Record, grouped, read_records, to_csv
from osan.report.runs import by_name, find_runs, summarise


def test_records_survive_the_file(molesol, tmp_path):
    records = read_records(molesol)
    path = tmp_path / "runs.csv"
    path.write_text(to_csv(records))
    assert read_records(path) == records
    assert read_records(path, "ogbg-molesol/gin/imle") == read_records(molesol, "ogbg-molesol/gin/imle")
    path.write_text(path.read_text().replace("1.1,", "one,", 1))
    with pytest.raises(OsanError, match=r"runs.csv, line \d: value is 'one', expected a number"):
        read_records(path)
    path.write_bytes(b"name,seed\n\xff\n")
    with pytest.raises(OsanError, match=r"runs.csv cannot be read"):
        read_records(path)
    path.write_text("name,seed\n")
    with pytest.raises(OsanError, match="expected the columns name, seed, repeat"):
        read_records(path)


def test_groups_and_tables_say_the_same(molesol):
    groups = {group.name: group for group in grouped(read_records(molesol))}
    for name, runs in by_name(find_runs(molesol)).items():
        summary = summarise(runs)
        if summary is not None:
            group = groups[name]
            assert (group.mean, group.std, group.runs) == (summary.mean, summary.std, summary.runs)
    assert groups["ogbg-molesol/gin/baseline"].paper == 1.193


def test_folds_of_one_split_are_one_repeat(write_run, tmp_path):
    settings = recipe("exp/gin/baseline").settings
    values = {0: 0.4, 1: 0.6, 9: 0.5, 10: 0.7, 11: 0.9}
    for seed, value in values.items():
        write_run(tmp_path, settings.changed({"seed": seed}), value)
    (group,) = grouped(read_records(tmp_path))
    first, second = fmean([0.4, 0.6, 0.5]), fmean([0.7, 0.9])
    assert (group.mean, group.std) == pytest.approx((fmean([first, second]), stdev([first, second])))
    assert (group.runs, group.repeats) == (5, 2)


def test_the_time_of_a_paused_run_is_not_counted():
    record = Record("a", 0, 0, "mae", 1.0, 1.0, None, None, 100, 3, 2.0, 50, 0.5)
    (group,) = grouped([record, replace(record, seed=1, repeat=1, epoch_seconds=4.0)])
    assert group.hours == pytest.approx(600 / 3600)
    assert group.inference == pytest.approx(10.0)
    assert group.best_test is None


def test_the_command(molesol, tmp_path):
    def run(*words, code=0):
        result = CliRunner().invoke(app, ["runs", *map(str, words)], env={"COLUMNS": "200"})
        assert result.exit_code == code, result.output
        return result.stdout if code == 0 else str(result.exception)

    table = tmp_path / "runs.csv"
    table.write_text(run(molesol, "--each", "--format", "csv"))
    assert run(table) == run(molesol)
    assert "1.100 ± 0.100" in run(table, "--format", "markdown")
    rows = json.loads(run(table, "--json", "--under", "ogbg-molesol/gin/baseline"))
    assert (len(rows), rows[0]["runs"]) == (1, 3)
    assert "whose name begins with 'zinc'" in run(table, "--under", "zinc", code=1)
