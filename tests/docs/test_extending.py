"""The page on extending: its files are short, its code runs, and its commands take the parts of its files."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest
from pages import DOCS, blocks, run, text_of

PAGE = DOCS / "extending.md"
# Enough to train with every part, in a second each.
QUICK = "--epochs 1 --quiet --set data.limit=10 --set network.width=8 --set network.layers=2 --set"
QUICK += " training.batch_size=10 --set selection.samples=1"


def files() -> dict[str, str]:
    """The blocks that are files, which begin with their name."""
    named = [(re.match(r"# (\w+\.py)\n", block), block) for block in blocks(PAGE)]
    return {found[1]: block for found, block in named if found}


def commands() -> list[str]:
    """The lines of the blocks without a language."""
    return [
        line
        for block in re.findall(r"^```\n(osan .*?)```", text_of(PAGE), re.M | re.S)
        for line in block.replace("\\\n", " ").splitlines()
    ]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """The current folder, with the files of the page in it."""
    for name, code in files().items():
        (tmp_path / name).write_text(code)
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    modules = [name.removesuffix(".py") for name in files()]
    before = {name: sys.modules.pop(name) for name in modules if name in sys.modules}
    yield
    for name in modules:
        sys.modules.pop(name, None)
    sys.modules.update(before)


def test_every_section_has_a_short_file_its_use_and_a_command():
    _, *sections = text_of(PAGE).split("\n## ")
    for section in sections:
        title = section.splitlines()[0]
        code = re.findall(r"^```(\w*)\n(.*?)```", section, re.M | re.S)
        assert [language for language, _ in code] == ["python", "python", ""], title
        assert len([line for line in code[0][1].splitlines() if line]) <= 25, title


@pytest.mark.usefixtures("folder")
def test_the_parts_work_in_python_and_on_the_command_line(capsys):
    from osan.cli import app

    others = [block for block in blocks(PAGE) if block not in files().values()]
    run(PAGE, others, lambda: capsys.readouterr().out)
    for command in commands():
        words = shlex.split(command)[1:]
        quick = shlex.split(QUICK) if words[0] == "train" else []
        app([*words, *quick], standalone_mode=False)
        assert re.search(r"test \S+ -?[\d.]+ \(validation|separate", capsys.readouterr().out), command
    (run_folder,) = Path("runs").glob("*/gin/my_weigher:Degree-imle/**/result.json")
    app(["explain", str(run_folder.parent), "0", "--json"], standalone_mode=False)
    assert '"policy": "select 3 vertices x 3"' in capsys.readouterr().out
