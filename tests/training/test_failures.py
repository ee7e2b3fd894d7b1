"""What can go wrong says so in one line, and nothing that was there is lost."""

import json
import os
import random
import resource
import shutil
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file, save_file

from osan.errors import OsanError, TooLarge
from osan.locks import locked
from osan.report.runs import read_run
from osan.training.checkpoint import read_checkpoint
from osan.training.folder import (
    CHECKPOINT,
    ENVIRONMENT,
    FAILED,
    MODEL,
    RESULT,
    SETTINGS,
    WEIGHTS,
    read_json,
    read_result,
)
from osan.training.run import load_model, train
from osan.training.stored import write_model


def stopped_after(folder, settings, epochs):
    """A run that was stopped after some epochs: the folder of a shorter one, told to be longer."""
    train(settings.changed({"training.epochs": epochs}), folder, progress=False)
    for name in (RESULT, MODEL, WEIGHTS, "predictions.csv"):
        (folder / name).unlink()
    (folder / SETTINGS).write_text(settings.to_toml())
    state = torch.load(folder / CHECKPOINT, weights_only=True)
    state["settings"] = settings.to_toml()
    state["callbacks"]["Saver"]["finished"] = False
    torch.save(state, folder / CHECKPOINT)


def content(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.name != FAILED}


def test_a_folder_with_a_run_is_not_overwritten(finished, small):
    before = content(finished)
    with pytest.raises(OsanError, match=r"holds a run already; resume it"):
        train(small(), finished, progress=False)
    assert content(finished) == before


def test_a_finished_run_is_returned_as_it_is(finished, small):
    before = content(finished)
    assert train(small(), finished, resume=True, progress=False) == read_result(finished)
    assert content(finished) == before


def test_a_run_that_failed_at_once_can_be_started_again(tmp_path, small):
    """A table is corrected, and the same command works; what was trained is still protected."""
    table, folder = tmp_path / "a.csv", tmp_path / "run"
    rows = "".join(f"{'C' * (i + 1)},{i}\n" for i in range(30))
    wanted = small(**{"data.dataset": str(table), "data.options": {}, "training.epochs": 1})
    table.write_text("smiles,y\n" + rows + "CO,>100\n")
    for _ in range(2):
        with pytest.raises(OsanError, match="expected a number, got '>100'; a limit is no measured value"):
            train(wanted, folder, progress=False)
    table.write_text("smiles,y\n" + rows)
    train(wanted, folder, progress=False)
    assert not (folder / FAILED).exists()
    (folder / RESULT).unlink()
    (folder / FAILED).write_text("{}")
    with pytest.raises(OsanError, match=r"holds a run already; resume it"):
        train(wanted, folder, progress=False)


@pytest.mark.parametrize(("part", "name"), [("val", "validation"), ("test", "test")])
def test_a_split_without_both_classes_is_refused_before_training(tmp_path, small, part, name):
    """Not after it, when the test split is scored."""
    table = tmp_path / "a.csv"
    parts = ["train"] * 10 + ["val"] * 5 + ["test"] * 5
    rows = [f"{'C' * (i + 1)},{0 if parts[i] == part else i % 2},{parts[i]}" for i in range(20)]
    table.write_text("\n".join(["smiles,y,part", *rows]) + "\n")
    data = {"data.dataset": str(table), "data.options": {}, "data.kind": "binary", "data.split": "part"}
    words = f"both classes.*, got none in the {name} split of 5; choose another split .*data.metric=logloss"
    with pytest.raises(OsanError, match=words):
        train(small(**data, **{"training.epochs": 1}), tmp_path / "run", progress=False)
    assert not (tmp_path / "run" / "metrics.csv").exists()
    metric = {"data.metric": "logloss", "training.epochs": 1}
    assert train(small(**data, **metric), tmp_path / "run", progress=False).metric == "logloss"


def test_other_settings(finished, small):
    before = content(finished)
    changed = small(**{"training.learning_rate": 0.5})
    message = r"other settings: training.learning_rate: 0.5 instead of 0.001"
    with pytest.raises(OsanError, match=message):
        train(changed, finished, resume=True, progress=False)
    assert content(finished) == before


def test_a_checkpoint_of_another_setting(tmp_path, small):
    folder = tmp_path / "run"
    stopped_after(folder, small(), 2)
    wanted = small(**{"network.width": 16})
    (folder / SETTINGS).write_text(wanted.to_toml())
    before = content(folder)
    with pytest.raises(OsanError, match=r"belongs to a run with other settings: network.width: 16"):
        train(wanted, folder, resume=True, progress=False)
    assert content(folder)[CHECKPOINT] == before[CHECKPOINT]


