"""Ctrl-C and SIGTERM, at any moment: one line and the usual exit code, also while modules are imported."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import NoReturn

_received: list[int] = []


def listen() -> None:
    """Raise ``KeyboardInterrupt`` for both signals, and remember which it was."""
    for number in (signal.SIGINT, signal.SIGTERM):
        # Jobs in the background of a shell ignore Ctrl-C.
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _raise)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    _received.append(number)
    raise KeyboardInterrupt


def caused(error: BaseException | None) -> bool:
    """Whether a signal caused an error, however libraries wrap it."""
    if error is None:
        return False
    if _received or isinstance(error, KeyboardInterrupt):
        return True
    return caused(error.__cause__ or error.__context__)


def exit_code() -> int:
    """130 after Ctrl-C, 143 after SIGTERM.

    >>> exit_code()
    130
    """
    return 143 if signal.SIGTERM in _received else 130


def word() -> str:
    """What happened, for a message."""
    return "terminated" if signal.SIGTERM in _received else "interrupted"


def leave() -> NoReturn:
    """Say what happened and exit."""
    sys.stderr.write(f"osan: {word()}\n")
    sys.exit(exit_code())
