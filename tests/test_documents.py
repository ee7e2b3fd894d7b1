"""What the documents show is run: Python blocks, and that the README's commands are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "docs" / "theory.md"]


def python_blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_print_what_their_comments_say(page, capsys):
    """The blocks of a page run one after another; ``print(...)  # text`` prints that text, else none."""
    names: dict[str, object] = {}
    for block in python_blocks(page):
        exec(compile(block, str(page), "exec"), names)
        expected = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
        printed = capsys.readouterr().out.splitlines()
        assert printed == expected


def test_the_readme_names_commands_that_exist():
    text = (ROOT / "README.md").read_text()
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"^make (\S+)", text, flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


def test_splits_and_plans_of_ones_own_are_what_the_page_says(tmp_path, monkeypatch, capsys):
    """The block that needs no files prints what it says, and the plan runs once its files are there."""
    from osan.experiments.plans import plan_jobs, read_plan

    page = ROOT / "docs" / "custom-data.md"
    (block,) = [block for block in python_blocks(page) if "print(" in block]
    exec(compile(block, str(page), "exec"), {})
    expected = re.findall(r"^print\(.*\)  # (.*)$", block, flags=re.MULTILINE)
    assert capsys.readouterr().out.splitlines() == expected

    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    for name in ("solubility.csv", "graphs.pt", "split.json"):
        (tmp_path / "data" / name).touch()
    (plan,) = re.findall(r"```toml\n(.*?)```", page.read_text(), flags=re.DOTALL)
    (tmp_path / "plan.toml").write_text(plan)
    jobs, _ = plan_jobs(read_plan(tmp_path / "plan.toml"), Path("runs"))
    assert len(jobs) == 2 * 5 + 2 * 10
    assert f"`{jobs[0].folder}`" in page.read_text()
    assert jobs[0].settings.data.split == str(tmp_path / "data" / "split.json")
