"""Every file that is written: old or new content, whatever fails; then it can be written again."""

import errno
import os
import re
import signal
import tempfile
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import faults
import pytest
import torch
from safetensors.torch import save

from osan.data import Features, flatten, planted_motif
from osan.data.custom.rejected import Rejected, write_rejected
from osan.data.published import cache as store
from osan.data.published.cache import Processed
from osan.errors import OsanError
from osan.experiments.brec.run import _write as write_brec
from osan.files import write_bytes
from osan.graphs import Graph, write_graphs
from osan.report import Run, write_choice_page, write_explorer, write_run_page
from osan.training.calibration import Calibration, write_calibration
from osan.training.callbacks import History
from osan.training.checkpoint import SafeCheckpointIO
from osan.training.columns import write_csv
from osan.training.embedding import Embedded, write_embedded
from osan.training.folder import Result, write_json, write_result
from osan.training.jobs import Job, concluded
from osan.training.settings import Settings
from osan.training.settings_files import write_settings

_NOBODY = 65534
GRAPHS = flatten(planted_motif(2, seed=0))


def metrics(path, n):
    history = History(path.parent)
    history.file, history.rows = path, [{"epoch": float(n)}]
    history.write()


def model(path, n):
    write_bytes(path, save({"w": torch.full((3,), float(n))}))


@cache
def page(n):
    from osan.report.templates import filled

    values = {"title": str(n), "version": "", "parts": [], "examples": [], "failed": [], "environments": []}
    return filled("page.html", **values, counts={"finished": 0, "failed": 0, "unfinished": 0}).encode()


def report(path, n):
    write_bytes(path, page(n))


def sweep_state(path, n):
    write_json(path, {"error": f"the process ended with exit code {n}"})


def run_page(path, n):
    with mock.patch("osan.report.run_page.run_page", return_value=f"<p>{n}</p>"):
        write_run_page(Run(path.parent, Settings(), None), path)


def choice_page(path, n):
    with (
        mock.patch("osan.report.choice_page.effects", return_value=n),
        mock.patch("osan.report.choice_page.choice_page", return_value=f"<p>{n}</p>"),
    ):
        write_choice_page(path.parent, path)


def explorer(path, n):
    with mock.patch("osan.report.explore.explorer_page", return_value=f"<p>{n}</p>"):
        write_explorer(path)


def embeddings(path, n):
    write_embedded(path, Embedded([n], ["C"], torch.full((1, 2), float(n)), []))


def result(path, n):
    known = Result("a", n, "b", "mae", "min", 0.5, 0.5, 3, 2, 1.0, [1.0], {"mae": 0.5}, members=[0.5, 0.5])
    write_result(path.parent, known)


# What is written, and how: content depends on a number.
WRITERS = {
    "cache": lambda path, n: store.save(
        Processed(GRAPHS, Features(sizes=(2,)), None, {"test": torch.tensor([n])}), path
    ),
    "checkpoint": lambda path, n: SafeCheckpointIO().save_checkpoint({"epoch": n}, path),
    "best model": model,
    "metrics": metrics,
    "settings": lambda path, n: write_settings(Settings(seed=n), path),
    "predictions": lambda path, n: write_csv(path, ["a"], [[n]]),
    "rejected rows": lambda path, n: write_rejected(path, [Rejected(n, "C", "reason")]),
    "sweep state": sweep_state,
    "report": report,
    "graphs": lambda path, n: write_graphs(path, [Graph(3, [(0, n)])]),
    "run page": run_page,
    "choice page": choice_page,
    "explorer": explorer,
    "embeddings.npz": embeddings,
    "embeddings.parquet": embeddings,
    "trials.csv": lambda path, n: write_csv(path, ["trial", "state"], [[n, "complete"]]),
    "best.toml": lambda path, n: write_settings(Settings(seed=n), path),
    "replicates.json": lambda path, n: write_json(path, {"mae": {"mean": n}}),
    "calibration.json": lambda path, n: write_calibration(
        path.parent, Calibration("regression", n, [[1.0] * 999])
    ),
    "result.json": result,
    "brec.json": lambda path, n: write_brec(path, SimpleNamespace(name=f"model {n}"), None, {}),
    "estimator.json": lambda path, n: write_json(path, {"estimator": n}),
}
ERRORS = (errno.ENOSPC, errno.EIO, errno.EACCES, errno.EROFS, errno.EDQUOT, errno.EFBIG)


@pytest.fixture(params=WRITERS)
def kind(request):
    return request.param


