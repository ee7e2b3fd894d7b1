"""The folder of a user, and the commands that the user runs in it, each as a process."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import networkx as nx
import pytest

# Imports once, then forks a process for every line of its input: the words of a command and a folder for
# what it prints. The folder of this script is not on the path: finding the parts is up to osan.
SERVER = """
import json, os, sys
import osan.cli, osan.experiments.sweep, osan.report.table, osan.training.prediction, osan.training.run

for line in sys.stdin:
    words, place = json.loads(line)
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
    print(child, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


@dataclass(frozen=True)
class Ended:
    """How a command ended, and what it printed."""

    code: int
    out: str
    err: str


class Shell:
    """Runs ``osan`` in a folder."""

    def __init__(self, folder, server):
        self.folder, self._server = folder, server
        self._place = folder / "printed"
        self._place.mkdir()

    def start(self, *words):
        """Start a command; its id."""
        self._server.stdin.write(json.dumps([[str(word) for word in words], str(self._place)]) + "\n")
        self._server.stdin.flush()
        return int(self._server.stdout.readline())

    def wait(self):
        """Wait for the command that was started."""
        code = int(self._server.stdout.readline())
        return Ended(code, (self._place / "out").read_text(), (self._place / "err").read_text())

    def __call__(self, *words, code=0):
        self.start(*words)
        ended = self.wait()
        assert ended.code == code, ended.err
        return ended


def write_proteins(root, graphs=40):
    """A folder like PROTEINS in the TU collection: a ring with a tail; rings of class 1 are odd."""
    arcs, owner, labels, start = [], [], [], 1
    for number in range(graphs):
        length = 3 + number % 4
        graph = nx.cycle_graph(length)
        nx.add_path(graph, [0, *range(length, length + 2 + number % 3)])
        arcs += [f"{start + u}, {start + v}" for a, b in graph.edges for u, v in ((a, b), (b, a))]
        owner += [str(number + 1)] * len(graph)
        labels.append(str(length % 2 + 1))
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
        [sys.executable, "-P", "-c", SERVER],
        cwd=folder,
        env=environment,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as server:
        yield Shell(folder, server)
        server.stdin.close()
