"""A file layer that fails: the n-th system call that writes raises, writes half, or is the last one."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator

from osan import files

COUNTED = ("open", "write", "fsync", "close", "replace")


class FaultyOS:
    """Stands for ``os`` in :mod:`osan.files`.

    Parameters
    ----------
    at
        The number of the call that fails, from 0; none for -1.
    fault
        Called instead of it, with the name and the arguments.
    """

    def __init__(self, at: int, fault: Callable[..., object]) -> None:
        self.at, self.fault = at, fault
        self.names: list[str] = []

    def __getattr__(self, name: str) -> object:
        real = getattr(os, name)
        if name not in COUNTED:
            return real

        def call(*arguments, **options):
            self.names.append(name)
            if len(self.names) == self.at + 1:
                result = self.fault(name, *arguments)
                if result is not None:
                    return result
            return real(*arguments, **options)

        return call


def error(number: int) -> Callable[..., None]:
    """A fault that raises as the system does; a file is closed nevertheless."""

    def fail(name, *arguments):
        if name == "close":
            os.close(*arguments)
        raise OSError(number, os.strerror(number))

    return fail


def short(name, *arguments):
    """A write that takes half; other calls do what they do."""
    if name == "write":
        return os.write(arguments[0], arguments[1][: (len(arguments[1]) + 1) // 2])
    return None


def kill(name, *arguments):
    """The process ends before the call."""
    os.kill(os.getpid(), signal.SIGKILL)


def tear(name, *arguments):
    """The process ends in the middle of a write, or after another call."""
    if name == "write":
        os.write(arguments[0], arguments[1][: len(arguments[1]) // 2])
    else:
        getattr(os, name)(*arguments)
    os.kill(os.getpid(), signal.SIGKILL)


@contextlib.contextmanager
def failing(at: int, fault: Callable[..., object] = short) -> Iterator[FaultyOS]:
    """Let a call of the file layer fail; the layer that is given lists the calls."""
    layer = FaultyOS(at, fault)
    files.os = layer
    try:
        yield layer
    finally:
        files.os = os


def in_child(work: Callable[[], object]) -> int:
    """Do work in a process of its own; its exit code, or minus the signal that ended it."""
    child = os.fork()
    if child == 0:
        code = 1
        try:
            work()
            code = 0
        except BaseException as problem:
            os.write(2, f"{type(problem).__name__}: {problem}\n".encode())
        finally:
            os._exit(code)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