@pytest.fixture
def write(kind):
    return WRITERS[kind]


@pytest.fixture
def path(kind, tmp_path):
    """A file; some have a name that says what they are."""
    return tmp_path / (kind if "." in kind else "file")


def test_every_call_that_fails(write, path):
    """Full disk, broken disk, no permission, read-only, quota: one line, the old content, nothing else."""
    with faults.failing(-1) as layer:
        write(path, 1)
    old = path.read_bytes()
    # The last calls only make the rename last.
    renamed = layer.names.index("replace")
    for at in range(len(layer.names)):
        # Every call fails in two ways, and every error comes at several calls.
        for number in ERRORS[at % 3 :: 3]:
            reason = re.escape(os.strerror(number))
            with faults.failing(at, faults.error(number)):
                if at <= renamed:
                    with pytest.raises(OsanError, match=rf"cannot be written: {reason}; earlier files"):
                        write(path, 2)
                    assert path.read_bytes() == old
                else:
                    write(path, 2)
                    assert path.read_bytes() != old
                    write(path, 1)
                    old = path.read_bytes()
            assert os.listdir(path.parent) == [path.name]
    write(path, 2)
    size = path.stat().st_size
    write(path, 1)
    with faults.failing(layer.names.index("write"), faults.short):
        write(path, 2)
    assert path.stat().st_size == size
    assert path.read_bytes() != old


def test_a_kill_before_and_within_every_call(write, path):
    with faults.failing(-1) as layer:
        write(path, 1)
    rename = layer.names.index("replace")
    for at in range(len(layer.names)):
        way = (faults.kill, faults.tear)[at % 2] if layer.names[at] == "close" else faults.tear
        for fault in {way, faults.kill if at in (0, rename) else way}:
            old = path.read_bytes()

            def killed(at=at, fault=fault):
                with faults.failing(at, fault):
                    write(path, 2)

            assert faults.in_child(killed) == -signal.SIGKILL
            renamed = at > rename or (at == rename and fault is faults.tear)
            assert (path.read_bytes() != old) == renamed
            write(path, 1)
            assert os.listdir(path.parent) == [path.name]


def test_lines_that_cannot_be_appended(tmp_path):
    """The file of metrics keeps its earlier lines, whole."""
    history = History(tmp_path)
    for epoch in range(2):
        history.rows.append({"epoch": float(epoch), "loss": 1.0})
        history.add(history.rows[-1])
    whole = (tmp_path / "metrics.csv").read_text()
    assert whole == "epoch,loss\n0.0,1.0\n1.0,1.0\n"
    history.rows.append({"epoch": 2.0, "loss": 1.0})

    def half(name, *arguments):
        if name == "write":
            os.write(arguments[0], arguments[1][:3])
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with faults.failing(1, half), pytest.raises(OsanError, match="No space left on device; earlier lines"):
        history.add(history.rows[-1])
    assert (tmp_path / "metrics.csv").read_text() == whole
    history.add(history.rows[-1])
    assert (tmp_path / "metrics.csv").read_text() == whole + "2.0,1.0\n"
    # A row with other columns, as after a change of version.
    history.rows.append({"epoch": 3.0, "loss": 1.0, "kappa": 0.5})
    history.add(history.rows[-1])
    assert (tmp_path / "metrics.csv").read_text().splitlines()[::4] == ["epoch,loss,kappa", "3.0,1.0,0.5"]


def test_a_folder_that_may_not_be_written(write, path):
    # Not below tmp_path, which only its owner may look into: root tries it as another user.
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "folder")
        folder.mkdir()
        file = folder / path.name
        write(file, 1)
        old = file.read_bytes()
        for each in (Path(name), folder):
            each.chmod(0o555)

        def refused():
            if os.geteuid() == 0:
                os.setgroups([])
                os.setgid(_NOBODY)
                os.setuid(_NOBODY)
            assert file.read_bytes() == old
            with pytest.raises(OsanError, match="cannot be written: Permission denied"):
                write(file, 2)

        code = faults.in_child(refused)
        for each in (Path(name), folder):
            each.chmod(0o755)
        assert code == 0
        assert file.read_bytes() == old
        assert os.listdir(folder) == [file.name]


def test_a_sweep_that_cannot_note_a_failure(tmp_path):
    with (
        faults.failing(0, faults.error(errno.ENOSPC)),
        pytest.raises(OsanError, match="No space left on device"),
    ):
        concluded(Job(Settings(), tmp_path), 3)
    assert concluded(Job(Settings(), tmp_path), 3).state == "failed"
