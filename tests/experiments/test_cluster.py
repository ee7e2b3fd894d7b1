"""Sweeps on a Ray cluster that the test starts."""

import json
import subprocess
import sys

import pytest

from osan.errors import OsanError
from osan.experiments import missing_jobs
from osan.training import train
from osan.training.ray_trials import Cluster
from osan.training.settings import validated
from osan.training.trials import SPACE
from osan.training.tuning import tune

ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'osan[ray]'")


@pytest.fixture(scope="module")
def cluster():
    """A cluster of one node with one processor."""
    from ray.cluster_utils import Cluster

    # Only what runs tasks. Its processes would be nicer than all others, and starve beside other tests.
    few = {"num_cpus": 1, "include_dashboard": False, "no_monitor": True, "include_log_monitor": False}
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("RAY_worker_niceness", "0")
        try:
            started = Cluster(initialize_head=True, head_node_args=few | {"object_store_memory": 100 * 2**20})
        except Exception as error:
            pytest.skip(f"this machine cannot start Ray: {error}")
        yield started.address
        started.shutdown()


def tiny(name, **data):
    return validated(
        {
            "name": name,
            "data": {"dataset": "planted-motif", "options": {"num_graphs": 20}} | data,
            "network": {"width": 8, "layers": 2},
            "training": {"batch_size": 8, "epochs": 1},
            "machine": {"accelerator": "cpu"},
        }
    )


def test_runs_and_failures_on_a_cluster(cluster, tmp_path):
    from osan.experiments.cluster import run_on_ray

    own = tmp_path / "own.g6"
    own.write_text("Bw\n")
    jobs = missing_jobs([tiny("a"), tiny("b", dataset=str(own), options={})], [0], tmp_path / "runs")
    ended = [e for e in run_on_ray(jobs, cluster) if e.state not in ("started", "running")]
    assert {str(e.job): e.state for e in ended} == {"a seed 0": "finished", "b seed 0": "failed"}
    assert json.loads((jobs[1].folder / "failed.json").read_text())["error"]
    here = train(tiny("a"), tmp_path / "here", progress=False)
    there = json.loads((jobs[0].folder / "result.json").read_text())
    assert (there["value"], there["validation"]) == pytest.approx((here.value, here.validation), rel=1e-5)


def test_trials_on_a_cluster(cluster, tmp_path, monkeypatch):
    """The same proposal gives the same metric as here; a cluster that is too small is refused."""
    for name, values in {"network.width": [4, 8], "network.layers": [1], "training.batch_size": [8]}.items():
        monkeypatch.setitem(SPACE, name, values)
    here = tune(tiny("a"), tmp_path / "here", 1)
    there = tune(tiny("a"), tmp_path / "there", 1, cluster=Cluster(cluster))
    assert there.value == pytest.approx(here.value, rel=1e-5)
    assert (there.settings, there.states) == (here.settings, {"complete": 1})
    wanted = "ray: expected a cluster with 2 processors and 0 GPUs for a trial, got one with 1 and 0"
    with pytest.raises(OsanError, match=wanted):
        tune(tiny("a"), tmp_path / "there", 2, cluster=Cluster(cluster, threads=2))


def test_tasks_do_not_import_torch():
    """They wait for a process, on every node."""
    script = "import sys, osan.training.processes; sys.exit('torch' in sys.modules)"
    subprocess.run([sys.executable, "-c", script], check=True)


def test_nobody_at_the_address(tmp_path):
    from osan.experiments.cluster import run_on_ray

    with pytest.raises(OsanError, match="ray: expected the address of a running cluster, got 'localhost:1'"):
        list(run_on_ray(missing_jobs([tiny("a")], [0], tmp_path), "localhost:1"))
