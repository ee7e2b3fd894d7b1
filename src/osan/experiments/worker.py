"""One run in a process of its own: what a sweep starts, on this machine or on a node of a cluster.

The process reads one line of JSON from its standard input and ends, without finishing the epoch, as soon as
that input is closed: a sweep that is killed takes its runs with it, and no two processes write to one folder.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
import traceback
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from osan.errors import OsanError, one_line
from osan.training.folder import FAILED, locked, write_json
from osan.training.settings import Settings, validated

FINISHED, FAILURE, INTERRUPTED = 0, 3, 130
LOG = "log.txt"
# How long to wait for a process that is just ending.
_PATIENCE = 60.0


def start(message: Mapping[str, Any], threads: int) -> subprocess.Popen[bytes]:
    """Start a process for one run.

    Parameters
    ----------
    message
        ``settings`` (a nested mapping), ``folder`` and, if it must end by then, ``seconds``.
    threads
        The number of threads that torch and numba may use in it.
    """
    folder = Path(message["folder"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = (folder / LOG).open("ab")
    except OSError as error:
        raise OsanError(f"the run folder {folder} cannot be written: {error.strerror or error}") from error
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    with log:
        process = subprocess.Popen(
            [sys.executable, "-m", "osan.experiments.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            # Ctrl-C reaches the sweep alone, which then ends its runs.
            start_new_session=True,
        )
    assert process.stdin is not None  # for the type checker: it is a pipe
    with suppress(BrokenPipeError):  # it is dead already; whoever waits for it will see that
        process.stdin.write(json.dumps(dict(message)).encode() + b"\n")
        process.stdin.flush()
    return process


def run(settings: Settings, folder: Path) -> int:
    """Train, or go on training, in ``folder``; what goes wrong is recorded there in ``failed.json``."""
    from osan.training.run import train

    try:
        if not _free(folder):
            # Not recorded: the run belongs to the other process.
            sys.stderr.write(f"{folder}: another process is working on this run\n")
            return INTERRUPTED
        train(settings, folder, resume=True, progress=False)
        return FINISHED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        write_json(folder / FAILED, {"error": one_line(error)})
        return FAILURE


def _free(folder: Path) -> bool:
    """Wait for a process that is just ending, such as one of a sweep that was killed a moment ago."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            with locked(folder):
                return True
        except OsanError:
            time.sleep(0.2)
    return False


def main() -> None:
    """What the process does."""
    # Jobs in the background of a shell ignore Ctrl-C, and their processes inherit that; here it means: end.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    message = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if message.get("seconds") is not None:
        threading.Thread(target=_interrupt_after, args=(message["seconds"],), daemon=True).start()
    sys.exit(run(validated(message["settings"]), Path(message["folder"])))


def _interrupt_after(seconds: float, pause: float = 10.0) -> None:
    time.sleep(max(0.0, seconds))
    # More than once: an interrupt that falls into a callback from C, as when numba compiles, is lost.
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(pause)


def _end_with_parent() -> None:
    # Straight from the descriptor: a buffered reader must not be busy when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
