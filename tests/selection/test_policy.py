"""Policies: text form, validation, and every setting of the paper's tables."""

from dataclasses import asdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.selection import Policy, grammar, kinds

# Operation, type, size and number of subgraphs of every row of the paper's tables that has them.
PAPER = """
Delete,1-Ego,--,10|Delete,1-Ego,--,3|Delete,2-Ego,--,3|Delete,Edge,1,10|Delete,Edge,1,3|Delete,Edge,10,10
Delete,Edge,10,3|Delete,Edge,2,3|Delete,Edge,3,1|Delete,Edge,3,10|Delete,Edge,3,3|Delete,Edge,5,3
Delete,Edge,all,all|Delete,Vertex,1,1|Delete,Vertex,1,10|Delete,Vertex,1,2|Delete,Vertex,1,3
Delete,Vertex,10,10|Delete,Vertex,10,3|Delete,Vertex,2,1|Delete,Vertex,2,3|Delete,Vertex,3,10
Delete,Vertex,3,3|Delete,Vertex,3,5|Delete,Vertex,5,10|Delete,Vertex,5,3|Delete,Vertex,all,all
MST,Edge,--,10|MST,Edge,--,3|Select,3-Ego,--,10|Select,3-Ego,--,5|Select,3-Ego,all,all|Select,5-Ego,--,3
Select,7-Ego,--,3|Select,Edge,10,3|Select,Edge,20,3|Select,Edge,5,3|Select,Vertex,10,1|Select,Vertex,10,3
Select,Vertex,20,3|Select,Vertex,5,3
"""
# The rows whose method is "I-MLE covered" and "I-MLE ordered".
COVERED = "Delete,Vertex,1,3|Delete,Vertex,2,3|Delete,Vertex,3,3|Delete,Vertex,5,3"
ORDERED = COVERED + "|Delete,Vertex,1,10|Delete,Vertex,3,10"


def rows(text: str) -> list[tuple[str, ...]]:
    return [tuple(row.split(",")) for line in text.split() for row in line.split("|")]


def policy_of(operation: str, kind: str, size: str, count: str, **extra: bool) -> Policy:
    # All subgraphs with "all" vertices or edges deleted in turn are those with one of them deleted.
    subgraphs = "all" if count == "all" else int(count)
    if operation == "MST":
        return Policy("select", "tree", count=subgraphs)
    if kind.endswith("-Ego"):
        return Policy(operation.lower(), "ego", int(kind[0]), count=subgraphs, **extra)
    return Policy(
        operation.lower(), kind.lower(), 1 if size == "all" else int(size), count=subgraphs, **extra
    )


@pytest.mark.parametrize("row", rows(PAPER), ids=" ".join)
def test_every_setting_of_the_paper_round_trips(row):
    policy = policy_of(*row)
    assert Policy.parse(str(policy)) == policy


@pytest.mark.parametrize(("text", "extra"), [(COVERED, "cover"), (ORDERED, "ordered")])
def test_covered_and_ordered_settings_round_trip(text, extra):
    for row in rows(text):
        policy = policy_of(*row, **{extra: True})
        assert Policy.parse(str(policy)) == policy
        assert getattr(policy, extra)


@pytest.mark.parametrize(
    ("text", "policy"),
    [
        ("delete 1 vertex", Policy("delete", "vertex", 1)),
        ("select 20 edges", Policy("select", "edge", 20)),
        ("delete 2-ego", Policy("delete", "ego", 2)),
        ("select 7-ego", Policy("select", "ego", 7)),
        ("tree", Policy("select", "tree")),
        ("cover delete 3 vertices", Policy("delete", "vertex", 3, cover=True)),
        ("mark 2 vertices ordered", Policy("mark", "vertex", 2, ordered=True)),
        ("select 7-ego by root x 3", Policy("select", "ego", 7, by="root", count=3)),
        ("delete 1 edge x all", Policy("delete", "edge", 1, count="all")),
        ("mark 1 vertex x 3 distinct", Policy("mark", "vertex", 1, count=3, channels="distinct")),
        ("delete 2 edges x 3 in turn", Policy("delete", "edge", 2, count=3, channels="in turn")),
        ("mark 1 vertex in turn", Policy("mark", "vertex", 1, channels="in turn")),
    ],
)
def test_the_text_is_readable_and_both_ways(text, policy):
    assert Policy.parse(text) == policy
    assert str(policy) == text


