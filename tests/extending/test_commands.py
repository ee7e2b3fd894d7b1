"""The custom parts of this folder, named on the command line and in a plan, as a user would."""

import csv
import json
import os
import signal
import time

import pytest

TINY = {
    "network.width": 8,
    "network.layers": 2,
    "selection.samples": 2,
    "training.batch_size": 8,
    "data.split": "stratified",
    "machine.checkpoint_seconds": 0,
    "machine.accelerator": "cpu",
}
# What to set for each part, and a policy if there has to be one.
PARTS = {
    "estimator": ("delete 1 vertex x 2", {"selection.estimator": "my_estimator:Fading"}),
    "policy": ("select rings:Ring x 2", {}),
    "loss": (
        "delete 1 vertex x 2",
        {"selection.auxiliary": "my_loss:crowding", "selection.options": "{power=3.0}"},
    ),
    "noise": ("delete 1 vertex x 2", {"selection.noise": "my_noise:logistic"}),
    "layer": ("", {"network.conv": "my_layer:MeanLayer"}),
    "pooling": ("", {"network.readout": "my_pooling:RootMeanSquare"}),
    "architecture": (
        "delete 1 vertex x 2",
        {"network.architecture": "my_architecture:Gated", "network.options": "{sharpness=2.0}"},
    ),
    "architecture with bags": (
        "",
        {"network.architecture": "my_architecture:egos", "network.options": "{hops=2}"},
    ),
}
LEARNED = {
    "selection.estimator": "my_estimator:Fading",
    "selection.auxiliary": "my_loss:crowding",
    "selection.noise": "my_noise:logistic",
    "network.architecture": "my_architecture:Gated",
    "network.conv": "my_layer:MeanLayer",
    "network.readout": "my_pooling:RootMeanSquare",
    "selection.options": "{decay=0.9, power=3.0}",
}


def words_of(changes):
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def train(policy, changes, name, epochs=2):
    """The words of a command that trains on a few graphs."""
    start = ["train", "proteins", *([policy] if policy else [])]
    return [*start, *words_of(TINY | changes), "--epochs", epochs, "--name", name, "--quiet"]


def outcome(folder):
    """What two equal runs have in common, byte for byte; times differ."""
    rows = list(csv.DictReader((folder / "metrics.csv").open()))
    result = json.loads((folder / "result.json").read_text())
    return {
        "metrics": [{key: value for key, value in row.items() if key != "seconds"} for row in rows],
        "weights": (folder / "model.safetensors").read_bytes(),
        "predictions": (folder / "predictions.csv").read_bytes(),
        "result": {k: v for k, v in result.items() if k not in ("key", "seconds", "test_seconds")},
    }


def kill_in_training(osan, words, folder):
    """Start a command and kill it after its first epoch, before it has finished."""
    process = osan.start(*words)
    end = time.monotonic() + 120
    while not ((folder / "checkpoint.ckpt").exists() and (folder / "metrics.csv").exists()):
        assert time.monotonic() < end, osan.wait().err
        time.sleep(0.002)
    os.kill(process, signal.SIGKILL)
    assert osan.wait().code == -signal.SIGKILL
    assert not (folder / "result.json").exists()


@pytest.mark.parametrize("part", PARTS)
def test_trained_killed_resumed_evaluated_and_predicted(osan, part):
    policy, changes = PARTS[part]
    whole, killed = (osan.folder / "runs" / f"{part} {how}" / "seed-0" for how in ("whole", "killed"))
    trained = osan(*train(policy, changes, f"{part} whole", epochs=6), "--json")
    value = json.loads(trained.out)["value"]
    kill_in_training(osan, train(policy, changes, f"{part} killed", epochs=6), killed)
    osan("train", "--resume", killed, "--quiet")
    assert outcome(killed) == outcome(whole)
    # The part is in the settings that the run keeps, as it was named.
    stored = (whole / "settings.toml").read_text()
    for name in (policy.split(" x ")[0], *changes.values()):
        assert name.startswith("{") or name in stored
    scores = json.loads(osan("evaluate", whole, "--json").out)
    assert value == pytest.approx(scores["test"]["rocauc"] if "test" in scores else scores["rocauc"])


def test_all_parts_in_one_run_that_is_killed_twice(osan):
    whole, killed = (osan.folder / "runs" / how / "seed-0" for how in ("whole", "killed"))
    osan(*train("select rings:Ring x 2", LEARNED, "whole", epochs=12))
    kill_in_training(osan, train("select rings:Ring x 2", LEARNED, "killed", epochs=12), killed)
    kill_in_training(osan, ("train", "--resume", killed), killed)
    osan("train", "--resume", killed)
    assert outcome(killed) == outcome(whole)


def test_a_sweep_and_its_tables(osan):
    changes = TINY | {"training.epochs": 2, "training.min_epochs": 1}
    lines = [f'"{key}" = {json.dumps(value)}' for key, value in changes.items()]
    first = {"selection.auxiliary": "my_loss:crowding", "selection.noise": "my_noise:logistic"}
    second = {"network.conv": "my_layer:MeanLayer", "network.readout": "my_pooling:RootMeanSquare"}
    plan = [
        "[[groups]]",
        'runs = ["proteins/gin/my_estimator:Fading/select-rings:Ring/x2"]',
        'seeds = "0"',
        'name = "mine"',
        "[groups.set]",
        *lines,
        *(f'"{key}" = "{value}"' for key, value in first.items()),
        "[[groups]]",
        'runs = ["proteins/my_architecture:Gated/random/select-rings:Ring/x2"]',
        'seeds = "0"',
        'name = "mine"',
        "[groups.set]",
        *lines,
        *(f'"{key}" = "{value}"' for key, value in second.items()),
    ]
    (osan.folder / "plan.toml").write_text("\n".join(plan))
    listed = osan("sweep", "plan.toml", "--runs", "swept", "--dry-run").out
    names = [
        "proteins/gin/my_estimator:Fading/select-rings:Ring/x2/mine",
        "proteins/my_architecture:Gated/random/select-rings:Ring/x2/mine",
    ]
    assert all(name in listed for name in names)
    done = json.loads(osan("sweep", "plan.toml", "--runs", "swept", "--jobs", 1, "--json").out)
    assert (done["finished"], done["failed"]) == (2, 0), done
    assert json.loads(osan("sweep", "plan.toml", "--runs", "swept", "--json").out)["already"] == 2
    for name in names:
        settings = (osan.folder / "swept" / name / "seed-0" / "settings.toml").read_text()
        assert all(value in settings for value in (first if "Fading" in name else second).values())
    shown = {
        row["recipe"]: row for row in json.loads(osan("table", "protein", "--runs", "swept", "--json").out)
    }
    for name in names:
        result = json.loads((osan.folder / "swept" / name / "seed-0" / "result.json").read_text())
        assert (shown[name]["mean"], shown[name]["runs"]) == (result["value"], 1)
        assert [shown[name][key] for key in ("operation", "type", "subgraphs")] == [
            "select",
            "rings:Ring",
            "2",
        ]
    drawn = osan("table", "protein", "--runs", "swept").out
    assert "my_architecture:Gated" in drawn
    assert "rings:Ring" in drawn
    rows = json.loads(osan("runs", "swept", "--json").out)
    assert {row["name"] for row in rows} == set(names)
