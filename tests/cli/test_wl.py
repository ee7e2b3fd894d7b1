"""The commands as a person calls them: output, exit codes, one-line errors."""

from __future__ import annotations

import json
import re

import networkx as nx
import pytest

from osan.graphs import cfi_pair, cycle_pair, encode_graph6, write_graphs
from osan.wl import color_hash


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("graphs")
    hexagon, triangles = cycle_pair(3)
    write_graphs(path / "hexagon.g6", [hexagon])
    write_graphs(path / "triangles.g6", [triangles])
    write_graphs(path / "both.g6", [hexagon, triangles])
    write_graphs(path / "four.g6", [hexagon, triangles, *cfi_pair(2, colors=False)])
    return path


def test_distinguish_answers_by_exit_code(osan, folder):
    pair = (str(folder / "hexagon.g6"), str(folder / "triangles.g6"))
    apart = osan("wl", "distinguish", *pair, "--test", "oswl", "--k", "1")
    assert (apart.returncode, apart.stdout) == (0, "1-OSWL: separated\n")
    equal = osan("wl", "distinguish", *pair, "--json")
    assert equal.returncode == 1
    assert json.loads(equal.stdout) == {"test": "1-WL", "separated": False}


def test_distinguish_takes_graph6_text(osan):
    assert osan("wl", "distinguish", "A_", "A?").stdout == "1-WL: separated\n"
    hexagon, triangles = (encode_graph6(graph) for graph in cycle_pair(40))
    assert len(hexagon) > 255  # longer than the name of a file can be
    assert osan("wl", "distinguish", hexagon, triangles).stdout == "1-WL: not separated\n"


def test_color(osan, folder):
    result = osan("wl", "color", str(folder / "both.g6"), "--test", "oswl", "--json")
    told = json.loads(result.stdout)
    assert told["stable"] is True
    assert told["graph_colors"][0] != told["graph_colors"][1]
    assert [len(colors) for colors in told["vertex_colors"]] == [6, 6]
    assert "1-OSWL" in osan("wl", "color", str(folder / "both.g6"), "--test", "oswl").stdout


def test_ladder_counts_all_pairs(osan, folder):
    (row,) = json.loads(osan("wl", "ladder", str(folder / "four.g6"), "--json").stdout)
    assert row["pairs"] == 6
    assert row["separated"]["1-WL"] == 4  # hexagon and triangles, and the two gadgets, look alike
    assert row["separated"]["2-WL"] == 6


def test_ladder_of_two_graphs(osan, folder):
    for pair in (("EhEG", "EwCW"), (str(folder / "hexagon.g6"), "EwCW")):
        (row,) = json.loads(osan("wl", "ladder", *pair, "--json").stdout)
        assert row["separated"] == {"1-WL": 0, "vertex-subgraph 1-OSWL": 1, "1-OSWL": 1, "2-WL": 1}
    assert "two graphs" in osan("wl", "ladder", "EhEG", "EwCW", "--test", "wl 1").stdout
    (folder / "path.edges").write_text("a b\nb c\n")
    (folder / "fork.edges").write_text("a b\nc b\n")
    both = [str(folder / name) for name in ("path.edges", "fork.edges")]
    for option, count in (([], 0), (["--directed"], 1)):
        (row,) = json.loads(osan("wl", "ladder", *both, *option, "--test", "wl 1", "--json").stdout)
        assert row["separated"] == {"1-WL": count}


def test_titles_of_tables_are_names_of_tests(osan):
    """What a table prints can be asked for."""
    for title in ("1-WL", "2-WL", "1-OSWL", "vertex-subgraph 1-OSWL", "SSWL(VS)", "oblivious 3-WL"):
        told = osan("wl", "distinguish", "EhEG", "EwCW", "--test", title).stdout
        assert told == f"{title}: {'not ' * (title == '1-WL')}separated\n"
        (row,) = json.loads(osan("wl", "ladder", "EhEG", "EwCW", "--test", title, "--json").stdout)
        assert row["separated"] == {title: int(title != "1-WL")}


def test_help_names_every_test(osan):
    from osan.wl.plans import PLANS

    words = osan("wl", "distinguish", "--help").stdout.replace("│", " ").replace(",", " ").split()
    assert {"vs-oswl", *(name for name in PLANS if not name.startswith("vs-"))} <= set(words)


