"""Pictures of colorings show what the colorings say."""

from __future__ import annotations

import networkx as nx
import pytest
from matplotlib.collections import PathCollection
from typer.testing import CliRunner

from osan import wl
from osan.cli import app
from osan.errors import OsanError
from osan.graphs import bicyclopentyl, cycle_pair, decalin


def fills(panel):
    (vertices,) = (c for c in panel.collections if isinstance(c, PathCollection))
    return [tuple(row) for row in vertices.get_facecolors()]


@pytest.mark.parametrize("test", [wl.WLTest("wl"), wl.WLTest("oswl", 1), wl.WLTest("wl", 2)])
def test_equal_colors_are_equal_shades(test):
    pair = (decalin(), bicyclopentyl())
    coloring = wl.refine(pair, test)
    panels = wl.draw(pair, coloring).axes
    drawn = [fill for panel in panels for fill in fills(panel)]
    colors = [c for colors in coloring.vertex_colors for c in colors.tolist()]
    assert len(drawn) == len(colors) == 20
    # There are fewer colors than shades, so shades are equal if and only if colors are.
    assert len(set(zip(drawn, colors, strict=True))) == len(set(drawn)) == len(set(colors)) < 20
    assert [text.get_text() for panel in panels for text in panel.texts] == [str(c) for c in colors]


def test_subgraphs_have_panels_of_their_own():
    graphs = [nx.path_graph(4), nx.star_graph(3)]
    coloring = wl.refine(graphs, "vs-oswl", k=1, operation="delete")
    panels = wl.draw(graphs, coloring, limit=6).axes
    assert [panel.get_title().split(", ")[1] for panel in panels] == [
        f"subgraph ({v},)" for v in (0, 1, 2)
    ] * 2
    # What is deleted is pale and has no number.
    for panel, gone in zip(panels, (0, 1, 2) * 2, strict=True):
        numbers = [text.get_text() for text in panel.texts]
        assert len(numbers) == 3
        red, green, blue, _ = fills(panel)[gone]
        assert red == green == blue > 0.9


def test_other_graphs_are_refused():
    with pytest.raises(OsanError, match="expected the 2 graphs that were colored"):
        wl.draw([nx.path_graph(3)] * 2, wl.refine(cycle_pair(3), "wl"))


def test_on_the_command_line(tmp_path):
    (tmp_path / "a.g6").write_text("DQc\nDhc\n")
    words = ["wl", "color", str(tmp_path / "a.g6"), "--out"]
    assert CliRunner().invoke(app, [*words, str(tmp_path / "a.svg")]).exit_code == 0
    assert "graph 1: color" in (tmp_path / "a.svg").read_text()
    wrong = CliRunner().invoke(app, [*words, str(tmp_path / "a.gif")])
    assert "expected a name that ends in .svg or .png" in str(wrong.exception)
