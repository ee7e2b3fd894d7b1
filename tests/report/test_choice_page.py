"""The effects of chosen subgraphs, and the page about them."""

import re

import pytest
import torch
from rdkit import Chem

import osan
from osan import bags
from osan.cli.explain import explain as command
from osan.errors import OsanError
from osan.report import effects, explain, substructures, write_choice_page
from osan.report.chosen_parts import pattern, smiles_parts
from osan.training.evaluation import predict
from osan.training.run import load_model
from osan.training.tasks import load_task


@pytest.fixture(scope="module")
def run(trained):
    return trained / "small" / "learned" / "seed-0"


def test_effects_are_differences_of_predictions(run):
    """By hand, one graph at a time: the bags without a subgraph, of one subgraph, and of the whole graph."""
    found = effects(run, graphs=3, samples=4, draws=2)
    learner, settings, _ = load_model(run)
    learner.eval()
    test = load_task(settings).test
    official = predict(learner, test, 16)
    for one in found.looked:
        batch = test.batch(torch.tensor([one.number]))
        n = batch.num_nodes
        kept = torch.ones(n, 2)
        for i, each in enumerate(one.subgraphs):
            assert len(each.elements) == 2  # deleted
            kept[list(each.elements), i] = 0

        def predicted(choice, batch=batch):
            bag = bags.from_choice(batch, choice, operation="delete")
            with torch.no_grad():
                return learner.renormalized(learner.model.downstream(batch, bag)).item()

        whole = predicted(torch.ones(n, 1))
        assert one.whole == pytest.approx(whole, abs=1e-4)
        assert one.prediction == pytest.approx(official[one.number].item(), abs=1e-4)
        assert one.target == test[one.number].y.item()
        assert one.error == pytest.approx(abs(one.prediction - one.target), abs=1e-4)
        assert one.gain == pytest.approx(abs(whole - one.target) - one.error, abs=1e-4)
        base = predicted(kept)
        for i, each in enumerate(one.subgraphs):
            assert each.alone == pytest.approx(predicted(kept[:, [i]]), abs=1e-4)
            assert each.without == pytest.approx(predicted(kept[:, [1 - i]]) - base, abs=1e-4)
        assert -1 <= one.settled <= 1


def test_replacements_are_random_and_repeatable(run):
    first, again = (effects(run, graphs=4, samples=3, draws=3) for _ in range(2))
    values = [each.random for one in first.looked for each in one.subgraphs]
    assert values == [each.random for one in again.looked for each in one.subgraphs]
    assert len(set(values)) > 1


