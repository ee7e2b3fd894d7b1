"""Large inputs: how fast they are dealt with, and in how much memory.

``python tests/fuzz/load.py molecules --count 1000000`` predicts so many molecules, ``pairs --count 100000``
asks two tests of so many pairs of graphs, and ``runs --count 500`` lists so many runs. Each does a tenth of
it, too: memory that is bounded is the same for both. The longer prediction is killed after five parts, and
the same command goes on; the beginning of both predictions must be the same.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

STORED = Path(__file__).parents[1] / "training" / "stored_runs"


def command(folder: Path, *words: str, kill_after: int = 0) -> tuple[float, float, int]:
    """Run ``osan`` in a folder: seconds, seconds of processor time, and peak memory in MB.

    ``kill_after`` parts of a prediction, if it is not 0, the process is killed.
    """
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    process = subprocess.Popen([sys.executable, "-m", "osan", *words], cwd=folder, stdout=subprocess.DEVNULL)
    peak = 0
    while process.poll() is None:
        peak = max(peak, _memory(process.pid))
        if kill_after and _parts(folder) >= kill_after:
            process.kill()
        time.sleep(0.05)
    if process.returncode != (-9 if kill_after else 0):
        sys.exit(f"osan {' '.join(words)} ended with code {process.returncode}")
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return time.perf_counter() - start, spent, peak // 1024


def _parts(folder: Path) -> int:
    """How many parts of a table have been predicted."""
    state = folder / "predictions.csv.progress.json"
    return int(json.loads(state.read_text())["parts"]) if state.is_file() else 0


def _memory(process: int) -> int:
    """The peak memory of a process and of those that it started, in kB."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
        return int(status.split("VmHWM:")[1].split()[0]) + sum(_memory(int(child)) for child in children)
    except (OSError, IndexError):  # it has just ended
        return 0


def smiles(count: int) -> Iterator[str]:
    """Different molecules of about 15 atoms, as chains with branches and a ring."""
    rng, seen = random.Random(0), set[int]()
    atoms = ["C", "N", "O", "C(=O)", "C(C)", "CC", "S", "C(F)", "C(N)"]
    while len(seen) < count:
        text = "".join(rng.choices(atoms, k=7))
        text = rng.choice(["c1ccccc1", "C1CCCC1", "c1ccncc1", ""]) + text
        if hash(text) not in seen:
            seen.add(hash(text))
            yield text


def molecules(count: int, folder: Path, processes: int) -> None:
    """Predict molecules with the stored model of a run."""
    for number in (count // 10, count):
        table = folder / f"{number}.csv"
        with table.open("w") as stream:
            stream.write("smiles\n")
            stream.writelines(f"{each}\n" for each in smiles(number))
        run = str(STORED / "molecules")
        words = ("predict", run, table.name, "--smiles", "smiles", "--processes", str(processes))
        measured = []
        if number == count:
            measured.append(command(folder, *words, kill_after=5))
            print(f"killed after {_parts(folder)} parts", flush=True)
        measured.append(command(folder, *words))
        walls, times, peaks = zip(*measured, strict=True)
        wall, spent, peak = sum(walls), sum(times), max(peaks)
        rows = 0
        with (folder / "predictions.csv").open() as stream, (folder / f"{number}.out").open("w") as kept:
            for rows, line in enumerate(stream):
                if rows <= count // 10:
                    kept.write(line)
        print(
            f"{rows} of {number} molecules predicted in {wall:.0f} s, {number / spent:.0f} in a second of "
            f"processor time, {peak} MB",
            flush=True,
        )
    same = (folder / f"{count // 10}.out").read_bytes() == (folder / f"{count}.out").read_bytes()
    print(f"the first {count // 10} predictions are {'the same' if same else 'NOT THE SAME'}")


def pairs(count: int, folder: Path) -> None:
    """Ask two tests of random pairs of graphs with ten vertices."""
    import networkx as nx

    from osan.graphs import encode_graph6, from_networkx

    rng = random.Random(0)
    some = [encode_graph6(from_networkx(nx.gnp_random_graph(10, 0.4, seed=seed))) for seed in range(2000)]
    for number in (count // 10, count):
        table = folder / f"{number}.tsv"
        with table.open("w") as stream:
            stream.write("g6_a\tg6_b\n")
            stream.writelines(f"{rng.choice(some)}\t{rng.choice(some)}\n" for _ in range(number))
        wall, spent, peak = command(folder, "wl", "ladder", table.name, "--test", "wl 1", "--test", "oswl 1")
        print(
            f"{number} pairs by two tests in {wall:.0f} s ({number / spent:.0f} a second of processor time), "
            f"{peak} MB",
            flush=True,
        )


def runs(count: int, folder: Path) -> None:
    """List copies of a stored run."""
    for number in (count // 10, count):
        for seed in range(number):
            shutil.copytree(STORED / "molecules", folder / f"runs{number}" / "molecules" / f"seed-{seed}")
        for words in (("runs", f"runs{number}"), ("runs", f"runs{number}", "--each", "--format", "csv")):
            wall, spent, peak = command(folder, *words)
            print(
                f"osan {' '.join(words)}: {wall:.1f} s, {spent:.1f} s of processor time, {peak} MB",
                flush=True,
            )


def main() -> None:
    """Measure what the command line asks for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["molecules", "pairs", "runs"])
    parser.add_argument("--count", type=int, required=True)
    parser.add_argument("--processes", type=int, default=1)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    with tempfile.TemporaryDirectory() as folder:
        if asked.what == "molecules":
            molecules(asked.count, Path(folder), asked.processes)
        else:
            {"pairs": pairs, "runs": runs}[asked.what](asked.count, Path(folder))


if __name__ == "__main__":
    main()
