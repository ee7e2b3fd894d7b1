"""Start the process of one run.

Light, so that the tasks of a cluster, which only wait for a process, do not import torch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from osan.errors import OsanError

# How a process ends.
FINISHED, FAILURE, INTERRUPTED = 0, 3, 130
LOG = "log.txt"


def start(message: Mapping[str, Any], threads: int) -> subprocess.Popen[bytes]:
    """Start a process for one run.

    Parameters
    ----------
    message
        ``settings`` (a nested mapping) and ``folder``; ``data``, the folder of raw files, and ``seconds``,
        the time limit, may be ``None``.
    threads
        The number of threads of torch and numba in the process.
    """
    folder = Path(message["folder"])
    try:
        folder.mkdir(parents=True, exist_ok=True)
        log = (folder / LOG).open("ab")
    except OSError as error:
        raise OsanError(f"run folder {folder}: cannot be written: {error.strerror or error}") from error
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    environment = {**os.environ, **dict.fromkeys(names, str(threads))}
    with log:
        process = subprocess.Popen(
            [sys.executable, "-m", "osan.training.worker"],
            stdin=subprocess.PIPE,
            stdout=log,
            stderr=log,
            env=environment,
            # Ctrl-C reaches only the sweep, which then ends its runs.
            start_new_session=True,
        )
    assert process.stdin is not None  # a pipe, for the type checker
    with suppress(BrokenPipeError):  # already dead, as its exit code will show
        process.stdin.write(json.dumps(dict(message)).encode() + b"\n")
        process.stdin.flush()
    return process


def supervise(message: dict[str, Any], threads: int, end: float | None) -> int:
    """Run one job on a node of a cluster; its process ends with this one."""
    os.environ.update(message.pop("environment"))
    seconds = None if end is None else end - time.time()
    if seconds is not None and seconds <= 0:
        return INTERRUPTED
    return start({**message, "seconds": seconds}, threads).wait()
