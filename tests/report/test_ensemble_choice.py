"""What an ensemble chooses: the mean over its members, how far they agree, and the pages about it."""

from itertools import combinations
from statistics import fmean

import pytest
import torch
from typer.testing import CliRunner

import osan
from osan.cli import app
from osan.data.custom.molecules import read_smiles
from osan.report import effects, substructures
from osan.report.drawing import picture
from osan.selection import Noise
from osan.training.evaluation import evaluating
from osan.training.run import load_model


def kappa(sets, count):
    """Cohen's kappa between sets of as many things, summed over pairs before the division."""
    excess = most = 0.0
    for a, b in combinations(sets, 2):
        chance = len(a) * len(b) / count
        excess, most = excess + len(a & b) - chance, most + (len(a) + len(b)) / 2 - chance
    return excess / most


def test_frequencies_are_means_over_members(ensemble):
    found = osan.open_run(ensemble).explain("CCOc1ccccc1", samples=20)
    assert found.columns == ["mean", "member 0", "member 1", "member 2"]
    graph = read_smiles(["CCOc1ccccc1"])[0]
    batch = graph.clone()
    batch.batch, batch.num_graphs = torch.zeros(9, dtype=torch.long), 1
    marked = []
    for i in range(3):
        learner = load_model(ensemble / f"member-{i}")[0]
        # In any of the two subgraphs; members number their subgraphs as they like.
        each = [(one.choice != 0).any(1).double() for one in learner.model.draw(batch, 20)[1]]
        assert torch.allclose(found.vertices[:, i + 1].double(), torch.stack(each).mean(0))
        with evaluating(learner, noise=Noise("none")):
            choice = learner.model.draw(batch, 1)[1][0].choice
        marked.append({v for v in range(9) if choice[v].any()})
    assert torch.allclose(found.vertices[:, 0], found.vertices[:, 1:].mean(1))
    assert found.agreement == pytest.approx(kappa(marked, 9))
    assert found.plain()["agreement"] == round(found.agreement, 4)
    assert f"3 members, whose agreement is {found.agreement:.2f}" in found._repr_html_()
    assert picture(found, "png")[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_command_takes_the_folder_of_an_ensemble(ensemble, tmp_path):
    told = CliRunner().invoke(
        app, ["explain", str(ensemble), "CCO", "--samples", "5"], catch_exceptions=False
    )
    assert all(word in told.stdout for word in ("mean", "member 0", "member 2", "agreement"))
    words = [
        "explain",
        str(ensemble),
        "--page",
        str(tmp_path / "page.html"),
        "--graphs",
        "2",
        "--samples",
        "2",
    ]
    CliRunner().invoke(app, words, catch_exceptions=False)
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert text.count('class="graph"') == text.count("data-agreement=") == 2
    assert " of 3 members</b>" in text


def test_effects_are_those_of_the_members_that_choose(ensemble):
    found = effects(ensemble, graphs=3, samples=2, draws=1)
    members = [effects(ensemble / f"member-{i}", graphs=3, samples=2, draws=1) for i in range(3)]
    assert (found.members, members[0].members) == (3, 1)
    for place, one in enumerate(found.looked):
        alone = [member.looked[place] for member in members]
        for name in ("prediction", "whole", "settled"):
            mean = fmean(getattr(each, name) for each in alone)
            assert getattr(one, name) == pytest.approx(mean, abs=1e-4)
        assert one.error == pytest.approx(abs(one.prediction - one.target), abs=1e-4)
        for each in one.subgraphs:
            same = [[own for own in other.subgraphs if own.elements == each.elements] for other in alone]
            assert each.members == sum(bool(some) for some in same)
            assert each.without == pytest.approx(
                fmean(own.without for some in same for own in some), abs=1e-6
            )
        sets = [{v for own in other.subgraphs for v in own.elements} for other in alone]
        assert {v for own in one.subgraphs for v in own.elements} == set.union(*sets)
        assert [own.members for own in one.subgraphs] == sorted(
            (o.members for o in one.subgraphs), reverse=True
        )
        if all(len(some) < one.graph.num_nodes for some in sets):
            assert one.agreement == pytest.approx(kappa(sets, one.graph.num_nodes))
    times = sum(own.members for one in found.looked for own in one.subgraphs)
    assert sum(each.times for each in substructures(found)) == times