def test_a_page_of_molecules(on_molecules, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    command(on_molecules, page=tmp_path / "page.html", graphs=3, samples=3)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('class="graph"') == 3
    assert text.count("<figure") == 6
    assert "http" not in text
    found = effects(on_molecules, graphs=3, samples=3)
    listed = substructures(found)
    assert sum(each.times for each in listed) == 6
    assert all(Chem.MolFromSmarts(each.pattern).GetNumBonds() == 1 for each in listed)
    with pytest.raises(OsanError, match="a graph or --page, got neither"):
        command(on_molecules)


def test_soft_choices_are_shown_in_parts(soft_marks, tmp_path):
    found = effects(soft_marks, graphs=3, samples=1, draws=0)
    assert found.soft
    for one in found.looked:
        for each in one.subgraphs:
            assert len(each.elements) > 1
            assert sum(each.parts) == pytest.approx(1)  # one mark
    # Every part counts by itself: there are as many parts as marks.
    listed = substructures(found)
    assert sum(each.times for each in listed) == pytest.approx(2 * 3)
    assert write_choice_page(soft_marks, tmp_path / "page.html", graphs=3, samples=1) == 3
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert "paler if only a part of it is" in text
    opacities = [float(part) for part in re.findall(r'fill-opacity="([0-9.]+)"', text)]
    parts = [part for one in found.looked for each in one.subgraphs for part in each.parts if part < 1]
    assert opacities == pytest.approx(parts, abs=0.006)
    told = explain(soft_marks, "0", samples=2)
    assert told.soft
    assert "how much marked (2 samples)" in told.caption
    shown = torch.zeros(told.vertices.shape)
    for i, each in enumerate(found.looked[0].subgraphs):
        shown[list(each.elements), i] = torch.tensor(each.parts)
    torch.testing.assert_close(told.vertices, shown)
    osan.open_run(soft_marks).report(tmp_path / "run.html")
    assert "is orange, paler if only a part of it is." in (tmp_path / "run.html").read_text(encoding="utf-8")


def test_the_page_sorts_and_lights_up(on_molecules, tmp_path):
    from browser import opened

    write_choice_page(on_molecules, tmp_path / "page.html", graphs=3, samples=3)
    complaints = []
    with opened(tmp_path / "page.html", complaints, width=390) as page:
        page.click("[data-key=error]")
        errors = page.evaluate("[...document.querySelectorAll('.graph')].map((g) => Number(g.dataset.error))")
        assert errors == sorted(errors, reverse=True)
        page.hover(".graph figure figcaption")
        lit = page.evaluate("[...document.querySelectorAll('.smiles .lit')].map((s) => s.dataset.atom)")
        assert lit == page.get_attribute(".graph figure", "data-atoms").split(" ")
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert complaints == []


@pytest.mark.parametrize("smiles", ["CC(=O)Oc1ccccc1C(=O)O", "C[N+](C)(C)CCCl", "BrC1=CC2CC1C2", "O=[Se]"])
def test_parts_of_smiles_are_its_atoms(smiles):
    molecule = Chem.MolFromSmiles(smiles)
    parts = smiles_parts(molecule)
    assert Chem.CanonSmiles("".join(text for text, _ in parts)) == Chem.CanonSmiles(smiles)
    atoms = {atom: text for text, atom in parts if atom >= 0}
    assert sorted(atoms) == list(range(molecule.GetNumAtoms()))
    for atom, text in atoms.items():
        assert molecule.GetAtomWithIdx(atom).GetSymbol().lower() in text.lower()


def test_equal_substructures_have_equal_patterns():
    """Whatever the numbers of the atoms, and each pattern is found where it comes from."""
    texts = set()
    for smiles in ("CCO", "OCC", "C(O)C"):
        molecule = Chem.MolFromSmiles(smiles)
        center = next(a.GetIdx() for a in molecule.GetAtoms() if a.GetDegree() == 2)
        texts.add(pattern(None, [center], of_edges=False, molecule=molecule))
        assert molecule.HasSubstructMatch(Chem.MolFromSmarts(next(iter(texts))))
    assert len(texts) == 1


def test_equal_substructures_of_different_molecules_have_equal_patterns():
    """An aromatic carbon with one methyl, and an alcohol in a ring and in a chain."""
    smiles = [
        "Cc1ccccc1",
        "Cc1c(C)cccc1O",
        "Cc1ccc2ccccc2c1",
        "CC(O)C",
        "OC1CCC(C)CC1",
        "OC1C(O)C(C)OC(C)C1O",
    ]
    smiles += ["CC(C)(C)c1ccccc1", "c1ccccc1C(C)(C)C", "CC(C)(C)c1ccc(O)cc1"]
    found: dict[tuple[object, ...], set[str]] = {}
    for text in smiles:
        molecule = Chem.MolFromSmiles(text)
        for atom in molecule.GetAtoms():
            around = sorted((n.GetSymbol(), n.GetIsAromatic()) for n in atom.GetNeighbors())
            seen = pattern(None, [atom.GetIdx()], of_edges=False, molecule=molecule)
            found.setdefault((atom.GetSymbol(), atom.GetIsAromatic(), *around), set()).add(seen)
            assert molecule.HasSubstructMatch(Chem.MolFromSmarts(seen))
    assert [texts for texts in found.values() if len(texts) > 1] == []


def test_a_run_without_choice_is_refused(tmp_path, run):
    from osan.training.run import train

    _, settings, _ = load_model(run)
    plain = settings.changed({"selection.policy": "", "training.epochs": 1})
    train(plain, tmp_path / "plain", progress=False)
    with pytest.raises(OsanError, match="expected a policy that chooses"):
        effects(tmp_path / "plain")
