"""The custom parts of this folder, named on the command line and in a plan, as a user would."""

import csv
import json
import re

import pytest
from safetensors.torch import load_file

from osan import toml

TINY = {
    "network.width": 8,
    "network.layers": 2,
    "selection.samples": 2,
    "training.batch_size": 16,
    "data.split": "stratified",
    "machine.checkpoint_seconds": 0,
    "machine.accelerator": "cpu",
}
# The policy and the settings that name a part.
PARTS = {
    "policy": ("select rings:Ring x 2", {}),
    "estimator and noise": (
        "delete 1 vertex x 2",
        {"selection.estimator": "my_estimator:Fading", "selection.noise": "my_noise:logistic"},
    ),
    "loss": (
        "delete 1 vertex x 2",
        {"selection.auxiliary": "my_loss:crowding", "selection.options": "{power=3.0}"},
    ),
    "layer and pooling": (
        "",
        {"network.conv": "my_layer:MeanLayer", "network.readout": "my_pooling:RootMeanSquare"},
    ),
    "architecture": (
        "delete 1 vertex x 2",
        {"network.architecture": "my_architecture:Gated", "network.options": "{sharpness=2.0}"},
    ),
    "loss, metric and encoding": (
        "",
        {
            "training.loss": "my_scores:fourth",
            "data.metric": "my_scores:worst",
            "data.encodings": '["my_data:sizes:2"]',
        },
    ),
    "architecture with bags": (
        "",
        {"network.architecture": "my_architecture:egos", "network.options": "{hops=2}"},
    ),
}
EVERYTHING = {
    "selection.estimator": "my_estimator:Fading",
    "selection.auxiliary": "my_loss:crowding",
    "selection.noise": "my_noise:logistic",
    "selection.options": "{decay=0.9, power=3.0}",
    "network.architecture": "my_architecture:Gated",
    "network.conv": "my_layer:MeanLayer",
    "network.readout": "my_pooling:RootMeanSquare",
}


def words_of(changes):
    return [word for key, value in changes.items() for word in ("--set", f"{key}={value}")]


def train(policy, changes, name, epochs=3):
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


@pytest.mark.parametrize("part", PARTS)
def test_a_killed_run_is_resumed_to_the_same_end(osan, part):
    """An epoch has four steps, so the first epoch is in the checkpoint and the second is not."""
    policy, changes = PARTS[part]
    whole, killed = (osan.folder / "runs" / f"{part} {how}" / "seed-0" for how in ("whole", "killed"))
    osan(*train(policy, changes, f"{part} whole"))
    osan(*train(policy, changes, f"{part} killed"), kill=6)
    assert (killed / "checkpoint.ckpt").exists()
    assert not (killed / "result.json").exists()
    osan("train", "--resume", killed, "--quiet")
    assert outcome(killed) == outcome(whole)
    # The settings that the run keeps name the part as the user did.
    stored = toml.loads((whole / "settings.toml").read_text())
    assert stored["selection"]["policy"] == policy
    for key, value in changes.items():
        section, name = key.split(".")
        assert stored[section][name] == (toml.loads(f"x={value}")["x"] if value[0] in "{[" else value)


def test_all_parts_in_one_run_that_is_killed_twice(osan):
    whole, killed = (osan.folder / "runs" / how / "seed-0" for how in ("whole", "killed"))
    trained = json.loads(osan(*train("select rings:Ring x 2", EVERYTHING, "whole", 4), "--json").out)
    osan(*train("select rings:Ring x 2", EVERYTHING, "killed", 4), kill=6)
    osan("train", "--resume", killed, kill=6)
    osan("train", "--resume", killed)
    assert outcome(killed) == outcome(whole)
    evaluated = json.loads(osan("evaluate", killed, "--json").out)
    assert evaluated["rocauc"] == trained["value"]
    # The factor of the estimator shrank with every step up to the best epoch.
    factor = load_file(whole / "model.safetensors")["selection.estimator.factor"]
    assert factor.item() == pytest.approx(0.9 ** (4 * (trained["best_epoch"] + 1)))


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
    # To list runs and to report on them, osan needs none of the modules; only examples are missing.
    hidden = (osan.folder / "rings.py").rename(osan.folder / "rings.txt")
    rows = json.loads(osan("runs", "swept", "--json").out)
    osan("report", "--runs", "swept")
    missing = osan("evaluate", f"swept/{names[0]}/seed-0", code=2)
    hidden.rename(osan.folder / "rings.py")
    assert {row["name"] for row in rows} == set(names)
    page = (osan.folder / "report.html").read_text()
    assert all(name in page for name in names)
    assert "selection.policy: cannot import 'rings:Ring'" in missing.err


WRONG = """
import torch
from osan.selection import Problem


class NoSolver(Problem):
    sized = False


class Short(Problem):
    sized = False

    def solve(self, weights, tie):
        return torch.ones_like(weights[1:])


def total(choice, ground):
    return choice.sum()


class Flat(torch.nn.Module):
    def __init__(self, width, layers, out):
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(out))

    def forward(self, batch, bag):
        return self.scale * bag.weight.sum()
"""
CASES = {
    "selection.estimator=my_estimator:Nobody": "cannot import 'my_estimator:Nobody' .*no attribute 'Nobody'",
    "selection.estimator=my_layer:MeanLayer": "expected .*a subclass of it, got 'my_layer:MeanLayer'",
    "selection.auxiliary=broken:loss": "cannot import 'broken:loss' .ZeroDivisionError: division by zero",
    "selection.auxiliary=wrong:total": r"expected .* one loss per graph, shape \[16\], got shape \[\]",
    "selection.policy=select rings:Rnig x 2": "cannot import 'rings:Rnig'",
    "selection.policy=select my_loss:crowding x 2": "expected a subclass of osan.selection.Problem, got",
    "selection.policy=select wrong:NoSolver x 2": "expected a kind that defines solve.*'wrong:NoSolver'",
    "selection.policy=select wrong:Short x 2": r"expected Short.solve to return shape \[\d+, 2\], .*, got",
    "network.conv=nowhere:Layer": "cannot import 'nowhere:Layer' .*No module named 'nowhere'",
    "network.conv=my_loss:crowding": "expected a function from the width to a layer.*got crowding",
    "network.readout=my_noise:logistic": "expected a function of the width, got logistic, which fails",
    "network.architecture=wrong:Flat": r"expected predictions of shape \[16, 1\].*'wrong:Flat', got \[1\]",
}


@pytest.mark.parametrize("word", CASES)
def test_a_part_that_does_not_fit_is_one_line(osan, word):
    (osan.folder / "wrong.py").write_text(WRONG)
    (osan.folder / "broken.py").write_text("loss = 1 / 0\n")
    ended = osan(*train("delete 1 vertex x 2", {}, word), "--set", word, code=2)
    assert ended.err.count("\n") == 1
    assert re.match(f"osan: {word.split('=')[0]}: {CASES[word]}", ended.err)
