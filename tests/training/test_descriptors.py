"""Networks that see descriptors beside the graph, from a table to predictions."""

import csv
import json

import numpy as np
import pytest
import torch
from torch_geometric.data import Data
from typer.testing import CliRunner

from osan import nn
from osan.cli import app
from osan.errors import OsanError


def test_standardized_limited_and_nothing_for_what_is_missing():
    module = nn.Descriptors(3, 4, mean=[1.0, -2.0], std=[0.5, 10.0])
    given = torch.tensor([[2.0, float("nan"), 0.7], [1e9, -2.0, -50.0], [float("-inf"), 8.0, 1.0]])
    seen = torch.tensor([[2.0, 0.0, 0.7], [6.0, 0.0, -6.0], [-6.0, 1.0, 1.0]])
    torch.testing.assert_close(module(Data(descriptors=given)), torch.relu(module.linear(seen)))
    with pytest.raises(OsanError, match=r"shape \[graphs, 3\], got none"):
        module(Data())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A table whose target is a column, which no graph shows, and a run on it."""
    folder = tmp_path_factory.mktemp("descriptors")
    rng = np.random.default_rng(0)
    rows = [("C" * n + end, rng.normal()) for n in range(1, 31) for end in ("", "O", "N", "Cl")]
    with (folder / "mols.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([("smiles", "pH", "y"), *((s, 4 + 2 * v, v) for s, v in rows)])
    return folder


def osan(*words):
    return CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False).stdout


def test_a_column_that_tells_the_target(place):
    score = {}
    for name, more in (("with", ["--descriptors", "pH,morgan:16"]), ("without", [])):
        out = osan(
            *("train", place / "mols.csv", "--target", "y", "--epochs", 12, "--name", name, "--json"),
            *("--set", "network.width=16", "--set", "network.layers=2", "--quiet"),
            *("--set", "training.learning_rate=0.01", "--runs", place / "runs", *more),
        )
        score[name] = json.loads(out)["value"]
    assert score["with"] < 0.4 * score["without"]

    # New molecules get the same columns, from the file that they are in.
    run = place / "runs" / "with" / "seed-0"
    stored = list(csv.DictReader((run / "predictions.csv").open()))
    osan("predict", run, place / "mols.csv", "--out", place / "out.csv")
    told = {row["line"]: row for row in csv.DictReader((place / "out.csv").open())}
    for row in stored[:5]:
        line = told[row["line"]]
        name = next(key for key in line if key.startswith("predicted"))
        assert float(line[name]) == pytest.approx(float(row[name]), abs=1e-4)
    # One molecule under two conditions has two predictions, the same as if each were alone in the table.
    told = {}
    for name, values in (("both", (2, 9, 2)), ("one", (2,)), ("other", (9,))):
        (place / f"{name}.csv").write_text("\n".join(["smiles,pH", *(f"CCO,{value}" for value in values)]))
        osan("predict", run, place / f"{name}.csv", "--out", place / "told.csv")
        told[name] = [float(row["predicted_y"]) for row in csv.DictReader((place / "told.csv").open())]
    assert told["both"] == pytest.approx([*told["one"], *told["other"], *told["one"]], abs=1e-5)
    assert abs(told["one"][0] - told["other"][0]) > 0.5
    (place / "bare.csv").write_text("smiles\nCCO\n")
    with pytest.raises(OsanError, match="expected one column 'pH'"):
        osan("predict", run, place / "bare.csv", "--out", place / "bare_out.csv")
    assert not list(place.glob("bare_out*"))
    with pytest.raises(OsanError, match="expected a table with the column 'pH'"):
        osan("predict", run, "CCO")
