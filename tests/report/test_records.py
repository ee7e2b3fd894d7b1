"""Records of runs: from folders, to CSV and back, and what they come to."""

import json
import math
from dataclasses import replace
from statistics import fmean, stdev

import pytest
from scipy.stats import binomtest
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.experiments import recipe
from osan.report import (
    Difference,
    Record,
    by_name,
    differences,
    find_runs,
    group_records,
    plot_comparison,
    read_records,
    summarize,
    to_csv,
)
from osan.report.records import merged_records

# By how much one setting is ahead of another, on three folds.
GAINS = [0.25, -0.125, 0.125]


def test_records_survive_the_file(molesol, tmp_path):
    records = read_records(molesol)
    path = tmp_path / "runs.csv"
    path.write_text(to_csv(records))
    assert read_records(path) == records
    path.write_text(path.read_text().replace("1.1,", "one,", 1))
    with pytest.raises(
        OsanError, match=r"runs.csv, line \d, value: got 'one': Input should be a valid number"
    ):
        read_records(path)
    path.write_bytes(b"name,seed\n\xff\n")
    with pytest.raises(OsanError, match=r"runs.csv cannot be read"):
        read_records(path)
    path.write_text("name,seed\n")
    with pytest.raises(OsanError, match="expected the columns name, seed, repeat"):
        read_records(path)


def test_several_sources_are_one_list(molesol, tmp_path):
    """A CSV file of runs whose folders are gone, and the folder of runs that were done since."""
    here = read_records(molesol)
    gone = replace(here[0], name="exp/gin/baseline", value=0.5)
    old = replace(here[1], value=here[1].value + 1)  # the same run, recorded before it was done again
    path = tmp_path / "runs.csv"
    path.write_text(to_csv([old, gone]))
    assert merged_records([path, molesol]) == [gone, *here]
    assert merged_records([molesol, path]) == [gone, here[0], old, *here[2:]]
    words = ["runs", str(path), str(molesol), "--each", "--format", "csv"]
    assert CliRunner().invoke(app, words).stdout == to_csv([gone, *here])


def test_groups_and_tables_say_the_same(molesol):
    groups = {group.name: group for group in group_records(read_records(molesol))}
    for name, runs in by_name(find_runs(molesol)).items():
        summary = summarize(runs)
        if summary is not None:
            group = groups[name]
            assert (group.mean, group.std, group.runs) == (summary.mean, summary.std, summary.runs)
    assert groups["ogbg-molesol/gin/baseline"].paper == 1.193


def test_folds_of_one_split_are_one_repeat(write_run, tmp_path):
    settings = recipe("exp/gin/baseline").settings
    values = {0: 0.4, 1: 0.6, 9: 0.5, 10: 0.7, 11: 0.9}
    for seed, value in values.items():
        write_run(tmp_path, settings.changed({"seed": seed}), value)
    (group,) = group_records(read_records(tmp_path))
    first, second = fmean([0.4, 0.6, 0.5]), fmean([0.7, 0.9])
    assert (group.mean, group.std) == pytest.approx((fmean([first, second]), stdev([first, second])))
    assert (group.runs, group.repeats) == (5, 2)


def test_the_score_on_validation_splits_is_averaged_over_repeats():
    record = Record("a", 0, 0, "mae", 1.0, 0.5, None, None, None, 100, 3, 2.0, 50, 0.5)
    others = [replace(record, seed=1, validation=0.7), replace(record, seed=2, repeat=1, validation=0.1)]
    (group,) = group_records([record, *others])
    assert group.validation == pytest.approx(fmean([0.6, 0.1]))


