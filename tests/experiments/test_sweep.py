"""Sweeps: what is planned, failures, interruptions, and kills of the whole sweep."""

import csv
import json
import multiprocessing
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import pytest
from forked import ForkedRun
from hypothesis import given
from hypothesis import strategies as st

from osan.errors import OsanError
from osan.experiments import find_recipes, recipes
from osan.experiments.figures import paper_rows
from osan.experiments.sweep import missing_jobs, parse_seeds
from osan.training import worker
from osan.training.jobs import Job, concluded, epochs_done, run_locally
from osan.training.processes import INTERRUPTED, start
from osan.training.settings import Settings, validated


def tiny(name="tiny/a", seed=0, epochs=3, **data) -> Settings:
    return validated(
        {
            "name": name,
            "seed": seed,
            "data": {"dataset": "planted-motif", "options": {"num_graphs": 60}} | data,
            "selection": {"policy": "delete 1 vertex x 2"},
            "network": {"width": 8, "layers": 2},
            "training": {"batch_size": 8, "epochs": epochs},
            "machine": {"accelerator": "cpu", "checkpoint_seconds": 0},
        }
    )


@given(st.sets(st.integers(0, 60), min_size=1))
def test_seeds_in_any_notation(seeds):
    alone = ",".join(map(str, seeds))
    assert parse_seeds(alone) == sorted(seeds)
    # Maximal ranges: a new one begins where the one before has a gap.
    starts = sorted(s for s in seeds if s - 1 not in seeds)
    ends = sorted(s for s in seeds if s + 1 not in seeds)
    assert parse_seeds(", ".join(f"{a}-{b}" for a, b in zip(starts, ends, strict=True))) == sorted(seeds)


@pytest.mark.parametrize("text", ["", "a", "1-", "-1", "3-1", "1,,2", "1.5"])
def test_wrong_seeds(text):
    with pytest.raises(OsanError, match="seeds: expected"):
        parse_seeds(text)


def test_recipes_of_a_table_are_its_own_rows():
    for table in {row.table for row in paper_rows()}:
        expected = {(r.method, r.operation, r.type, r.size, r.subgraphs) for r in paper_rows()
                    if r.table == table and not r.quoted}  # fmt: skip
        found = {(r.method, r.operation, r.type, r.size, r.subgraphs) for recipe in find_recipes(table)
                 for r in recipe.rows if r.table == table}  # fmt: skip
        assert found == expected
    assert len(find_recipes("all")) == len(recipes())
    assert all("/random/" in recipe.key for recipe in find_recipes("t_mol", "random"))


def test_unknown_names():
    with pytest.raises(OsanError, match="did you mean 'tab:exp'"):
        find_recipes("tab:ex")
    with pytest.raises(OsanError, match="matches one of 5 recipes"):
        find_recipes("exp", "zinc*")


def test_plan_leaves_out_what_is_finished(tmp_path):
    a, b = tiny("x/a"), tiny("x/b")
    assert [str(job) for job in missing_jobs([a, b], [0, 1], tmp_path)] == [
        "x/a seed 0",
        "x/b seed 0",
        "x/a seed 1",
        "x/b seed 1",
    ]
    finished = tmp_path / "x" / "b" / "seed-0"
    finished.mkdir(parents=True)
    (finished / "result.json").write_text("{}")
    jobs = missing_jobs([a, b], [0, 1], tmp_path)
    assert [str(job) for job in jobs] == ["x/a seed 0", "x/a seed 1", "x/b seed 1"]
    assert jobs[0].folder == tmp_path / "x" / "a" / "seed-0"


def test_a_process_that_dies_is_recorded(tmp_path):
    job = Job(tiny(), tmp_path)
    event = concluded(job, -signal.SIGKILL)
    assert event.state == "failed"
    assert "SIGKILL" in event.error
    assert json.loads((tmp_path / "failed.json").read_text()) == {"error": event.error}
    assert concluded(Job(tiny(), tmp_path / "none"), INTERRUPTED).state == "interrupted"


