"""Memory follows the copies: a large graph trains in little of it."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
from pathlib import Path
import networkx as nx
import torch
from torch_geometric.utils import from_networkx
from osan import bags, nn

data = from_networkx(nx.random_regular_graph(4, 5000, seed=0))
network = nn.osan(64, 4, 1)
optimizer = torch.optim.Adam(network.parameters())
for policy in (
    lambda: bags.random_subsets(data, 1, 10, generator=torch.Generator().manual_seed(0)),
    lambda: bags.from_choice(data, torch.ones(5000, 10, requires_grad=True)),
):
    network(data, policy()).sum().backward()
    optimizer.step()
print(bags.all_egos(data, 1).num_copies)
# Not ru_maxrss: a new process inherits that of the one that started it.
status = Path("/proc/self/status").read_text()
print(int(status.split("VmHWM:")[1].split()[0]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs the peak memory that Linux reports")
def test_a_graph_of_5000_vertices_with_10_subgraphs_trains_within_2_gb():
    """With and without gradients of the choice; all its 5,000 ego-nets need no table of 5,000 x 5,000."""
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    copies, megabytes = map(int, done.stdout.split())
    assert copies == 5 * 5000
    assert megabytes < 2048
