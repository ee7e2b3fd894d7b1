"""The paper's rows as recipes: complete, told apart, and every one of them trains."""

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from osan.data import FlatLoader
from osan.data.published.loading import find
from osan.errors import OsanError
from osan.experiments import recipe, recipes, settings_for, settings_named
from osan.experiments.figures import paper_rows, tables
from osan.nn import DataDrivenOSAN
from osan.selection import Policy
from osan.training.build import build
from osan.training.evaluation import predict, scores
from osan.training.module import Learner
from osan.training.run import train
from osan.training.schedules import Moment, steps
from osan.training.settings_files import read_tree
from osan.training.tasks import TaskInfo


@pytest.mark.data
@pytest.mark.parametrize("key", recipes())
def test_every_recipe_trains_and_evaluates(key, few):
    settings = recipes()[key].settings
    task = few(settings)
    info = TaskInfo.of(task, settings)
    torch.manual_seed(0)
    learner = Learner(build(settings, info), settings, info)
    before = {name: value.clone() for name, value in learner.model.named_parameters()}
    optimizer = learner.configure_optimizers()
    for step, batch in enumerate(FlatLoader(task.train, 2, True, epoch=lambda: 0)):
        optimizer.zero_grad()
        learner.training_step(batch, step).backward()
        optimizer.step()
    assert step == 1
    moved = {name.split(".")[0] for name, value in learner.model.named_parameters()
             if not torch.equal(value, before[name])}  # fmt: skip
    # Learned selection may get no gradient within two steps, if no choice would change; the rest has to move.
    assert moved & {"downstream", "network"}
    prediction = predict(learner, task.test, 2, samples=1)
    assert prediction.shape == (len(task.test), task.num_targets)
    assert prediction.isfinite().all()
    reached = scores(prediction, task.test.y, info)
    assert reached[info.metric] >= 0


def test_every_row_that_the_authors_ran_has_one_recipe():
    rows = [row for row in paper_rows() if not row.quoted]
    behind = Counter(row for each in recipes().values() for row in each.rows)
    assert len(paper_rows()) == 259
    assert len(tables()) == 17
    assert set(behind) == set(rows)
    assert sum(behind.values()) == len(rows)
    quoted = {row.method for row in paper_rows() if row.quoted}
    assert quoted == {"GIN", "GIN + ID-GNN", "DropEdge", "PPGN", "CIN", "PNA", "DGN", "HIMP", "GNS"}


def test_keys_are_the_names_of_the_settings():
    """Keys are listed without building settings."""
    assert [each.settings.name for each in recipes().values()] == list(recipes())


def test_rows_of_one_recipe_report_one_figure():
    """Rows that the paper repeats agree, so they are one run; the paper itself differs in one deviation."""
    for each in recipes().values():
        assert len({row.value for row in each.rows}) == 1, each.key
        if each.key != "zinc/pna/imle/delete-3-vertices/x3":
            assert len({row.std for row in each.rows}) == 1, each.key


def test_recipes_differ():
    settings = [each.settings.model_dump_json(exclude={"name"}) for each in recipes().values()]
    assert len(set(settings)) == len(settings)


@pytest.mark.parametrize(
    ("key", "policy", "estimator", "auxiliary"),
    [
        ("ogbg-molesol/gin/imle/delete-1-vertex/x3", "delete 1 vertex x 3", "imle", "cosine"),
        ("ogbg-molesol/gin/random/select-10-vertices/x1", "select 10 vertices", "random", "none"),
        ("ogbg-molesol/gin/imle-no-auxiliary/delete-2-vertices/x3", "delete 2 vertices x 3", "imle", "none"),
        ("ogbg-molesol/gin/imle/cover-delete-5-vertices/x3", "cover delete 5 vertices x 3", "imle", "cosine"),
        ("zinc/pna/imle/delete-1-vertex-ordered/x10", "delete 1 vertex ordered x 10", "imle", "cosine"),
        ("zinc/gin/imle/select-7-ego/x3", "select 7-ego x 3", "imle", "cosine"),
        ("ogbg-molbace/gin/imle/tree/x10", "tree x 10", "imle", "cosine"),
        ("zinc/ds-gnn/all/select-3-ego", "select 3-ego x all", "imle", "none"),
    ],
)
def test_some_recipes_as_the_paper_words_them(key, policy, estimator, auxiliary):
    choice = recipe(key).settings.selection
    assert (choice.policy, choice.estimator, choice.auxiliary) == (policy, estimator, auxiliary)
    assert choice.lam == (1.0 if policy.startswith("tree") else 10.0)


def setting_of(row):
    """What a row of the paper's tables says, field by field: policy, estimator and auxiliary loss."""
    if row.method == "Baseline":
        return None, "imle", "none"
    count = "all" if row.subgraphs == "all" else int(row.subgraphs)
    learned = row.method not in ("Random", "ESAN", "I-MLE ablation")
    if row.operation == "MST":
        policy = Policy("select", "tree", count=count)
    elif row.type.endswith("-Ego"):
        policy = Policy(row.operation.lower(), "ego", int(row.type.split("-")[0]), count=count)
    else:
        # "All vertices" of ESAN: every subgraph without one of them.
        size = 1 if row.size == "all" else int(row.size)
        policy = Policy(row.operation.lower(), row.type.lower(), size, count=count)
    policy = replace(policy, ordered=row.method == "I-MLE ordered", cover=row.method == "I-MLE covered")
    return policy, "random" if row.method == "Random" else "imle", "cosine" if learned else "none"


