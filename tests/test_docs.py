"""The quick start does what it says, and the site has every page that it links."""

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_code_of_the_quick_start_runs(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 6
    names: dict = {}
    for block in blocks:
        exec(compile(block, "docs/index.md", "exec"), names)
    assert (tmp_path / "runs" / "first" / "result.json").exists()
    # The last block says in comments what it prints.
    assert capsys.readouterr().out.split()[-2:] == re.findall(r"# (\w+)", blocks[-1])


def test_training_ones_own_graphs_takes_at_most_fifteen_lines():
    block = re.search(r"```python\n(.*?)```", (DOCS / "index.md").read_text(encoding="utf-8"), re.DOTALL)
    assert len([line for line in block[1].splitlines() if line.strip()]) <= 15


@pytest.mark.parametrize(
    "page", ["index.md", "reproduce.md", "differences.md", "results.md", "results-detail.md"]
)
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", (DOCS / page).read_text(encoding="utf-8"))
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_settings_that_follow_the_authors_code_are_what_the_page_says():
    """The last column of the table: every setting exists, and what is built of it is the code's choice."""
    from osan.selection import Noise
    from osan.training.build import evaluation_noise
    from osan.training.settings import Settings
    from osan.training.settings_files import parsed_changes

    text = (DOCS / "differences.md").read_text(encoding="utf-8")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    rows = [row for row in rows if len(row) == 4]
    changes = {row[0]: re.findall(r"`([a-z_.]+) = ([^`]+)`", row[3]) for row in rows}
    changed = {
        name: Settings().changed(parsed_changes([f"{key}={value}" for key, value in pairs]))
        for name, pairs in changes.items()
        if pairs
    }
    assert len(changed) >= 5
    assert all(settings.differences(Settings()) for settings in changed.values())
    # Gaussian noise of 0.1 std(theta), as the row says.
    assert evaluation_noise(changed["noise in evaluation"].selection) == Noise("gaussian", 0.1)
    assert changed["model selection on EXP"].data.validate_on_test
    assert changed["auxiliary loss"].selection.auxiliary == "uniform"
    # 10 times the sum over a batch of 32 of KL / n, at the mean of 13.3 vertices.
    assert round(10 * 32 / 13.3) == changed["auxiliary loss"].selection.auxiliary_weight
    assert changed["messages in ordered subgraphs"].selection.deleted == "unpooled"


def test_every_page_of_the_menu_is_there():
    def pages(entry):
        for value in entry.values() if isinstance(entry, dict) else entry:
            yield from [value] if isinstance(value, str) else pages(value)

    menu = yaml.safe_load((ROOT / "mkdocs.yml").read_text())["nav"]
    assert [page for page in pages(menu) if not (DOCS / page).exists()] == []


def test_commands_in_the_pages_exist():
    import typer

    from osan.cli import app

    known = {*typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    for page in ("index.md", "reproduce.md"):
        text = (DOCS / page).read_text(encoding="utf-8")
        assert set(re.findall(r"^\|? ?`?osan (\w+)", text, re.MULTILINE)) <= known


def test_the_tables_of_results_are_what_their_commands_print():
    subprocess.run([sys.executable, ROOT / "scripts" / "results_page.py", "--check"], check=True, cwd=ROOT)


def test_published_results_are_of_the_plan():
    """Every published run is one of the plan, each once, and no seed was picked."""
    from osan.experiments.plans import read_plan
    from osan.experiments.sweep import parse_seeds
    from osan.report.records import read_records

    groups = read_plan(ROOT / "results" / "plan.toml")
    planned = [
        (each.name, seed)
        for group in groups
        for seed in parse_seeds(group.seeds)
        for each in group.settings()
    ]
    published = [(record.name, record.seed) for record in read_records(ROOT / "results" / "runs.csv")]
    assert len(set(published)) == len(published)
    assert set(published) <= set(planned)
    # No seed was left out: the seeds of a setting are those that the plan begins with.
    for name in {name for name, _ in published}:
        seeds = sorted(seed for other, seed in published if other == name)
        assert seeds == list(range(len(seeds)))
