"""Links, menus, commands, settings and tables of the documentation are what the library has."""

import inspect
import re
from importlib import import_module
from runpy import run_path

import pytest
import yaml
from pages import DOCS, ROOT, text_of


@pytest.mark.parametrize("page", sorted(page.name for page in DOCS.glob("*.md")))
def test_links_lead_somewhere(page):
    links = re.findall(r"\]\(([^)#]+)\)", text_of(DOCS / page))
    assert [link for link in links if not (DOCS / link).exists()] == []


def test_settings_that_follow_the_authors_code_are_what_the_page_says():
    """The last column of the table: every setting exists, and what is built of it is the code's choice."""
    from osan.selection import Noise
    from osan.training.choosing import evaluation_noise
    from osan.training.settings import Settings
    from osan.training.settings_files import parsed_changes

    text = text_of(DOCS / "differences.md")
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in text.splitlines() if "|" in line]
    rows = [row for row in rows if len(row) == 4]
    changes = {row[0]: re.findall(r"`([a-z_.]+) = ([^`]+)`", row[3]) for row in rows}
    changed = {
        name: Settings().changed(parsed_changes([f"{key}={value}" for key, value in pairs]))
        for name, pairs in changes.items()
        if pairs
    }
    assert changed
    assert all(settings.differences(Settings()) for settings in changed.values())
    # Gaussian noise of 0.1 std(theta), as the row says.
    assert evaluation_noise(changed["noise in evaluation"].selection, Noise()) == Noise("gaussian", 0.1)
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
    made = {f"notebooks/{path.stem}.md" for path in (DOCS / "notebooks").glob("*.ipynb")}  # with the site
    named = set(pages(menu))
    assert [page for page in named - made if not (DOCS / page).exists()] == []
    assert made <= named


def test_the_site_loads_nothing_from_elsewhere():
    settings = yaml.safe_load((ROOT / "mkdocs.yml").read_text())
    assert settings["theme"]["font"] is False
    assert not any(
        "//" in str(each) for key in ("extra_javascript", "extra_css") for each in settings.get(key, [])
    )


def test_commands_in_the_pages_exist():
    import typer

    from osan.cli import app

    known = {*typer.main.get_command(app).commands}  # type: ignore[attr-defined]
    for page in (ROOT / "README.md", *DOCS.glob("*.md")):
        text = text_of(page)
        assert set(re.findall(r"^\|? ?`?osan (\w+)", text, re.MULTILINE)) <= known


def test_the_tables_of_results_are_what_their_commands_print():
    page = run_path(str(ROOT / "scripts" / "results_page.py"))
    for path in page["PAGES"]:
        text = text_of(path)
        assert page["filled"](text) == text


def test_the_figures_of_results_are_what_the_files_say():
    drawn = run_path(str(ROOT / "scripts" / "results_figures.py"))
    for name, draw in drawn["FIGURES"].items():
        made, published = (
            re.findall(r"<text[^>]*>(.*?)</text>", text)  # means among them
            for text in (drawn["rendered"](draw(), "svg").decode(), text_of(DOCS / "images" / f"{name}.svg"))
        )
        assert made == published


def test_published_results_are_of_the_plan(tmp_path, monkeypatch):
    """Every published run is one of the plans, each once, and no seed was picked."""
    from osan.experiments import parse_seeds, read_plan
    from osan.report import read_records

    monkeypatch.chdir(tmp_path)
    for table in ("qm9-12k.csv", "lipophilicity.csv.gz"):  # where choice.toml looks for them
        (tmp_path / table).touch()
    groups = [
        group
        for name in ("plan", "marks", "choice", "short")
        for group in read_plan(ROOT / "results" / f"{name}.toml")
    ]
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


def test_the_table_of_poolings_says_what_the_runs_say():
    from statistics import mean, stdev

    from osan.report import read_records

    records = read_records(ROOT / "results" / "runs.csv")
    ways = {
        "whole graph": "baseline",
        "and two random marks": "random/mark-1-vertex-distinct/x2",
        "and two central marks": "centrality/mark-1-vertex-distinct/x2",
    }
    for way, key in ways.items():
        short, long = [way], [way]
        for suffix in ("/mean", ""):
            runs = [each for each in records if each.name == f"ogbg-molesol/few-marks/{key}{suffix}"]
            assert len(runs) == 5
            test = [each.value for each in runs]
            short.append(f"{mean(test):.3f}")
            long += [f"{mean(each.validation for each in runs):.3f}", f"{mean(test):.3f} ± {stdev(test):.3f}"]
        assert f"| {' | '.join(short)} |" in text_of(DOCS / "results.md")
        assert f"| {' | '.join(long)} |" in text_of(DOCS / "results-detail.md")