@pytest.fixture(scope="module")
def swept(tmp_path_factory):
    """A sweep over a run that works and one that cannot: their settings, jobs and how they ended."""
    folder = tmp_path_factory.mktemp("sweep")
    own = folder / "own.g6"
    own.write_text("Bw\n")  # no labels: this run fails when it reads its data
    settings = [tiny("bad", dataset=str(own), options={}), tiny("good", epochs=8)]
    jobs = missing_jobs(settings, [0], folder / "runs")

    def started(message, threads):
        """One new process will do: it is the one that imports torch, and others are compared with it."""
        return (ForkedRun if message["settings"]["name"] == "bad" else start)(message, threads)

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("osan.training.jobs.start", started)
        return folder / "runs", settings, jobs, list(run_locally(jobs, 2, 1))


def test_a_failure_does_not_stop_the_rest(swept):
    runs, settings, (bad, good), events = swept
    ended = {str(e.job): e for e in events if e.state not in ("started", "running")}
    assert ended[str(good)].state == "finished"
    assert ended[str(bad)].state == "failed"
    error = json.loads((bad.folder / "failed.json").read_text())["error"]
    assert error == ended[str(bad)].error
    assert "\n" not in error
    assert "label" in error
    # The next sweep has the failed one left, not the finished one.
    assert missing_jobs(settings, [0], runs) == [bad]


def test_a_deadline_leaves_runs_to_be_continued(tmp_path, request):
    """Even where Ctrl-C is ignored, as in jobs that a shell runs in the background."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    jobs = missing_jobs([tiny("long", epochs=100_000), tiny("never")], [0], tmp_path)
    events = list(run_locally(jobs, 1, 1, deadline=time.monotonic() + 2.0))
    assert [e.state for e in events if e.state != "running"] == ["started", "interrupted"]
    assert not (jobs[0].folder / "failed.json").exists()
    assert not jobs[1].folder.exists()


def test_an_interrupt_that_is_swallowed_comes_again():
    """As Python does with one that is raised in a callback from C."""
    script = """
import signal, threading, time
from osan.training.worker import _interrupt_after
heard = []
signal.signal(signal.SIGINT, lambda *_: heard.append(1))
threading.Thread(target=_interrupt_after, args=(0.1, 0.2), daemon=True).start()
while len(heard) < 2:
    time.sleep(0.01)
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=600)


def run_until(jobs, epochs):
    """Sweep until the first job has so many epochs, then stop as Ctrl-C does."""
    with closing(run_locally(jobs, 2, 1)) as events:
        for event in events:
            if event.epochs >= epochs:
                return


def test_interrupted_killed_and_continued_to_the_same_result(swept, tmp_path, monkeypatch):
    """As if nothing had happened, and as in a process that was not forked."""
    monkeypatch.setattr("osan.training.jobs.start", ForkedRun)
    _, settings, (_, reference), _ = swept
    jobs = missing_jobs(settings[1:], [0], tmp_path)
    folder = jobs[0].folder
    run_until(jobs, 1)
    assert not (folder / "failed.json").exists()
    # A copy of this process sweeps and is killed, which leaves it no time to end its runs.
    sweep = multiprocessing.get_context("fork").Process(target=run_until, args=(jobs, 1000))
    sweep.start()
    end = time.monotonic() + 600
    while epochs_done(jobs[0]) < 4 and sweep.is_alive() and time.monotonic() < end:
        time.sleep(0.01)
    sweep.kill()
    sweep.join()
    # Whoever trains in a folder holds its lock: when it is free, the run has ended, too.
    assert worker._free(folder)
    assert not (folder / "failed.json").exists()
    assert [e.state for e in run_locally(jobs, 1, 1)][-1] == "finished"
    for file in ("model.safetensors", "predictions.csv"):
        assert (folder / file).read_bytes() == (reference.folder / file).read_bytes()
    ours, theirs = (json.loads((each / "result.json").read_text()) for each in (folder, reference.folder))
    for timed in ("seconds", "test_seconds"):
        del ours[timed], theirs[timed]
    assert ours == theirs
    assert losses(folder) == losses(reference.folder)


def losses(folder: Path) -> list[list[str]]:
    """Everything in metrics.csv but times."""
    with (folder / "metrics.csv").open() as stream:
        return [[row[name] for name in row if name != "seconds"] for row in csv.DictReader(stream)]
