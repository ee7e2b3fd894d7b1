"""What a network looks at, and its pictures."""

import csv
import gzip
import shutil
import time
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

import networkx as nx
import pytest
import torch

from osan.data import Features
from osan.data.custom.molecules import read_smiles
from osan.errors import OsanError
from osan.report.drawing import layout, picture, save_picture
from osan.report.frequencies import _molecule, explain
from osan.report.molecule import is_molecule, molecule_svg, to_rdkit
from osan.training.run import load_model
from osan.training.tasks import load_task

SVG = "{http://www.w3.org/2000/svg}"


def run_of(trained):
    return trained / "small" / "learned" / "seed-0"


def test_frequencies_are_those_of_the_networks_own_samples(trained):
    found = explain(run_of(trained), "1", samples=30)
    learner, settings, _ = load_model(run_of(trained))
    graph = load_task(settings).test[1]
    assert torch.equal(found.graph.edge_index, graph.edge_index)
    # In the evaluation it stands behind another one.
    batch = load_task(settings).test.batch(torch.tensor([0, 1]))
    learner.model.samples = 30
    with torch.no_grad():
        out = learner.model(batch)
    deleted = torch.stack([one.choice == 0 for one in out.selected]).float().mean(0)[batch.batch == 1]
    assert torch.allclose(found.vertices, deleted)
    # Two vertices are deleted in each of the two subgraphs.
    assert found.vertices.sum(0).tolist() == pytest.approx([2.0, 2.0])
    assert (found.word, found.edges) == ("deleted", None)


def test_bonds_of_a_molecule(on_molecules):
    found = explain(on_molecules, "CCOc1ccccc1", samples=50)
    rows = found.plain()["edges"]
    assert len(rows) == 9
    totals = [sum(row["frequency"][i] for row in rows) for i in range(2)]
    assert totals == pytest.approx([1.0, 1.0])
    text = picture(found).decode()
    root = ElementTree.fromstring(text)
    assert root.tag == f"{SVG}svg"
    assert is_molecule(found.graph)
    assert picture(found, "png")[:8] == b"\x89PNG\r\n\x1a\n"


def test_a_single_atom_has_no_bonds_to_delete(on_molecules):
    found = explain(on_molecules, "[He]", samples=2)
    assert found.plain()["edges"] == []
    assert picture(found).decode().count("<svg") == 1


def test_pictures_of_graphs(trained, tmp_path):
    found = explain(run_of(trained), "0", samples=5)
    assert not is_molecule(found.graph)
    save_picture(found, tmp_path / "a.svg")
    root = ElementTree.parse(tmp_path / "a.svg").getroot()
    words = {element.text for element in root.iter(f"{SVG}text")}
    assert {"subgraph 1", "subgraph 2", "how often vertices are deleted"} <= words
    # planted-motif: one integer feature, which labels its vertex.
    assert {str(value) for value in found.graph.x.flatten().tolist()} <= words
    assert picture(found, "png")[:8] == b"\x89PNG\r\n\x1a\n"


def test_components_are_drawn_apart():
    graph = nx.disjoint_union_all([nx.cycle_graph(5), nx.path_graph(3), nx.empty_graph(2)])
    place = layout(graph)
    spans = sorted((min(place[v][0] for v in part), max(place[v][0] for v in part))
                   for part in nx.connected_components(graph))  # fmt: skip
    assert len(place) == 10
    assert all(before[1] < after[0] for before, after in pairwise(spans))


def test_large_molecules_are_drawn_in_seconds():
    """RDKit would place the atoms of this one for minutes."""
    start = time.process_time()
    graph = read_smiles(["C" * 3000])[0]
    assert molecule_svg(graph, atoms={0: 1.0, 2999: 0.5}).startswith("<svg")
    assert len(layout(nx.path_graph(1000))) == 1000
    assert time.process_time() - start < 20


def test_molecules_come_back_from_their_features(osan_data):
    from rdkit import Chem

    from osan.data.custom.molecules import featurize

    with gzip.open(osan_data / "ogb" / "ogbg_molesol" / "mapping" / "mol.csv.gz", "rt") as stream:
        smiles = [row["smiles"] for row in csv.DictReader(stream)]
    assert len(smiles) == 1128
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        back = to_rdkit(featurize(molecule, torch.zeros(1, 1)))
        Chem.RemoveStereochemistry(molecule)
        assert Chem.MolToSmiles(back) == Chem.MolToSmiles(molecule)


@pytest.mark.parametrize(
    ("which", "message"),
    [("99", "from 0 to 4 in the test split, got 99"), ("-1", "0 to 4"), ("CCO", "do not have OGB's")],
)
def test_wrong_graphs(trained, which, message):
    with pytest.raises(OsanError, match=message):
        explain(run_of(trained), which)


def test_molecules_need_the_bonds_of_ogb_as_well(on_molecules):
    _, settings, info = load_model(on_molecules)
    other = replace(info, edge_features=Features(sizes=(4,)))
    with pytest.raises(OsanError, match="do not have OGB's features of molecules"):
        _molecule("CCO", other, settings)
    assert _molecule("CCO", replace(info, edge_features=None), settings).num_nodes == 3


def test_wrong_molecule_run_or_file(on_molecules, trained, tmp_path):
    with pytest.raises(OsanError, match="expected a position in the test split or a SMILES string"):
        explain(on_molecules, "C(")
    with pytest.raises(OsanError, match=r"settings\.toml"):
        explain(tmp_path, "0")
    shutil.copytree(run_of(trained), tmp_path / "unfinished")
    (tmp_path / "unfinished" / "model.json").unlink()
    with pytest.raises(OsanError, match="not finished"):
        explain(tmp_path / "unfinished", "0")
    with pytest.raises(OsanError, match=r"ends in \.svg or \.png"):
        save_picture(explain(run_of(trained), "0", samples=1), tmp_path / "a.jpg")
