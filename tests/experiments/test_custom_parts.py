"""Parts of a user, named as module:name, in the key of a run; tests/extending trains with them."""

import sys

import pytest

from osan.experiments import settings_named

PARTS = '''
from osan import nn
from osan.selection import StraightThrough
from osan.selection.topk import VertexProblem


class Mine(StraightThrough):
    """An estimator."""


class Corner(VertexProblem):
    """A kind of subgraphs."""


def net(width, layers, out, **options):
    """An architecture."""
    return nn.osan(width, 1, out, **options)
'''
KEY = "planted-motif/user_parts:net/user_parts:Mine/select-2-user_parts:Corner/x2"


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The current folder, with a module in it."""
    (tmp_path / "user_parts.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    yield tmp_path
    sys.modules.pop("user_parts", None)


def test_a_key_says_which_parts(place):
    settings = settings_named(KEY)
    assert settings.name == KEY
    assert settings.selection.policy == "select 2 user_parts:Corner x 2"
    assert settings.selection.estimator == "user_parts:Mine"
    assert settings.network.architecture == "user_parts:net"
    assert settings_named("zinc/nested/baseline").network.architecture == "nested"
    assert settings_named("zinc/nested/baseline").network.like == "zinc"
