"""The page about one run: what it shows is what the run predicted, and nothing on it is markup of yours."""

import csv
import re
import shlex
import shutil
from html import escape
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from browser import chromium, opened
from typer.testing import CliRunner

import osan
from osan.cli import app
from osan.errors import OsanError
from osan.report import effects
from osan.report.choice_page import choice_page
from osan.report.command import command_of
from osan.report.run_figures import bins, parity
from osan.report.run_page import _coverage, confusion, target_figures
from osan.report.scored import Scored, read_scored
from osan.training import load_model, load_task
from osan.training.stored import read_info

pytest.importorskip("rdkit")

EVIL = "<img src=x onerror=alert(1)>"
SMALL = {"epochs": 2, "width": 8, "layers": 2, "progress": False}


class Tags(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def parsed(page):
    tags = Tags()
    tags.feed(page.path.read_text())
    return tags


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """Two targets with missing values, names that are markup, in a folder whose name is markup."""
    folder = tmp_path_factory.mktemp("runs") / "<b>bold"
    folder.mkdir()
    smiles = ["C" * n + end for n in range(1, 13) for end in ("O", "N", "Cl", "c1ccccc1")]
    rows = [[s, len(s) / 3, "" if i % 5 == 0 else s.count("C")] for i, s in enumerate(smiles)]
    with (folder / "a<i>.csv").open("w", newline="") as stream:
        csv.writer(stream).writerows([["smiles", EVIL, "count"], *rows])
    return osan.train(folder / "a<i>.csv", targets=[EVIL, "count"], runs=folder / "runs", **SMALL)


def test_the_page_shows_the_run_and_escapes_what_is_yours(run, tmp_path):
    page = run.report(tmp_path / "report.html")
    seen = parsed(page)
    text = " ".join(seen.texts)
    for name, value in run.scores.items():
        assert f"{value:.4g} {name}" in " ".join(text.split())
    assert not [attrs for tag, attrs in seen.tags if tag == "img" or "onerror" in attrs]
    assert "script" not in {tag for tag, _ in seen.tags}
    assert EVIL in text
    sources = [value for _, attrs in seen.tags for key, value in attrs.items() if key in ("src", "href")]
    assert all(source.startswith(("#", "data:")) for source in sources)
    assert sum(tag == "svg" for tag, _ in seen.tags) == 2 * 2 + min(12, len(read_rows(run))) + 3
    assert "<iframe" in page._repr_html_()
    assert "#010203" not in page.path.read_text()


def read_rows(run):
    with (run.folder / "predictions.csv").open() as stream:
        return list(csv.DictReader(stream))


def test_what_was_predicted_is_read_back(run):
    _, settings, info = load_model(run.folder)
    task = load_task(settings)
    scored = read_scored(run.folder, info)
    np.testing.assert_array_equal(scored.y, task.test.y.numpy())
    assert scored.lines == [task.lines[i] for i in task.test.ids.tolist()]
    rows = read_rows(run)
    assert scored.predicted[:, 1].tolist() == [float(row["predicted_count"]) for row in rows]
    # Brute force: the mean over known targets of the error over the deviation of the target.
    deviation = [np.nanstd(scored.y[:, i]) for i in range(2)]
    for row, error in zip(range(len(rows)), scored.errors, strict=True):
        known = [i for i in range(2) if not np.isnan(scored.y[row, i])]
        each = [abs(scored.predicted[row, i] - scored.y[row, i]) / deviation[i] for i in known]
        assert error == pytest.approx(sum(each) / len(each))
    assert scored.worst(3) == sorted(range(len(rows)), key=lambda i: -scored.errors[i])[:3]


def test_coverage_is_that_of_the_result(run):
    scored = read_scored(run.folder, read_info(run.folder))
    shares = [
        (share, int((~np.isnan(scored.y[:, i])).sum())) for i, (_, share, _) in enumerate(_coverage(scored))
    ]
    whole = sum(share * count for share, count in shares) / sum(count for _, count in shares)
    assert whole == pytest.approx(run.result.intervals["coverage"])
    assert f"<b>{100 * whole:.1f} %</b>" in run.report().path.read_text()


def test_the_command_repeats_the_run(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = shlex.split(command_of(run.settings))
    assert words[:2] == ["osan", "train"]
    done = CliRunner().invoke(app, [*words[1:], "--runs", "again", "--quiet"])
    assert done.exit_code == 0, done.output
    (again,) = (tmp_path / "again").glob("**/seed-0")
    assert (again / "model.safetensors").read_bytes() == (run.folder / "model.safetensors").read_bytes()
    assert command_of(run.settings.changed({"data.dataset": "custom:mine"})) == ""


def test_the_command_on_the_command_line(run, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(app, ["report", str(run.folder)], catch_exceptions=False)
    assert done.output.strip() == "wrote report.html"
    assert EVIL not in (tmp_path / "report.html").read_text()


def test_without_its_data_or_with_damaged_predictions(run, tmp_path):
    folder = tmp_path / "seed-0"
    shutil.copytree(run.folder, folder)
    settings = (folder / "settings.toml").read_text().replace("a<i>.csv", "gone.csv")
    (folder / "settings.toml").write_text(settings)
    page = osan.open_run(folder).report()
    assert page.path == folder / "report.html"
    assert "No pictures: dataset: expected a file" in page.path.read_text()
    (folder / "predictions.csv").write_text("graph,line,other\n1,2,3\n")
    with pytest.raises(OsanError, match="expected the predictions of this run"):
        osan.open_run(folder).report()
    (folder / "result.json").unlink()
    with pytest.raises(OsanError, match="the run is not finished"):
        osan.open_run(folder).report()


def test_graphs_that_are_no_molecules(trained):
    (folder,) = trained.glob("**/seed-0")
    page = osan.open_run(folder).report(folder / "page.html")
    assert page.path.read_text().count('data-atom="0"') == 5


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    smiles = ["C" * n + end for n in range(1, 12) for end in ("O", "N", "Cl")]
    table = {"smiles": smiles, "kind": [EVIL if "O" in s else "n" if "N" in s else "=1+1" for s in smiles]}
    folder = tmp_path_factory.mktemp("classes")
    return osan.train(table, targets="kind", kind="multiclass", split="kfold:3", runs=folder, **SMALL)


def test_several_classes(classes, tmp_path):
    info = read_info(classes.folder)
    scored = read_scored(classes.folder, info)
    # A spreadsheet would run the last class; the file has it with an apostrophe.
    rows = [{**row, "kind": row["kind"].removeprefix("'")} for row in read_rows(classes)]
    assert {row["kind"] for row in rows} == {EVIL, "n", "=1+1"}
    assert [info.class_names[int(c)] for c in scored.y[:, 0]] == [row["kind"] for row in rows]
    # Earlier runs have the name class for every target.
    older = tmp_path / "older"
    shutil.copytree(classes.folder, older)
    content = (older / "predictions.csv").read_text()
    assert content.startswith("graph,line,kind,")
    (older / "predictions.csv").write_text(content.replace("kind", "class", 1))
    np.testing.assert_array_equal(read_scored(older, info).y, scored.y)
    table = confusion(scored)
    for i, true in enumerate(info.class_names):
        for j, guess in enumerate(info.class_names):
            chances = [[float(row[f"probability_{name}"]) for name in info.class_names] for row in rows]
            count = sum(
                row["kind"] == true and info.class_names[int(np.argmax(chance))] == guess
                for row, chance in zip(rows, chances, strict=True)
            )
            assert table[i][j] == count
    right = [float(row[f"probability_{row['kind']}"]) for row in rows]
    np.testing.assert_allclose(scored.errors, 1 - np.array(right))
    # Those of each class, and of all, as the result has them.
    covered = {name: (share, width) for name, share, width in _coverage(scored)}
    counts = {name: sum(row["kind"] == name for row in rows) for name in covered}
    for i, wanted in enumerate(("coverage", "width")):
        mean = sum(covered[name][i] * counts[name] for name in covered) / len(rows)
        assert mean == pytest.approx(classes.result.intervals[wanted])
    looked = choice_page(effects(classes.folder, graphs=2, samples=2, draws=1))
    assert all(f"<span>target {escape(row['kind'])}</span>" in looked for row in rows[:2])
    text = classes.report().path.read_text()
    assert "<h2>Prediction sets</h2>" in text
    seen = sum(
        max(info.class_names, key=lambda n: float(row[f"probability_{n}"])) == row["kind"] for row in rows
    )
    assert text.count(", which is right</div>") == seen
    assert EVIL not in text
    assert text.count("<figcaption>") == 3 + min(12, len(rows)) + 3


def of(kind, y, predicted, **more):
    y = np.array(y, dtype=np.float64).reshape(len(y), -1)
    targets = tuple(f"t{i}" for i in range(y.shape[1]))
    info = SimpleNamespace(kind=kind, targets=targets)
    return Scored(info, y, np.array(predicted, dtype=np.float64).reshape(len(y), -1), [], **more)


def test_figures_of_one_class_and_of_no_target():
    caption = [words for _, words in target_figures(of("binary", [1, 1], [0.2, 0.9]), 0)]
    assert len(caption) == 1
    assert caption[0].startswith("Calibration")
    assert len(target_figures(of("binary", [0, 1], [0.2, 0.9]), 0)) == 3
    assert target_figures(of("regression", [np.nan], [1.0]), 0) == []
    assert len(target_figures(of("regression", [2.0], [2.0]), 0)) == 2


def test_bins_and_coverage_by_brute_force():
    generator = torch.Generator().manual_seed(0)
    probability = torch.rand(200, generator=generator).double().numpy()
    label = (torch.rand(200, generator=generator) < 0.4).double().numpy()
    probability[0] = 1.0
    mean, share, count = bins(label, probability)
    expected = []
    for b in range(10):
        inside = [i for i in range(200) if b / 10 <= probability[i] < (b + 1) / 10 or (b == 9 and i == 0)]
        expected.append((probability[inside].mean(), label[inside].mean(), len(inside)))
    np.testing.assert_allclose(np.stack([mean, share, count], 1), expected)
    low, high = np.array([[0.0], [0.0], [0.0]]), np.array([[2.0], [4.0], [6.0]])
    scored = of("regression", [1.0, 5.0, np.nan], [1.0, 1.0, 1.0], lower=low, upper=high)
    assert _coverage(scored) == [("t0", 0.5, 3.0)]
    assert "currentColor" in target_figures(scored, 0)[0][0]
    assert _coverage(of("regression", [1.0], [1.0])) == []


@pytest.mark.parametrize("width", [1280, 390])
def test_the_page_fits_a_screen(run, tmp_path, width):
    complaints: list[str] = []
    chromium()
    page = run.report(tmp_path / "report.html")
    with opened(page.path, complaints, width=width, color_scheme="dark") as shown:
        assert shown.evaluate("document.documentElement.scrollWidth") <= width
        assert shown.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(22, 24, 27)"
        assert re.match(r"rgb\(236", shown.evaluate("getComputedStyle(document.querySelector('svg')).color"))
    assert complaints == []


def test_an_ensemble_has_a_page(ensemble, tmp_path):
    run = osan.open_run(ensemble)
    text = run.report(tmp_path / "page.html", worst=2).path.read_text()
    # What is chosen is that of all members.
    assert "What is marked in any subgraph is orange, paler if fewer members agree." in text
    assert "by the choice without noise of every member." in text
    assert f"its members reach {', '.join(f'{value:.4g}' for value in run.result.members)}." in text
    assert "Learning curves" in text
    assert "--set ensemble=3" in text
    assert f"torch {torch.__version__}" in text


def test_the_numbers_of_a_parity_plot_do_not_touch():
    y = np.linspace(-15.8, 2.7, 20)
    texts = re.findall(r">([^<>]+)</text>", parity(y, y))
    numbers = [text for text in texts if re.fullmatch(r"[-−]?[0-9.]+", text)]
    assert 4 <= len(numbers) <= 12  # on both axes
