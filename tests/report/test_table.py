"""Tables against the paper's figures and against statistics computed otherwise."""

import csv
import io
import json

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.experiments import recipe
from osan.experiments.figures import tables
from osan.report.records import read_records, to_csv
from osan.report.runs import by_name, find_runs, read_run, summarize
from osan.report.table import comma_separated, headings, latex, markdown, rows_of, table_lines
from osan.training.averages import mean_std


def test_means_and_deviations_beside_the_paper(molesol):
    lines = table_lines("t_mol", molesol)
    assert [line.paper for line in lines] == tables()["t_mol"]
    baseline, random, imle = lines[:3]
    assert (baseline.paper.value, baseline.ours.runs) == (1.193, 3)
    assert baseline.ours.mean == pytest.approx(np.mean([1.0, 1.1, 1.2]))
    assert baseline.ours.std == pytest.approx(np.std([1.0, 1.1, 1.2], ddof=1))
    assert (imle.ours.mean, imle.ours.runs, imle.failed) == (pytest.approx(1.0), 2, 1)
    assert random.ours is None
    assert all(line.ours is None for line in lines[3:])
    cells = rows_of(lines)
    assert cells[0] == ["Baseline", "", "", "", "", "1.193 ± 0.083", "1.100 ± 0.100", "3"]
    assert cells[2][-3:] == ["1.053 ± 0.080", "1.000 ± 0.141", "2 (1 failed)"]


def test_every_table_shows_the_papers_figures():
    for name, rows in tables().items():
        lines = table_lines(name, {})
        assert [float(cells[5].split(" ± ")[0]) for cells in rows_of(lines)] == [row.value for row in rows]
        quoted = [cells[0].endswith("(quoted)") for cells in rows_of(lines)]
        assert quoted == [row.quoted for row in rows]


def test_times_stand_where_the_paper_has_them(tmp_path, write_run):
    one = recipe("zinc/ds-gnn/all/delete-1-vertex").settings
    write_run(tmp_path, one, 0.17, test_seconds=(1.0, 2.0, 3.0))
    lines = table_lines("z_esan", tmp_path)
    assert headings(lines)[-2:] == ["paper, seconds", "here, seconds"]
    assert rows_of(lines)[0][-2:] == ["11.860 ± 0.110", "2.000 ± 1.000"]
    assert lines[0].plain()["seconds"] == 2.0
    assert "here, seconds" not in headings(table_lines("t_mol", tmp_path))


