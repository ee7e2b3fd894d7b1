"""Parts that a user writes in one file, named as module:name in the settings."""

import sys

import pytest
import torch

from osan.errors import OsanError
from osan.training.build import build
from osan.training.run import load_model, train
from osan.training.settings import Settings
from osan.training.settings_files import read_settings, write_settings
from osan.training.tasks import TaskInfo, load_task

PARTS = """
import torch
from lightning.pytorch.loggers import Logger
from osan import nn
from osan.selection import StraightThrough


class Mine(StraightThrough):
    def __init__(self, gain=1.0):
        super().__init__()
        self.gain = gain


class Walks:
    def __init__(self, steps=1):
        self.columns = steps + 1

    def __call__(self, batch, bag, mark):
        return mark[:, None].expand(-1, self.columns)


def powers(batch, bag, mark, factor=1.0):
    return factor * mark[:, None]


powers.columns = 1


class Factor(torch.nn.Module):
    columns = 1

    def forward(self, batch, bag, mark):
        return 5 * mark[:, None]


factor = Factor()


def printer(folder, run):
    return print(folder, run)


class Full(Logger):
    name, version = "full", 0

    def __init__(self, folder, run):
        super().__init__()

    def log_hyperparams(self, params):
        if params["seed"]:
            raise ValueError("no seeds")

    def log_metrics(self, metrics, step=None):
        raise OSError("disk full")


def uniform_noise(problem, weights, uniform):
    return uniform(0) - 0.5


def crowding(choice, ground, power=2):
    return ground.sum_per_graph(choice**power).mean(1)


def rmsprop(groups, alpha=0.99):
    return torch.optim.RMSprop(groups, alpha=alpha)


def halving(at, every=2):
    return 0.5 ** (at.epoch // every), 1.0


class Degree(torch.nn.Module):
    def __init__(self, columns, width, sign=1.0):
        super().__init__()
        self.factor = torch.nn.Parameter(torch.full((columns,), sign))

    def forward(self, batch):
        return torch.bincount(batch.edge_index[0], minlength=batch.num_nodes)[:, None] * self.factor


def narrow(columns):
    return Degree(columns, 1)


def broken(columns, width):
    raise RuntimeError("no weights today")


def linear(width, layers, out):
    return torch.nn.Linear(width, out)


def failing(width, layers, out):
    return width / 0


class Net(torch.nn.Module):
    def __init__(self, width, layers, out, vertex_encoder, bias=True):
        super().__init__()
        self.encoder, self.width, self.layers = vertex_encoder, width, layers
        self.pool, self.head = nn.Pool("mean", width), torch.nn.Linear(width, out, bias=bias)

    def forward(self, batch, bag):
        h = self.encoder(batch.x)[bag.vertex]
        h = self.pool(h, bag.subgraph, bag.num_subgraphs, bag.weight)
        return self.head(h).new_zeros(bag.num_graphs, 1).index_add(0, bag.graph, self.head(h))
"""

CHANGES = {
    "selection.estimator": "parts_of_a_user:Mine",
    "selection.noise": "parts_of_a_user:uniform_noise",
    "selection.auxiliary": "parts_of_a_user:crowding",
    "selection.options": {"gain": 2.0, "power": 3},
    "network.architecture": "parts_of_a_user:Net",
    "network.options": {"bias": False},
    "network.dropout": None,
    "training.optimizer": "parts_of_a_user:rmsprop",
    "training.schedule": "parts_of_a_user:halving",
    "training.options": {"alpha": 0.9, "every": 1},
    "training.decay": 1.0,
    "training.decay_every": None,
    "training.epochs": 3,
}


@pytest.fixture(autouse=True)
def folder_of_a_user(tmp_path, monkeypatch):
    """The current folder, with a module in it."""
    (tmp_path / "parts_of_a_user.py").write_text(PARTS)
    monkeypatch.chdir(tmp_path)
    yield
    sys.modules.pop("parts_of_a_user", None)


