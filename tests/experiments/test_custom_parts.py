"""Parts of a user, named as module:name, in the key of a run; tests/extending trains with them."""

import sys

import pytest

from osan.errors import OsanError
from osan.experiments import settings_named
from osan.experiments.plans import read_plan

PARTS = '''
from osan import nn
from osan.selection import StraightThrough
from osan.selection.topk import VertexProblem


class Mine(StraightThrough):
    """An estimator."""


class Corner(VertexProblem):
    """A kind of subgraphs."""


class Heavy(nn.CentralityWeigher):
    """A weigher."""


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


@pytest.mark.parametrize("estimator", ["imle", "fixed", "user_parts:Mine"])
def test_a_key_says_which_weigher_and_estimator(place, estimator):
    key = f"planted-motif/few-marks/user_parts:Heavy-{estimator}/mark-1-vertex-in-turn/x3"
    settings = settings_named(key)
    assert settings.name == key
    assert (settings.selection.weigher, settings.selection.estimator) == ("user_parts:Heavy", estimator)


@pytest.mark.parametrize("method", ["centrality", "degree-sparsemap", "prior-simple", "neutral-simple"])
def test_a_key_says_how_far_the_choice_is_that_of_a_centrality(method):
    key = f"zinc/few-marks/{method}/mark-1-vertex-distinct/x2"
    assert settings_named(key).name == key


def test_a_key_with_an_estimator_that_would_not_matter_is_refused():
    with pytest.raises(OsanError, match="unknown recipe"):
        settings_named("zinc/few-marks/centrality-imle/mark-1-vertex-distinct/x2")


def test_a_weigher_alone_is_refused_when_the_plan_is_read(place):
    key = "planted-motif/gin/user_parts:Heavy/mark-1-vertex-in-turn/x3"
    (place / "plan.toml").write_text(f'[[groups]]\nruns = ["{key}"]\nseeds = "0"\n')
    with pytest.raises(OsanError, match="estimator such as 'user_parts:Heavy-imle', got 'user_parts"):
        read_plan(place / "plan.toml")
    # Without the module nothing can be said yet.
    elsewhere = settings_named(key.replace("user_parts", "not_here"))
    assert elsewhere.selection.estimator == "not_here:Heavy"