def test_data_that_have_changed_since_the_checkpoint(tmp_path, small):
    """One target, one row more, or another atom in a molecule; what was there before goes on."""
    table, folder = tmp_path / "a.csv", tmp_path / "run"
    text = "smiles,y\n" + "".join(f"{'C' * (i + 1)},{i}\n" for i in range(30))
    table.write_text(text)
    wanted = small(**{"data.dataset": str(table), "data.options": {}, "training.epochs": 3})
    stopped_after(folder, wanted, 1)
    (folder / ENVIRONMENT).write_text("{}")  # that of another machine
    before = content(folder)
    for changed in (text.replace("CCCC,3\n", "CCCC,4\n"), text + "CCO,2\n", text.replace("\nCC,", "\nCN,")):
        table.write_text(changed)
        with pytest.raises(OsanError, match=r"a\.csv is not what it was when .*checkpoint\.ckpt was written"):
            train(wanted, folder, resume=True, progress=False)
        after = content(folder)
        assert [after[name] for name in (CHECKPOINT, ENVIRONMENT)] == [
            before[CHECKPOINT],
            before[ENVIRONMENT],
        ]
    table.write_text(text)
    assert train(wanted, folder, resume=True, progress=False).epochs == 3
    assert "torch" in read_json(folder / ENVIRONMENT)["versions"]


def test_results_of_earlier_versions(finished, tmp_path):
    """They had a status, which was always the same."""
    now = read_json(finished / RESULT)
    assert "status" not in now
    (tmp_path / RESULT).write_text(json.dumps({**now, "status": "finished"}))
    assert read_result(tmp_path) == read_result(finished)


def test_a_checkpoint_from_before_data_were_noted(tmp_path, small, finished, outcome):
    folder = tmp_path / "run"
    stopped_after(folder, small(), 2)
    state = torch.load(folder / CHECKPOINT, weights_only=True)
    assert state.pop("data") == load_model(finished)[2].fingerprint != ""
    torch.save(state, folder / CHECKPOINT)
    train(small(), folder, resume=True, progress=False)
    assert outcome(folder) == outcome(finished)


@pytest.mark.parametrize("damage", ["cut", "text", "pickle", "other", "number", "no toml"])
def test_a_damaged_checkpoint(tmp_path, small, finished, damage):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / RESULT).unlink()
    file = folder / CHECKPOINT
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:1000])
    elif damage == "text":
        file.write_text("not a checkpoint")
    elif damage == "pickle":
        torch.save({"settings": os.system}, file)  # would run code if it were unpickled
    elif damage == "other":
        torch.save({"a": torch.zeros(1)}, file)
    else:
        state = torch.load(file, weights_only=True)
        torch.save({**state, "settings": 3 if damage == "number" else "a = ["}, file)
    before = file.read_bytes()
    with pytest.raises(OsanError, match=r"checkpoint.ckpt: not a checkpoint .*move it away"):
        train(small(), folder, resume=True, progress=False)
    assert file.read_bytes() == before
    assert "move it away" in json.loads((folder / FAILED).read_text())["error"]


def test_a_loss_that_is_not_finite(tmp_path, small):
    folder = tmp_path / "run"
    wild = small(**{"training.learning_rate": 1e30, "network.norm": False})
    with pytest.raises(OsanError, match=r"the loss is (nan|inf) in epoch \d+, batch \d+; try a"):
        train(wild, folder, progress=False)
    assert not (folder / RESULT).exists()
    assert "the loss is" in json.loads((folder / FAILED).read_text())["error"]


def test_no_space_left(tmp_path, small, finished, outcome):
    """Files may not grow beyond 20 kB, which stands for a full disk; afterward the run goes on."""
    folder = tmp_path / "run"
    stopped_after(folder, small(), 3)
    before = (folder / CHECKPOINT).read_bytes()
    assert len(before) > 20_000
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(OsanError, match=r"checkpoint.ckpt cannot be written: File too large; earlier"):
            train(small(), folder, resume=True, progress=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert (folder / CHECKPOINT).read_bytes() == before
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]
    train(small(), folder, resume=True, progress=False)
    assert not (folder / FAILED).exists()
    assert outcome(folder) == outcome(finished)


def test_a_folder_that_cannot_be_written(tmp_path, small):
    file = tmp_path / "file"
    file.write_text("in the way")
    with pytest.raises(OsanError, match=r"file/run cannot be read or written: Not a directory"):
        train(small(), file / "run", progress=False)
    assert file.read_text() == "in the way"


def test_two_processes_do_not_share_a_folder(tmp_path, small):
    folder = tmp_path / "run"
    folder.mkdir()
    with (
        locked(folder, "training"),
        pytest.raises(OsanError, match=rf"is training in .*process {os.getpid()} on .*, since 2"),
    ):
        train(small(), folder, progress=False)
    assert not list(folder.iterdir())
    train(small(**{"training.epochs": 1}), folder, progress=False)


def test_a_failure_of_any_kind_is_noted(tmp_path, small):
    settings = small(**{"data.dataset": "planted-motif", "data.options": {"num_graphs": -1}})
    with pytest.raises(OsanError, match="num_graphs: expected at least 1"):
        train(settings, tmp_path / "run", progress=False)
    noted = json.loads((tmp_path / "run" / FAILED).read_text())
    assert noted == {"error": "num_graphs: expected at least 1, got -1"}


