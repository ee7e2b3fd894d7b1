"""The explorer page: what it refines, in a real browser, against the library."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import subprocess
from itertools import product
from typing import Any

import numpy as np
import pytest
from browser import opened
from explorer_pairs import asked, cases, random_pair, verdict
from typer.testing import CliRunner

from osan.cli import app
from osan.errors import OsanError
from osan.graphs import Graph, cycle_pair, decode_graph6, encode_graph6
from osan.report.explore import _molecules, _plain, explorer_page, presets, script

SMALL = 16  # presets up to this size are compared in every test; larger ones take longer


@pytest.fixture(scope="module")
def explorer(tmp_path_factory):
    """The page in a browser; it must not complain about anything."""
    path = tmp_path_factory.mktemp("explorer") / "explorer.html"
    path.write_text(explorer_page(), encoding="utf-8")
    complaints = []
    with opened(path, complaints) as page:
        yield page
        assert complaints == []


def test_one_small_file_without_links(tmp_path):
    done = CliRunner().invoke(app, ["explore", "EhEG", "EwCW", "--out", str(tmp_path / "a.html")])
    assert done.exit_code == 0
    text = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert len(text) < 1_000_000
    assert "src=" not in text
    assert "@import" not in text
    assert text.count("<script") == 2  # labels cannot end a script


def test_graphs_that_a_page_cannot_show_are_refused():
    loop, arcs = Graph(2, [(0, 0)]), Graph(2, [(0, 1)], directed=True)
    for graph, word in ((loop, "no loops"), (arcs, "undirected"), (Graph(201), "at most 200")):
        with pytest.raises(OsanError, match=word):
            explorer_page((graph, graph))
    marked = Graph(1, vertex_labels=["</script>"])
    assert '</script>"' not in explorer_page((marked, marked))


def test_verdicts_are_those_of_the_library(explorer):
    rng = np.random.default_rng(0)
    pairs = [random_pair(rng) for _ in range(3)]
    pairs += [
        pair for pair in presets().values() if pair[0].num_vertices <= SMALL and pair[0].vertex_labels is None
    ]
    every = cases()
    questions = [question for pair in pairs for question in asked(*pair, every)]
    answers = explorer.evaluate("all => all.map((each) => Osan.distinguishes(...each))", questions)
    wrong = [
        (question, answer)
        for question, answer in zip(questions, answers, strict=True)
        if answer != verdict(decode_graph6(question[0]), decode_graph6(question[1]), *question[2:])
    ]
    assert wrong == []
    assert 0.1 < np.mean(answers) < 0.9


def labeled_pairs() -> list[tuple[Graph, Graph]]:
    """Pairs in which the same labels have different forms, or different ones look alike."""
    vertex: list[Any] = [None, [None, None], ["", ""], ["1", "1"], [1, 1], [1.0, True], ["none", "none"]]
    vertex += [["C", "O"], ["C", None], [None, "C"], ["C", 1], ["C", "1"], ["'1'", 1], ["null", (1, None)]]
    graphs = [Graph(2, [(0, 1)], vertex_labels=labels) for labels in vertex]
    edge: list[Any] = [None, [None], [""], ["1"], [1], [1.0], ["none"]]
    graphs += [Graph(2, [(0, 1)], edge_labels=labels) for labels in edge]
    path: list[Any] = [["", None], [None, None], ["a", None], [None, "a"]]
    graphs += [Graph(3, [(1, 2), (0, 1)], edge_labels=labels) for labels in path]
    return list(product(graphs, graphs))


def test_labels_mean_what_they_mean_to_the_library():
    """In Node, which takes no browser: the labels of both graphs together, and no label as such."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs Node: apt install nodejs")
    pairs = labeled_pairs()
    given = [_plain("", *pair)["pair"] for pair in pairs]
    ids = ["wl1", "wl2", "oswl1", "delete-vertex"]
    lines = [
        script(),
        f"const all = {json.dumps(given)}, ids = {json.dumps(ids)};",
        'const tells = (pair, id) => Osan.distinguishes(...pair.map(Osan.asGraph), id, "vertex", 1);',
        "console.log(JSON.stringify(all.map((pair) => ids.map((id) => tells(pair, id)))));",
    ]
    done = subprocess.run([node, "-"], input="\n".join(lines), capture_output=True, text=True, check=True)
    wanted = [[verdict(*pair, name, "vertex", 1) for name in ids] for pair in pairs]
    assert json.loads(done.stdout) == wanted
    assert 0.1 < np.mean(wanted) < 0.95


