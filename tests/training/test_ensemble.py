"""Ensembles: what members share, what they predict together, and killed ensembles that go on."""

from __future__ import annotations

import csv
import json
import math
import multiprocessing
import time
from dataclasses import replace
from pathlib import Path
from statistics import fmean, pvariance

import pytest
import torch
from forked import ForkedRun
from typer.testing import CliRunner

from osan.cli import app
from osan.data.formats.table import read_table
from osan.errors import OsanError
from osan.training import load_model, load_predictor, load_task, read_result, train
from osan.training.columns import predicted_columns
from osan.training.ensemble import member_settings
from osan.training.evaluation import predict, predict_samples
from osan.training.jobs import Job, epochs_done
from osan.training.members import Ensemble, joined
from osan.training.prediction import predict_table
from osan.training.settings import Settings, validated
from osan.training.streaming import predict_file
from osan.training.worker import _free


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """Two members with two noisy samples each, on chains of carbon with another atom."""
    path = tmp_path_factory.mktemp("table") / "a.csv"
    lines = [f"{'C' * (i // 3 + 1)}{'NOS'[i % 3]},{i // 3 + 0.5 * (i % 3)}" for i in range(30)]
    path.write_text("\n".join(["smiles,y", *lines, "no molecule,1"]) + "\n")
    return validated(
        {
            "name": "pair",
            "seed": 3,
            "ensemble": 2,
            "data": {"dataset": str(path), "targets": ["y"], "split": "random"},
            "selection": {"policy": "delete 1 vertex x 2", "samples": 2},
            "network": {"width": 8, "layers": 2},
            "training": {"epochs": 3, "batch_size": 8},
            "machine": {"accelerator": "cpu", "checkpoint_seconds": 0},
        }
    )


@pytest.fixture(scope="module")
def pair(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "pair" / "seed-3"
    with pytest.warns(UserWarning, match="a.csv: 1 of 31 rows are not used") as told:
        train(settings, folder, progress=False, processes=1)
    assert sum("not used" in str(each.message) for each in told) == 1  # not once for each member
    return folder


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.open()))


def test_members_differ_in_the_seed_alone(settings: Settings, pair: Path) -> None:
    first, second = (load_model(pair / f"member-{i}") for i in range(2))
    assert (first[1].seed, second[1].seed) == (3000, 3001)
    assert first[1].changed({"seed": 3001}) == second[1]
    assert first[1].changed({"seed": 3, "ensemble": 2}) == settings
    assert first[2] == second[2]
    tested = [[row["graph"] for row in rows_of(pair / f"member-{i}/predictions.csv")] for i in range(2)]
    assert tested[0] == tested[1] == [row["graph"] for row in rows_of(pair / "predictions.csv")]
    weights = [next(iter(model[0].model.parameters())) for model in (first, second)]
    assert not torch.equal(*weights)


def test_folds_by_seed_are_those_of_the_whole() -> None:
    whole = validated({"seed": 27, "ensemble": 2, "data": {"fold": "seed"}})
    assert [(each.seed, each.data.fold, each.data.seed) for each in member_settings(whole)] == [
        (27000, 7, 2),
        (27001, 7, 2),
    ]


def test_mean_and_spread_follow_from_their_definition(settings: Settings, pair: Path) -> None:
    test = load_task(settings).test
    members = [load_model(pair / f"member-{i}")[0] for i in range(2)]
    of_members = [predict(member, test, 8)[:, 0].tolist() for member in members]
    samples = [predict_samples(member, test, 8)[1][:, :, 0].tolist() for member in members]
    rows = rows_of(pair / "predictions.csv")
    names = ["predicted_y", *(f"predicted_y_spread{part}" for part in ("", "_members", "_choice"))]
    for i, row in enumerate(rows):
        each = [[sample[i] for sample in member] for member in samples]
        expected = [
            fmean(member[i] for member in of_members),
            math.sqrt(pvariance([x for member in each for x in member])),
            math.sqrt(pvariance([fmean(member) for member in each])),
            math.sqrt(fmean(pvariance(member) for member in each)),
        ]
        assert [float(row[name]) for name in names] == pytest.approx(expected, abs=1e-5)
    assert any(float(row["predicted_y_spread_choice"]) > 0 for row in rows)
    result = read_result(pair)
    assert result is not None
    errors = [abs(float(row["y"]) - float(row["predicted_y"])) for row in rows]
    assert result.value == result.scores["mae"] == pytest.approx(fmean(errors), abs=1e-6)
    assert result.members == [read_result(pair / f"member-{i}").value for i in range(2)]  # type: ignore[union-attr]
    val = load_task(settings).val
    together = torch.stack([predict(member, val, 8) for member in members]).mean(0)
    assert result.validation == pytest.approx(float((together - val.y).abs().mean()), abs=1e-6)