def test_text_is_read_generously():
    assert Policy.parse("  Delete  3 VERTEX ") == Policy("delete", "vertex", 3)


@given(
    operation=st.sampled_from(["delete", "select", "mark"]),
    what=st.sampled_from(["vertex", "edge", "ego", "tree"]),
    size=st.integers(0, 30),
    ordered=st.booleans(),
    cover=st.booleans(),
    by=st.sampled_from(["mean", "sum", "root"]),
    count=st.one_of(st.integers(1, 12), st.just("all")),
    channels=st.sampled_from(["independent", "distinct", "in turn"]),
)
def test_what_is_allowed_round_trips(**settings):
    try:
        policy = Policy(**settings)
    except OsanError:
        return
    assert Policy.parse(str(policy)) == policy
    assert Policy.of_slug(policy.slug, policy.count) == policy


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"operation": "remove"}, "'delete', 'select', 'mark'"),
        ({"what": "path"}, "'vertex', 'edge', 'ego', 'tree', 'element'"),
        ({"size": 0}, "at least 1 .*, got 0"),
        ({"size": -2}, "at least 1"),
        ({"size": 1.5}, "at least 1 .*, got 1.5"),
        ({"size": True}, "at least 1 .*, got True"),
        ({"count": 0}, "at least 1 .*, got 0"),
        ({"what": "tree", "size": 3}, "no size .* for 'tree', got 3"),
        ({"what": "tree", "size": 0, "operation": "delete"}, "expected 'select' for 'tree', got 'delete'"),
        ({"what": "edge", "ordered": True}, "unordered policy for 'edge'"),
        ({"what": "ego", "cover": True}, "expected vertices for cover, got 'ego'"),
        ({"what": "edge", "operation": "mark"}, "expected 'delete' or 'select' for 'edge'"),
        ({"cover": True, "ordered": True}, "unordered"),
        ({"by": "root"}, "no by for 'vertex'"),
        ({"channels": "apart"}, "'independent', 'distinct', 'in turn' for channels, got 'apart'"),
        (
            {"channels": "distinct", "what": "ego"},
            "vertices or edges without cover for 'distinct', got 'ego'",
        ),
        ({"channels": "in turn", "cover": True}, "without cover for 'in turn', got a covering choice"),
        ({"channels": "distinct", "count": "all"}, "a number of subgraphs for 'distinct', got 'x all'"),
        ({"channels": "in turn", "ordered": True}, "unordered policy for 'delete' with 'in turn'"),
        ({"by": "median", "what": "ego"}, "'mean', 'sum', 'root'"),
    ],
)
def test_bad_settings_say_what_is_allowed(settings, message):
    with pytest.raises(OsanError, match=message):
        Policy(**({"operation": "delete", "what": "vertex", "size": 1} | settings))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "delete",
        "delete vertex",
        "delete 0 vertices",
        "2-ego",
        "tree 3",
        "delete 1 vertex x 0",
        "drop 1 edge",
    ],
)
def test_unknown_text_is_refused(text):
    with pytest.raises(OsanError, match=r"^policy: expected "):
        Policy.parse(text)


def test_the_words_of_each_kind_are_those_of_its_class():
    """Texts are read by a table, without torch."""
    for known, table in ((grammar.WORDS, kinds.KINDS), (grammar.COVER_WORDS, kinds.COVERS)):
        assert list(known) == list(table)
        for noun, words in known.items():
            assert asdict(words) == {name: getattr(table[noun], name) for name in asdict(words)}
