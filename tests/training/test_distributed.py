"""Two processes train the same network as one."""

import csv
import os
import subprocess
import sys

import torch
from safetensors.torch import load_file

from osan.data import FlatLoader
from osan.training.run import train
from osan.training.settings_files import write_settings


def test_two_processes_as_one(tmp_path, small):
    """Noise is keyed by graph and batches are shared equally, so only the order of additions differs."""
    settings = small(
        **{
            "network.norm": False,
            "network.dropout": 0.0,
            "training.epochs": 3,
            "training.batch_size": 12,
            "data.options": {"num_graphs": 60},
        }
    )
    train(settings, tmp_path / "one", progress=False)
    write_settings(settings.changed({"name": "two"}), tmp_path / "two.toml")
    words = ["train", "--settings", "two.toml", "--devices", "2", "--name", "two", "--quiet"]
    done = subprocess.run(
        [sys.executable, "-m", "osan", *words],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("test mae") == 1
    two = tmp_path / "runs" / "two" / "seed-0"
    rows = [list(csv.DictReader((folder / "metrics.csv").open())) for folder in (tmp_path / "one", two)]
    assert len(rows[0]) == len(rows[1]) == 3
    for one, other in zip(*rows, strict=True):
        for column in ("train_loss", "val_mae"):
            torch.testing.assert_close(float(one[column]), float(other[column]), rtol=1e-4, atol=1e-5)
    weights = [load_file(folder / "model.safetensors") for folder in (tmp_path / "one", two)]
    assert weights[0].keys() == weights[1].keys()
    for name, value in weights[0].items():
        torch.testing.assert_close(value, weights[1][name], rtol=1e-3, atol=1e-4)


def test_every_graph_is_in_one_part(small):
    from osan.training.tasks import load_task

    train_part = load_task(small()).train
    whole = [batch.graph_id for batch in FlatLoader(train_part, 6, True, epoch=lambda: 4, seed=1)]
    for world in (2, 3):
        shares = [
            [
                batch.graph_id
                for batch in FlatLoader(train_part, 6, True, epoch=lambda: 4, seed=1, rank=rank, world=world)
            ]
            for rank in range(world)
        ]
        for batch, *parts in zip(whole, *shares, strict=True):
            assert sorted(torch.cat(parts).tolist()) == sorted(batch.tolist())
            assert len({len(part) for part in parts}) == 1
    rest = [FlatLoader(train_part, 7, rank=rank, world=3) for rank in range(3)]
    ids = torch.cat([batch.graph_id for share in rest for batch in share])
    assert sorted(ids.tolist()) == sorted(train_part.ids.tolist())