def test_every_table_of_the_paper_has_a_line_of_ours():
    from osan.experiments.figures import tables
    from osan.report import table_lines

    filled = {
        name
        for name in tables()
        if any(line.ours is not None for line in table_lines(name, ROOT / "results" / "runs.csv"))
    }
    assert set(tables()) - filled == {"t_al"}  # Alchemy was not available to us


def test_the_readme_names_targets_that_exist():
    makefile = text_of(ROOT / "Makefile")
    for target in re.findall(r"^make (\S+)", text_of(ROOT / "README.md"), flags=re.MULTILINE):
        assert re.search(rf"^{target}:", makefile, flags=re.MULTILINE), target


@pytest.mark.parametrize("room", sorted(page.stem for page in (DOCS / "api").glob("*.md")))
def test_the_api_page_of_a_room_has_all_its_public_names(room):
    """Each has an entry that can be imported, and a docstring unless it is a table or a type."""
    public = import_module(f"osan.{room}")
    entries = re.findall(r"^::: (\S+)", text_of(DOCS / "api" / f"{room}.md"), flags=re.MULTILINE)
    found = {entry: _imported(entry) for entry in entries}
    assert len(found) == len(entries)
    named = {entry.rpartition(".")[2]: value for entry, value in found.items()}
    assert [name for name in public.__all__ if name not in named] == []
    for name in public.__all__:
        value = getattr(public, name)
        assert named[name] is value, name
        if inspect.isclass(value) or inspect.isroutine(value):
            assert inspect.getdoc(value), name


def test_every_room_has_an_api_page():
    import osan

    rooms = {name for name in dir(osan) if inspect.ismodule(getattr(osan, name)) and name in osan._ROOMS}
    assert rooms - {page.stem for page in (DOCS / "api").glob("*.md")} == {"errors"}


def test_the_tables_that_contributors_touch_exist():
    text = text_of(ROOT / "CONTRIBUTING.md")
    tables = re.findall(r"`(\w+)` in `([\w/]+\.py)`", text)
    assert len(tables) >= 15
    for name, module in tables:
        defined = rf"^(def )?{name}\b( = |: |\()"
        assert re.search(defined, text_of(ROOT / "src" / "osan" / module), flags=re.MULTILINE), (name, module)
    for path in re.findall(r"`(tests/[\w/.]+)`", text):
        assert (ROOT / path).exists(), path


def _imported(name):
    """What ``module.name`` stands for."""
    try:
        return import_module(name)
    except ModuleNotFoundError:
        room, _, last = name.rpartition(".")
        return getattr(import_module(room), last)


def test_the_comparison_of_molecules_is_that_of_its_runs():
    """The table, the counts and the coverage of the page, and no seed was left out."""
    benchmark = run_path(str(ROOT / "benchmarks" / "molecules.py"))
    rows = benchmark["read_results"](ROOT / "results" / "molecules.csv")
    page = text_of(DOCS / "molecules.md")
    assert benchmark["table_of"](rows) in page
    for number in ("mae", "rmse"):
        for line in benchmark["counts_of"](rows, number).splitlines():
            assert line in page
    assert benchmark["coverage_of"](rows) in page
    assert benchmark["times_of"](rows) in page
    counts = re.findall(r"ahead (\d+), level \d+, behind \d+ of (\d+)", benchmark["counts_of"](rows))
    (chemprop, splits), (lightgbm, others) = counts[:2]
    readme = text_of(ROOT / "README.md")
    assert f"[Better on {chemprop} of {splits} splits](docs/molecules.md#" in readme
    assert f"gradient boosting on {lightgbm} of {others}" in readme
    keys = [benchmark["key"](row) for row in rows]
    assert len(set(keys)) == len(keys)
    for key in keys:
        seeds = sorted(int(other[3]) for other in keys if other[:3] == key[:3])
        assert seeds == list(range(len(seeds)))
