"""Build the wheel, install it into an empty environment, and do there what the README promises.

    python scripts/wheel_test.py torch==2.13.0

Installs the given packages first, then the wheel with its dependencies. Then it runs the README's blocks of
Python, ``osan demo``, ``osan theory --quick`` and ``osan explore`` in an empty folder, compares the output
with the README, and prints the time of each. With ``--quick`` the networks of the demo train for one epoch,
and their results are not compared.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]


def step(name: str, words: Sequence[object], folder: Path) -> str:
    """Run a command in a folder, print its time, and return what it printed; end if it fails."""
    start = time.monotonic()
    clean = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=folder, env=clean, capture_output=True, text=True)
    print(f"{time.monotonic() - start:6.0f} s  {name}", flush=True)
    if done.returncode:
        sys.exit(f"{name} failed:\n{done.stdout[-2000:]}{done.stderr[-4000:]}")
    return done.stdout


def check(found: bool, what: str) -> None:
    """End if something is not there."""
    if not found:
        sys.exit(f"expected {what}")


def install(first: Sequence[str], folder: Path) -> Path:
    """Make an environment with the wheel, and return its folder of programs."""
    pip = ("-m", "pip", "--disable-pip-version-check")
    build = (sys.executable, *pip, "wheel", "-q", "--no-deps", "-w", folder, ROOT)
    step("build the wheel", build, folder)
    (wheel,) = folder.glob("osan-*.whl")
    step("make an empty environment", (sys.executable, "-m", "venv", folder / "empty"), folder)
    programs = folder / "empty" / "bin"
    for packages in filter(None, (first, (wheel,))):
        names = " ".join(Path(package).name for package in packages)
        step(f"install {names}", (programs / "python", *pip, "install", "-q", *packages), folder)
    return programs


def use(programs: Path, work: Path, quick: bool) -> None:
    """Run what the README shows in an empty folder."""
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", readme, flags=re.DOTALL)
    expected = [
        line for block in blocks for line in re.findall(r"^print\(.*\)  # (.*)$", block, re.MULTILINE)
    ]
    printed = step("README: Python", (programs / "python", "-c", "\n".join(blocks)), work)
    check(printed.split() == expected, f"{expected} from the README's blocks, got {printed!r}")

    epochs = ("--epochs", 1) if quick else ()
    tables = step("osan demo", (programs / "osan", "demo", *epochs), work)
    shown = re.search(r"```\n(Trees with one triangle.*?)```", readme, flags=re.DOTALL)
    assert shown is not None
    check(quick or shown[1].split() == tables.split(), f"the tables of the README, got\n{tables}")
    step("osan theory --quick", (programs / "osan", "theory", "--quick"), work)
    step("osan explore", (programs / "osan", "explore"), work)
    for file in ("demo.html", "demo.svg", "explorer.html"):
        check((work / file).stat().st_size > 10_000, f"a page or picture in {file}")


def main(words: Sequence[str]) -> None:
    """Do all steps in a temporary folder."""
    with tempfile.TemporaryDirectory() as name:
        folder, work = Path(name), Path(name) / "work"
        work.mkdir()
        programs = install([word for word in words if word != "--quick"], folder)
        use(programs, work, "--quick" in words)


if __name__ == "__main__":
    main(sys.argv[1:])