def test_every_recipe_has_the_setting_of_its_rows():
    like = {"PNA": "zinc-pna", "DS-GNN": "zinc-esan"}
    for each in recipes().values():
        data, choice = each.settings.data, each.settings.selection
        found = (Policy.parse(choice.policy) if choice.policy else None, choice.estimator, choice.auxiliary)
        for row in each.rows:
            assert found == setting_of(row), each.key
            assert data.dataset == row.dataset
            assert (data.metric or find(row.dataset).metric) == row.metric.lower()
            assert each.settings.network.like == like.get(row.downstream, row.dataset)
        if choice.estimator == "imle":
            assert choice.lam == (1.0 if choice.policy.startswith("tree") else 10.0)
        assert choice.deleted == ("isolated" if "/ds-gnn/" in each.key else "masked")
        assert (choice.noise, choice.evaluation_noise, choice.samples) == ("gumbel", None, 5)
        assert not choice.whole_graph
        # Only the baseline on QM9 sees distances.
        assert data.options == ({"distances": True} if each.key == "qm9/gin/baseline" else {})
        assert each.runs == (50 if row.dataset == "exp" else 5)


# "Additional experimental details": batch size (of the authors' configurations), epochs at least and at most,
# patience, factor of the decay and the epochs at which it comes.
LONG = (700, 1000, 100, 0.316, [400, 600])
PROTOCOLS = {
    "zinc/gin": (128, *LONG),
    "zinc/pna": (128, *LONG),
    "zinc/ds-gnn": (128, 400, 400, None, 1.0, []),
    "alchemy/gin": (64, *LONG),
    "qm9/gin": (64, *LONG),
    "ogbg-molesol/gin": (32, 100, 100, None, 1.0, []),
    "ogbg-molbace/gin": (32, 100, 100, None, 1.0, []),
    "exp/gin": (32, 350, 350, None, 0.5, [50, 100, 150, 200, 250, 300]),
    "proteins/gin": (128, 400, 400, None, 0.316, [150, 300]),
}


def test_protocols_of_the_appendix():
    for each in recipes().values():
        batch, least, most, patience, decay, epochs = PROTOCOLS["/".join(each.key.split("/")[:2])]
        training = each.settings.training
        assert (training.batch_size, training.patience) == (batch, patience)
        assert (training.min_epochs, training.epochs) == (least, most)
        given = training.model_dump(include={"decay", "milestones", "decay_every"})
        rates = [steps(Moment(epoch, most, epoch, most), **given)[0] for epoch in range(most)]
        assert rates == pytest.approx([decay ** sum(e <= epoch for e in epochs) for epoch in range(most)])
        # Adam with its default rate for both parts, the decay for the downstream part alone.
        assert training.learning_rate == training.upstream_learning_rate == 1e-3


def test_unknown_recipes_and_networks():
    with pytest.raises(OsanError, match="did you mean 'zinc/gin/baseline'"):
        recipe("zinc/gin/base")
    with pytest.raises(OsanError, match="network: expected gin or an architecture for exp, got 'pna'"):
        settings_for("exp", downstream="pna")
    with pytest.raises(OsanError, match="expected gin, gcn, pna or an architecture for csl, got 'gat'"):
        settings_for("csl", downstream="gat")


def test_learned_ones_have_an_upstream_network_and_others_none(few):
    for key, has in (
        ("exp/gin/imle/delete-1-vertex/x3", True),
        ("exp/gin/random/delete-1-vertex/x3", False),
    ):
        settings = recipe(key).settings
        model = build(settings, TaskInfo.of(few(settings), settings))
        assert isinstance(model, DataDrivenOSAN)
        assert (model.upstream is not None) == has


def test_few_vertices_are_what_was_measured():
    """The settings by the name of the network are those of the plan behind docs/results.md."""
    root = Path(__file__).parents[2]
    key = "lipophilicity.csv.gz/few-marks/neutral-straight-through/select-8-vertices/x1"
    (group,) = (
        group
        for group in read_tree(root / "results" / "choice.toml")["groups"]
        if group["runs"] == [key] and group["name"] == "alone-starts"
    )
    measured = settings_named(key).changed(group["set"])
    ours = settings_for("lipophilicity.csv.gz", "select 8 vertices", downstream="few-vertices")
    asked = {"data.targets": ["exp"], "data.split": "random", "name": measured.name}
    assert ours.changed(asked).differences(measured) == []
    assert settings_named(ours.name) == ours
    with pytest.raises(OsanError, match=r'few-vertices sees .* expected a policy, such as "select 8'):
        settings_named("zinc/few-vertices/baseline")


@pytest.mark.parametrize(
    ("method", "epochs"), [("random", 5), ("centrality", 5), ("neutral-straight-through", 3 * 2 + 3)]
)
def test_few_vertices_by_any_choice(method, epochs, tmp_path):
    key = f"planted-motif/few-vertices/{method}/select-3-vertices/x1"
    settings = settings_named(key)
    assert settings.name == key
    small = {
        "data.options": {"num_graphs": 60},
        "network.width": 8,
        "training.epochs": 5,
        "training.warmup": 1,
    }
    assert train(settings.changed(small), tmp_path / "run", progress=False).epochs == epochs
