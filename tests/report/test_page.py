"""The page: what it says, and that it needs nothing else."""

import base64
import re
from html.parser import HTMLParser
from xml.etree import ElementTree

import numpy as np
import pytest

from osan.errors import OsanError
from osan.report.curves import curves
from osan.report.page import write_page
from osan.report.runs import by_name, find_runs


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
    left, right = curves(groups).axes
    # Three thin lines and their mean.
    assert [np.asarray(line.get_ydata()).tolist() for line in left.lines] == [pytest.approx([1.2, 1.1])] * 4
    assert [np.asarray(line.get_ydata()).tolist() for line in right.lines] == [pytest.approx([1.5, 1.0])] * 4
    assert left.get_ylabel() == "validation rmse"


def test_mean_of_runs_of_different_length(tmp_path, write_run):
    from osan.experiments import recipe

    settings = recipe("ogbg-molesol/gin/baseline").settings
    head = "epoch,train_loss,val_rmse\n"
    write_run(tmp_path, settings, None, metrics=head + "0,1,4\n1,1,2\n")
    write_run(tmp_path, settings.changed({"seed": 1}), None, metrics=head + "0,3,6\n")
    left, right = curves(by_name(find_runs(tmp_path))).axes
    assert left.lines[-1].get_ydata().tolist() == [5.0, 2.0]
    assert right.lines[-1].get_ydata().tolist() == [2.0, 1.0]


def test_own_runs_and_example_subgraphs(trained, tmp_path):
    write_page(trained, tmp_path / "a.html", title="mine & yours")
    parsed = Page((tmp_path / "a.html").read_text())
    words = "".join(parsed.words)
    assert "mine & yours" in words
    assert "small/learned" in words
    assert "Example subgraphs" in words
    assert "The darker, the oftener vertices are deleted (100 samples)" in words
    assert len(parsed.sources) == 2
    write_page(trained, tmp_path / "b.html", examples=0)
    assert "Example subgraphs" not in (tmp_path / "b.html").read_text()


def test_no_runs(tmp_path):
    with pytest.raises(OsanError, match="no run in"):
        write_page(tmp_path, tmp_path / "a.html")
    assert list(tmp_path.iterdir()) == []
