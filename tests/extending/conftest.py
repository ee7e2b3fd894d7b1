"""The folder of a user, and the commands that the user runs in it, each as a process."""

import json
import os
import shutil
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest

# Imports and compiles once, then forks a process for every line of its input: the words of a command, a
# folder for what it prints, and the training step that kills it. The current folder is not on the path:
# finding the parts is up to osan.
SERVER = """
import json, os, signal, sys
sys.path.remove("")  # as in the command, which does not look into the folder by itself
import sklearn.model_selection, torch
import osan.cli, osan.experiments.sweep, osan.report.table, osan.training.prediction, osan.training.run
from osan import nn
from osan.training.module import Learner
from torch_geometric.data import Data

pair = Data(x=torch.ones(2, 1), edge_index=torch.tensor([[0, 1], [1, 0]]))
model = nn.DataDrivenOSAN(nn.Upstream(1, 4), nn.osan(4, 1, 1), "delete 1 vertex")
model(pair).prediction.sum().backward()
step, steps = Learner.training_step, 0

def training_step(self, *given):
    global steps
    steps += 1
    if steps == last:
        os.kill(os.getpid(), signal.SIGKILL)
    return step(self, *given)

Learner.training_step = training_step
for line in sys.stdin:
    words, place, last = json.loads(line)
    child = os.fork()
    if child == 0:
        for number, name in ((1, "out"), (2, "err")):
            os.dup2(os.open(f"{place}/{name}", os.O_CREAT | os.O_WRONLY | os.O_TRUNC), number)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.argv = ["osan", *words]
        try:
            osan.cli.main()
        except SystemExit as end:
            sys.stdout.flush()
            os._exit(end.code)
        os._exit(99)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Printed:
    """What a command printed."""

    out: str
    err: str


class Shell:
    """Runs ``osan`` in a folder."""

    def __init__(self, folder, server):
        self.folder, self._server = folder, server
        self._place = folder / "printed"
        self._place.mkdir()

    def __call__(self, *words, code=0, kill=0):
        """Run a command, which kills itself at the given training step, and check its exit code."""
        message = [[str(word) for word in words], str(self._place), kill]
        self._server.stdin.write(json.dumps(message) + "\n")
        self._server.stdin.flush()
        ended = int(self._server.stdout.readline())
        out, err = ((self._place / name).read_text() for name in ("out", "err"))
        assert ended == (-signal.SIGKILL if kill else code), err
        return Printed(out, err)


def write_proteins(root, graphs=80):
    """A folder like PROTEINS in the TU collection: rings with a tail, of either class."""
    arcs, owner, labels, start = [], [], [], 1
    for number in range(graphs):
        length = 3 + number % 4
        graph = nx.cycle_graph(length)
        nx.add_path(graph, [0, *range(length, length + 2 + number % 3)])
        arcs += [f"{start + u}, {start + v}" for a, b in graph.edges for u, v in ((a, b), (b, a))]
        owner += [str(number + 1)] * len(graph)
        labels.append(str(number // 4 % 2 + 1))  # so no network can be perfect
        start += len(graph)
    raw = root / "TU" / "PROTEINS" / "raw"
    raw.mkdir(parents=True)
    kinds = [str(vertex % 3) for vertex in range(len(owner))]
    files = {"A": arcs, "graph_indicator": owner, "graph_labels": labels, "node_labels": kinds}
    for name, lines in files.items():
        (raw / f"PROTEINS_{name}.txt").write_text("\n".join(lines) + "\n")


@pytest.fixture(scope="session")
def osan(tmp_path_factory):
    """``osan("train", ...)`` in a folder that holds the custom parts: checks the exit code."""
    folder = tmp_path_factory.mktemp("project")
    for path in Path(__file__).parent.glob("*.py"):
        if not path.name.startswith(("test_", "conftest")):
            shutil.copy(path, folder)
    write_proteins(folder / "data")
    environment = {
        **os.environ,
        "OMP_NUM_THREADS": "1",
        "OSAN_DATA": str(folder / "data"),
        "OSAN_CACHE": str(folder / "cache"),
        "COLUMNS": "300",
    }
    with subprocess.Popen(
        [sys.executable, "-c", SERVER],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield Shell(folder, server)
        server.stdin.close()
