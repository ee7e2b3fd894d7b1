"""Optional packages: one message, which names the extra."""

import sys

import pytest
import torch
from torch_geometric.data import Data

from osan import bags, data, graphs
from osan.errors import OsanError


@pytest.mark.parametrize(
    "use",
    [
        lambda table, bag: graphs.from_smiles("CC"),
        lambda table, bag: data.load(table),
        lambda table, bag: bags.draw(bag, smiles="CC"),
    ],
    ids=["graphs", "data", "bags"],
)
def test_without_rdkit_every_room_names_the_extra(tmp_path, monkeypatch, use):
    (tmp_path / "a.csv").write_text("smiles,y\nC,1\nCC,2\nCCC,3\n")
    bag = bags.all_subsets(Data(edge_index=torch.tensor([[0, 1], [1, 0]]), num_nodes=2), 1)
    monkeypatch.setitem(sys.modules, "rdkit", None)
    with pytest.raises(OsanError, match=r"needs rdkit: pip install 'osan\[molecules\]'"):
        use(tmp_path / "a.csv", bag)
