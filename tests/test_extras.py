"""Optional packages: one message, which names the extra."""

import sys

import pytest
import torch
from torch_geometric.data import Data

from osan import bags, data, graphs
from osan.errors import OsanError


@pytest.mark.parametrize("use", ["graphs", "table", "drawing"])
def test_without_rdkit_every_room_names_the_extra(tmp_path, monkeypatch, use):
    (tmp_path / "a.csv").write_text("smiles,y\nC,1\nCC,2\nCCC,3\n")
    edge = Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2)
    bag = bags.all_subsets(edge, 1)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(OsanError, match=r"needs rdkit: pip install 'osan\[molecules\]'"):
        if use == "graphs":
            graphs.from_smiles("CC")
        elif use == "table":
            data.load_table(tmp_path / "a.csv")
        else:
            bags.draw(bag, smiles="CC")