def test_classes_have_the_mean_probability() -> None:
    logits = torch.randn(3, 5, 4, generator=torch.Generator().manual_seed(0)).double()
    assert torch.allclose(torch.sigmoid(joined(logits, "binary")), torch.sigmoid(logits).mean(0))
    assert torch.allclose(torch.softmax(joined(logits, "multiclass"), -1), torch.softmax(logits, -1).mean(0))
    assert torch.equal(joined(logits, "binary", by_vote=True), logits.mean(0))
    # Two graphs whose probabilities round to 1 are still told apart.
    sure = torch.tensor([[[90.0], [95.0]], [[80.0], [85.0]]])
    low, high = joined(sure, "binary").flatten().tolist()
    assert low < high
    assert high == pytest.approx(85 + math.log(2), abs=0.1)


def test_votes_are_shares_over_all_members(pair: Path) -> None:
    model = load_predictor(pair)
    assert isinstance(model, Ensemble)
    for member in model.members:
        member.info = replace(member.info, kind="binary", metric="accuracy")
        member.model.combine = "vote"  # type: ignore[assignment]
    each = torch.tensor([[[[2.0]], [[-1.0]]], [[[3.0]], [[1.0]]]])  # members, samples, one graph, one target
    names, values = predicted_columns(model, torch.tensor([[0.25]]), each)
    wanted = dict(zip(names, values[0].tolist(), strict=True))
    assert wanted["votes_y"] == 0.75
    expected = fmean(torch.sigmoid(torch.tensor([0.5, 2.0])).tolist())
    assert wanted["probability_y"] == pytest.approx(expected, abs=1e-6)


def test_new_molecules_and_commands(settings: Settings, pair: Path, tmp_path: Path) -> None:
    table = Path(settings.data.dataset)
    model = load_predictor(pair)
    predicted = predict_table(model, read_table(table, ["smiles"], whole=True))
    predict_file(pair, table, "smiles", tmp_path / "out.csv", tmp_path / "bad.csv")
    written = [float(row["predicted_y"]) for row in rows_of(tmp_path / "out.csv")]
    assert written == pytest.approx([values[0] for values in predicted.values.values()])
    told = CliRunner().invoke(app, ["evaluate", str(pair), "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["mae"] == read_result(pair).value  # type: ignore[union-attr]
    told = CliRunner().invoke(app, ["runs", str(pair.parents[1]), "--each", "--json"], catch_exceptions=False)
    assert [(run["name"], run["seed"]) for run in json.loads(told.stdout)] == [("pair", 3)]


def test_what_ensembles_do_not_take(settings: Settings, pair: Path, tmp_path: Path) -> None:
    with pytest.raises(OsanError, match="expected one network, got an ensemble; use load_predictor"):
        load_model(pair)
    with pytest.raises(OsanError, match="expected 1 with a custom model"):
        train(settings, tmp_path / "model", model=torch.nn.Linear(1, 1), progress=False)
    with pytest.raises(OsanError, match=r"machine\.devices: expected 1 for an ensemble"):
        train(settings.changed({"machine.devices": 2}), tmp_path / "devices", progress=False)
    with pytest.raises(OsanError, match="not finished"):
        load_predictor(tmp_path / "devices")
    hot = settings.changed({"training.learning_rate": 1e30})
    with pytest.raises(OsanError, match=r"member-0: .*learning_rate"):
        train(hot, tmp_path / "hot", progress=False, processes=1)
    assert "member-0" in json.loads((tmp_path / "hot" / "failed.json").read_text())["error"]


def test_killed_and_resumed_in_parallel_to_the_same_result(
    settings: Settings, pair: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("osan.training.jobs.start", ForkedRun)
    folder = tmp_path / "run"
    whole = multiprocessing.get_context("fork").Process(
        target=train, args=(settings, folder), kwargs={"progress": False, "processes": 2}
    )
    whole.start()
    end = time.monotonic() + 600
    job = Job(settings, folder / "member-1")
    while epochs_done(job) < 1 and whole.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    whole.kill()
    whole.join()
    assert not (folder / "result.json").exists()
    # Forked members also hold the lock of the whole until they have ended.
    assert all(_free(each) for each in (folder / "member-0", folder / "member-1", folder))
    train(settings, folder, resume=True, progress=False, processes=2)
    for i in range(2):
        weights = [each / f"member-{i}" / "model.safetensors" for each in (folder, pair)]
        assert weights[0].read_bytes() == weights[1].read_bytes()
    assert (folder / "predictions.csv").read_bytes() == (pair / "predictions.csv").read_bytes()
