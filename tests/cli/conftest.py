"""The whole command, in the process of the tests."""

import contextlib
import io
from subprocess import CompletedProcess

import pytest


@pytest.fixture
def osan(monkeypatch):
    """``osan("wl", "color", ...)``: exit code and output of the command, errors included.

    A process for each would import everything again; ``test_main.py`` has what needs one.
    """
    from osan.cli import main

    def call(*words):
        monkeypatch.setattr("sys.argv", ["osan", *words])
        out, err = io.StringIO(), io.StringIO()
        with (
            contextlib.redirect_stdout(out),
            contextlib.redirect_stderr(err),
            pytest.raises(SystemExit) as end,
        ):
            main()
        return CompletedProcess(words, end.value.code, out.getvalue(), err.getvalue())

    return call