def test_ladder_goes_by_the_content_of_a_file(osan, folder):
    """Graphs in a .txt file are not taken for a list of pairs."""
    (folder / "four.txt").write_bytes((folder / "four.g6").read_bytes())
    (row,) = json.loads(osan("wl", "ladder", str(folder / "four.txt"), "--test", "wl 1", "--json").stdout)
    assert (row["pairs"], row["separated"]) == (6, {"1-WL": 4})


def test_enough(osan, folder):
    pair = (str(folder / "hexagon.g6"), str(folder / "triangles.g6"))
    told = json.loads(osan("wl", "enough", *pair, "--json").stdout)
    assert (told["smallest"], told["graph"], told["distances"]) == (1, "a", [0.0, 1.0])
    table = folder / "pairs.tsv"
    table.write_text("g6_a\tg6_b\n" + "\t".join(encode_graph6(graph) for graph in cycle_pair(3)) + "\n")
    shown = osan("wl", "enough", str(table), "--out", str(folder / "curve.svg"))
    assert "1: 1" in shown.stdout
    assert (folder / "curve.svg").read_text().startswith("<svg")


def test_explain(osan, folder):
    pair = (str(folder / "hexagon.g6"), str(folder / "triangles.g6"))
    told = osan("wl", "explain", *pair, "--test", "sswl", "--out", str(folder / "why.svg"))
    assert told.stdout.startswith(
        "SSWL(SV) separates the graphs after round 2:\n6 vertices of the first graph"
    )
    assert (folder / "why.svg").read_text().startswith("<svg")
    assert osan("wl", "explain", *pair).stdout == "1-WL: not separated\n"


def test_hash(osan, folder):
    one, other = osan("wl", "hash", str(folder / "both.g6")).stdout.split()
    assert one == other == color_hash(cycle_pair(3)[0])
    told = json.loads(osan("wl", "hash", str(folder / "four.g6"), "--test", "oswl", "--json").stdout)
    graphs = [*cycle_pair(3), *cfi_pair(2, colors=False)]
    assert told == {"test": "1-OSWL", "hashes": [color_hash(graph, "oswl") for graph in graphs]}
    hexagon = encode_graph6(cycle_pair(40)[0])
    assert osan("wl", "hash", hexagon).stdout == f"{color_hash(cycle_pair(40)[0])}\n"
    assert "expected one whose colors can be hashed" in osan("wl", "hash", "A_", "--test", "kernel").stderr


def test_identify(osan, folder):
    assert osan("wl", "identify", "DhC").stdout == "1-WL: identified\n"
    told = osan("wl", "identify", "EhEG")
    head, found = told.stdout.splitlines()
    assert (told.returncode, head) == (0, "1-WL: not identified, not separated from:")
    assert nx.is_isomorphic(nx.from_graph6_bytes(found.encode()), nx.from_graph6_bytes(b"EwCW"))
    shown = osan("wl", "identify", "EhEG", "--test", "oswl", "--among", str(folder / "four.g6"), "--json")
    assert json.loads(shown.stdout) == {"test": "1-OSWL", "identified": True, "lookalikes": []}
    labeled = folder / "labeled.edges"
    labeled.write_text("0 1 a\n1 2 a\n")
    for command in ("identify", "dimension"):
        assert "osan: --among: expected graphs to compare with" in osan("wl", command, str(labeled)).stderr
    shown = osan("wl", "identify", str(labeled), "--among", str(labeled))
    assert shown.stdout == "1-WL: identified\n"


def test_dimension(osan, folder):
    assert osan("wl", "dimension", "DhC").stdout == "1\n"
    assert osan("wl", "dimension", "EhEG", "--max-k", "1").stdout == "more than 1\n"
    told = osan("wl", "dimension", "EhEG", "--among", str(folder / "four.g6"), "--json").stdout
    assert json.loads(told) == {"dimension": 2, "max_k": 3}


def test_directed_edge_lists(osan, folder):
    (folder / "path.el").write_text("a b\nb c\n")
    (folder / "meeting.el").write_text("a b\nc b\n")
    pair = (str(folder / "path.el"), str(folder / "meeting.el"))
    assert osan("wl", "distinguish", *pair).returncode == 1
    assert osan("wl", "distinguish", *pair, "--directed").returncode == 0
    assert "neighbors: -> c1, <- c1\n" in osan("wl", "explain", *pair, "--directed").stdout


