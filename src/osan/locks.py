"""Locks between processes: one works in a folder, others wait or are told who does."""

from __future__ import annotations

import json
import os
import platform
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime, timezone
from pathlib import Path
from typing import IO

from osan.errors import OsanError

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

# Who holds the lock of a folder; the file lives as long as the lock.
OWNER = ".lock"


@contextmanager
def locked(folder: Path, doing: str, wait: float = 0.0) -> Iterator[None]:
    """Keep other processes from doing the same in a folder. The lock ends with the process, however it ends.

    On file systems without such locks, a file says who works in the folder, and a line on stderr says so.

    Parameters
    ----------
    folder
        An existing folder.
    doing
        What the process does, for messages: "training".
    wait
        For how many seconds to wait for the other process.

    Raises
    ------
    OsanError
        If another process has the lock. The message names it, its machine, and since when it has it.
    """
    handle = os.open(folder, os.O_RDONLY) if fcntl is not None else None
    try:
        if not _taken(handle, folder, doing, time.monotonic() + wait):
            _take_file(folder, doing)
        with suppress(OSError):  # a folder that cannot be written can still be locked
            (folder / OWNER).write_text(json.dumps(_me()), encoding="utf-8")
        try:
            yield
        finally:
            with suppress(OSError):
                os.unlink(folder / OWNER)
    finally:
        if handle is not None:
            os.close(handle)


def lock_file(stream: IO[bytes], path: Path) -> None:
    """Lock an open file until it is closed; refuse if another process has it, or has just finished it."""
    if fcntl is None:
        return
    try:
        fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OsanError(f"another process is writing {path}") from None
    except OSError:  # a file system without locks
        return
    if not path.exists() or not os.path.samestat(os.fstat(stream.fileno()), path.stat()):
        raise OsanError(f"another process has just finished {path}; try again")


def _taken(handle: int | None, folder: Path, doing: str, end: float) -> bool:
    """Take the lock of the system; false if the file system has none."""
    while handle is not None:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= end:
                raise OsanError(f"another process is {doing} in {folder}{_who(folder)}") from None
            time.sleep(0.1)
        except OSError:
            break
    return False


def _take_file(folder: Path, doing: str) -> None:
    """Without locks of the system: believe the file that a process leaves, unless it has ended."""
    owner = _owner(folder)
    if owner and not (owner.get("host") == platform.node() and _has_ended(owner.get("pid"))):
        raise OsanError(
            f"another process is {doing} in {folder}{_who(folder)}; if it has ended, delete {folder / OWNER}"
        )
    sys.stderr.write(
        f"osan: {folder} is on a file system without locks; let no other process work there meanwhile\n"
    )


def _me() -> dict[str, object]:
    since = datetime.now(timezone.utc).isoformat(timespec="seconds")
    return {"host": platform.node(), "pid": os.getpid(), "since": since}


def _owner(folder: Path) -> dict[str, object]:
    try:
        content = json.loads((folder / OWNER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def _who(folder: Path) -> str:
    owner = _owner(folder)
    if not owner:
        return ""
    return f" (process {owner.get('pid')} on {owner.get('host')}, since {owner.get('since')})"


def _has_ended(process: object) -> bool:
    if not isinstance(process, int):
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    except (OSError, OverflowError):
        return False
    return False
