"""Killed, interrupted and continued runs end as if nothing had happened."""

import os
import random
import signal
import time

import pytest
import torch

from osan.training.folder import CHECKPOINT, METRICS, RESULT
from osan.training.run import train


@pytest.fixture(scope="module")
def start():
    """``start(settings, folder)`` runs in a process of its own: its id, and a function that waits for it.

    Forked, since a new one would import torch again.
    """

    def begin(settings, folder):
        child = os.fork()
        if child == 0:
            code = 1
            try:
                torch.set_num_threads(1)
                train(settings, folder, resume=True, progress=False)
                code = 0
            except KeyboardInterrupt:
                code = 130
            except BaseException as error:
                os.write(2, f"{type(error).__name__}: {error}\n".encode())
            finally:
                os._exit(code)
        return child, lambda: os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])

    return begin


# Long enough not to end before the last kill, on a fast machine too.
LONG = {"training.epochs": 30}


@pytest.fixture(scope="module")
def whole(tmp_path_factory, small, start):
    """A long run that nothing stopped, in such a process: another number of threads adds up otherwise."""
    folder = tmp_path_factory.mktemp("whole") / "run"
    _, wait = start(small(**LONG), folder)
    assert wait() == 0
    return folder


def wait_for(path, newer=0):
    """Wait until a file appears or is replaced."""
    until = time.monotonic() + 600
    while not (path.exists() and path.stat().st_mtime_ns > newer):
        assert time.monotonic() < until, f"{path} did not appear"
        time.sleep(0.002)


def test_killed_again_and_again_and_still_the_same(tmp_path, small, outcome, start, whole):
    folder, rng, seen = tmp_path / "run", random.Random(0), 0
    settings = small(**LONG)
    for _ in range(4):
        process, wait = start(settings, folder)
        # After some checkpoint, at a random moment of what comes then, be it a step, a validation or the
        # writing of a file.
        wait_for(folder / CHECKPOINT, newer=seen)
        time.sleep(rng.uniform(0, 0.05))
        os.kill(process, signal.SIGKILL)
        assert wait() == -signal.SIGKILL
        seen = (folder / CHECKPOINT).stat().st_mtime_ns
    assert not (folder / RESULT).exists()
    _, wait = start(settings, folder)
    assert wait() == 0
    assert outcome(folder) == outcome(whole)
    assert not [path for path in folder.iterdir() if path.name.startswith(".")]


@pytest.mark.parametrize("after", [1, 5])
def test_every_checkpoint_leads_to_the_same_end(tmp_path, small, finished, outcome, after, monkeypatch):
    """Stopped within the process right after a checkpoint, with early stopping in between or not."""
    from osan.training import callbacks

    folder = tmp_path / "run"
    save = callbacks.Saver.on_train_epoch_end

    def stop(self, trainer, module):
        save(self, trainer, module)
        if trainer.current_epoch == after:
            raise RuntimeError("stopped")

    with monkeypatch.context() as patched:
        patched.setattr(callbacks.Saver, "on_train_epoch_end", stop)
        with pytest.raises(RuntimeError, match="stopped"):
            train(small(), folder, progress=False)
    train(small(), folder, resume=True, progress=False)
    assert outcome(folder) == outcome(finished)


def test_resumed_early_stopping(tmp_path, small, outcome, monkeypatch):
    """The stopping rule counts on, and a run that had stopped does not start again."""
    from osan.training import callbacks

    settings = small(**{"training.learning_rate": 0.3, "training.epochs": 30, "training.patience": 2})
    settings = settings.changed({"training.min_epochs": 4})
    whole = train(settings, tmp_path / "whole", progress=False)
    assert 4 <= whole.epochs < 30
    assert whole.epochs == max(whole.best_epoch + 3, 4)
    save = callbacks.Saver.on_train_epoch_end
    for last in (whole.epochs - 2, whole.epochs - 1):

        def stop(self, trainer, module, last=last):
            save(self, trainer, module)
            if trainer.current_epoch == last:
                raise RuntimeError("stopped")

        folder = tmp_path / str(last)
        with monkeypatch.context() as patched:
            patched.setattr(callbacks.Saver, "on_train_epoch_end", stop)
            with pytest.raises(RuntimeError, match="stopped"):
                train(settings, folder, progress=False)
        train(settings, folder, resume=True, progress=False)
        assert outcome(folder) == outcome(tmp_path / "whole")


def test_equal_seeds_equal_runs_other_seeds_others(tmp_path, small, finished, outcome):
    torch.manual_seed(123)  # what came before must not matter
    train(small(), tmp_path / "again", progress=False)
    assert outcome(tmp_path / "again") == outcome(finished)
    train(small(seed=1), tmp_path / "other", progress=False)
    assert outcome(tmp_path / "other")["weights"] != outcome(finished)["weights"]


@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_leaves_a_run_that_can_be_resumed(tmp_path, small, outcome, start, whole, sent):
    """The end that clusters announce (SIGTERM) is treated alike."""
    folder = tmp_path / "run"
    settings = small(**LONG)
    process, wait = start(settings, folder)
    wait_for(folder / METRICS)
    os.kill(process, sent)
    assert wait() == 130
    assert not (folder / RESULT).exists()
    _, wait = start(settings, folder)
    assert wait() == 0
    assert outcome(folder) == outcome(whole)
