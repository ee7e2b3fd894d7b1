"""One run in a separate process, which a sweep or an ensemble starts, here or on a node of a cluster.

The process reads one line of JSON from its standard input. It ends, in the middle of an epoch, when that
input is closed: killing a sweep ends its runs, and no two processes write to one folder. It listens before
it imports torch, which takes seconds.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import traceback
from pathlib import Path
from typing import TYPE_CHECKING

from osan import interrupts
from osan.errors import OsanError, one_line
from osan.locks import locked
from osan.training.processes import FAILURE, FINISHED, INTERRUPTED

if TYPE_CHECKING:
    from osan.training.settings import Settings

# How many seconds to wait for a process that is just ending.
_PATIENCE = 60.0


def run(settings: Settings, folder: Path, data: Path | None = None) -> int:
    """Train, or resume training, in ``folder``; errors are recorded in its ``failed.json``."""
    from osan.training.folder import FAILED, write_json
    from osan.training.run import train

    try:
        if not _free(folder):
            # Not recorded: the run belongs to the other process.
            sys.stderr.write(f"{folder}: another process is working on this run\n")
            return INTERRUPTED
        # The members of an ensemble one after the other: other runs have the other processors.
        train(settings, folder, resume=True, progress=False, data=data, processes=1)
        return FINISHED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        traceback.print_exc()
        write_json(folder / FAILED, {"error": one_line(error)})
        return FAILURE


def _free(folder: Path) -> bool:
    """Wait for a process that is just ending, such as a run of a sweep that was just killed."""
    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        try:
            with locked(folder, "training"):
                return True
        except OsanError:
            time.sleep(0.2)
    return False


def main() -> None:
    """The entry point of the process."""
    # Background jobs of a shell ignore interrupts, and so do their processes; here an interrupt must work.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    message = json.loads(sys.stdin.buffer.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if message.get("seconds") is not None:
        threading.Thread(target=_interrupt_after, args=(message["seconds"],), daemon=True).start()
    try:
        from osan.training.settings import validated

        data = None if message.get("data") is None else Path(message["data"])
        code = run(validated(message["settings"]), Path(message["folder"]), data)
    except BaseException as error:
        if not interrupts.caused(error):  # imports wrap it
            raise
        code = INTERRUPTED
    sys.exit(code)


def _interrupt_after(seconds: float, pause: float = 10.0) -> None:
    time.sleep(max(0.0, seconds))
    # Repeatedly: an interrupt inside a callback from C, as when numba compiles, is lost.
    while True:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(pause)


def _end_with_parent() -> None:
    # Read the descriptor directly: a buffered reader must not be busy when the interpreter ends.
    while os.read(0, 4096):
        pass
    os._exit(INTERRUPTED)


if __name__ == "__main__":
    main()
