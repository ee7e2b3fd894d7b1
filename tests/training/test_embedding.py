"""Embeddings are what the head turns into predictions."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow.parquet as parquet
import pytest
import torch
from typer.testing import CliRunner

from osan.cli import app
from osan.data.formats.table import read_table
from osan.errors import OsanError
from osan.training import load_model, load_predictor, predict_table, train
from osan.training.embedding import embed_table, write_embedded
from osan.training.settings import validated


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("own")
    lines = [f"{'C' * (i // 3 + 1)}{'NOS'[i % 3]},{i % 7}" for i in range(30)]
    (place / "a.csv").write_text("\n".join(["smiles,y", *lines]) + "\n")
    (place / "new.csv").write_text("smiles\nCCO\nno molecule\nCCCN\nOCC\n")
    return place


@pytest.mark.parametrize("policy", ["", "delete 1 vertex x 2"])
def test_the_head_makes_predictions_of_them(place: Path, tmp_path: Path, policy: str) -> None:
    settings = validated(
        {
            "ensemble": 2 if policy else 1,
            "data": {"dataset": str(place / "a.csv"), "targets": ["y"], "descriptors": ["morgan:16"]},
            "selection": {"policy": policy, "samples": 3},
            "network": {"width": 8, "layers": 2, "head": 1},
            "training": {"epochs": 1},
            "machine": {"accelerator": "cpu"},
        }
    )
    train(settings, tmp_path / "run", progress=False, processes=1)
    model, table = load_predictor(tmp_path / "run"), read_table(place / "new.csv", ["smiles"], whole=True)
    found = embed_table(model, table)
    assert found.lines == [2, 4, 5]
    assert found.smiles == ["CCO", "CCCN", "OCC"]
    assert torch.equal(found.rows[0], found.rows[2])
    assert [each.line for each in found.rejected] == [3]
    # A head of one layer is linear, so the mean over samples gives the mean prediction.
    predicted = predict_table(model, table)
    members = [model] if policy == "" else [load_model(tmp_path / f"run/member-{i}")[0] for i in range(2)]
    width = found.rows.size(1) // len(members)
    with torch.no_grad():
        by_head = [
            member.renormalized(
                (getattr(member.model, "downstream", None) or member.model.network).head(part)  # type: ignore[union-attr,operator]
            )
            for member, part in zip(members, found.rows.split(width, dim=1), strict=True)
        ]
    expected = torch.stack(by_head).mean(0)[:, 0].tolist()
    assert expected == pytest.approx([values[0] for values in predicted.values.values()], abs=1e-5)
    if policy:
        return
    words = ["embed", str(tmp_path / "run"), str(place / "new.csv"), "--out"]
    told = CliRunner().invoke(app, [*words, str(tmp_path / "e.npz")], catch_exceptions=False)
    assert f"3 molecules, {width} numbers each" in told.stdout
    assert "1 row cannot be used; first: line 3, unreadable SMILES" in told.stderr
    with np.load(tmp_path / "e.npz", allow_pickle=False) as stored:
        np.testing.assert_array_equal(stored["embedding"], found.rows.numpy())
        assert stored["smiles"].tolist() == found.smiles
        assert stored["line"].tolist() == found.lines
    write_embedded(tmp_path / "e.parquet", found)
    columns = parquet.read_table(tmp_path / "e.parquet").to_pydict()
    assert list(columns)[:3] == ["line", "smiles", "e0"]
    np.testing.assert_array_equal([columns[f"e{i}"] for i in range(width)], found.rows.numpy().T)
    told = CliRunner().invoke(app, [*words, str(tmp_path / "e.csv")])
    assert "--out: expected a .npz or .parquet file" in str(told.exception)


def test_a_network_without_a_head(place: Path, small, finished: Path) -> None:
    learner = load_model(finished)[0]
    learner.model.downstream = torch.nn.Linear(1, 1)
    from osan.training.embedding import _head

    with pytest.raises(OsanError, match=r"network\.architecture: expected a network of osan, with a head"):
        _head(learner)
