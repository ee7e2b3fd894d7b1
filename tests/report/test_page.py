"""The page: what it says, and that it needs nothing else."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from osan.errors import OsanError
from osan.experiments import recipe
from osan.report import (
    by_name,
    find_runs,
    group_records,
    plot_comparison,
    plot_curves,
    read_records,
    write_page,
)
from osan.report.pictures import svg


class Page(HTMLParser):
    """The tags, sources and text of a page."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.sources, self.words, self.open = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href", "data", "srcset")]
        if tag not in ("meta", "img"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


@pytest.fixture
def page(molesol):
    out = molesol.parent / "report.html"
    write_page(molesol, out)
    return out.read_text()


def test_tables_failures_and_counts(page):
    words = "".join(Page(page).words)
    assert "5 runs finished, 1 failed, 1 unfinished" in words
    assert "1.100 ± 0.100" in words
    assert "1.193 ± 0.083" in words
    assert "ogbg-molesol, GIN (table t_mol)" in words
    assert "disk <full>" in words
    assert "disk <full>" not in page  # what comes from files is escaped
    assert "zinc" not in words


def test_nothing_is_fetched(page):
    parsed = Page(page)
    assert parsed.open == []
    assert not {"script", "link", "iframe"} & set(parsed.tags)
    assert parsed.sources
    assert all(source.startswith("data:image/svg+xml;base64,") for source in parsed.sources)
    assert "url(" not in page
    assert "@import" not in page
    for source in parsed.sources:
        picture = base64.b64decode(source.split(",", 1)[1]).decode()
        ElementTree.fromstring(picture)
        links = re.findall(r'(?:href|src)="([^"]*)"', picture)
        assert all(link.startswith("#") for link in links)


def test_curves_show_the_metrics(molesol):
    groups = by_name(find_runs(molesol, "ogbg-molesol/gin/baseline"))
    left, right = plot_curves(groups).axes
    # Three thin lines and their mean.
    assert [np.asarray(line.get_ydata()).tolist() for line in left.lines] == [pytest.approx([1.2, 1.1])] * 4
    assert [np.asarray(line.get_ydata()).tolist() for line in right.lines] == [pytest.approx([1.5, 1.0])] * 4
    assert left.get_ylabel() == "validation rmse"


def test_curves_of_learned_choices_show_kappa(tmp_path, write_run):
    settings = recipe("ogbg-molesol/gin/baseline").settings
    lines = "epoch,train_loss,val_rmse,kappa\n0,1,4,0.1\n1,1,2,0.3\n"
    write_run(tmp_path, settings, None, metrics=lines)
    write_run(tmp_path, settings.changed({"name": "plain"}), None)
    left, _, right = plot_curves(by_name(find_runs(tmp_path))).axes
    assert right.get_ylabel() == "kappa"
    assert [line.get_ydata().tolist() for line in right.lines if len(line.get_ydata())] == [[0.1, 0.3]]
    assert len(left.lines) == 2


def test_curves_show_where_training_starts_over(tmp_path, write_run):
    choice = {"selection.policy": "mark 1 vertex", "selection.settle": 0.5, "selection.settle_on": "best"}
    settings = recipe("ogbg-molesol/gin/baseline").settings.varied(
        {**choice, "selection.starts": 3, "training.epochs": 4}, "starts"
    )
    lines = "".join(f"{epoch},1,2,0.5\n" for epoch in range(7))
    write_run(tmp_path, settings, None, metrics=f"epoch,train_loss,val_rmse,kappa\n{lines}")
    for panel in plot_curves(by_name(find_runs(tmp_path))).axes:
        assert [list(line.get_xdata()) for line in panel.lines[1:]] == [[x, x] for x in (1.5, 3.5, 5.5)]


def test_mean_of_runs_of_different_length(tmp_path, write_run):
    settings = recipe("ogbg-molesol/gin/baseline").settings
    head = "epoch,train_loss,val_rmse\n"
    write_run(tmp_path, settings, None, metrics=head + "0,1,4\n1,1,2\n")
    write_run(tmp_path, settings.changed({"seed": 1}), None, metrics=head + "0,3,6\n")
    left, right = plot_curves(by_name(find_runs(tmp_path))).axes
    assert left.lines[-1].get_ydata().tolist() == [5.0, 2.0]
    assert right.lines[-1].get_ydata().tolist() == [2.0, 1.0]


def test_own_runs_and_example_subgraphs(trained, tmp_path):
    write_page(trained, tmp_path / "a.html", title="mine & yours")
    parsed = Page((tmp_path / "a.html").read_text())
    words = "".join(parsed.words)
    assert "mine & yours" in words
    assert "small/learned" in words
    assert "Example subgraphs" in words
    assert "Darker vertices are deleted more often (100 samples)" in words
    assert len(parsed.sources) == 2
    write_page(trained, tmp_path / "b.html", examples=0)
    assert "Example subgraphs" not in (tmp_path / "b.html").read_text()


NAMES = ("m$\\frac{$", "n[/b]", "_hidden", "a$b$", "<b>&amp;", ":star:", "{x}")


@pytest.fixture
def oddly_named(tmp_path, write_run):
    """Runs whose names would be markup for matplotlib, rich, HTML, Markdown or Python's format."""
    settings = recipe("ogbg-molesol/gin/baseline").settings
    for name in NAMES:
        write_run(tmp_path / "runs", settings.changed({"name": f"ogbg-molesol/{name}"}), 1.0)
    return tmp_path / "runs"


def test_names_are_shown_as_they_are(oddly_named, tmp_path):
    write_page(oddly_named, tmp_path / "a.html")
    parsed = Page((tmp_path / "a.html").read_text())
    assert all(f"ogbg-molesol/{name}" in parsed.words for name in NAMES)
    (source,) = parsed.sources
    picture = ElementTree.fromstring(base64.b64decode(source.split(",", 1)[1]))
    shown = {element.text for element in picture.iter("{http://www.w3.org/2000/svg}text")}
    assert set(NAMES) <= shown
    compared = ElementTree.fromstring(svg(plot_comparison(group_records(read_records(oddly_named)))))
    shown = {element.text for element in compared.iter("{http://www.w3.org/2000/svg}text")}
    assert {f"{name}  (1)" for name in NAMES} <= shown


def test_commands_show_names_as_they_are(oddly_named, tmp_path, monkeypatch):
    """On a terminal, too, where rich reads markup in progress messages."""
    from typer.testing import CliRunner

    from osan.cli import app

    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "200")
    for words in (
        ["report", "--runs", str(oddly_named), "--out", str(tmp_path / "b.html")],
        ["runs", str(oddly_named)],
        ["table", "t_mol", "--runs", str(oddly_named)],
        ["runs", str(oddly_named), "--format", "csv"],
    ):
        result = CliRunner().invoke(app, words, catch_exceptions=False)
        assert result.exit_code == 0
        if words[0] != "report":
            assert all(name in result.stdout for name in NAMES), words


def test_no_runs(tmp_path):
    with pytest.raises(OsanError, match="expected at least one run in"):
        write_page(tmp_path, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("file", "content"),
    [
        ("result.json", b'{"key": 3}'),
        ("result.json", b"[" * 100_000),
        ("settings.toml", b"\xff"),
        ("failed.json", b"[]"),
        ("metrics.csv", b"epoch\n0\n\xff,\0\n"),
        ("environment.json", b'{"versions": []}'),
    ],
)
def test_a_damaged_run_is_listed_and_the_others_are_shown(molesol, tmp_path, file, content):
    """Neither a page nor a list of runs fails for one file."""
    folder = next(molesol.glob("**/baseline/seed-1"))
    (folder / file).write_bytes(content)
    damaged = []
    records = read_records(molesol, damaged.append)
    if file in ("result.json", "settings.toml", "failed.json"):
        assert [run.folder for run in damaged] == [folder]
        assert len(records) == 4
    else:
        assert not damaged
        assert len(records) == 5
    if file in ("settings.toml", "metrics.csv", "environment.json"):  # drawing takes a second
        write_page(molesol, tmp_path / "page.html")
        assert ("damaged: " in (tmp_path / "page.html").read_text()) == bool(damaged)
