"""``osan train``, ``evaluate``, ``predict`` and ``recipes`` as a user meets them."""

import csv
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
import warnings

import pytest
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.training.evaluation import sample_agreement
from osan.training.folder import read_result, settings_of
from osan.training.run import load_model
from osan.training.settings_files import read_settings
from osan.training.tasks import load_task

runner = CliRunner()
TINY = ("--set", "network.width=8", "--set", "network.layers=2", "--epochs", "2", "--quiet")


@pytest.fixture(autouse=True)
def own_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("OSAN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")


def run(*words, code=0):
    result = runner.invoke(app, [str(word) for word in words], catch_exceptions=False)
    assert result.exit_code == code, result.output
    return result


def molecules(path, count=40):
    """Chains of carbon with one other atom; the target is the number of atoms."""
    rng = random.Random(0)
    rows = ["mol,size,other"]
    for i in range(count):
        rows.append(f"{'C' * (i // 4 + 1)}{'NOSF'[i % 4]},{i // 4 + 2},{rng.random():.3f}")
    path.write_text("\n".join(rows) + "\n")


@pytest.fixture(scope="module")
def own_run(tmp_path_factory):
    """A run on a custom table with two targets."""
    place = tmp_path_factory.mktemp("own")
    molecules(place / "molecules.csv")
    words = ["train", str(place / "molecules.csv"), "delete 1 vertex", "--subgraphs", "2", "--smiles", "mol"]
    words += ["--target", "size", "--target", "other", "--runs", str(place / "runs"), "--name", "mine", *TINY]
    result = runner.invoke(app, words, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return place / "runs" / "mine" / "seed-0"


def test_train_own_molecules_evaluate_and_predict(own_run, tmp_path):
    settings, result = settings_of(own_run), read_result(own_run)
    assert settings.selection.policy == "delete 1 vertex x 2"
    assert settings.training.epochs == 2
    assert result.metric == "mae"
    header = (own_run / "predictions.csv").read_text().splitlines()[0]
    columns = "predicted_size,predicted_size_spread,predicted_other,predicted_other_spread"
    assert header == f"graph,line,size,other,{columns}"
    found = json.loads(run("evaluate", own_run, "--json").stdout)
    assert found["mae"] == result.value
    assert found["graphs"] == 4
    assert json.loads(run("evaluate", own_run, "--split", "val", "--json").stdout)["mae"] == pytest.approx(
        result.validation, abs=1e-6
    )

    (tmp_path / "new.csv").write_text("mol\nCCO\nno molecule\nCCCCCC\n*CC\nOCC\n\n")
    out = run("predict", own_run, "new.csv")
    assert "wrote predictions of 4 molecules" in out.stdout
    rows = {row["line"]: row for row in csv.DictReader((tmp_path / "predictions.csv").open())}
    assert list(rows) == ["2", "4", "5", "6"]
    assert list(rows["2"]) == ["mol", "line", *columns.split(",")]
    # CCO and OCC are one molecule.
    assert rows["2"]["predicted_size"] == rows["6"]["predicted_size"]
    assert float(rows["4"]["predicted_size_spread"]) >= 0
    rejected = (tmp_path / "rejected.csv").read_text().splitlines()
    assert rejected == ["line,smiles,reason", "3,no molecule,unreadable SMILES"]


def test_predict_keeps_the_table(own_run, tmp_path):
    """All columns in their order, with what is predicted behind them under names that are not taken."""
    header = ["name", "size", "mol", "predicted_size", "line", "size", "note"]
    cells = [["a", "3", "CCO", "old", "7", "x", ' "quoted", '], ["b", "", "CCN", "", "8", "y", "two\nlines"]]
    with (tmp_path / "new.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows(
            [header, cells[0], ["c", "1", "no molecule", "", "9", "z", ""], cells[1]]
        )
    run("predict", own_run, "new.csv", "--out", "out.csv")
    with (tmp_path / "out.csv").open(newline="") as stream:
        found, *rows = list(csv.reader(stream))
    names = ["predicted_size", "predicted_size_spread", "predicted_other", "predicted_other_spread"]
    added = [f"{name}_2" for name in ("line", *names)]
    assert found == header + added
    assert [row[:7] for row in rows] == cells
    assert [row[7] for row in rows] == ["2", "4"]

    # The same numbers are printed, with a name for every column even where the table has one twice.
    told = json.loads(run("predict", own_run, "new.csv", "--json").stdout)
    assert [list(row)[:7] for row in told["predictions"]] == [[*header[:5], "size_2", "note"]] * 2
    assert [list(row.values())[:7] for row in told["predictions"]] == cells
    assert [[str(row[name]) for name in added] for row in told["predictions"]] == [row[7:] for row in rows]
    assert told["rejected"] == [{"line": 3, "smiles": "no molecule", "reason": "unreadable SMILES"}]
    assert not (tmp_path / "predictions.csv").exists()

    # What was predicted is a table again.
    run("predict", own_run, "out.csv", "--out", "again.csv")
    again = (tmp_path / "again.csv").read_text().splitlines()[0].split(",")
    assert again == [*found, *[f"{name}_3" for name in ("line", *names)]]


@pytest.mark.parametrize(
    ("content", "out", "separator", "comma"),
    [
        ("mol;mass\nCCO;46,07\n", "out.csv", ";", True),
        ("mol;mass\nCCO;46.07\n", "out.csv", ";", False),
        ("mol\tmass\nCCO\t46,07\n", "out.csv", ",", False),
        ("mol,mass\nCCO,46.07\n", "out.tsv", "\t", False),
    ],
)
def test_predictions_are_separated_as_the_table_was(own_run, tmp_path, content, out, separator, comma):
    (tmp_path / "new.csv").write_text(content)
    told = json.loads(run("predict", own_run, "new.csv", "--json", "--out", out).stdout)["predictions"][0]
    row = next(csv.DictReader((tmp_path / out).open(), delimiter=separator))
    assert row["mass"] == content.split()[-1].replace("\t", ";").split(";")[-1].split("CCO,")[-1]
    assert ("," in row["predicted_size"]) == comma
    assert float(row["predicted_size"].replace(",", ".")) == told["predicted_size"]


def test_predict_one_molecule(own_run, tmp_path):
    (tmp_path / "new.csv").write_text("mol\nCCO\n")
    (of_file,) = json.loads(run("predict", own_run, "new.csv", "--json").stdout)["predictions"]
    (told,) = json.loads(run("predict", own_run, "CCO", "--json").stdout)["predictions"]
    assert told == {**of_file, "line": 1}
    lines = run("predict", own_run, "CCO").stdout.splitlines()
    assert lines == [f"{name} {told[name]:.6g}" for name in list(told)[2:]]
    assert [path.name for path in tmp_path.iterdir() if path.suffix == ".csv"] == ["new.csv"]
    run("predict", own_run, "CCO", "--out", "one.csv")
    (row,) = csv.DictReader((tmp_path / "one.csv").open())
    assert float(row["predicted_size"]) == told["predicted_size"]
    # Longer than the name of any file may be, and what else is no name of one.
    for text in ("C" * 300, "F/C=C/F", "[Na+].[Cl-]"):
        assert run("predict", own_run, text).stdout.startswith("predicted_size ")
    # A file is a file, whatever it is called.
    (tmp_path / "CCO").write_text("mol\nCCCC\nCC\n")
    assert len(json.loads(run("predict", own_run, "CCO", "--json").stdout)["predictions"]) == 2


@pytest.mark.parametrize("name", ["list.smi", "a.sdf", "a.xlsx"])
def test_molecules_in_other_formats_are_refused_at_once(own_run, tmp_path, name):
    (tmp_path / name).write_text("CCO\nCC\n")
    told = rf"{name}: expected molecules in a \.csv, \.tsv or \.parquet file, got "
    for words in (("predict", own_run, name), ("predict", own_run, name, "--json"), ("embed", own_run, name)):
        with pytest.raises(OsanError, match=told):
            run(*words)
    with pytest.raises(OsanError, match=told):
        run("train", name, "--target", "logS", *TINY)


@pytest.mark.parametrize("text", ["nowhere.csv", "nowhere.smi", "", "runs", "C1CC"])
def test_neither_a_file_nor_a_molecule(own_run, tmp_path, text):
    (tmp_path / "runs").mkdir()
    why = {"": "empty SMILES"}.get(text, "unreadable SM")
    why = "no such file" if text.startswith("nowhere") else why
    told = f"molecules: expected a file or a SMILES string, got {text!r} ({why}"
    with pytest.raises(OsanError, match=re.escape(told)):
        run("predict", own_run, text)


def test_predict_never_overwrites_its_table(own_run, tmp_path):
    for name in ("predictions.csv", "rejected.csv"):
        (tmp_path / name).write_text("mol\nCCO\nno molecule\n")
        with pytest.raises(OsanError, match=f"expected another file, got {name}, the table itself"):
            run("predict", own_run, tmp_path / name)
        assert (tmp_path / name).read_text() == "mol\nCCO\nno molecule\n"
    with pytest.raises(OsanError, match=r"out\.parquet: expected a \.csv or \.tsv file"):
        run("predict", own_run, "rejected.csv", "--out", "out.parquet", "--rejected", "bad.csv")
    with pytest.raises(OsanError, match=r"out\.xlsx: expected a \.csv or \.tsv file"):
        run("predict", own_run, "rejected.csv", "--out", "out.xlsx", "--rejected", "bad.csv")
    (tmp_path / "other.csv").write_text("name\nCCO\n")
    for words in (["predict", own_run, "other.csv"], ["embed", own_run, "other.csv", "--out", "e.npz"]):
        with pytest.raises(OsanError, match=r"column 'mol', .* name the column of SMILES with --smiles"):
            run(*words)


def test_evaluate_with_other_noise(own_run):
    noisy = json.loads(run("evaluate", own_run, "--json").stdout)
    quiet = json.loads(run("evaluate", own_run, "--noise", "none", "--json").stdout)
    assert -1 <= noisy["agreement"] < quiet["agreement"] <= 1
    assert quiet["mae"] != noisy["mae"]
    same = json.loads(run("evaluate", own_run, "--noise", "gumbel", "--json").stdout)
    assert same == noisy
    assert f"test agreement of samples {noisy['agreement']:.4f}" in run("evaluate", own_run).stdout
    learner, settings, _ = load_model(own_run)
    graphs, size = load_task(settings).test, settings.training.batch_size
    for words, samples in (((), 5), (("--samples", 20), 20), (("--samples", 1), 2)):
        found = json.loads(run("evaluate", own_run, *words, "--json").stdout)["agreement"]
        assert found == sample_agreement(learner, graphs, size, samples)
    with pytest.raises(
        OsanError, match=r"noise: expected 'gumbel', 'sum-of-gamma', 'gaussian', 'none' or .*, got 'loud'"
    ):
        run("evaluate", own_run, "--noise", "loud")


def test_evaluate_says_when_the_table_has_changed(tmp_path):
    """Other rows make another split; without a word, graphs of the training split would be scored as test."""
    molecules(tmp_path / "a.csv")
    run("train", "a.csv", "--smiles", "mol", "--target", "size", "--name", "mine", *TINY)
    same = run("evaluate", "runs/mine/seed-0", "--json")
    assert same.stderr == ""
    text = (tmp_path / "a.csv").read_text()
    (tmp_path / "a.csv").write_text(text.replace("CN,3,", "CN,4,"))
    changed = run("evaluate", "runs/mine/seed-0", "--json")
    assert "has changed since the run was trained" in changed.stderr
    assert json.loads(changed.stdout)["graphs"] == 4
    (tmp_path / "a.csv").write_text(text + "CCCCCCCCCCCCCCCCO,18,0\n")
    assert "has changed since the run was trained" in run("evaluate", "runs/mine/seed-0").stderr
    # Another atom leaves targets, sizes and splits as they are: older runs with a fingerprint of those,
    # cannot know.
    (tmp_path / "a.csv").write_text(text.replace("\nCN,", "\nCP,"))
    assert "has changed since the run was trained" in run("evaluate", "runs/mine/seed-0").stderr
    model = tmp_path / "runs/mine/seed-0/model.json"
    content = json.loads(model.read_text())
    content["task"]["fingerprint"] = content["task"]["fingerprint"][:64]
    content = {"format": "2", **{key: content[key] for key in ("custom", "task")}}  # without checksums
    model.write_text(json.dumps(content))
    assert run("evaluate", "runs/mine/seed-0").stderr == ""
    (tmp_path / "a.csv").write_text(text.replace("CN,3,", "CN,4,"))
    assert "has changed since the run was trained" in run("evaluate", "runs/mine/seed-0").stderr


def test_a_table_alone_gets_two_marks_and_can_be_trained_as_in_the_paper(tmp_path):
    molecules(tmp_path / "a.csv")
    table = ("a.csv", "--smiles", "mol", "--target", "size", "--epochs", "1")
    run("train", *table, "--name", "mine")
    chosen = read_settings(tmp_path / "runs/mine/seed-0/settings.toml")
    assert chosen.selection.policy == "mark 1 vertex x 2 distinct"
    assert (chosen.selection.weigher, chosen.selection.estimator) == ("prior", "straight-through")
    assert chosen.selection.whole_graph
    assert (chosen.data.descriptors, chosen.network.architecture) == (["rdkit2d", "morgan:1024"], "few-marks")
    assert chosen.training.patience is not None
    assert "predicted_size" in run("predict", "runs/mine/seed-0", "CCO").stdout
    run("train", *table, "--name", "paper", "--like-the-paper", "--encodings", "rwse:4,lap:2")
    paper = read_settings(tmp_path / "runs/paper/seed-0/settings.toml")
    assert (paper.selection.policy, paper.network.architecture) == ("", "osan")
    assert paper.data.encodings == ["rwse:4", "lap:2"]
    run("train", *table, "--name", "none", "--descriptors", "none", "--encodings", "none")
    bare = read_settings(tmp_path / "runs/none/seed-0/settings.toml")
    assert (bare.data.encodings, bare.data.descriptors) == ([], [])
    with pytest.raises(OsanError, match="use 'mark 1 vertex x 2 distinct'"):
        run("train", *table, "mark 1 vertex", "--subgraphs", "2", "--weigher", "degree")
    with pytest.raises(OsanError, match=r"encodings: expected 'cse:K'"):
        run("train", *table, "--encodings", "sce")


def test_brackets_of_a_smiles_are_shown_and_atoms_named(own_run):
    shown = run("explain", own_run, "c1cc[nH]c1", "--samples", "2").stdout
    assert "c1cc[nH]c1: delete 1 vertex x 2" in shown
    rows = [line.split("│")[1].strip() for line in shown.splitlines() if line.startswith("│")]
    assert rows == ["0 C", "1 C", "2 C", "3 N", "4 C"]


def test_a_test_graph_of_a_table_is_named_by_its_line(own_run):
    row = list(csv.DictReader((own_run / "predictions.csv").open()))[2]
    table = own_run.parents[2] / "molecules.csv"
    smiles = table.read_text().splitlines()[int(row["line"]) - 1].split(",")[0]
    found = json.loads(run("explain", own_run, "2", "--samples", "1", "--json").stdout)
    assert found["graph"] == f"test graph 2 of {table}, line {row['line']} ({smiles})"


def test_the_printed_folder_can_be_pasted_into_a_shell(tmp_path):
    """Whatever the table and its columns are called."""
    molecules(tmp_path / "my molecules.csv")
    text = (tmp_path / "my molecules.csv").read_text().replace("size", "size [nm]", 1)
    (tmp_path / "my molecules.csv").write_text(text)
    words = ("--smiles", "mol", "--target", "size [nm]", "--target", "other", *TINY)
    printed = run("train", "my molecules.csv", *words).stdout
    pasted = subprocess.run(
        f"printf %s {printed.strip().split('run folder ')[1]}", shell=True, capture_output=True, text=True
    )
    assert settings_of(tmp_path / pasted.stdout).data.targets == ["size [nm]", "other"]
    # Nothing but the name of the table itself needs quotes.
    assert "data.targets=size__nm_+other,network.layers=2" in printed


def test_predictions_of_the_run_are_those_of_predict(own_run, tmp_path):
    """Whatever the batches: joined by the line of the table, all that both tell is the same."""
    table = own_run.parents[2] / "molecules.csv"
    given = table.read_text().splitlines()
    run("predict", own_run, table)
    told = {row["line"]: row for row in csv.DictReader((tmp_path / "predictions.csv").open())}
    written = list(csv.DictReader((own_run / "predictions.csv").open()))
    assert len(written) == 4
    assert len(told) == 40
    for row in written:
        molecule, size, other = given[int(row["line"]) - 1].split(",")
        assert told[row["line"]]["mol"] == molecule
        assert (float(row["size"]), float(row["other"])) == pytest.approx((float(size), float(other)))
        for name in ("predicted_size", "predicted_size_spread", "predicted_other", "predicted_other_spread"):
            assert float(told[row["line"]][name]) == pytest.approx(float(row[name]), rel=1e-4, abs=1e-5)
    errors = [abs(float(r[t]) - float(r[f"predicted_{t}"])) for r in written for t in ("size", "other")]
    assert read_result(own_run).value == pytest.approx(sum(errors) / len(errors), rel=1e-6)
    assert any(float(row["predicted_size_spread"]) > 0 for row in written)


def test_recipe_and_its_name(osan_data, tmp_path):
    key = "ogbg-molesol/gin/imle/delete-1-vertex/x3"
    words = ("--recipe", key, "--seed", "3", "--set", "data.limit=20", "--set", "network.width=8")
    result = json.loads(run("train", *words, "--epochs", "1", "--quiet", "--json").stdout)
    assert result["metric"] == "rmse"
    assert result["seed"] == 3
    assert result["folder"].startswith(f"runs/{key}/data.limit=20,network.width=8,training.epochs=1")
    spelled = (
        "ogbg-molesol",
        "delete 1 vertex",
        "--subgraphs",
        "3",
        "--selection",
        "imle",
        "--runs",
        "others",
    )
    same = json.loads(run("train", *spelled, *words[2:], "--epochs", "1", "--quiet", "--json").stdout)
    assert same["value"] == result["value"]
    assert same["key"] == result["key"]


def test_optimizer_schedule_and_logger(tmp_path):
    words = ("--optimizer", "adamw", "--schedule", "cosine", "--logger", "csv", "--name", "mine")
    run("train", "planted-motif", "--set", "data.options.num_graphs=30", *words, *TINY)
    training = settings_of(tmp_path / "runs/mine/seed-0").training
    assert (training.optimizer, training.schedule) == ("adamw", "cosine")
    rows = list(csv.DictReader((tmp_path / "runs/mine/seed-0/logs/csv/metrics.csv").open()))
    assert [float(row["epoch"]) for row in rows] == [0, 1]
    with pytest.raises(OsanError, match=r"--set training.epochs: expected key=value"):
        run("train", "planted-motif", "--set", "training.epochs")


def test_recipes_are_listed_and_shown(tmp_path):
    listed = json.loads(run("recipes", "--json").stdout)
    assert len({row["key"] for row in listed}) == len(listed) == 193
    assert "ogbg-molesol/gin/baseline" in run("recipes", "--table", "t_mol").stdout
    shown = run("recipes", "show", "zinc/gin/baseline").stdout
    assert shown.startswith("# t_zc: MAE 0.207 ± 0.006 over 5 runs\n")
    from osan.experiments import recipe
    from osan.training.settings_files import read_settings

    (tmp_path / "shown.toml").write_text(shown)
    assert read_settings(tmp_path / "shown.toml") == recipe("zinc/gin/baseline").settings


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("train",), "expected one of a dataset, --recipe, --settings, --resume; got nothing"),
        (("train", "exp", "--recipe", "exp/gin/baseline"), "got a dataset and --recipe"),
        (("train", "nowhere.csv"), "dataset: expected a file, got 'nowhere.csv', which does not exist"),
        (("train", "exp", "--subgraphs", "3"), "--subgraphs needs a policy"),
        (
            ("train", "--recipe", "exp/gin/baseline", "--selection", "random"),
            "so --selection goes with a data",
        ),
        (("train", "exp", "delete it"), "policy: expected a text such as"),
        (("train", "exp", "--set", "training.epoch=3"), "did you mean 'training.epochs'?"),
        (
            ("train", "exp", "--selection", "magic", "delete 1 vertex"),
            "selection.estimator: expected 'imle', ",
        ),
        (("train", "--resume", "nowhere"), "not the folder of a run"),
        (("evaluate", "nowhere"), "not the folder of a run"),
        (("recipes", "show", "zinc"), "unknown recipe 'zinc'; did you mean 'zinc/"),
        (("recipes", "show", "#"), "unknown recipe '#'; osan recipes lists them"),
        (("recipes", "--table", "t"), "unknown table 't'; the paper has t_mol"),
    ],
)
def test_mistakes_are_one_line(words, message):
    with pytest.raises(OsanError) as caught:
        run(*words)
    assert message in str(caught.value)