def test_the_time_of_a_paused_run_is_not_counted():
    record = Record("a", 0, 0, "mae", 1.0, 1.0, None, None, None, 100, 3, 2.0, 50, 0.5)
    (group,) = group_records([record, replace(record, seed=1, repeat=1, epoch_seconds=4.0)])
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
    assert "whose names begin with 'zinc'" in run(table, "--under", "zinc", code=1)
    assert json.loads(run(table, "--json", "--only", "*/baseline")) == rows
    assert "begin with 'exp' and match '*pna*'" in run(table, "--under", "exp", "--only", "*pna*", code=1)
    assert "-0.050 ± 0.050" in run(table, "--against", "ogbg-molesol/gin/baseline")
    tex = run(table, "--against", "ogbg-molesol/gin/baseline", "--format", "latex")
    assert r"-0.050 $\pm$ 0.050" in tex
    assert tex.startswith(r"\begin{tabular}{llrrr")
    assert run(table, "--columns", "here,run", "--format", "latex").startswith(r"\begin{tabular}{rl}")
    assert "--columns: expected a text, Markdown or LaTeX table" in run(
        table, "--columns", "run", "--json", code=1
    )
    known = "--columns: expected some of run, metric, validation, here, paper"
    assert known in run(table, "--columns", "mean", code=1)
    assert "validation" not in run(table, "--format", "markdown")
    assert "| 1.100 |" in run(table, "--columns", "run,validation", "--format", "markdown")
    short = run(table, "--under", "ogbg-molesol", "--short", "--columns", "run", "--format", "markdown")
    assert short.splitlines()[2:] == ["| baseline |", "| imle/delete-1-vertex/x3 |"]
    assert "--short: expected a text, Markdown or LaTeX table" in run(table, "--short", "--json", code=1)
    other = rows[0]["name"]
    (row,) = json.loads(run(table, "--json", "--under", "ogbg-molesol/gin/imle", "--against", other))
    assert (row["difference"], row["difference_error"]) == pytest.approx((-0.05, 0.05))
    assert (row["larger"], row["smaller"], row["sign_test"]) == (0, 1, 1.0)
    assert "0 of 1 (p = 1)" in run(table, "--against", other, "--format", "markdown")
    assert "| -0.050 ± 0.050 |" in run(
        table, "--against", other, "--columns", "on validation", "--format", "markdown"
    )
    assert "leave out --each" in run(table, "--each", "--against", other, code=1)
    picture = tmp_path / "runs.svg"
    run(table, "--out", picture)
    assert "gin/imle/delete-1-vertex/x3" in picture.read_text()
    assert "ends in .svg or .png" in run(table, "--out", tmp_path / "runs.gif", code=1)


def test_columns_without_any_figure_are_left_out(write_run, tmp_path):
    """A custom comparison has nothing to do with the paper."""
    write_run(
        tmp_path, recipe("ogbg-molesol/gin/baseline").settings.varied({"network.width": 8}, "mine"), 0.5
    )
    result = CliRunner().invoke(app, ["runs", str(tmp_path), "--format", "markdown"])
    assert result.stdout.splitlines()[0] == "| run | metric | here | runs | epochs | hours | ms per graph |"


def test_differences_are_over_common_seeds_of_one_dataset(molesol, write_run):
    zinc = recipe("zinc/gin/baseline").settings
    write_run(molesol, zinc, 0.2)
    records = read_records(molesol)
    imle = "ogbg-molesol/gin/imle/delete-1-vertex/x3"
    found = differences(records, "ogbg-molesol/gin/baseline")
    assert set(found) == {imle}  # not itself, not zinc, not what has no finished run
    gaps = [0.9 - 1.0, 1.1 - 1.1]  # seeds 0 and 1; seed 2 failed
    assert (found[imle].mean, found[imle].error) == pytest.approx((fmean(gaps), stdev(gaps) / 2**0.5))
    assert (found[imle].larger, found[imle].smaller) == (0, 1)  # level on seed 1
    assert differences(records, "zinc/gin/baseline") == {}
    with pytest.raises(
        OsanError, match=r"expected a finished run, one of ogbg-molesol/gin/baseline.*got 'exp'"
    ):
        differences(records, "exp")


