"""Training, predicting and explaining in Python: the same as on the command line."""

import math
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import osan
from osan.errors import OsanError

pandas = pytest.importorskip("pandas")
pytest.importorskip("rdkit")

EVIL = "<img src=x onerror=alert(1)>"
SMALL = {"epochs": 1, "width": 8, "layers": 2, "progress": False}


def table(target="y"):
    smiles = ["C" * n + end for n in range(1, 7) for end in ("O", "N", "Cl")]
    return pandas.DataFrame({"id": range(100, 118), "smiles": smiles, target: [len(s) / 3 for s in smiles]})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return osan.train(table(EVIL), targets=EVIL, runs=tmp_path_factory.mktemp("runs"), **SMALL)


def test_same_as_the_command(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    table().to_csv("molecules.csv", index=False)
    from osan.cli import app

    words = "train molecules.csv --target y --epochs 1 --seed 2 --split random --set network.width=8 --quiet"
    done = CliRunner().invoke(app, [*words.split(), "--set", "network.layers=2", "--runs", "command"])
    assert done.exit_code == 0, done.output
    run = osan.train("molecules.csv", targets="y", seed=2, split="random", **SMALL)
    other = next(Path("command").glob("**/seed-2"))
    assert run.folder.relative_to("runs") == other.relative_to("command")
    for name in ("settings.toml", "model.safetensors", "predictions.csv"):
        assert (run.folder / name).read_bytes() == (other / name).read_bytes(), name
    again = osan.train("molecules.csv", targets="y", seed=2, split="random", resume=True, **SMALL)
    assert again == run
    with pytest.raises(OsanError, match=r"holds a run already; resume it \(in Python, resume=True\)"):
        osan.train("molecules.csv", targets=["y"], seed=2, split="random", **SMALL)


def test_a_data_frame_keeps_its_index_and_columns(run):
    frame = pandas.DataFrame(
        {"smiles": ["CCO", "no molecule", "CCO", None], "x": pandas.Categorical(list("abca"))},
        index=["p", "p", "q", "r"],
    )
    with pytest.warns(UserWarning, match="2 of 4 rows .*row 2, unreadable SMILES"):
        out = run.predict(frame)
    assert list(out.index) == list(frame.index)
    assert list(out.columns) == ["smiles", "x", f"predicted_{EVIL}", f"predicted_{EVIL}_spread"]
    pandas.testing.assert_frame_equal(out[["smiles", "x"]], frame)
    values = out[f"predicted_{EVIL}"].tolist()
    assert math.isnan(values[1])
    assert math.isnan(values[3])
    assert values[0] == values[2]
    # The noise of a molecule depends on its place, but without samples nothing is drawn.
    assert values[0] == pytest.approx(run.predict("CCO")[f"predicted_{EVIL}"].item(), abs=1e-6)
    assert f"predicted_{EVIL}_2" in run.predict(out[["smiles", f"predicted_{EVIL}"]].iloc[:1]).columns


def test_lists_mappings_and_files_agree(run, tmp_path):
    smiles = ["CCO", "CCCN", "CCCCCl"]
    path = tmp_path / "more.csv"
    path.write_text("smiles;mass;n\nCCO;1,5;1\nCCCN;;2\nCCCCCl;2,5;3\n")
    column = f"predicted_{EVIL}"
    of_file = run.predict(path)
    assert of_file["mass"].tolist()[::2] == [1.5, 2.5]
    assert math.isnan(of_file["mass"][1])
    assert of_file["n"].dtype == np.int64
    expected = of_file[column].tolist()
    for given in (smiles, pandas.Series(smiles), {"smiles": smiles}, pandas.DataFrame({"smiles": smiles})):
        assert run.predict(given)[column].tolist() == expected
    assert run.predict({"s": smiles}, smiles="s")[column].tolist() == expected
    odd = pandas.Series(smiles, index=[7, 3, 5], name="structure")
    assert run.predict(odd)[column].to_dict() == dict(zip([7, 3, 5], expected, strict=True))
    assert run.predict([]).shape == (0, 3)


def test_open_run(run, tmp_path):
    again = osan.open_run(run.folder)
    assert again.scores == run.scores
    assert set(run.scores) >= {"mae", "rmse"}
    assert repr(again) == f"Run({str(run.folder)!r}: test mae {run.scores['mae']:.4f})"
    with pytest.raises(OsanError, match="not the folder of a run"):
        osan.open_run(tmp_path)


def test_results_show_themselves_and_escape_what_is_yours(run):
    from osan.report import effects
    from osan.training import load_model, predict_table
    from osan.training.prediction import one_molecule

    predicted = predict_table(load_model(run.folder)[0], one_molecule("CCO"))
    found = run.explain("CCCO", samples=2)
    shown = [run, run.result, predicted, found, effects(run.folder, 1, samples=2)]
    for result in shown:
        html = result._repr_html_()
        assert html.startswith(("<div>", "<table>", "<figure>", "<iframe"))
        assert "<img src=x" not in html
    assert "&lt;img src=x" in predicted._repr_html_()
    assert "data:image/svg+xml;base64," in run._repr_html_()
    assert f"{run.scores['mae']:.4g}" in run._repr_html_()


def test_errors_say_what_to_do(run, tmp_path, monkeypatch):
    options = {"runs": tmp_path, **SMALL}
    with pytest.raises(OsanError, match="columns of one length, got smiles 2, y 1"):
        osan.train({"smiles": ["C", "CC"], "y": [1]}, **options)
    with pytest.raises(OsanError, match="unknown setting 'epohs'; did you mean 'epochs'"):
        osan.train(table(), targets="y", epohs=3, runs=tmp_path)
    with pytest.raises(OsanError, match=r"expected one of data.options, .*, got 'options'"):
        osan.train(table(), targets="y", options={}, runs=tmp_path)
    with pytest.raises(OsanError, match="expected a column 'smiles', got name"):
        run.predict({"name": ["C"]})
    with pytest.raises(OsanError, match="got a list with int"):
        run.predict([1])
    with pytest.raises(OsanError, match="which does not exist"):
        run.predict(tmp_path / "none.csv")
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(OsanError, match=r"needs pandas: pip install 'osan\[molecules\]'"):
        run.predict(["C"])


def test_columns_with_numbers_as_names(tmp_path):
    frame = table().rename(columns={"smiles": 0, "y": 1})
    run = osan.train(frame, smiles=0, targets=[1], runs=tmp_path, **SMALL)
    assert list(run.predict(frame[[0]]).columns) == [0, "predicted_1", "predicted_1_spread"]
    again = osan.train(frame, smiles=[0], targets=1, runs=tmp_path, resume=True, name="again", **SMALL)
    assert again.scores == run.scores


def test_a_table_is_stored_once_by_its_content(run):
    from osan.running import _stored

    runs = next(parent for parent in run.folder.parents if (parent / "tables").is_dir())
    stored = list((runs / "tables").iterdir())
    assert [str(stored[0])] == [_stored(table(EVIL), runs)]
    assert len(stored) == 1
    assert run.settings.data.dataset == str(stored[0].resolve())
    assert _stored(table("z"), runs) != str(stored[0])


def test_neighbors_in_a_frame(run):
    with pytest.warns(UserWarning, match="1 of 3 rows"):
        out = run.predict(["CCCO", "no molecule", "CCCCCCCCCCCC"], neighbors=2, level=0.5)
    assert list(out.columns)[-7:] == [
        *(f"neighbor_{i}_{part}" for i in (1, 2) for part in ("smiles", EVIL, "similarity")),
        "in_domain",
    ]
    assert out["neighbor_1_similarity"].dtype == out[f"predicted_{EVIL}"].dtype == np.float64
    first = out["neighbor_1_smiles"][0]
    assert first in set(table()["smiles"])
    assert out[f"neighbor_1_{EVIL}"][0] == pytest.approx(len(first) / 3)
    assert out["neighbor_1_smiles"].isna().tolist() == [False, True, False]
    assert out["neighbor_1_similarity"][0] >= out["neighbor_2_similarity"][0]
    with pytest.raises(OsanError, match="neighbors: expected at most"):
        run.predict(["CCCO"], neighbors=1000)


def test_replicates_as_in_the_command(tmp_path):
    done = osan.replicate(table(), 2, targets="y", seed=3, runs=tmp_path, processes=1, **SMALL)
    assert [run.settings.seed for run in done.runs] == [3, 4]
    assert done.scores["mae"].values == [run.scores["mae"] for run in done.runs]
    assert done.scores["mae"].mean == pytest.approx(sum(done.scores["mae"].values) / 2)
    assert done.runs[1].folder == done.folder / "seed-4"
    assert "<td>mae</td>" in done._repr_html_()
    before = (done.folder / "seed-3" / "result.json").stat().st_mtime_ns
    more = osan.replicate(table(), 3, targets="y", seed=3, runs=tmp_path, processes=1, **SMALL)
    assert more.scores["mae"].values[:2] == done.scores["mae"].values
    assert (done.folder / "seed-3" / "result.json").stat().st_mtime_ns == before
    with pytest.raises(OsanError, match=r"use osan.replicate\(data, 5"):
        osan.train(table(), targets="y", runs=tmp_path, replicates=5, **SMALL)
    with pytest.raises(OsanError, match="replicates: expected a number from 1 to 1000, got 0"):
        osan.replicate(table(), 0, targets="y", runs=tmp_path, **SMALL)
