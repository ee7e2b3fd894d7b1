"""The code of the page on networks runs as it stands."""

import re
from pathlib import Path

PAGE = Path(__file__).parents[2] / "docs" / "networks.md"


def test_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf8"), flags=re.DOTALL)
    assert len(blocks) >= 5
    names = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), names)
    printed = capsys.readouterr().out.strip()
    assert f"print(bag)  # {printed}" in blocks[0]


def test_the_page_names_what_there_is():
    from osan import bags, nn

    text = PAGE.read_text(encoding="utf8")
    for name in set(re.findall(r"`([a-z_]+)\(", text)):
        assert hasattr(bags, name) or hasattr(nn, name), name