def test_resume_takes_no_other_settings(own_run):
    with pytest.raises(OsanError, match=r"with its own settings; leave out training.epochs"):
        run("train", "--resume", own_run, "--epochs", "3")
    with pytest.raises(OsanError, match="with its own settings"):
        run("train", "--resume", own_run, "--network", "pna")
    assert "test mae" in run("train", "--resume", own_run).stdout


def test_ctrl_c_says_how_to_go_on(tmp_path):
    words = ["train", "planted-motif", "select 3 vertices", "--epochs", "500", "--name", "long", "--quiet"]
    words += ["--set", "machine.checkpoint_seconds=0", "--set", "network.width=8"]
    with subprocess.Popen(
        [sys.executable, "-m", "osan", *words],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"},
        stderr=subprocess.PIPE,
        text=True,
    ) as process:
        until = time.monotonic() + 600
        folder = tmp_path / "runs" / "long" / "seed-0"
        while not (folder / "checkpoint.ckpt").exists() and time.monotonic() < until:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        error = process.stderr.read()
    assert process.returncode == 130
    assert error == "osan: interrupted; continue with: osan train --resume runs/long/seed-0\n"
    assert settings_of(folder).training.epochs == 500


def test_numbers_that_look_like_classes(osan, tmp_path, monkeypatch):
    """One line says which option is probably missing."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{'C' * (i + 1)},{i % 2}" for i in range(12)]
    (tmp_path / "a.csv").write_text("\n".join(["smiles,active", *rows]) + "\n")
    words = ["train", "a.csv", "--target", "active", "--epochs", "1", "--quiet", "--set", "network.width=8"]
    with pytest.warns(UserWarning, match="active: all numbers are 0 or 1; .* --kind binary") as found:
        assert osan(*words).returncode == 0
    first = next(each for each in found if "--kind" in str(each.message))
    shown = warnings.formatwarning(first.message, first.category, first.filename, first.lineno)
    assert shown == f"osan: warning: {first.message}\n"
    assert "UserWarning" in warnings.formatwarning("x", UserWarning, "/elsewhere/a.py", 1)