def test_all_parts_in_one_run(tmp_path, small):
    settings = small(**CHANGES)
    write_settings(settings, tmp_path / "s.toml")
    assert read_settings(tmp_path / "s.toml") == settings
    train(settings, tmp_path / "run", progress=False)
    learner, _, _ = load_model(tmp_path / "run")
    model, optimizer = learner.model, learner.configure_optimizers()
    assert type(model.selection.estimator).__name__ == "Mine"
    assert model.selection.estimator.gain == 2.0
    assert model.downstream.head.bias is None
    assert (model.downstream.width, model.downstream.layers) == (8, 2)
    assert [type(optimizer), optimizer.defaults["alpha"]] == [torch.optim.RMSprop, 0.9]
    lines = (tmp_path / "run/metrics.csv").read_text().splitlines()
    column = lines[0].split(",").index("lr")
    assert [float(line.split(",")[column]) for line in lines[1:]] == [0.001, 0.0005, 0.00025]
    batch = load_task(settings).train.batch(torch.arange(4))
    out = learner.look(batch)
    choice = out.selected[0].problem.ground.gather(out.selected[0].choice)
    sums = [(choice[batch.batch == graph] ** 3).sum(0).mean().item() for graph in range(4)]
    weight = settings.selection.auxiliary_weight
    both = torch.stack([out.selected[0].choice, out.selected[1].choice])
    assert both.shape[0] == settings.selection.samples
    assert out.diversity.shape == (4,)
    # Three vertices are selected, whichever they are.
    assert out.diversity.tolist() == pytest.approx([weight * each for each in sums])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"selection.estimator": "parts_of_a_user:Nobody"}, "selection.estimator: cannot import"),
        (
            {"selection.estimator": "parts_of_a_user:Net", "selection.options": {}},
            "selection.estimator: expected .*a subclass of it",
        ),
        ({"selection.noise": "parts_of_a_user:Nobody"}, "selection.noise: cannot import"),
        ({"selection.evaluation_noise": "no:noise"}, "selection.evaluation_noise: cannot import"),
        ({"selection.policy": "select no:Kind x 2"}, "selection.policy: cannot import 'no:Kind'"),
        (
            {"network.conv": "no:Layer", "network.architecture": "osan", "network.options": {}},
            "^network.conv: cannot import 'no:Layer'",
        ),
        (
            {"network.readout": "math:prod", "network.architecture": "osan", "network.options": {}},
            "^network.readout: expected a function of the width, got prod, which fails for 8",
        ),
        (
            {"network.architecture": "parts_of_a_user:failing", "network.options": {}},
            r"network: the architecture 'parts_of_a_user:failing' cannot be built \(ZeroDivisionError",
        ),
        (
            {
                "network.architecture": "parts_of_a_user:linear",
                "network.options": {},
                "selection.policy": "",
            },
            "network.architecture: expected a module that is called with a batch, got torch's Linear",
        ),
        ({"selection.auxiliary": "parts_of_a_user:PARTS"}, "selection.auxiliary: cannot import"),
        (
            {"selection.options": {"gian": 2.0}},
            "selection.options: expected .*got 'gian'; did you mean 'gain'",
        ),
        (
            {"selection.weigher": "parts_of_a_user:narrow"},
            r"^selection.weigher: expected a function \(columns, width, \*\*options\), got "
            "'parts_of_a_user:narrow', which fails .TypeError: narrow",
        ),
        (
            {"selection.weigher": "parts_of_a_user:broken"},
            "got 'parts_of_a_user:broken', which fails .RuntimeError: no weights today",
        ),
        (
            {"selection.weigher": "parts_of_a_user:Degree", "selection.options": {"sing": 2.0}},
            "selection.options: expected .*sign.*got 'sing'; did you mean 'sign'",
        ),
        (
            {"selection.estimator": "fixed", "selection.options": {}},
            "^selection.estimator: expected one that learns for the weigher 'learned', got 'fixed'; name a",
        ),
        ({"network.options": {"bais": False}}, "network.options: expected .*got 'bais'; did you mean 'bias'"),
        ({"network.dropout": 0.5}, "network.dropout: the architecture 'parts_of_a_user:Net' takes no such"),
    ],
)
def test_parts_that_do_not_fit(small, changes, message):
    settings = small(**{**CHANGES, **changes})
    info = TaskInfo.of(load_task(settings), settings)
    with pytest.raises(OsanError, match=message):
        build(settings, info)


