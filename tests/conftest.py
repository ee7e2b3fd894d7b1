"""Fixtures shared by all tests."""

import os
import signal
from pathlib import Path

# numba's OpenMP layer sets the number of threads for torch too, which then adds up numbers in another order:
# byte-identical runs are compared in processes that also run numba.
os.environ.setdefault("NUMBA_THREADING_LAYER", "workqueue")

import pytest
from hypothesis import settings

# The first example pays for imports and compilation; time is bounded for the whole suite instead.
settings.register_profile("osan", deadline=None)
settings.load_profile("osan")


@pytest.fixture(scope="session", autouse=True)
def ctrl_c() -> None:
    """Let processes that tests start hear Ctrl-C, even if a shell runs the tests in the background."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(scope="session")
def osan_data() -> Path:
    """The folder of real datasets, or a skip that says how to get it."""
    root = os.environ.get("OSAN_DATA")
    if not root or not Path(root).is_dir():
        pytest.skip("real data: set OSAN_DATA to the folder that holds it")
    return Path(root)


@pytest.fixture(scope="session")
def real_cache(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> Path:
    """One cache of real data for all tests, new in every session; reading all of the data takes a minute."""
    base = tmp_path_factory.getbasetemp()
    # The processes of pytest-xdist have folders of their own within a common one.
    folder = (base.parent if hasattr(request.config, "workerinput") else base) / "real-data"
    folder.mkdir(exist_ok=True)
    return folder
