"""The search for settings: resumed, pruned, and without a look at the test split."""

from __future__ import annotations

import csv
import errno
import json
import os
import sys
from pathlib import Path

import optuna
import pytest
from optuna.storages.journal import JournalFileBackend
from typer.testing import CliRunner

from osan.cli import app
from osan.cli.tune import parse_time
from osan.errors import OsanError
from osan.training.ray_trials import Cluster, _on_node, _Running
from osan.training.settings_files import read_settings
from osan.training.trials import SPACE, proposed, trial_folder
from osan.training.tuning import tune


@pytest.fixture
def tiny(small, monkeypatch):
    """Settings of a second, and a space of tiny networks."""
    narrow = {**SPACE, "network.width": [4, 8], "network.layers": [1, 2], "training.batch_size": [16]}
    for name, values in narrow.items():
        monkeypatch.setitem(SPACE, name, values)
    return small(**{"training.epochs": 2, "selection.auxiliary": "none"})


def trials_of(folder: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((folder / "trials.csv").read_text().splitlines()))


def test_a_search_goes_on_where_it_was_killed(tiny, tmp_path):
    tune(tiny, tmp_path, 1)
    # As a process leaves it that is killed in the middle of a trial.
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "journal.jsonl")))
    killed = optuna.load_study(study_name="osan", storage=storage).ask()
    proposed(killed, tiny)
    told = []
    found = tune(tiny, tmp_path, 3, progress=lambda done, best: told.append((done, best)))
    rows = trials_of(tmp_path)
    assert [row["state"] for row in rows] == ["complete", "fail", "complete", "complete"]
    # The killed one was repeated; the others were not.
    settings = [{name: row[name] for name in SPACE} for row in rows]
    assert settings[1] == settings[2]
    assert len({json.dumps(each) for each in settings}) == 3
    values = [float(row["validation"]) for row in rows if row["state"] == "complete"]
    assert found.value == min(values)
    assert [done for done, _ in told] == [2, 3]
    best = next(row for row in rows if row["validation"] and float(row["validation"]) == found.value)
    written = read_settings(tmp_path / "best.toml")
    assert written == found.settings
    assert written.training.learning_rate == float(best["training.learning_rate"])
    assert written.network.width == int(best["network.width"])
    # The metric is the best one of the epochs that the trial recorded.
    recorded = list(csv.DictReader((tmp_path / f"trial-{best['trial']}/metrics.csv").open()))
    assert found.value == pytest.approx(min(float(row[f"val_{found.metric}"]) for row in recorded), abs=1e-6)
    assert not list(tmp_path.glob("*/predictions.csv"))
    with pytest.raises(OsanError, match=r"holds a search with other settings: training\.epochs: 3"):
        tune(tiny.changed({"training.epochs": 3}), tmp_path, 4)
    assert tune(tiny, tmp_path, 2).value == found.value  # nothing to do


def test_bad_trials_are_stopped(tiny, tmp_path):
    """Five trials of four epochs with an excellent metric are stored; the next one cannot keep up."""
    settings = tiny.changed({"training.epochs": 4})
    storage = optuna.storages.JournalStorage(JournalFileBackend(str(tmp_path / "journal.jsonl")))
    study = optuna.create_study(study_name="osan", storage=storage, direction="minimize")
    for _ in range(5):
        trial = study.ask()
        proposed(trial, settings)
        for epoch in range(4):
            trial.report(-1.0, epoch)
        study.tell(trial, -1.0)
    found = tune(settings, tmp_path, 6)
    assert trials_of(tmp_path)[-1]["state"] == "pruned"
    assert len(list(csv.DictReader((tmp_path / "trial-5/metrics.csv").open()))) < 4
    assert found.states == {"complete": 5, "pruned": 1}