def test_an_interrupt_in_other_clothes_is_no_failure(tmp_path, small, monkeypatch):
    """As it comes out of numba's dispatcher: a SystemError that a SystemError caused, that Ctrl-C caused."""

    def interrupted(*args, **kwargs):
        try:
            try:
                raise KeyboardInterrupt
            except KeyboardInterrupt as error:
                raise SystemError("inner") from error
        except SystemError as error:
            raise SystemError("returned a result with an exception set") from error

    monkeypatch.setattr("osan.training.run.fit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        train(small(), tmp_path)
    assert not (tmp_path / FAILED).exists()


@pytest.mark.parametrize(
    ("key", "value"), [("num_targets", -1), ("num_ranks", -5), ("sizes", [-1]), ("sizes", [2**62])]
)
def test_sizes_that_no_network_has(tmp_path, key, value):
    """In a file from before checksums; others are noticed by them."""
    folder = tmp_path / "run"
    shutil.copytree(Path(__file__).parent / "stored_runs" / "planted-motif", folder)
    content = json.loads((folder / MODEL).read_text())
    facts = content["task"]["vertex_features"] if key == "sizes" else content["task"]
    facts[key] = value
    (folder / MODEL).write_text(json.dumps(content))
    with pytest.raises(OsanError):
        load_model(folder)


def test_empty_settings_are_damaged_ones(tmp_path, finished):
    shutil.copytree(finished, tmp_path / "runs" / "mine" / "seed-3")
    (tmp_path / "runs" / "mine" / "seed-3" / SETTINGS).write_text("")
    found = read_run(tmp_path / "runs" / "mine" / "seed-3", tmp_path / "runs")
    assert found.damaged
    assert "expected the settings of a run, got an empty file" in found.error
    assert (found.settings.name, found.settings.seed) == ("mine", 3)


def test_loading_a_model(tmp_path, finished):
    learner, settings, info = load_model(finished)
    assert not learner.training
    assert settings.name == "small"
    assert info.metric == "mae"
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    (folder / WEIGHTS).write_bytes(b"broken")
    with pytest.raises(OsanError, match=r"model.safetensors does not hold the weights of this run"):
        load_model(folder)
    (folder / MODEL).unlink()
    with pytest.raises(OsanError, match="the run is not finished"):
        load_model(folder)
    with pytest.raises(OsanError, match=r"not the folder of a run: it has no settings.toml"):
        load_model(tmp_path)


def test_runs_of_format_1(tmp_path, finished):
    """They had another name for an encoder, and vectors for marked edges that nothing used."""
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    now = load_file(folder / WEIGHTS)
    old = {name.replace("upstream.vertex_encoder.", "upstream.encoder."): t for name, t in now.items()}
    assert old.keys() != now.keys()
    old["downstream.stack.layers.0.edge_mark"] = torch.zeros(8)
    save_file(old, folder / WEIGHTS)
    content = json.loads((folder / MODEL).read_text())
    assert content.pop("format") == "3"
    for name in ("custom", "weights_sha256", "sha256"):
        del content[name]
    (folder / MODEL).write_text(json.dumps(content))
    with pytest.raises(OsanError, match=r"model.json: expected format 1 or 2 or 3, got None"):
        load_model(folder)
    (folder / MODEL).write_text(json.dumps({"format": "1", **content}))
    one, other = load_model(folder)[0].model.state_dict(), load_model(finished)[0].model.state_dict()
    assert all(torch.equal(one[name], other[name]) for name in one.keys() | other.keys())


def test_flipped_bits_are_refused(tmp_path, finished, small):
    """Anywhere in the checkpoint, the weights, or what is known of the task."""
    folder, rng = tmp_path / "run", random.Random(0)
    shutil.copytree(finished, folder)
    reads = {CHECKPOINT: lambda: read_checkpoint(folder / CHECKPOINT), WEIGHTS: lambda: load_model(folder)}
    reads[MODEL] = reads[WEIGHTS]
    for name, read in reads.items():
        whole = (folder / name).read_bytes()
        for _ in range(20):
            damaged, place = bytearray(whole), rng.randrange(len(whole))
            damaged[place] ^= 1 << rng.randrange(8)
            if name == MODEL and damaged[place : place + 1].isspace() and whole[place : place + 1].isspace():
                continue  # between the words of JSON
            (folder / name).write_bytes(damaged)
            with pytest.raises(OsanError, match=name):
                read()
        (folder / name).write_bytes(whole)
        read()


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_weights_that_are_not_finite_are_refused(tmp_path, finished, value):
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    learner, _, info = load_model(folder)
    weights = {name: tensor.clone() for name, tensor in learner.model.state_dict().items()}
    next(iter(weights.values())).fill_(value)
    write_model(folder, weights, info, custom=False)
    with pytest.raises(OsanError, match=r"model.safetensors: expected finite weights, got"):
        load_model(folder)


@pytest.mark.parametrize(
    "error", [RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried ..."), MemoryError()]
)
def test_lack_of_memory(tmp_path, small, monkeypatch, error):
    def fit(*args, **kwargs):
        raise error

    monkeypatch.setattr("osan.training.run.fit", fit)
    with pytest.raises(TooLarge, match=r"the run needs more than there is.*lower training.batch_size"):
        train(small(), tmp_path)
    assert "memory" in json.loads((tmp_path / FAILED).read_text())["error"]
