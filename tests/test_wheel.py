"""The wheel holds all that the package needs, and works without the checkout."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "osan"


@pytest.fixture(scope="module")
def installed(tmp_path_factory):
    """A folder with the wheel alone; its dependencies are those of this environment."""
    pytest.importorskip("setuptools", reason="needs setuptools to build a wheel")
    folder = tmp_path_factory.mktemp("wheel")
    # From a copy of what is built, so that no build folder is left in the checkout.
    source = folder / "source"
    source.mkdir()
    for name in ("pyproject.toml", "README.md", "LICENSE", "src"):
        (source / name).symlink_to(ROOT / name)
    script = "import sys; from setuptools import build_meta as b; print(b.build_wheel(sys.argv[1]))"
    subprocess.run([sys.executable, "-c", script, str(folder)], cwd=source, check=True, capture_output=True)
    (wheel,) = folder.glob("*.whl")
    zipfile.ZipFile(wheel).extractall(folder / "here")
    return folder / "here"


def test_every_file_is_in_the_wheel(installed):
    def files(folder):
        found = (path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
        return {str(path.relative_to(folder)) for path in found}

    assert files(PACKAGE) - files(installed / "osan") == set()


def test_the_wheel_works_alone(installed, tmp_path):
    environment = {**os.environ, "PYTHONPATH": str(installed), "NUMBA_NUM_THREADS": "1"}

    def run(*words):
        done = subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert str(installed) in run("-c", "import osan; print(osan.__file__)")
    run("-m", "osan", "explore")
    assert (tmp_path / "explorer.html").stat().st_size > 50_000
    assert "ogbg-molesol/gin/baseline" in run("-m", "osan", "recipes")
    run("-m", "osan", "theory", "--help")
