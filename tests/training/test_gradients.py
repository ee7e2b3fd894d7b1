"""Every parameter of our networks gets a gradient, so processes need not search for unused ones."""

import pytest
import torch

from osan.data import FlatLoader
from osan.training.build import build
from osan.training.fit import has_custom_parts
from osan.training.module import Learner
from osan.training.tasks import TaskInfo, load_task

POLICIES = [
    "",
    "delete 1 vertex x 2",
    "delete 1 edge x 2",
    "mark 1 vertex x 2",
    "mark 1 vertex x 2 in turn",
    "select 3 vertices ordered x 2",
    "select 1-ego x 2",
    "cover select 2 vertices x 2",
    "tree x 2",
    "delete 1 vertex x all",
]
NETWORKS = [
    *({"network.conv": conv} for conv in ("gin", "gine", "gcn", "pna")),
    *({"network.readout": readout} for readout in ("attention", "set2set", "max")),
    {"network.like": "ogbg-molesol", "network.width": 8},
    {"network.upstream": "gin"},
    {"network.architecture": "dss"},
    *(
        {"network.architecture": name, "network.options": options, "selection.policy": ""}
        for name, options in (
            ("k-osan", {"k": 1}),
            ("marked", {"k": 1, "alongside": True}),
            ("dropout", {"m": 2, "p": 0.1}),
            ("reconstruction", {"k": 2}),
            ("identity", {}),
            ("nested", {"hops": 1}),
            ("kernel", {"hops": 1, "starts": 2}),
        )
    ),
]
WAYS = [
    *({"selection.policy": policy} for policy in POLICIES),
    *({"selection.policy": "delete 1 vertex x 2", **network} for network in NETWORKS),
]


@pytest.fixture(scope="module")
def molecules(tmp_path_factory):
    path = tmp_path_factory.mktemp("table") / "a.csv"
    rows = [f"{'C' * (i + 3)}{'NOS'[i % 3]},{i}" for i in range(20)]
    path.write_text("\n".join(["smiles,y", *rows]) + "\n")
    return path


@pytest.mark.parametrize("changes", WAYS, ids=lambda changes: ",".join(map(str, changes.values())))
def test_no_parameter_is_unused(small, molecules, changes):
    settings = small(
        **{"data.dataset": str(molecules), "data.options": {}, "network.dropout": 0.0, **changes}
    )
    task = load_task(settings)
    info = TaskInfo.of(task, settings)
    torch.manual_seed(0)
    learner = Learner(build(settings, info), settings, info)
    learner.training_step(next(iter(FlatLoader(task.train, 16))), 0).backward()
    assert [name for name, each in learner.model.named_parameters() if each.grad is None] == []
    assert not has_custom_parts(settings)


def test_custom_parts_may_leave_parameters_unused(small):
    for changes in (
        {"network.architecture": "a:b"},
        {"network.architecture": "custom"},
        {"network.conv": "a:b"},
        {"network.readout": "a:b"},
        {"network.atomic": "a:b"},
        {"selection.weigher": "a:b"},
        {"selection.estimator": "a:b"},
    ):
        assert has_custom_parts(small(**changes))
