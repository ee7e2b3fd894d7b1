"""Compiled loops: numba's ``njit`` with a cache where possible, and parallel loops that survive a fork."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FunctionType
from typing import Any

import numba
from numba import prange

__all__ = ["njit", "one_thread", "parallel", "prange", "threads"]

_log = logging.getLogger(__name__)
_MOST = int(numba.config.NUMBA_NUM_THREADS)
_state = threading.local()
_forked = False
_launched = False
_warned = False


def njit(*, cache: bool = True, **options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit(cache=cache, **options)``, without a cache where no folder for it can be written.

    Without the entry for C, too: nobody calls it, and it takes a tenth of the time to compile.

    >>> @njit()
    ... def double(x):
    ...     return 2 * x
    >>> double(3)
    6
    """
    options = {"no_cfunc_wrapper": True} | options

    def compiled(function: Callable[..., Any]) -> Any:
        global _warned
        try:
            return numba.njit(cache=cache, **options)(function)
        except RuntimeError as error:
            if "no locator" not in str(error):
                raise
        if not _warned:
            _warned = True
            _log.warning(
                "osan: compiled code cannot be cached (no writable folder), so each process compiles it "
                "again; set NUMBA_CACHE_DIR to a folder that can be written"
            )
        return numba.njit(**options)(function)

    return compiled


def threads() -> int:
    """How many threads :func:`parallel` functions use now: as many as torch where torch is imported.

    One within :func:`one_thread` and in forked processes, where GNU OpenMP cannot start threads and would end
    the process.

    >>> with one_thread():
    ...     threads()
    1
    """
    if _forked or getattr(_state, "one", False):
        return 1
    torch = sys.modules.get("torch")
    wanted = getattr(torch, "get_num_threads", None)  # none while torch is being imported
    return _MOST if wanted is None else min(_MOST, wanted())


def parallel(function: Callable[..., Any]) -> Callable[..., Any]:
    """Compile a function with ``prange`` loops twice, for many threads and for one, and choose per call.

    :func:`threads` says how many, unless the caller does by the argument ``use``. Compiled code cannot call
    the result, only Python can.
    """
    many = njit(parallel=True)(function)
    assert isinstance(function, FunctionType)
    # Numba's cache knows functions by name and place, not by options.
    alone = FunctionType(
        function.__code__, function.__globals__, f"{function.__name__}_alone", function.__defaults__
    )
    alone.__qualname__ = f"{function.__qualname__}_alone"
    alone.__module__ = function.__module__
    one = njit()(alone)

    def call(*arguments: Any, use: int | None = None) -> Any:
        wanted = threads() if use is None else use
        if wanted == 1:
            return one(*arguments)
        _start(wanted)
        return many(*arguments)

    call.__name__, call.__doc__ = function.__name__, function.__doc__
    return call


def _start(wanted: int) -> None:
    """Let numba use so many threads from now on, in the calling thread."""
    global _launched
    if getattr(_state, "threads", 0) == wanted:
        return
    torch = sys.modules.get("torch") if not _launched else None
    before = None if torch is None else torch.get_num_threads()
    numba.set_num_threads(wanted)
    _state.threads = wanted
    if torch is not None:
        # The two share one OpenMP, and numba sets the number of threads of both when it starts.
        torch.set_num_threads(before)
    _launched = True


@contextmanager
def one_thread(wanted: bool = True) -> Iterator[None]:
    """Run :func:`parallel` functions in one thread if ``wanted``; for the calling thread only."""
    before = getattr(_state, "one", False)
    _state.one = wanted or before
    try:
        yield
    finally:
        _state.one = before


def _after_fork() -> None:
    global _forked
    _forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
