"""The table of tests: every entry is complete, and a test of the user is one file."""

from pathlib import Path

import networkx as nx
import pytest

from osan.errors import OsanError
from osan.graphs import Graph, write_graphs
from osan.wl import PLANS, WLTest, refine


@pytest.mark.parametrize("name", PLANS)
def test_every_entry_builds_what_it_promises(name):
    test = WLTest(name)
    coloring = refine([Graph(3, [(0, 1)]), Graph(0), Graph(2)], test)
    assert coloring.test is test
    assert (coloring.vertex_colors is None) or [len(c) for c in coloring.vertex_colors] == [3, 0, 2]
    assert coloring.vertex_colors is not None or coloring.subgraph_colors is not None
    assert PLANS[name].cost(test, 10, 20).memory > 0
    assert str(test)


def test_a_test_of_the_user(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(Path(__file__).parent)
    path = nx.path_graph(9)
    ours, theirs = refine([path], "my_tests:two_steps"), refine([path], "wl")
    assert str(ours.test) == "two-step 1-WL"
    assert ours.graph_colors.tolist() == theirs.graph_colors.tolist()
    assert ours.rounds == (theirs.rounds + 1) // 2
    with pytest.raises(OsanError, match="k: expected no value for test 'my_tests:two_steps', got 2"):
        WLTest("my_tests:two_steps", k=2)
    with pytest.raises(OsanError, match=r"expected an osan\.wl\.plans\.PlanBuilder"):
        WLTest("my_tests:not_a_builder")
    write_graphs(tmp_path / "a.g6", [Graph(3, [(0, 1)]), Graph(3, [(0, 1), (1, 2)])])
    from osan.cli import app

    words = ["wl", "ladder", str(tmp_path / "a.g6"), "--test", "my_tests:two_steps", "--json"]
    app(words, standalone_mode=False)
    assert '"two-step 1-WL": 1' in capsys.readouterr().out


def test_aggregations_in_any_form_and_order():
    given = WLTest("swl", aggregations="Gv + Lu")
    assert given == WLTest("swl", aggregations=("Lu", "Gv"))
    assert (str(given), str(WLTest("vs-swl", aggregations="Gu"))) == ("GSWL(SV)", "SWL{Gu}(VS)")
    assert WLTest("swl").aggregations == ("Lu",)
    assert WLTest("wl").aggregations is None
    with pytest.raises(OsanError, match="aggregations: expected Lu, Lv, Gu, Gv, Puu, Pvv or Pvu, got 'Gw'"):
        WLTest("swl", aggregations="Gw")
    with pytest.raises(OsanError, match="aggregations: expected no value for test 'oswl', got 'Lu'"):
        WLTest("oswl", aggregations="Lu")
    with pytest.raises(OsanError, match="aggregations: expected no value for test 'sswl'"):
        WLTest("sswl", aggregations="Lu")
