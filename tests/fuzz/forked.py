"""Runs of sweeps and ensembles that are forked, and so need not import torch, which takes seconds each."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

import osan.training.run  # noqa: F401  # what every run imports, once
from osan.training import worker
from osan.training.processes import INTERRUPTED, LOG


class ForkedRun:
    """Stands for the process that :func:`osan.training.processes.start` starts, with the same work to do."""

    def __init__(self, message: Mapping[str, Any], threads: int) -> None:
        folder = Path(message["folder"])
        folder.mkdir(parents=True, exist_ok=True)
        self.returncode: int | None = None
        read, write = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            code: object = 1
            try:
                os.setsid()
                os.close(write)  # or it would not see the end of its input
                os.dup2(read, 0)
                sys.stdin = os.fdopen(0, closefd=False)
                sys.stdout = sys.stderr = (folder / LOG).open("a", buffering=1)
                torch.set_num_threads(threads)
                worker.main()
            except SystemExit as end:
                code = end.code
            except KeyboardInterrupt:
                code = INTERRUPTED
            finally:
                os._exit(code if isinstance(code, int) else 1)
        os.close(read)
        # Open as long as this object is there.
        self.stdin = os.fdopen(write, "wb", buffering=0)
        self.stdin.write(json.dumps(dict(message)).encode() + b"\n")

    def poll(self) -> int | None:
        """The exit code, if the process has ended."""
        if self.returncode is None:
            ended, status = os.waitpid(self.pid, os.WNOHANG)
            if ended:
                self.returncode = os.waitstatus_to_exitcode(status)
        return self.returncode

    def wait(self, timeout: float = float("inf")) -> int:
        """Wait for the end."""
        until = time.monotonic() + timeout
        while (code := self.poll()) is None:
            if time.monotonic() > until:
                raise subprocess.TimeoutExpired("a forked run", timeout)
            time.sleep(0.01)
        return code

    def send_signal(self, number: int) -> None:
        """Send a signal, unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it at once."""
        self.send_signal(signal.SIGKILL)
