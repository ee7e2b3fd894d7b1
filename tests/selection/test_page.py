"""Every code block of the page on selection runs."""

import re
from pathlib import Path

import torch

PAGE = Path(__file__).parents[2] / "docs" / "selection.md"


def test_code_blocks_run_in_order():
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) >= 8
    torch.manual_seed(0)
    names: dict[str, object] = {}
    for number, block in enumerate(blocks):
        exec(compile(block, f"{PAGE.name}, block {number + 1}", "exec"), names)