def test_trials_of_a_cluster_are_followed_and_stopped(tiny, tmp_path):
    """By their files: an epoch that is worse than the median of five trials, or a deadline, stops a trial."""
    study = optuna.create_study(pruner=optuna.pruners.MedianPruner(5, 1))
    for _ in range(5):
        trial = study.ask()
        trial.report(1.0, 2)
        study.tell(trial, 1.0)
    bad, late = (_Running(study.ask(), trial_folder(tmp_path, number)) for number in study.get_trials()[:2])
    bad.follow("val_mae", late=False)  # no epoch yet
    (bad.place / "metrics.csv").write_text("epoch,val_mae\n0,3\n1,3\n2")
    bad.follow("val_mae", late=False)
    assert (bad.epochs, bad.stopped) == (2, False)  # the last line is not whole
    (bad.place / "metrics.csv").write_text("epoch,val_mae\n0,3\n1,3\n2,3\n")
    bad.follow("val_mae", late=False)
    assert study.get_trials()[-2].intermediate_values == {0: 3.0, 1: 3.0, 2: 3.0}
    late.follow("val_mae", late=True)
    assert all((one.place / "stop").is_file() and one.stopped for one in (bad, late))
    # What a node does about it: it ends after the first epoch of six.
    settings = tiny.changed({"training.epochs": 6}).model_dump(mode="json")
    message = {"settings": settings, "folder": str(late.place), "data": None, "threads": 1}
    assert _on_node(message | {"environment": {"PYTHONPATH": str(tmp_path)}}) is None
    assert len((late.place / "metrics.csv").read_text().splitlines()) == 2


def test_a_cluster_needs_ray(tiny, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "ray", None)
    with pytest.raises(OsanError, match=r"tuning on a cluster needs ray: pip install 'osan\[ray\]'"):
        tune(tiny, tmp_path / "none", 1, cluster=Cluster("local"))
    assert not (tmp_path / "none").exists()


def test_time_and_damaged_files(tiny, tmp_path):
    with pytest.raises(OsanError, match="trials: expected at least one that ends, got none"):
        tune(tiny, tmp_path / "short", 2, seconds=1e-3)
    (tmp_path / "bad").mkdir()
    (tmp_path / "bad" / "journal.jsonl").write_text('{"op_code": "none"}\n{}\n')
    with pytest.raises(
        OsanError, match=r"journal\.jsonl: expected the trials of a search, got a damaged file"
    ):
        tune(tiny, tmp_path / "bad", 2)
    for text in ("soon", "-3m", "0", "3d"):
        with pytest.raises(OsanError, match="--time: expected a time such as 90s"):
            parse_time(text)


def test_a_kill_while_a_trial_is_noted(tiny, tmp_path, monkeypatch):
    """Half a line is dropped, and no lock stays: Optuna's would make the next search wait forever."""
    monkeypatch.chdir(tmp_path)  # its lock hangs for relative paths only
    folder = Path("search")
    tune(tiny, folder, 1)
    journal, lines = folder / "journal.jsonl", (folder / "journal.jsonl").read_bytes()
    journal.write_bytes(lines + b'{"op_code":4,"worker')
    (folder / "journal.jsonl.lock").symlink_to(journal)
    tune(tiny, folder, 2)
    assert journal.read_bytes().startswith(lines)
    tune(tiny, folder, 3)
    assert [row["state"] for row in trials_of(folder)] == ["complete"] * 3


def test_a_disk_that_is_full_while_a_trial_is_noted(tiny, tmp_path, monkeypatch):
    tune(tiny, tmp_path, 1)

    def full(self, logs):
        with (tmp_path / "journal.jsonl").open("ab") as stream:
            stream.write(b'{"op_')
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(JournalFileBackend, "append_logs", full)
        with pytest.raises(OsanError, match=r"journal\.jsonl cannot be read or written: No space left"):
            tune(tiny, tmp_path, 2)
    tune(tiny, tmp_path, 2)
    assert "complete" in trials_of(tmp_path)[-1]["state"]


def test_the_command(tiny, tmp_path):
    lines = [f"{'C' * (i // 3 + 1)}{'NOS'[i % 3]},{i % 7}" for i in range(30)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
    words = ["tune", str(tmp_path / "a.csv"), "delete 1 vertex", "--target", "y", "--epochs", "1"]
    words += ["--trials", "1", "--name", "few", "--runs", str(tmp_path / "runs"), "--time", "10m"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    path = tmp_path / "runs" / "few" / "tune" / "best.toml"
    assert "of trials: 1 complete" in told.stdout
    assert f"osan train --settings {path}" in told.stdout
    words = ["train", "--settings", str(path), "--runs", str(tmp_path / "runs"), "--quiet", "--json"]
    told = CliRunner().invoke(app, words, catch_exceptions=False)
    assert json.loads(told.stdout)["key"] == "few/tuned"