def test_folds_of_a_single_split_are_compared_one_by_one():
    one = Record("exp/a", 0, 0, "accuracy", 0.5, 0.75, None, None, None, 100, 3, 2.0, 50, 0.5)
    folds = [replace(one, seed=fold, value=0.5 + fold / 8) for fold in range(3)]
    better = [replace(fold, name="exp/b", value=fold.value + GAINS[fold.seed]) for fold in folds]
    (found,) = differences([*folds, *better], "exp/a").values()
    assert (found.mean, found.error) == pytest.approx((fmean(GAINS), stdev(GAINS) / 3**0.5))
    assert (found.larger, found.smaller) == (2, 1)
    # A run that is listed twice counts once, a part of another split with as much weight as it has folds.
    (found,) = differences([*folds, *folds, *better, *better], "exp/a").values()
    assert (found.larger, found.smaller) == (2, 1)
    part = [replace(each, repeat=1) for each in (folds[0], better[0])]
    (found,) = differences([*folds, *better, *part], "exp/a").values()
    assert (found.mean, found.larger) == pytest.approx((fmean([*GAINS, GAINS[0]]), 3))
    # Two splits: their means are compared.
    more = [replace(each, repeat=1, seed=each.seed + 3) for each in (*folds, *better)]
    (found,) = differences([*folds, *better, *more], "exp/a").values()
    assert (found.mean, found.error, found.larger) == pytest.approx((fmean(GAINS), 0.0, 2))


def test_differences_on_the_validation_split(molesol):
    records = read_records(molesol)
    name = "ogbg-molesol/gin/baseline"
    moved = [replace(each, validation=each.validation + (each.name != name) * each.seed) for each in records]
    (found,) = differences(moved, name, "validation").values()
    before = {each.seed: each.validation for each in records if each.name == name}
    gaps = [each.validation - before[each.seed] for each in moved if each.name != name]
    assert gaps
    assert found.mean == pytest.approx(fmean(gaps))
    assert [group.validation_difference for group in group_records(moved, name)] == [None, found.mean]


@pytest.mark.parametrize("larger", range(12))
def test_the_sign_test_is_that_of_scipy(larger):
    for smaller in range(not larger, 12):
        expected = binomtest(larger, larger + smaller).pvalue
        assert Difference(0.0, None, larger, smaller).sign_test == pytest.approx(expected)


def test_gradients_are_averaged_over_epochs(write_run, tmp_path):
    settings = recipe("ogbg-molesol/gin/imle/delete-1-vertex/x3").settings
    metrics = "epoch,train_loss,val_rmse,seconds,gradients\n0,1,1,2,0.25\n1,1,1,2,0.75\n"
    write_run(tmp_path, settings, 1.0, metrics=metrics)
    (group,) = group_records(read_records(tmp_path))
    assert group.gradients == 0.5


def test_the_picture_has_a_panel_per_dataset_and_a_line_per_setting(molesol, write_run):
    write_run(molesol, recipe("zinc/gin/baseline").settings, 0.2)
    figure = plot_comparison(group_records(read_records(molesol)))
    first, second = figure.axes
    assert [label.get_text() for label in first.get_yticklabels()] == [
        "gin/baseline  (3)",
        "gin/imle/delete-1-vertex/x3  (2)",
    ]
    here, paper = first.containers
    assert here[0].get_xdata() == pytest.approx([1.1, 1.0])
    assert paper[0].get_xdata() == pytest.approx([1.193, 1.053])
    assert second.get_title(loc="left").startswith("zinc: rmse")


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf, 1.7e308])
def test_numbers_that_python_cannot_average(molesol, value):
    """The deviation of infinite numbers is an AttributeError of Python's."""
    some = [replace(read_records(molesol)[0], seed=i, repeat=i, value=value) for i in range(3)]
    some.append(replace(some[0], seed=3, repeat=3, value=-value))
    group = group_records(some)[0]
    assert math.isnan(group.mean) or abs(value) == 1.7e308
    assert not math.isfinite(group.std) or abs(value) == 1.7e308
    run = next(run for run in find_runs(molesol) if run.result is not None)
    summary = summarize([replace(run, result=replace(run.result, test_seconds=[1.0, value, -value]))])
    assert summary is not None