def test_ten_folds_are_one_repeat(tmp_path, write_run):
    settings = recipe("exp/gin/baseline").settings
    values = np.random.default_rng(0).random((2, 10))
    for seed in range(20):
        write_run(tmp_path, settings.changed({"seed": seed}), float(values[seed // 10, seed % 10]))
    ours = table_lines("exp", tmp_path)[0].ours
    assert (ours.runs, ours.repeats) == (20, 2)
    assert ours.mean == pytest.approx(values.mean())
    assert ours.std == pytest.approx(np.std(values.mean(axis=1), ddof=1))


def test_runs_with_other_settings_are_pointed_out(tmp_path, write_run):
    settings = recipe("ogbg-molesol/gin/baseline").settings
    write_run(tmp_path, settings.changed({"training.epochs": 2, "training.min_epochs": 1}), 2.0)
    write_run(tmp_path, settings.changed({"seed": 1, "machine.checkpoint_seconds": 1.0}), 1.0)
    line = table_lines("t_mol", tmp_path)[0]
    assert line.changed == 1
    assert rows_of([line])[0][-1] == "2 (1 with other settings)"


def test_runs_of_ours_only_follow_the_papers(molesol, write_run):
    baseline = recipe("ogbg-molesol/gin/baseline").settings
    # Parts in a module that is not found here: the table needs their names only.
    parts = {"policy": "select 2 mine:Corner x 4", "estimator": "mine:Est"}
    chosen = baseline.changed({f"selection.{key}": value for key, value in parts.items()})
    for seed, value in enumerate((0.5, 0.7)):
        write_run(molesol, chosen.changed({"seed": seed, "name": "ogbg-molesol/gin/mine:Est/two/x4"}), value)
    write_run(molesol, baseline.changed({"name": "my own"}), None, error="no")
    # Another dataset or network, or a recipe of another table, is not of this table.
    write_run(molesol, recipe("zinc/gin/baseline").settings.changed({"name": "zinc/mine"}), 1.0)
    write_run(molesol, baseline.changed({"name": "wide", "network.like": None}), 1.0)
    write_run(molesol, recipe("ogbg-molesol/gin/imle-no-auxiliary/delete-2-vertices/x3").settings, 1.0)
    lines = table_lines("t_mol", molesol)
    paper, ours = lines[: len(tables()["t_mol"])], lines[len(tables()["t_mol"]) :]
    assert paper == table_lines("t_mol", molesol, paper_only=True)
    assert [line.key for line in ours] == ["my own", "ogbg-molesol/gin/mine:Est/two/x4"]
    failed, mine = rows_of(ours)
    assert failed == ["my own (ours only)", "", "", "", "", "", "", "0 (1 failed)"]
    assert mine[:5] == ["gin/mine:Est/two/x4 (ours only)", "select", "mine:Corner", "2", "4"]
    assert mine[5:] == ["", "0.600 ± 0.141", "2"]
    plain = ours[1].plain()
    assert (plain["recipe"], plain["paper"], plain["mean"]) == (ours[1].key, None, pytest.approx(0.6))
    assert len(comma_separated(lines).splitlines()) == len(lines) + 1
    assert "mine:Est" in markdown(lines)


def test_formats_hold_the_same_cells(molesol):
    lines = table_lines("t_mol", molesol)
    text = markdown(lines).splitlines()
    assert [c.strip() for c in text[2].strip("|").split("|")] == rows_of(lines)[0]
    assert len(text) == len(lines) + 2
    records = list(csv.DictReader(io.StringIO(comma_separated(lines))))
    assert [float(r["paper"]) for r in records] == [row.value for row in tables()["t_mol"]]
    assert float(records[0]["mean"]) == lines[0].ours.mean
    assert records[1]["mean"] == ""
    tex = latex(lines).splitlines()
    assert tex[0] == r"\begin{tabular}{lllrrrrr}"
    assert tex[4] == r"Baseline &  &  &  &  & 1.193 $\pm$ 0.083 & 1.100 $\pm$ 0.100 & 3 \\"
    assert tex[-1] == r"\end{tabular}"
    json.dumps([line.plain() for line in lines])


@given(st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20))
def test_mean_and_sample_deviation(values):
    mean, std = mean_std(values)
    assert mean == pytest.approx(np.mean(values), abs=1e-9)
    assert std == pytest.approx(np.std(values, ddof=1), abs=1e-9)


def test_runs_are_found_by_name_and_seed(molesol):
    runs = find_runs(molesol)
    assert [(len(group), group[0].settings.seed) for group in by_name(runs).values()] == [
        (3, 0),
        (3, 0),
        (1, 0),
    ]
    assert [run.error for run in runs if run.error] == ["disk <full>"]
    assert find_runs(molesol, "ogbg-molesol/gin/baseline") == find_runs(molesol)[:3]
    assert find_runs(molesol, "ogbg-mole") == []
    assert summarize([run for run in runs if run.result is None]) is None
    with pytest.raises(OsanError, match="runs: expected a folder of runs"):
        find_runs(molesol / "none")


def test_metrics_of_a_line_that_is_being_written(tmp_path, write_run):
    settings = recipe("ogbg-molesol/gin/baseline").settings
    folder = write_run(
        tmp_path, settings, None, metrics="epoch,train_loss,val_rmse\n0,1.5,\n1,1.0,1.1\n2,0.9"
    )
    metrics = read_run(folder).metrics
    assert metrics["epoch"] == [0.0, 1.0]
    assert metrics["train_loss"] == [1.5, 1.0]
    assert np.isnan(metrics["val_rmse"][0])


def test_a_damaged_result_counts_as_failed(molesol):
    path = molesol / "ogbg-molesol" / "gin" / "baseline" / "seed-0" / "result.json"

    def baseline():
        (line,) = (line for line in table_lines("t_mol", molesol) if line.key == "ogbg-molesol/gin/baseline")
        return line

    before = baseline()
    path.write_text('{"value": 1')
    after = baseline()
    assert (after.failed, after.ours.runs) == (before.failed + 1, before.ours.runs - 1)


def test_a_csv_file_of_runs_fills_the_same_table(molesol, write_run, tmp_path):
    baseline = recipe("ogbg-molesol/gin/baseline").settings
    write_run(molesol, baseline.changed({"name": "ogbg-molesol/gin/baseline/wide"}), 0.9)
    write_run(molesol, recipe("zinc/gin/baseline").settings, 1.0)
    stored = tmp_path / "runs.csv"
    stored.write_text(to_csv(read_records(molesol)), encoding="utf-8")
    columns = (0, 5, 6)  # failed runs and policies are not in the file
    shown = [[cells[i] for i in columns] for cells in rows_of(table_lines("t_mol", stored))]
    assert shown == [[cells[i] for i in columns] for cells in rows_of(table_lines("t_mol", molesol))]
    assert shown[-1] == ["gin/baseline/wide (ours only)", "", "0.900"]
    assert len(table_lines("t_mol", stored, paper_only=True)) == len(shown) - 1
    with pytest.raises(OsanError, match="expected a folder of runs"):
        table_lines("t_mol", tmp_path / "missing")
