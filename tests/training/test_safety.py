"""What a stored run or a file says is never run as code."""

import contextlib
import os
import pickle
import shutil
from types import SimpleNamespace

import optuna
import pytest
import torch

from osan import data
from osan.cli import app
from osan.data.custom.splits import read_split
from osan.data.published import cache
from osan.errors import OsanError
from osan.experiments import read_plan
from osan.experiments.brec.run import read_records as read_brec
from osan.graphs import read_graphs
from osan.report import find_runs, read_records
from osan.report.runs import read_run
from osan.report.scored import read_scored
from osan.sklearn import OSANRegressor
from osan.training.calibration import CALIBRATION, read_calibration
from osan.training.checkpoint import read_checkpoint
from osan.training.folder import CHECKPOINT, SETTINGS, settings_of
from osan.training.run import load_model
from osan.training.settings import Settings
from osan.training.settings_files import read_settings
from osan.training.stored import read_info
from osan.training.tuning import JOURNAL, _study


def test_the_checkpoint_holds_no_pickled_objects(finished):
    state = torch.load(finished / CHECKPOINT, weights_only=True)
    assert {"settings", "callbacks", "state_dict", "optimizer_states"} <= state.keys()


def custom_names():
    """The settings that accept ``module:name`` as their value."""
    found = []
    for key, default in settings_tree(Settings().model_dump()):
        if isinstance(default, str | None) and not key.startswith(("data.", "name")):
            with contextlib.suppress(OsanError):
                Settings().changed({key: "no_such_module:name"})
                found.append(key)
    return found


def settings_tree(tree, above=""):
    for key, value in tree.items():
        if isinstance(value, dict) and key != "options":
            yield from settings_tree(value, f"{above}{key}.")
        else:
            yield above + key, value


def test_a_run_does_not_call_python(tmp_path, finished):
    """Settings may name functions as parts; those of Python itself are none."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    made = tmp_path / "made"
    # Every setting that takes the name of a part.
    for key, word in {
        **dict.fromkeys(custom_names(), "subprocess:getoutput"),
        "data.dataset": "subprocess:getoutput",
        "data.metric": "subprocess:getoutput",
        "data.encodings": ["subprocess:getoutput:2"],
        "machine.loggers": ["subprocess:getoutput"],
        "selection.policy": "select subprocess:getoutput",
    }.items():
        options = {"selection.options": {"cmd": f"touch {made}"}, "network.options": {"cmd": f"touch {made}"}}
        steps = {"training.decay": 1.0, "training.decay_every": None, "training.milestones": []}
        settings = settings_of(finished).changed({**steps, key: word, **options})
        (folder / SETTINGS).write_text(settings.to_toml())
        with pytest.raises(OsanError, match=r"expected parts of osan or yours, got 'subprocess:getoutput"):
            load_model(folder)
        with pytest.raises(OsanError, match=r"expected parts of osan or yours, got 'subprocess:getoutput"):
            app(["train", "--resume", str(folder)], standalone_mode=False)
    assert not made.exists()


def test_a_run_does_not_call_classes_of_python(tmp_path, finished):
    folder, made = tmp_path / "run", tmp_path / "made"
    shutil.copytree(finished, folder)
    changes = {
        "selection.policy": "mark 1 vertex x 2",
        "network.atomic": "subprocess:Popen",
        "network.options": {"args": ["touch", str(made)]},
    }
    (folder / SETTINGS).write_text(settings_of(finished).changed(changes).to_toml())
    with pytest.raises(OsanError, match=r"expected parts of osan or yours, got 'subprocess:Popen'"):
        load_model(folder)
    assert not made.exists()


def test_loaders_unpickle_nothing(tmp_path, finished):
    """A pickle that would make a file, in place of every file that is read."""

    class Harm:
        def __reduce__(self):
            return os.system, (f"touch {tmp_path / 'made'}",)

    harm = tmp_path / "harm"
    torch.save([Harm()], harm)
    pickled = (harm.read_bytes(), pickle.dumps(Harm()))
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    info, direction = read_info(finished), SimpleNamespace(direction="min")
    beside = ("estimator.json", JOURNAL, "brec.json", "plan.toml")
    for content in pickled:
        for name in sorted({*os.listdir(finished), *beside, CALIBRATION}):
            (folder / name).write_bytes(content)
            for read in (
                load_model,
                read_run,
                find_runs,
                read_scored,
                OSANRegressor.load,
                lambda at: read_checkpoint(at / CHECKPOINT),
                lambda at: read_calibration(at, info),
                lambda at: _study(optuna, at, Settings(), direction),
                lambda at: read_brec(at / "brec.json"),
                lambda at: read_plan(at / "plan.toml"),
                lambda at: read_records(at / "predictions.csv"),
            ):
                with contextlib.suppress(OsanError):
                    read(folder, info) if read is read_scored else read(folder)
            if name in os.listdir(finished):
                (folder / name).write_bytes((finished / name).read_bytes())
            else:
                (folder / name).unlink()
        for name in (
            "a.pt",
            "a.csv",
            "a.parquet",
            "a.g6",
            "a.toml",
            "a.json",
            "a.npz",
            "a.gz",
            "a.safetensors",
        ):
            (tmp_path / name).write_bytes(content)
            for read in (
                lambda path: data.load(str(path)),
                read_graphs,
                read_settings,
                cache.read,
                lambda path: read_split(path, 3),
            ):
                with contextlib.suppress(OsanError):
                    read(tmp_path / name)
    assert not (tmp_path / "made").exists()
