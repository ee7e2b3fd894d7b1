"""Every notebook runs from its first cell to its last, in an empty folder, and keeps what it shows."""

import json
from runpy import run_path

import matplotlib
import pytest
from pages import DOCS, ROOT

NAMES = sorted(path.stem for path in (DOCS / "notebooks").glob("*.ipynb"))


@pytest.fixture(scope="module")
def script():
    """The functions of scripts/notebooks.py."""
    return run_path(str(ROOT / "scripts" / "notebooks.py"))


def kinds(book):
    """For each cell the kinds of its outputs."""
    cells = [cell.get("outputs", []) for cell in book["cells"]]
    return [[(each["output_type"], sorted(each.get("data", {}))) for each in cell] for cell in cells]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name, script, tmp_path, monkeypatch):
    """The outputs in the file are of the kinds that running it gives; numbers may differ by rounding."""
    monkeypatch.chdir(tmp_path)
    matplotlib.use("agg")
    path = DOCS / "notebooks" / f"{name}.ipynb"
    book = json.loads(path.read_text(encoding="utf-8"))
    assert path.stat().st_size < 100_000
    assert kinds(script["run"](book, name)) == kinds(book)
    assert any(kinds(book))
    assert "/tmp" not in path.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_is_a_page_of_the_site(name, script):
    book = json.loads((DOCS / "notebooks" / f"{name}.ipynb").read_text(encoding="utf-8"))
    text = script["page"](book, f"{name}.ipynb")
    assert text.startswith(f"# {''.join(book['cells'][0]['source']).splitlines()[0][2:]}\n")
    assert f"({name}.ipynb)" in text
    assert text.count("```python\n") == sum(cell["cell_type"] == "code" for cell in book["cells"])