def test_a_pair_table_has_no_edge_lists(osan, folder):
    table = folder / "pairs.tsv"
    table.write_text("g6_a\tg6_b\nEhEG\tEwCW\n")
    told = osan("wl", "ladder", str(table), "--directed").stderr
    assert told.startswith("osan: --directed: expected edge lists, got the pair table")


def test_ladder_of_a_pair_table(osan, osan_data):
    table = str(osan_data / "BREC" / "brec_pairs.tsv.gz")
    rows = json.loads(osan("wl", "ladder", table, "--test", "wl 1", "--json").stdout)
    assert sum(row["pairs"] for row in rows) == 400


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["wl", "color", "{folder}/missing.g6"], "missing.g6"),
        (["wl", "color", "{folder}/bad.g6"], "line 2"),
        (["wl", "color", "{folder}/empty.g6"], "empty"),
        (["wl", "color", "{folder}/both.g6", "--k", "-1"], "k: expected at least 1 for test 'wl', got -1"),
        (["wl", "color", "{folder}/both.g6", "--test", "owl"], "did you mean 'oswl'"),
        (["wl", "color", "{folder}/both.g6", "--max-memory", "much"], "4GB"),
        (["wl", "distinguish", "{folder}/both.g6", "A_"], "both.g6: expected one graph, got 2"),
        (
            ["wl", "distinguish", "A_", "no graph"],
            "expected a file or graph6 text, got 'no graph': no such file,",
        ),
        (["wl", "distinguish", "A_", "hexagno.g6"], "got 'hexagno.g6': no such file\n"),
        (["wl", "distinguish", "A_", "A?", "--test", "2-WL", "--k", "3"], "k: expected 2, as in '2-WL'"),
        (["wl", "distinguish", "A_", "A?", "--test", "0-WL"], "k: expected at least 1 for test 'wl', got 0"),
        (["wl", "distinguish", "{folder}/mixed.d6", "A_"], "directed"),
        (["wl", "ladder", "{folder}/both.g6", "--test", "oswl two"], "for example 'oswl 2'"),
        (["wl", "ladder", "{folder}/both.g6", "--test", ""], "for example 'oswl 2'"),
        (["wl", "ladder", "{folder}/both.g6", "--test", "oswl --2"], "for example 'oswl 2'"),
        (
            ["wl", "color", "{folder}/both.g6", "--test", "nested", "--what", "edge"],
            "what: expected no value for test 'nested', got 'edge'; it takes hops\n",
        ),
        (["wl", "ladder", "{folder}/hexagon.g6"], "expected at least two graphs, got one"),
        (["wl", "enough", "A_"], "B: expected another graph, or a table of pairs alone, got 'A_' alone"),
        (["wl", "nothing"], "No such command"),
        (
            ["wl", "color", "{folder}/four.g6", "--test", "wl", "--k", "7", "--max-memory", "1MB"],
            "needs about",
        ),
    ],
)
def test_errors_are_one_line(osan, folder, arguments, words):
    (folder / "bad.g6").write_text("A_\nnot graph6 at all\n")
    (folder / "empty.g6").write_text("")
    (folder / "mixed.d6").write_text("&AO\n")
    result = osan(*(argument.format(folder=folder) for argument in arguments))
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.startswith("osan: ")
    assert result.stderr.count("\n") == 1
    assert words in result.stderr
    assert "Traceback" not in result.stderr


def test_one_empty_graph_is_no_error(osan, folder):
    (folder / "nothing.g6").write_text("?\n")
    assert osan("wl", "color", str(folder / "nothing.g6")).returncode == 0


@pytest.mark.parametrize(
    "command", [[], ["wl"], ["wl", "color"], ["wl", "ladder"], ["wl", "hash"], ["theory"], ["data"]]
)
def test_help_is_there(osan, command):
    result = osan(*command, "--help")
    assert result.returncode == 0
    assert "Usage" in result.stdout


def test_theory(osan):
    result = osan("theory", "--quick", "--only", "2 x 3 grid (n", "--json")
    assert result.returncode == 0, result.stderr
    told = {row["claim"]: row["agrees"] for row in json.loads(result.stdout)}
    assert told["2-WL separates"] is True
    assert told["1-OSWL does not separate"] is False  # two columns too few: docs/theory.md
    shown = osan("theory", "--only", "backbone X_1").stdout
    assert "docs/theory.md" in shown
    assert re.search(r"\b([02-9] hold|1 holds), ([02-9] do|1 does) not, 0 left open\.", shown)
    assert "--only: expected a text from a check" in osan("theory", "--only", "nothing like that").stderr
