"""Similar training molecules, by brute force over the substructures that two molecules share."""

from __future__ import annotations

import csv
import json
import math
from pathlib import Path

import pytest
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.training import load_model, load_task, train
from osan.training.neighbors import fingerprints, neighbors_of
from osan.training.settings import Settings, validated


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory) -> Settings:
    """60 molecules, of which 20 are for validation; the second target is missing in every other row."""
    path = tmp_path_factory.mktemp("table") / "a.csv"
    part = ["train", "val", "test"]
    tails = ("N", "O", "C(=O)O", "c1ccccc1", "Cl")
    lines = [
        f"{'C' * (i // 5 + 1)}{tails[i % 5]},{i},{'' if i % 2 else i / 10},{part[i % 3]}" for i in range(60)
    ]
    path.write_text("\n".join(["smiles,a,b,part", *lines]) + "\n")
    return validated(
        {
            "data": {"dataset": str(path), "targets": ["a", "b"], "split": "part"},
            "network": {"width": 8, "layers": 1},
            "training": {"epochs": 1},
            "machine": {"accelerator": "cpu"},
        }
    )


@pytest.fixture(scope="module")
def run(settings: Settings, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run") / "run"
    train(settings, folder, progress=False)
    return folder


def tanimoto(first: str, second: str) -> float:
    one, other = (set(each.GetOnBits()) for each in fingerprints([first, second]))
    return len(one & other) / len(one | other)


def test_neighbors_by_brute_force(settings: Settings, run: Path, tmp_path: Path) -> None:
    rows = list(csv.DictReader(Path(settings.data.dataset).read_text().splitlines()))
    known = [row for row in rows if row["part"] == "train"]
    held = [max(tanimoto(row["smiles"], k["smiles"]) for k in known) for row in rows if row["part"] == "val"]
    # All but 5 % of 20 + 1: the least similar validation molecule is the bar.
    least = sorted(held)[math.floor(0.05 * (len(held) + 1)) - 1]
    given = ["CCCCO", "CCCCCCBr", "[Na+].[I-]", "OCCCC"]
    (tmp_path / "new.csv").write_text("\n".join(["smiles", *given]) + "\n")
    words = ["predict", str(run), str(tmp_path / "new.csv"), "--neighbors", "3"]
    out = ["--out", str(tmp_path / "o.csv"), "--rejected", str(tmp_path / "r.csv")]
    told = CliRunner().invoke(app, [*words, *out], catch_exceptions=False)
    assert told.exit_code == 0, told.output
    found = list(csv.DictReader((tmp_path / "o.csv").open()))
    assert [row["smiles"] for row in found] == given
    flags = []
    for row in found:
        similarity = {k["smiles"]: tanimoto(row["smiles"], k["smiles"]) for k in known}
        best = sorted(similarity.values(), reverse=True)[:3]
        listed = [float(row[f"neighbor_{i}_similarity"]) for i in (1, 2, 3)]
        assert listed == pytest.approx(best)
        for i in (1, 2, 3):
            other = next(k for k in known if k["smiles"] == row[f"neighbor_{i}_smiles"])
            assert similarity[other["smiles"]] == pytest.approx(listed[i - 1])
            assert float(row[f"neighbor_{i}_a"]) == float(other["a"])
            # With the digits of the table, not those of its value in single precision.
            assert row[f"neighbor_{i}_b"] == (str(float(other["b"])) if other["b"] else "")
        flags.append(int(row["in_domain"]))
        assert flags[-1] == int(max(best) >= least)
    assert flags[0] == 1
    assert flags[2] == 0  # nothing like it was in training
    told = CliRunner().invoke(app, [*words, "--json"], catch_exceptions=False)
    assert json.loads(told.stdout)["predictions"][0]["in_domain"] == 1
    told = CliRunner().invoke(app, ["predict", str(run), "CCO", "--neighbors", "1"], catch_exceptions=False)
    assert "neighbor_1_smiles" in told.stdout


def test_too_few_molecules_to_know_the_domain(settings: Settings, tmp_path: Path) -> None:
    rows = Path(settings.data.dataset).read_text().splitlines()
    for count in (18, 19):
        of_val = 0
        kept = rows[:1]
        for row in rows[1:]:
            of_val += row.endswith(",val")
            kept += [row] if of_val <= count or not row.endswith(",val") else []
        path = tmp_path / f"{count}.csv"
        path.write_text("\n".join(kept) + "\n")
        train(settings.changed({"data.dataset": str(path)}), tmp_path / str(count), progress=False)
    model = load_model(tmp_path / "18")[0]
    with pytest.warns(UserWarning, match="neighbors: 18 validation molecules are too few .* it takes 19"):
        found = neighbors_of(model, 1)
    assert found is not None
    assert [row[-1] for row in found.of(["[Xe]", "CCO"])] == ["", ""]
    found = neighbors_of(load_model(tmp_path / "19")[0], 1)
    assert found is not None
    assert [row[-1] for row in found.of(["[Xe]"])] == [0]


def test_what_has_no_neighbors(settings: Settings, run: Path, finished: Path) -> None:
    model = load_model(run)[0]
    assert neighbors_of(model, 0) is None
    count = len(load_task(settings).train)
    with pytest.raises(OsanError, match=f"neighbors: expected at most {count}, the training molecules"):
        neighbors_of(model, count + 1)
    with pytest.raises(
        OsanError, match="neighbors: expected a run on a table of molecules, got one on planted"
    ):
        neighbors_of(load_model(finished)[0], 1)
    path = Path(settings.data.dataset)
    before = path.read_text()
    path.write_text(before.replace("CCCN,", "CCCS,"))
    told = CliRunner().invoke(app, ["predict", str(run), "CCO", "--neighbors", "1"])
    path.write_text(before)
    assert str(told.exception).startswith("--neighbors: ")
    assert "has changed since the run was trained" in str(told.exception)