MARKS = {"selection.policy": "mark 1 vertex x 2", "network.architecture": "osan"}


@pytest.mark.parametrize(
    ("name", "options", "columns", "told"),
    [
        ("Walks", {}, 2, 1.0),
        ("Walks", {"steps": 3}, 4, 1.0),
        ("powers", {}, 1, 1.0),
        ("powers", {"factor": 3.0}, 1, 3.0),
        ("factor", {"sagg": "sum"}, 1, 5.0),  # the option of the network alone
    ],
)
def test_relations_to_the_marks(small, name, options, columns, told):
    changes = {"network.atomic": f"parts_of_a_user:{name}", "network.options": options, **MARKS}
    settings = small(**changes)
    task = load_task(settings)
    model = build(settings, TaskInfo.of(task, settings))
    initial, batch = model.downstream.initial, task.train.batch(torch.arange(3))
    assert initial.relation_weight.shape == (columns, 8)
    out = model(batch)
    found = initial.relation(batch, out.bag, out.bag.mark)
    assert found.detach().equal(told * out.bag.mark.detach()[:, None].expand(-1, columns))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("no:Relation", {}, "^network.atomic: cannot import 'no:Relation'"),
        ("parts_of_a_user:printer", {}, "^network.atomic: expected a function of batch, bag and mark whose"),
        ("parts_of_a_user:Walks", {"stesp": 2}, "network.options: expected .*'stesp'; did you mean 'steps'"),
        (
            "parts_of_a_user:Walks",
            {"steps": "2"},
            "network.atomic: 'parts_of_a_user:Walks' failed .TypeError",
        ),
    ],
)
def test_relations_that_do_not_fit(small, name, options, message):
    settings = small(**{"network.atomic": name, "network.options": options, **MARKS})
    info = TaskInfo.of(load_task(settings), settings)
    with pytest.raises(OsanError, match=message):
        build(settings, info)


@pytest.mark.parametrize("name", ["distance", "parts_of_a_user:Walks"])
def test_relations_without_marks(small, name):
    deleting = small(**{"network.atomic": name, "selection.policy": "delete 1 vertex x 2"})
    info = TaskInfo.of(load_task(deleting), deleting)
    with pytest.raises(OsanError, match=r"^network.atomic: expected 'unordered' with the policy 'delete"):
        build(deleting, info)
    whole = small(**{"network.atomic": name, "selection.policy": ""})
    assert build(whole, info).network.initial.relation is None


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "csb",
            "machine.loggers.*expected 'csv', .*'mlflow' or 'module:name', got 'csb'; did you mean 'csv'",
        ),
        ("no:Logger", "^machine.loggers: cannot import 'no:Logger'"),
        ("parts_of_a_user:Walks", "^machine.loggers: 'parts_of_a_user:Walks' failed .TypeError"),
        (
            "parts_of_a_user:printer",
            "^machine.loggers: expected 'parts_of_a_user:printer' to return",
        ),
    ],
)
def test_loggers_that_do_not_fit(tmp_path, small, name, message):
    with pytest.raises(OsanError, match=message):
        train(small(**{"machine.loggers": [name]}), tmp_path / "run", progress=False)


@pytest.mark.parametrize(("seed", "reason"), [(0, "OSError: disk full"), (1, "ValueError: no seeds")])
def test_loggers_that_fail_later(tmp_path, small, seed, reason):
    settings = small(**{"machine.loggers": ["parts_of_a_user:Full"], "seed": seed})
    with pytest.raises(OsanError, match=rf"^machine.loggers: 'Full' failed \({reason}\)"):
        train(settings, tmp_path / "run", progress=False)


