"""The command itself: exit codes, and how fast it answers."""

import json
import os
import resource
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from osan import cli
from osan.cli import app

CYCLES = ("Bw", "Bw")
STORED = Path(__file__).parents[1] / "training" / "stored_runs"


def python(*words, **options):
    """Run Python with one thread, for which loops are compiled in other tests anyway."""
    command, environment = [sys.executable, *words], {**os.environ, "NUMBA_NUM_THREADS": "1"}
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=900, env=environment, **options)


# Imports once, then forks a process for every command, which exits as any other does.
FORKS = """
import json, os, sys
import osan.cli, osan.experiments, osan.wl.refine
from osan.__main__ import main

for words in json.loads(sys.argv[1]):
    child = os.fork()
    if child == 0:
        sys.argv = ["osan", *words]
        main()
    sys.stderr.write(f"{os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])}\\n")
"""


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="this system has no /dev/full")
def test_output_that_cannot_be_written_is_an_error():
    verdict = ["wl", "distinguish", *CYCLES]
    commands = [["recipes", "--json"], ["recipes"], ["--help"], ["--version"], verdict, [*verdict, "--json"]]
    with open("/dev/full", "w") as full:
        done = python("-c", FORKS, json.dumps(commands), stdout=full)
    assert done.returncode == 0
    assert done.stderr == "osan: output cannot be written: No space left on device\n2\n" * len(commands)


def test_a_reader_that_is_gone_is_not_a_verdict():
    read, write = os.pipe()
    os.close(read)
    with open(write, "w") as closed:
        done = python("-m", "osan", "recipes", "--json", stdout=closed)
    assert done.returncode == 141
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "error", [RuntimeError("odd"), AssertionError(), RecursionError(), OSError(5, "x", "f")]
)
def test_a_bug_is_not_a_verdict(monkeypatch, capsys, error):
    """Code 1 means "not separated" in osan wl distinguish, so nothing unforeseen may give it."""

    def fail(*_, **__):
        raise error

    monkeypatch.setattr(cli, "app", fail)
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code not in (0, 1)
    assert "osan: " in capsys.readouterr().err


def test_verdicts_are_codes_0_and_1(osan):
    assert osan("wl", "distinguish", *CYCLES).returncode == 1
    assert osan("wl", "distinguish", "Bw", "Bg").returncode == 0
    assert osan("wl", "distinguish", "Bw").returncode == 2


LIGHT = [
    ["data", "list"],
    ["--help"],
    ["--version"],
    ["recipes"],
    ["recipes", "--json"],
    ["recipes", "--format", "latex"],
]
LIGHT += [
    [group, "--help"] for group in ("data", "wl", "recipes", "train", "sweep", "table", "runs", "report")
]
LIGHT += [[group, "--help"] for group in ("evaluate", "predict", "explain", "demo", "theory")]


def test_lists_and_help_do_not_import_torch(tmp_path):
    """What takes seconds to import is imported by the commands that need it only, so that help is quick."""
    runs, plan = tmp_path / "runs", tmp_path / "plan.toml"
    for name in ("molecules", "planted-motif"):
        shutil.copytree(STORED / name, runs / name / "seed-0")
    (tmp_path / "a.csv").write_text("smiles,y\nC,1\n")
    keys = ["zinc/gin/imle/delete-1-vertex/x3", f"{tmp_path}/a.csv/gin/prior-imle/mark-1-vertex/x2"]
    plan.write_text(f"[[groups]]\nruns = {keys}\nset = {{'training.epochs' = 3}}\n")
    lists = [["runs", str(runs)], ["runs", str(runs), "--each"], ["table", "exp", "--runs", str(runs)]]
    lists += [["sweep", of, "--dry-run", "--runs", str(runs)] for of in ("all", str(plan))]
    script = f"""
import sys
from pathlib import Path
from typer.testing import CliRunner
from osan.cli import app
for words in {LIGHT + lists!r}:
    assert CliRunner().invoke(app, words).exit_code == 0, words
    heavy = {{"torch", "numba", "scipy", "networkx", "lightning", "matplotlib", "pandas", "rdkit"}}
    assert not heavy & set(sys.modules), (words, heavy & set(sys.modules))
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=900)
    before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
    assert python("-m", "osan", "--help", stdout=subprocess.DEVNULL).returncode == 0
    assert resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before < 1


@pytest.mark.parametrize(("group", "hint"), [("", "osan demo"), ("data", "osan data list"), ("wl", "EhEG")])
def test_a_group_alone_says_what_to_do_next(group, hint):
    shown = CliRunner().invoke(app, group.split())
    assert hint in (shown.stdout + shown.stderr).partition("Next: ")[2]


@pytest.mark.parametrize("words", [["train"], ["data", "prepare"], ["data"], []], ids=" ".join)
def test_flags_are_shown_without_a_type(words):
    """A flag takes no value, so the help must not name the type of one."""
    shown = CliRunner().invoke(app, [*words, "--help"], env={"COLUMNS": "200"}).stdout
    lines = [line for line in shown.splitlines() if "--json" in line or "--help  " in line]
    assert lines
    assert not any("bool" in line.lower() for line in lines), lines


def test_tables_go_by_label_and_number():
    ask = lambda *words: CliRunner().invoke(app, [*words, "--json"]).stdout  # noqa: E731
    assert ask("table", "4") == ask("table", "exp")
    assert ask("recipes", "--table", "1A") == ask("recipes", "--table", "t_mol") != ask("recipes")


def test_a_sweep_does_as_many_runs_as_the_paper(tmp_path):
    words = ["sweep", "exp", "--only", "baseline", "--runs", str(tmp_path), "--dry-run"]
    assert "50 runs to do, 0 finished." in CliRunner().invoke(app, words).stdout
    words[1] = "all"
    assert CliRunner().invoke(app, words).stdout.splitlines()[-1] == "85 runs to do, 0 finished."


def test_recipes_are_printed_whole():
    out = CliRunner().invoke(app, ["recipes"], env={"COLUMNS": "40"}).stdout
    from osan.experiments import recipes

    assert all(f" {key} " in out for key in recipes())
    lines = CliRunner().invoke(app, ["recipes", "--table", "exp", "--format", "csv"]).stdout.splitlines()
    assert lines[:2] == ["recipe,paper,metric,tables", "exp/gin/baseline,0.522 ± 0.003,accuracy,tab:exp"]


@pytest.mark.parametrize(
    ("sent", "code", "word"), [("SIGINT", 130, "interrupted"), ("SIGTERM", 143, "terminated")]
)
def test_signals_during_imports(sent, code, word):
    """One line, and no traceback."""
    script = f"""
import os, signal, sys

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == "osan.cli":
            os.kill(os.getpid(), signal.{sent})

sys.meta_path.insert(0, Finder())
from osan.__main__ import main
main()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=900)
    assert (done.returncode, done.stderr) == (code, f"osan: {word}\n")


def test_words_that_are_no_text(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["osan", "wl", "color", "a\udcff.g6"])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    assert caught.value.code == 2
    assert "expected UTF-8 text" in capsys.readouterr().err
