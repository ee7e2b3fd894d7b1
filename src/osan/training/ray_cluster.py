"""A Ray cluster: how to connect to it, and what its nodes need to know of this process.

All nodes need osan and must see the run folders and the data under the same paths (a shared file system).
"""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from osan.errors import OsanError
from osan.extras import optional


@contextmanager
def connected(address: str) -> Iterator[Any]:
    """Ray, connected to a cluster until the end of the block; tasks under way then end.

    Parameters
    ----------
    address
        The address for ``ray.init``: ``"host:port"``, ``"ray://host:port"``, ``"auto"``, or ``"local"`` for a
        cluster of this machine alone.
    """
    ray = optional("ray", "ray", "running on a cluster")
    try:
        _knock(address)
        ray.init(address=address, log_to_driver=False, logging_level="ERROR")
    except (OSError, ValueError, RuntimeError) as error:
        raise OsanError(
            f"ray: expected the address of a running cluster, got {address!r}: {' '.join(str(error).split())}"
        ) from error
    try:
        yield ray
    finally:
        ray.shutdown()


def environment() -> dict[str, str]:
    """Variables for a node: paths of data are the same on all nodes, and so is the folder of custom parts."""
    found = {name: os.environ[name] for name in ("OSAN_DATA", "OSAN_CACHE") if name in os.environ}
    path = [os.getcwd(), *filter(None, [os.environ.get("PYTHONPATH")])]
    return found | {"PYTHONPATH": os.pathsep.join(path)}


def is_loss(ray: Any, error: Exception) -> bool:
    """Whether an error is the loss of a node, of a process on it, or of the task itself."""
    kinds = ("WorkerCrashedError", "NodeDiedError", "TaskCancelledError")
    return isinstance(error, tuple(getattr(ray.exceptions, kind) for kind in kinds))


def _knock(address: str) -> None:
    """Fail at once if nothing listens at the address; Ray itself would try for minutes."""
    host, colon, port = address.removeprefix("ray://").rpartition(":")
    if colon and port.isdecimal():
        socket.create_connection((host, int(port)), timeout=10.0).close()