def test_labels_of_vertices_and_edges_count(explorer):
    known = _molecules()
    aromatic, other = known["c1ccccc1"], known["C1CCCCC1"]
    tells = """([a, b]) => Osan.separated(Osan.refine([a, b].map(Osan.asGraph), Osan.testOf("wl1")))"""
    assert explorer.evaluate(tells, [aromatic, other])
    assert not explorer.evaluate(tells, [other, other])
    assert not explorer.evaluate(tells, [{**other, "labels": None}, {"g6": encode_graph6(cycle_pair(3)[1])}])


def test_two_marks_on_a_strongly_regular_pair_take_less_than_three_seconds(explorer):
    a, b = presets()["strongly regular, 25 vertices"]
    clock = explorer.context.new_cdp_session(explorer)
    clock.send("Performance.enable")

    def seconds():
        """Processor time: other work on the machine does not count."""
        metrics = clock.send("Performance.getMetrics")["metrics"]
        return next(each["value"] for each in metrics if each["name"] == "ThreadTime")

    before = seconds()
    script = """([a, b]) => Osan.distinguishes(a, b, "oswl2", "vertex")"""
    assert explorer.evaluate(script, [encode_graph6(a), encode_graph6(b)])
    assert 0 < seconds() - before < 3


def test_what_a_visitor_does(explorer):
    """Choose, step, mark by pointer and key, draw, read text; the address and the Python lines say it all."""
    page = explorer
    page.select_option("#preset", label="decalin and bicyclopentyl")
    assert "1-WL cannot tell them apart" in page.inner_text("#verdict")
    page.select_option("#test", "delete-edge")
    assert page.inner_text("#verdict").startswith("Edge-deleted subgraphs (per vertex) tell them apart")
    page.select_option("#test", "oswl1")
    assert "1-OSWL (per vertex) tells them apart after round 2" in page.inner_text("#verdict")
    page.locator("h1").click()
    page.keyboard.press("Home")
    assert page.inner_text("#round-text").startswith("round 0 of 4")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("Osan.state.round") == 1
    page.click("#a .vertex[data-v='3'] .disc")
    assert page.evaluate("Osan.state.subgraph") == [3, 0]
    place, goal = (page.locator(f"#a .vertex[data-v='{v}'] .disc").bounding_box() for v in (3, 5))
    page.mouse.move(place["x"] + 9, place["y"] + 9)
    page.mouse.down()
    page.mouse.move(goal["x"] + 9, goal["y"] + 9, steps=4)
    page.mouse.up()
    page.focus("#b .vertex[data-v='7']")
    page.keyboard.press("Enter")
    assert page.evaluate("Osan.state.subgraph") == [5, 7]
    page.hover("#a .vertex[data-v='5'] .disc")
    assert "Vertex 5 of decalin, mark at 5" in page.inner_text("#why")
    assert page.locator("#a .vertex.lit").count() == 1
    page.mouse.move(1, 1)
    page.locator("h1").click()  # nothing is lit up any more
    seen = [page.inner_text("#verdict"), page.inner_html("#b"), page.input_value("#python")]
    page.goto(page.url.partition("#")[0] + "#" + page.url.partition("#")[2] + "&")  # the same, opened anew
    page.reload()
    assert [page.inner_text("#verdict"), page.inner_html("#b"), page.input_value("#python")] == seen
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(seen[2], {})
    assert out.getvalue() == "True\n"
    assert page.evaluate("Osan.exportSvg()").startswith("<svg xmlns=")
    page.click("#edit-a")
    page.click("#clear-a")
    box = page.locator("#a").bounding_box()
    for x in (60, 160, 60, 160):  # two vertices, then an edge
        page.mouse.click(box["x"] + x, box["y"] + 80)
    assert page.evaluate("Osan.encodeGraph6(Osan.state.graphs[0])") == "A_"
    page.click("#edit-a")
    for text, expected in (("0 1\n1 2\n2 0", "Bw"), ("010\n101\n010", "Bg"), ("EhEG", "EhEG")):
        page.evaluate("text => { document.getElementById('text-b').value = text; }", text)
        page.evaluate("document.getElementById('read-b').click()")
        assert page.evaluate("Osan.encodeGraph6(Osan.state.graphs[1])") == expected
    page.evaluate("document.getElementById('text-b').value = '0 1;1 x'")
    page.evaluate("document.getElementById('read-b').click()")
    assert "expected numbers of vertices" in page.text_content("#error-b")


