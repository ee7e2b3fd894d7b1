"""Titles of tests stand for the tests."""

import pytest

from osan.errors import OsanError
from osan.wl import WLTest, ladder_tests
from osan.wl.settings import make_test
from osan.wl.titles import from_title

TITLED = [
    *ladder_tests(3),
    *(WLTest("wl", k, oblivious=True) for k in (1, 2, 12)),
    *(
        WLTest(name, k, ordered=ordered, neighborhood=neighborhood)
        for name in ("oswl", "vs-oswl")
        for k in (0, 2)
        for ordered in (True, False)
        for neighborhood in ("edges", "all")
    ),
    *(WLTest(f"{prefix}{name}swl") for prefix in ("", "vs-") for name in ("", "p", "g", "s")),
]


@pytest.mark.parametrize("test", TITLED, ids=str)
def test_a_title_is_the_test(test):
    for text in (str(test), str(test).lower(), f" {test} "):
        assert make_test(text) == test


def test_names_in_capitals():
    assert make_test("WL", 2) == WLTest("wl", 2)
    assert make_test("VS-OSWL", operation="delete") == WLTest("vs-oswl", operation="delete")
    assert make_test("OSWL", 2) == WLTest("oswl", 2)


def test_what_is_given_beside_a_title_agrees_with_it():
    assert make_test("2-WL", 2, oblivious=True) == WLTest("wl", 2, oblivious=True)
    with pytest.raises(OsanError, match="k: expected 2, as in '2-WL', or no value, got 3"):
        make_test("2-WL", 3)
    with pytest.raises(OsanError, match="ordered: expected False, as in '2-OSWL, unordered', or no value"):
        make_test("2-OSWL, unordered", ordered=True)


@pytest.mark.parametrize("text", ["", "2-GNN", "-1-WL", "1.5-WL", "WL-2", "oblivious 2-OSWL", "9999999-WL"])
def test_other_texts_are_no_titles(text):
    assert from_title(text) is None
    with pytest.raises(OsanError, match="test: expected 'wl', 'oswl'"):
        make_test(text)


def test_the_settings_that_a_test_takes_are_listed():
    with pytest.raises(
        OsanError, match="it takes k, neighborhood, ordered, operation, what, hops and mark_c"
    ):
        WLTest("oswl", oblivious=True)
