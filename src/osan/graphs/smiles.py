"""SMILES that RDKit might crash or hang on, tried in another process first."""

from __future__ import annotations

import json
import queue
import re
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

# Molecules within these bounds are read at once. None of them is known to make trouble.
_LENGTH, _DEPTH, _RINGS = 1000, 50, 30
# Tables have no longer cells.
_LONGEST = 131_072
# Seconds of processor time, and of waiting where that cannot be limited.
_SECONDS, _WAIT = 10, 120.0
_BRACKETS = re.compile(r"\[[^\]]*\]")
_RING = re.compile(r"%\d\d|%\(\d+\)|\d")


def is_odd(text: str) -> bool:
    """Whether SMILES are long, deeply nested or full of rings.

    >>> is_odd("CC(=O)Oc1ccccc1C(=O)O"), is_odd("C(" * 100 + "C" + ")" * 100)
    (False, True)
    """
    if len(text) > _LENGTH:
        return True
    if text.count("(") > _DEPTH:
        depth = deepest = 0
        for character in text:
            depth += (character == "(") - (character == ")")
            deepest = max(deepest, depth)
        if deepest > _DEPTH:
            return True
    return len(_RING.findall(_BRACKETS.sub("", text))) > _RINGS


class SmilesGuard:
    """Says why RDKit should not read SMILES: a process of its own has crashed or taken long on them.

    The process starts with the first odd SMILES (:func:`is_odd`), and again after each crash.

    >>> with SmilesGuard() as guard:
    ...     guard.problem("CCO")
    ''
    """

    def __init__(self, seconds: int = _SECONDS) -> None:
        self.seconds = seconds
        self._process: subprocess.Popen[str] | None = None
        self._answers: queue.SimpleQueue[str] = queue.SimpleQueue()

    def __enter__(self) -> SmilesGuard:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop()

    def problem(self, text: str) -> str:
        """The reason not to read SMILES; empty if there is none."""
        if not is_odd(text):
            return ""
        if len(text) > _LONGEST:
            return f"SMILES of {len(text)} characters, more than {_LONGEST}"
        process = self._process or self._start()
        assert process.stdin is not None  # a pipe, for the type checker
        try:
            process.stdin.write(json.dumps(text) + "\n")
            process.stdin.flush()
            answer = self._answers.get(timeout=_WAIT)
        except (BrokenPipeError, queue.Empty):
            answer = ""
        if answer == "done\n":
            return ""
        code = self._stop()
        slow = code in (-24, -9)  # SIGXCPU, or ended after a long wait
        return f"RDKit takes more than {self.seconds} s" if slow else "RDKit crashes"

    def _start(self) -> subprocess.Popen[str]:
        script = Path(__file__).with_name("smiles_probe.py")
        process = subprocess.Popen(
            [sys.executable, str(script), str(self.seconds)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        self._process, answers = process, queue.SimpleQueue[str]()
        self._answers = answers

        def listen() -> None:
            assert process.stdout is not None
            for line in process.stdout:
                answers.put(line)
            answers.put("")  # it has ended

        threading.Thread(target=listen, daemon=True).start()
        return process

    def _stop(self) -> int:
        """End the process; the code that it ended with."""
        process, self._process = self._process, None
        if process is None:
            return 0
        try:
            code = process.wait(0.2)
        except subprocess.TimeoutExpired:
            process.kill()
            code = process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # what was not written yet
                    stream.close()
        return code