def test_by_keyboard_alone(explorer):
    """A vertex that has the focus stays explained while rounds, marks and tests change."""
    page = explorer
    page.select_option("#preset", label="decalin and bicyclopentyl")
    page.select_option("#test", "oswl1")
    page.mouse.move(1, 1)
    page.focus("#edit-a")
    for _ in range(4):
        page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.dataset.v") == "3"
    assert "Vertex 3 of decalin, mark at 0" in page.inner_text("#why")
    page.keyboard.press("Home")
    assert "is a color of the start" in page.inner_text("#why")
    page.keyboard.press("ArrowRight")
    assert "after round 1: it was" in page.inner_text("#why")
    page.keyboard.press("Enter")
    assert "Vertex 3 of decalin, mark at 3" in page.inner_text("#why")
    assert page.locator("#a .vertex.lit").count() == 1
    page.keyboard.press("Tab")
    assert "Vertex 4 of decalin, mark at 3" in page.inner_text("#why")


@pytest.mark.parametrize("preset", ["hexagon and two triangles", "CFI graphs over a triangle"])
def test_lines_of_python_print_what_the_page_says(explorer, preset):
    """With and without labels, for every test."""
    explorer.select_option("#preset", label=preset)
    for name, aggregation, _ in dict.fromkeys((*case[:2], 1) for case in cases()):
        explorer.select_option("#test", name)
        if explorer.is_visible("#aggregation"):
            explorer.select_option("#aggregation", aggregation)
        lines = explorer.input_value("#python")
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(lines, {})
        said = "cannot tell them apart" not in explorer.inner_text("#verdict")
        assert out.getvalue() == f"{said}\n"
        assert lines.endswith(f"# {said}")


def test_more_edge_labels_than_fit_into_six_bits(explorer):
    """Two stars whose edges differ only in the last of 70 labels."""
    script = """() => {
        const star = (last) => Osan.graph(72, Array.from({ length: 71 }, (_, i) =>
            [0, i + 1, `${i < 70 ? i : last}`]));
        const tells = (a, b) => Osan.separated(Osan.refine([a, b], Osan.testOf("wl1")));
        return [tells(star(5), star(6)), tells(star(5), star(5))];
    }"""
    assert explorer.evaluate(script) == [True, False]


def test_nothing_sticks_out_on_a_phone(explorer):
    explorer.set_viewport_size({"width": 390, "height": 800})
    assert explorer.evaluate("document.documentElement.scrollWidth") <= 390
    explorer.click("#edit-b")
    assert explorer.evaluate("document.documentElement.scrollWidth") <= 390
    explorer.click("#edit-b")


def test_fingers_on_a_phone(explorer):
    """Taps explain vertices and draw; a chosen molecule is shown at once."""
    page = explorer.context.browser.new_page(
        viewport={"width": 390, "height": 800}, has_touch=True, is_mobile=True
    )
    page.goto(explorer.url.partition("#")[0])
    page.select_option("#test", "oswl1")
    page.tap("#a .vertex[data-v='2'] .disc")
    assert "Vertex 2 of hexagon, mark at 2" in page.inner_text("#why")
    assert page.locator("#a .vertex.lit").count() == 1
    box = page.locator("#a").bounding_box()
    page.touchscreen.tap(box["x"] + 5, box["y"] + 5)
    assert page.locator(".vertex.lit").count() == 0
    page.tap("#edit-a")
    page.tap("#clear-a")
    box = page.locator("#a").bounding_box()
    for x in (60, 260, 60, 260):  # two vertices, then an edge
        page.touchscreen.tap(box["x"] + x, box["y"] + 80)
    assert page.evaluate("Osan.encodeGraph6(Osan.state.graphs[0])") == "A_"
    assert page.inner_text("#name-a") == "your graph · 2 vertices, 1 edge"
    assert 0 <= box["y"] < 400  # the page came to the free area
    page.tap("#edit-a")
    page.tap("#panel-b summary")
    page.select_option("#smiles-b", "CC(C)CO")
    assert page.inner_text("#name-b") == "CC(C)CO · 5 vertices, 4 edges"
    page.close()


def test_graph6_is_read_and_written_as_in_the_library(explorer):
    rng = np.random.default_rng(1)
    sizes = [0, 1, 2, 5, 62, 63, 64, 100]
    graphs = [Graph(n, np.argwhere(np.triu(rng.random((n, n)) < 0.3, 1))) for n in sizes]
    texts = [encode_graph6(graph) for graph in graphs]
    read = explorer.evaluate("all => all.map((each) => JSON.stringify(Osan.decodeGraph6(each).edges))", texts)
    for graph, found in zip(graphs, read, strict=True):
        assert sorted([u, v] for u, v, _ in json.loads(found)) == sorted(graph.edges.tolist())
    assert (
        explorer.evaluate("all => all.map((each) => Osan.encodeGraph6(Osan.decodeGraph6(each)))", texts)
        == texts
    )
