"""The code of the pages runs as it stands, and prints what its comments say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import torch
from pages import DOCS, ROOT, blocks, run, text_of

# Pages whose blocks need no files. Those of index.md train, and make their own.
PAGES = [
    ROOT / "README.md",
    *(
        DOCS / name
        for name in ("theory.md", "brec.md", "networks.md", "selection.md", "estimators.md", "sharing.md")
    ),
]


@pytest.fixture
def printed(capsys):
    """What was printed since the last call."""
    return lambda: capsys.readouterr().out


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_code_of_a_page_runs(page, printed, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some blocks write pictures
    torch.manual_seed(0)
    run(page, blocks(page), printed)


def test_the_example_of_encodings_runs(printed):
    page = DOCS / "datasets.md"
    run(page, [block for block in blocks(page) if "AddEncodings" in block], printed)


def test_the_quick_start_runs(tmp_path, monkeypatch, printed):
    monkeypatch.chdir(tmp_path)
    run(DOCS / "index.md", blocks(DOCS / "index.md"), printed)
    assert (tmp_path / "runs" / "first" / "result.json").exists()


def test_training_on_your_graphs_is_a_short_program():
    """The first block of the quick start; what fits on a slide."""
    first = blocks(DOCS / "index.md")[0]
    assert len([line for line in first.splitlines() if line.strip()]) <= 15


def test_the_page_on_networks_names_what_there_is():
    from osan import bags, nn

    for name in set(re.findall(r"`([a-z_]+)\(", text_of(DOCS / "networks.md"))):
        assert hasattr(bags, name) or hasattr(nn, name), name


def test_splits_and_plans_are_what_the_page_says(tmp_path, monkeypatch, printed):
    """The block that needs no files prints what it says, and the plan runs once its files are there."""
    from osan.experiments import plan_jobs, read_plan

    page = DOCS / "custom-data.md"
    monkeypatch.chdir(tmp_path)
    run(page, [block for block in blocks(page) if "print(" in block], printed)
    (tmp_path / "data").mkdir()
    for name in ("solubility.csv", "graphs.pt", "split.json"):
        (tmp_path / "data" / name).touch()
    (plan,) = blocks(page, "toml")
    (tmp_path / "plan.toml").write_text(plan)
    jobs, _ = plan_jobs(read_plan(tmp_path / "plan.toml"), Path("runs"))
    assert len(jobs) == 2 * 5 + 2 * 10
    assert f"`{jobs[0].folder}`" in text_of(page)
    assert jobs[0].settings.data.split == str(tmp_path / "data" / "split.json")
