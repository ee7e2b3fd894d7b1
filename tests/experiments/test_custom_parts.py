"""Parts of a user, named as module:name, from a plan through a sweep to reports."""

import json
import os
import sys

import pytest
from typer.testing import CliRunner

from osan.cli import app
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
PLAN = f"""
[[groups]]
runs = ["{KEY}"]
seeds = "0"
name = "small"
[groups.set]
"data.options" = {{num_graphs = 50}}
"network.width" = 8
"network.layers" = 2
"training.epochs" = 1
"machine.accelerator" = "cpu"
"""


@pytest.fixture
def place(tmp_path, monkeypatch):
    """The current folder, with a module and a plan in it."""
    (tmp_path / "user_parts.py").write_text(PARTS)
    (tmp_path / "plan.toml").write_text(PLAN)
    monkeypatch.chdir(tmp_path)
    # A relative path to the package would lead nowhere from there.
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    yield tmp_path
    sys.modules.pop("user_parts", None)


def run(*words):
    result = CliRunner().invoke(app, list(words), catch_exceptions=False, env={"COLUMNS": "250"})
    assert result.exit_code == 0, result.output
    return result.stdout


def test_a_key_says_which_parts(place):
    settings = settings_named(KEY)
    assert settings.name == KEY
    assert settings.selection.policy == "select 2 user_parts:Corner x 2"
    assert settings.selection.estimator == "user_parts:Mine"
    assert settings.network.architecture == "user_parts:net"
    assert settings_named("zinc/nested/baseline").network.architecture == "nested"
    assert settings_named("zinc/nested/baseline").network.like == "zinc"


def test_from_a_plan_to_reports(place, monkeypatch):
    told = json.loads(run("sweep", "plan.toml", "--json"))
    assert (told["finished"], told["failures"]) == (1, [])
    names = {row["name"] for row in json.loads(run("runs", "--json"))}
    assert names == {f"{KEY}/small"}
    # Where the module is not found, runs are still listed, and only examples are missing.
    elsewhere = place / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    sys.modules.pop("user_parts")
    assert {row["name"] for row in json.loads(run("runs", "../runs", "--json"))} == names
    run("report", "--runs", "../runs")
    page = (elsewhere / "report.html").read_text()
    assert all(name in page for name in names)
    assert "user_parts" not in sys.modules
