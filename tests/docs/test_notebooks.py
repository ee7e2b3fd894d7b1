"""Every notebook runs from its first cell to its last, in an empty folder."""

import json

import matplotlib
import pytest
from pages import DOCS


@pytest.mark.parametrize("name", sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb")))
def test_a_notebook_runs(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    path = DOCS / "notebooks" / f"{name}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 100_000
    names: dict[str, object] = {"__name__": "__main__"}
    for number, cell in enumerate(book["cells"]):
        if cell["cell_type"] == "code":
            exec(compile("".join(cell["source"]), f"{name}, cell {number}", "exec"), names)