def test_what_learns_is_asked_in_one_place():
    def learns(policy, estimator="imle"):
        return (
            Settings()
            .changed({"selection.policy": policy, "selection.estimator": estimator})
            .selection.learns
        )

    assert learns("delete 1 vertex x 3")
    assert learns("delete 1 vertex x 3", "parts_of_a_user:Mine")
    assert not learns("")
    assert not learns("delete 1 vertex x all")
    assert not learns("delete 1 vertex x 3", "random")


def choices_of(settings):
    """The weights of vertices by their degree, and what the model of the settings marks."""
    task = load_task(settings)
    model = build(settings, TaskInfo.of(task, settings)).eval()
    batch = task.train.batch(torch.arange(20))
    with torch.no_grad():
        out = model(batch)
    return torch.bincount(batch.edge_index[0], minlength=batch.num_nodes), batch, model, out


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_fixed_takes_the_best_weights_of_a_custom_weigher(small, sign):
    """The options of the settings reach the weigher, and nothing is drawn but ties."""
    settings = small(
        **{
            "selection.policy": "mark 1 vertex",
            "selection.weigher": "parts_of_a_user:Degree",
            "selection.estimator": "fixed",
            "selection.options": {"sign": sign},
        }
    )
    assert not settings.selection.learns
    degree, batch, model, out = choices_of(settings)
    assert not model.learns
    for one in out.selected:
        marked = one.choice[:, 0] == 1
        assert batch.batch[marked].tolist() == list(range(20))
        for graph in range(20):
            inside = sign * degree[batch.batch == graph]
            assert inside[marked[batch.batch == graph]] == inside.max()


def test_fixed_takes_the_best_weights_of_a_prior(small):
    """Which starts as the centrality, and is not trained."""
    changes = {"selection.policy": "mark 1 vertex", "selection.estimator": "fixed"}
    _, _, _, prior = choices_of(small(**changes, **{"selection.weigher": "prior"}))
    _, _, _, central = choices_of(small(**changes, **{"selection.weigher": "centrality"}))
    assert prior.weights.equal(central.weights)
    assert prior.selected[0].choice.equal(central.selected[0].choice)


def test_central_marks_can_be_as_soft_as_a_prior_before_training(small):
    """They need no upstream network, and nothing is learned."""
    changes = {"selection.policy": "mark 1 vertex", "selection.estimator": "sparsemap"}
    _, _, _, prior = choices_of(small(**changes, **{"selection.weigher": "prior"}))
    settings = small(**changes, **{"selection.weigher": "centrality"})
    _, _, model, central = choices_of(settings)
    assert prior.selected[0].choice.equal(central.selected[0].choice)
    assert ((central.selected[0].choice > 0) & (central.selected[0].choice < 1)).any()
    assert not model.learns
    assert not settings.selection.learns
    assert not list(model.upstream.parameters())


def test_a_neutral_start_is_refused_where_it_could_not_be_left_or_kept(small):
    neutral = {"selection.weigher": "neutral", "selection.estimator": "sparsemap"}
    with pytest.raises(OsanError, match="use 'mark 1 vertex x 3 distinct' or 'learned'"):
        choices_of(small(**neutral, **{"selection.policy": "mark 1 vertex x 3"}))
    with pytest.raises(OsanError, match="normalize: expected false with the weigher 'neutral'"):
        choices_of(small(**neutral, **{"selection.policy": "mark 1 vertex", "selection.normalize": True}))
    _, _, model, out = choices_of(small(**neutral, **{"selection.policy": "mark 1 vertex x 3 distinct"}))
    assert model.learns
    assert out.weights.eq(0).all()


@pytest.mark.parametrize("weigher", ["learned", "neutral", "prior", "parts_of_a_user:Degree"])
def test_only_random_needs_no_weigher(small, weigher):
    policy = "select 3 vertices x 2 distinct"
    settings = small(
        **{"selection.policy": policy, "selection.weigher": weigher, "selection.estimator": "random"}
    )
    _, _, model, out = choices_of(settings)
    assert model.upstream is None
    assert out.weights.eq(0).all()
    assert type(model.selection.estimator).__name__ == "Random"
