"""Time of training steps against another checkout of this package, in one run.

Needs ``OSAN_DATA``:

    python benchmarks/against.py /path/to/other/src [--steps 20] [--only exp]

Each version trains the same runs in a separate process with one thread. The two take turns, step by step, so
that whatever else the machine does slows down both. A step is everything between the ends of two batches of a
training: batch, bag, forward, backward, optimizer and Lightning. Times are processor times. ``ratio`` is the
median over the steps of this version's time divided by the other's, ``least`` the ratio of the shortest
steps; a value below 1 means that this version is faster. On a busy machine the same code gives 0.97 to 1.06.

The run without subgraphs is that of ``benchmarks/training_overhead.py``; the networks and bags of the others
are those of ``benchmarks/bags.py``.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__).parents[1] / "src"
WIDTH = {"network.width": 64}
# Name, key, changes of settings, and the share of the asked number of steps.
RUNS: dict[str, tuple[str, dict[str, Any], float]] = {
    "ogbg-molesol plain": ("ogbg-molesol/gin/baseline", {}, 1.0),
    "ogbg-molesol random x 3": ("ogbg-molesol/gin/random/delete-1-vertex/x3", {}, 1.0),
    "ogbg-molesol imle x 3": ("ogbg-molesol/gin/imle/delete-1-vertex/x3", {}, 1.0),
    "zinc random x 3": ("zinc/gin/random/delete-1-vertex/x3", WIDTH, 1.0),
    "zinc imle x 3": ("zinc/gin/imle/delete-1-vertex/x3", WIDTH, 1.0),
    "zinc ds-gnn all": ("zinc/ds-gnn/all/delete-1-vertex", WIDTH, 0.25),
    "exp random x 3": ("exp/gin/random/delete-1-vertex/x3", {}, 1.0),
    "exp imle x 3": ("exp/gin/imle/delete-1-vertex/x3", {}, 1.0),
}
ONE_THREAD = {
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "NUMBA_NUM_THREADS": "1",
    "NUMBA_THREADING_LAYER": "workqueue",
}
WARM = 2  # steps of each run that are not counted


def work() -> None:
    """Train the run named on each line of input; one step for each further line, its time as the answer."""
    import torch
    from lightning.pytorch import Callback, Trainer

    try:
        from osan.experiments import settings_named
        from osan.training import train
    except ImportError:  # c684ab9
        from osan.experiments.recipes import settings_named

        from osan.training.run import train

    class Stop(Exception):
        pass

    class Turns(Callback):
        """Waits for its turn after every batch, and then times the next one."""

        def turn(self) -> None:
            if sys.stdin.readline().strip() != "step":
                raise Stop
            self.start = time.process_time()

        def on_train_start(self, trainer: Any, module: Any) -> None:
            answer("ready")
            self.turn()

        def on_train_batch_end(self, trainer: Any, module: Any, outputs: Any, batch: Any, index: int) -> None:
            answer(time.process_time() - self.start)
            self.turn()

    fit = Trainer.fit

    def in_turns(trainer: Trainer, *args: Any, **kwargs: Any) -> None:
        trainer.callbacks.append(Turns())
        fit(trainer, *args, **kwargs)

    Trainer.fit = in_turns
    torch.set_num_threads(1)
    for line in sys.stdin:
        key, changes, _ = RUNS[line.strip()]
        settings = settings_named(key).changed({**changes, "machine.accelerator": "cpu"})
        with tempfile.TemporaryDirectory() as folder:
            try:
                train(settings, Path(folder) / "run", progress=False)
            except Stop:
                continue


def answer(value: object) -> None:
    """A line of output for the other side."""
    print(json.dumps(value), flush=True)


class Worker:
    """A process that trains with one of the two versions."""

    def __init__(self, source: Path, script: str = __file__) -> None:
        self.process = subprocess.Popen(
            [sys.executable, script, "--work"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, **ONE_THREAD, "PYTHONPATH": str(source)},
        )

    def ask(self, line: str) -> Any:
        """Send a line, and wait for the answer."""
        self.tell(line)
        assert self.process.stdout is not None
        answered = self.process.stdout.readline()
        if not answered:
            raise SystemExit(f"the process ended with code {self.process.wait()}")
        return json.loads(answered)

    def tell(self, line: str) -> None:
        """Send a line that has no answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(f"{line}\n")
        self.process.stdin.flush()


def compared(name: str, sides: list[Worker], steps: int) -> list[list[float]]:
    """The times of the steps of a run on each side, in turns."""
    for side in sides:
        side.ask(name)
    times: list[list[float]] = [[] for _ in sides]
    for step in range(WARM + steps):
        # Whoever comes second finds another cache: begin with either in turn.
        for i in (0, 1) if step % 2 else (1, 0):
            times[i].append(sides[i].ask("step"))
    for side in sides:
        side.tell("stop")
    return [mine[WARM:] for mine in times]


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("other", type=Path, nargs="?", help="the folder src of the other version")
    parser.add_argument("--steps", type=int, default=20, help="at most 25: an epoch has no more")
    parser.add_argument("--only", default="", help="only runs whose name contains this")
    given = parser.parse_args()
    if given.other is None:
        print("nothing to compare with: give the folder src of another version")
        return
    if not (given.other / "osan").is_dir():
        parser.error(f"{given.other}: expected a folder that holds osan")
    if not 1 <= given.steps <= 25:
        parser.error(f"--steps: expected 1 to 25, got {given.steps}")
    sides = [Worker(HERE), Worker(given.other.resolve())]
    print(f"{'run':24} steps  this ms  other ms  ratio  (quartiles)      least", flush=True)
    for name, (_, _, share) in RUNS.items():
        if given.only not in name:
            continue
        steps = max(4, round(share * given.steps))
        mine, theirs = compared(name, sides, steps)
        low, ratio, high = statistics.quantiles(a / b for a, b in zip(mine, theirs, strict=True))
        here, there = (1e3 * statistics.median(times) for times in (mine, theirs))
        print(
            f"{name:24} {steps:5} {here:8.1f} {there:9.1f} {ratio:6.3f}  ({low:.3f} - {high:.3f})"
            f"  {min(mine) / min(theirs):.3f}",
            flush=True,
        )
    for side in sides:
        assert side.process.stdin is not None
        side.process.stdin.close()
        side.process.wait()


if __name__ == "__main__":
    if sys.argv[1:] == ["--work"]:
        work()
    else:
        main()
