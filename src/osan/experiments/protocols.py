"""Settings from a dataset, a network and a policy: the paper's protocol, or a general one."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from osan.data.formats.table import count_rows
from osan.data.naming import content_of, find_path
from osan.errors import OsanError
from osan.experiments.catalog import recipe, recipes
from osan.parts import resolve
from osan.selection.policy import Policy
from osan.training.settings import Settings
from osan.words import CENTRAL_WEIGHERS, PARTS, WEIGHERS

_LONG = {"epochs": 1000, "min_epochs": 700, "patience": 100, "decay": 0.316, "milestones": [400, 600]}
_OGB = {"batch_size": 32, "epochs": 100, "min_epochs": 100}

# The protocol of each pair of dataset and downstream network: as in the paper's appendix and, where it says
# nothing, as in the authors' configurations.
_PROTOCOLS: dict[tuple[str, str], dict[str, Mapping[str, Any]]] = {
    ("zinc", "gin"): {"network": {"like": "zinc"}, "training": {"batch_size": 128, **_LONG}},
    ("zinc", "pna"): {"network": {"like": "zinc-pna"}, "training": {"batch_size": 128, **_LONG}},
    ("zinc", "ds-gnn"): {
        "network": {"like": "zinc-esan"},
        # ESAN's number of epochs; the authors' configurations of this comparison have 700 to 1,000.
        "training": {"batch_size": 128, "epochs": 400, "min_epochs": 400},
        # Deleted vertices stay in the pooling, as in ESAN.
        "selection": {"deleted": "isolated"},
    },
    ("alchemy", "gin"): {"network": {"like": "alchemy"}, "training": {"batch_size": 64, **_LONG}},
    ("qm9", "gin"): {"network": {"like": "qm9"}, "training": {"batch_size": 64, **_LONG}},
    ("ogbg-molesol", "gin"): {"network": {"like": "ogbg-molesol"}, "training": _OGB},
    ("ogbg-molbace", "gin"): {"network": {"like": "ogbg-molbace"}, "training": _OGB},
    ("exp", "gin"): {
        "data": {"fold": "seed"},
        "network": {"like": "exp"},
        "training": {
            "batch_size": 32,
            "epochs": 350,
            "min_epochs": 350,
            "decay": 0.5,
            "decay_every": 50,
            # The authors select the epoch on the test fold; the same runs give that figure, too.
            "watch_test": True,
        },
    },
    ("proteins", "gin"): {
        "data": {"metric": "rocauc"},
        "network": {"like": "proteins"},
        "training": {
            "batch_size": 128,
            "epochs": 400,
            "min_epochs": 400,
            "decay": 0.316,
            "milestones": [150, 300],
        },
    },
}
MODERN = ("few-marks", "few-marks-500k", "few-vertices")
# What the field has found to work since the paper, for any dataset: the whole graph and a few marks,
# structural encodings, no noise in evaluation, and a modern trainer. Sums tell how large a graph is; with
# means, marks help mostly because they tell it, too (docs/results.md).
_FEW_MARKS: dict[str, Mapping[str, Any]] = {
    "data": {"encodings": ["cse:16"]},
    "network": {"upstream": "gin", "upstream_layers": 4, "readout": "sum"},
    "selection": {"whole_graph": True, "evaluation_noise": "none", "samples": 1},
    "training": {
        "batch_size": 128,
        "epochs": 100,
        "optimizer": "adamw",
        "learning_rate": 2e-3,
        "upstream_learning_rate": 2e-3,
        "weight_decay": 1e-5,
        "schedule": "cosine",
        "warmup": 5,
        "clip": 1.0,
    },
}
# The same network sees the chosen vertices and nothing else. Chosen on Lipophilicity by validation
# (docs/learned-marks.md).
_FEW_VERTICES: dict[str, Mapping[str, Any]] = {
    "data": {"encodings": []},
    "selection": {
        "whole_graph": False,
        "noise_scale": 0.1,
        "noise_schedule": "cosine",
        "settle": 0.4,
        "settle_on": "best",
        "starts": 3,
    },
    "training": {
        "batch_size": 64,
        "epochs": 40,
        "warmup": 4,
        "average": 0.99,
        "upstream_learning_rate": 3e-3,
    },
}
# Where the protocol differs from dataset to dataset. On ogbg-molesol, validation is better without encodings
# (docs/results-detail.md); ogbg-molbace is as small.
_FEW_MARKS_ON: dict[str, dict[str, Mapping[str, Any]]] = {
    "ogbg-molesol": {"data": {"encodings": []}, "training": {"batch_size": 32}},
    "ogbg-molbace": {"data": {"encodings": []}, "training": {"batch_size": 32}},
    "proteins": {"data": {"metric": "rocauc"}},
    "exp": {"data": {"fold": "seed"}, "training": {"batch_size": 32}},
}
# Below how many graphs the default trains longer, and up to how many molecules RDKit's descriptors (a few
# milliseconds for each) are part of it.
_FEW_GRAPHS, _MOST_DESCRIBED = 300, 20_000
# Where the choice is learned with a tenth of the noise, so that the network gets used to it.
_LITTLE_NOISE = ("ogbg-molesol", "ogbg-molbace")
# Keys. The dataset may be a path; method and policy may be parts in the form module:name.
_BASELINE = re.compile(r"(?P<dataset>.+)/(?P<network>[^/]+)/baseline")
_SELECTION = re.compile(
    r"(?P<dataset>.+)/(?P<network>[\w-]+|[\w.]+:\w+)/(?P<method>[^/]+)"
    r"/(?P<policy>(?!x\d+$)[^/]+)(?:/x(?P<count>\d+))?"
)


def settings_named(key: str) -> Settings:
    """The settings of a key: a recipe, or a run of the same form that is not in the paper.

    The dataset may be the path of a file.

    >>> settings_named("ogbg-molesol/gin/simple/delete-1-vertex/x3").selection.estimator
    'simple'
    >>> settings_named("zinc/gin/my_file:Weigher-imle/mark-1-vertex/x2").selection.weigher
    'my_file:Weigher'
    >>> settings = settings_named("data/mols.csv/gin/imle/delete-1-vertex/x3")
    >>> settings.data.dataset, settings.name
    ('data/mols.csv', 'mols.csv/gin/imle/delete-1-vertex/x3')
    """
    if key in recipes():
        return recipes()[key].settings
    found = _BASELINE.fullmatch(key)
    if found:
        return settings_for(found["dataset"], downstream=found["network"])
    found = _SELECTION.fullmatch(key)
    if found:
        dataset, method = found["dataset"], found["method"]
        estimator = method.removesuffix("-no-auxiliary")
        weigher, started = "learned", ("neutral", "prior", *CENTRAL_WEIGHERS)
        if estimator in WEIGHERS and estimator != "random":
            weigher, estimator = estimator, "fixed"
        elif (first := estimator.partition("-"))[2] and (first[0] in started or ":" in first[0]):
            weigher, _, estimator = first
        elif ":" in estimator:
            _refuse_weigher(estimator, key)
        policy = Policy.of_slug(found["policy"], "all" if method == "all" else int(found["count"] or 1))
        settings = settings_for(
            dataset,
            str(policy),
            "imle" if method == "all" else estimator,
            downstream=found["network"],
            auxiliary=not method.endswith("-no-auxiliary"),
            weigher=weigher,
        )
        # The key must be read completely; the name of the run leaves out the folder of the path.
        if settings.name == key.removeprefix(dataset.removesuffix(settings.name.split("/")[0])):
            return settings
    return recipe(key).settings


def _refuse_weigher(name: str, key: str) -> None:
    """Raise if a key has a weigher where an estimator belongs: nothing says how it learns."""
    try:
        found = resolve(name, {}, "estimator")
    except OsanError:  # a module that is not here; the run will say so
        return
    from osan.selection import Estimator

    if isinstance(found, type) and not issubclass(found, Estimator):
        raise OsanError(
            f"{key}: expected an estimator, or a weigher and an estimator such as '{name}-imle', got "
            f"{name!r}, which is no estimator"
        )


def settings_for(
    dataset: str,
    policy: str = "",
    estimator: str | None = None,
    *,
    downstream: str = "gin",
    auxiliary: bool = True,
    weigher: str | None = None,
) -> Settings:
    """The paper's settings for a dataset and any policy; other datasets get general settings.

    Parameters
    ----------
    dataset
        A dataset by name, or the path of a file.
    policy
        The policy in one line; empty for the whole graph.
    estimator
        The gradient estimator, by name or as ``module:name``; by default straight-through for the few-marks
        networks, otherwise the paper's I-MLE.
    downstream
        The downstream network: ``"gin"``, ``"gcn"``, ``"pna"``, on ZINC also ``"ds-gnn"``, or an
        architecture, by name or as ``module:name``. ``"few-vertices"`` is the few-marks network without the
        whole graph, and trained so that what it sees is chosen well.
    auxiliary
        Whether to add the paper's loss for diversity. The few-marks networks never do.
    weigher
        What gives the weights: ``"learned"`` (the default), ``"neutral"`` (for few vertices), ``"prior"``, a
        centrality, or ``module:name``.

    Examples
    --------
    >>> settings_for("zinc", "delete 3 edges x 10", "random", downstream="pna").name
    'zinc/pna/random/delete-3-edges/x10'
    >>> settings_for("planted-motif", "select 3 vertices").name
    'planted-motif/gin/imle/select-3-vertices/x1'
    >>> settings_for("zinc", "mark 1 vertex x 2", "simple", downstream="few-marks", weigher="prior").name
    'zinc/few-marks/prior-simple/mark-1-vertex/x2'
    >>> settings_for("zinc", "select 8 vertices", downstream="few-vertices").name
    'zinc/few-vertices/neutral-straight-through/select-8-vertices/x1'
    """
    if downstream == "few-vertices" and not policy:
        raise OsanError(
            "network: few-vertices sees what a policy chooses, and nothing else; expected a policy, such as "
            '"select 8 vertices", got none'
        )
    modern = downstream in MODERN
    estimator = estimator or ("straight-through" if modern else "imle")
    learned = estimator not in ("random", "fixed")
    weigher = weigher or ("neutral" if downstream == "few-vertices" and learned else "learned")
    changes: dict[str, Any] = {
        f"{section}.{key}": value
        for section, values in _protocol(dataset, downstream).items()
        for key, value in values.items()
    }
    changes |= {"data.dataset": dataset, "selection.policy": policy, "selection.estimator": estimator}
    changes["selection.weigher"] = weigher
    if modern and estimator == "random":
        changes["selection.samples"] = 5
    if modern and learned and dataset in _LITTLE_NOISE:
        changes["selection.noise_scale"] = 0.1
    if dataset == "qm9" and not policy:
        changes["data.options"] = {"distances": True}
    if policy and learned and not modern and Policy.parse(policy).count != "all":
        # The paper's loss for diversity, and the authors' step, which is smaller for trees.
        changes |= {"selection.auxiliary": "cosine" if auxiliary else "none"}
        if Policy.parse(policy).what == "tree":
            changes["selection.lam"] = 1.0
    settings = Settings().changed(changes)
    return settings.changed({"name": key_of(settings, downstream)})


def chosen_settings(
    dataset: str,
    policy: str | None = None,
    *,
    subgraphs: str | int | None = None,
    selection: str | None = None,
    weigher: str | None = None,
    network: str | None = None,
    like_the_paper: bool = False,
) -> Settings:
    """The settings for what ``osan train`` is told: :func:`default_settings` for a file and nothing else.

    >>> chosen_settings("zinc", "delete 1 vertex", subgraphs=3).name
    'zinc/gin/imle/delete-1-vertex/x3'
    """
    if policy is None and subgraphs is not None:
        raise OsanError('train: --subgraphs needs a policy, such as "delete 1 vertex"')
    text = policy or ""
    if subgraphs is not None:
        # The number goes before what the subgraphs know of each other.
        text = re.sub(r"( x \S+)?( distinct| in turn)?$", rf" x {subgraphs}\2", text.rstrip(), count=1)
    told = any(value is not None for value in (policy, selection, weigher, network)) or like_the_paper
    if not told and find_path(dataset):
        return default_settings(dataset)
    return settings_for(dataset, text, selection, downstream=network or "gin", weigher=weigher)


def default_settings(path: str, graphs: int | None = None, *, molecules: bool | None = None) -> Settings:
    """The settings for your own data if you choose nothing else; docs/molecules.md shows what they reach.

    The whole graph and two marks, chosen by a centrality and what straight-through learns to add to it, with
    a tenth of the noise, so that the network gets used to the choice. Four residual layers, 128 wide. 50
    epochs in batches of 64; with fewer than 300 graphs 100 epochs in batches of 32. Training stops when
    validation has not improved for 30 epochs, and keeps the best epoch of a moving average of the weights.
    Regression has standardized targets and the squared error.

    Molecules have RDKit's descriptors and counts of circular substructures beside the network, half of them
    left out at random in each step, and a Gaussian process on them that predictions are averaged with, up to
    20,000 molecules; other graphs have a centrality and distances as input instead, and vertices are summed,
    not averaged, so that the network sees how large a graph is.

    Parameters
    ----------
    path
        The file.
    graphs
        How many graphs there are; by default the rows of the file if it is a table, and otherwise 1,000.
    molecules
        Whether they are molecules; by default whether the file is a table.

    Examples
    --------
    >>> settings = default_settings("data/mols.csv", 500)
    >>> settings.selection.policy, settings.selection.weigher, settings.data.descriptors
    ('mark 1 vertex x 2 distinct', 'prior', ['rdkit2d', 'morgan:1024'])
    >>> default_settings("data/mols.csv", 200).training.epochs
    100
    """
    molecules = content_of(path) == "table" if molecules is None else molecules
    if graphs is None:
        file = Path(path)
        graphs = count_rows(file) if content_of(path) == "table" and file.is_file() else 1000
    few = graphs < _FEW_GRAPHS
    settings = settings_for(path, "mark 1 vertex x 2 distinct", downstream="few-marks", weigher="prior")
    changes: dict[str, Any] = {
        # Distances halve the error of whole graphs on ZINC (docs/results.md).
        "data.encodings": [*settings.data.encodings, "distance:10"],
        "selection.noise_scale": 0.1,
        "network.layers": 4,
        "network.width": 128,
        "training.batch_size": 32 if few else 64,
        "training.epochs": 100 if few else 50,
        "training.patience": 30,
        "training.keep": "last",
        "training.learning_rate": 1e-3,
        "training.upstream_learning_rate": 1e-3,
        "training.loss": "mse",
        "training.average": 0.98,
    }
    if molecules and graphs <= _MOST_DESCRIBED:
        # Descriptors tell the size, so means do not hide it.
        changes |= {
            "data.encodings": [],
            "data.descriptors": ["rdkit2d", "morgan"],
            "network.readout": "mean",
            "network.descriptor_dropout": 0.5,
            "network.blend": "gaussian-process",
        }
    return settings.changed(changes)


def key_of(settings: Settings, downstream: str = "gin") -> str:
    """A readable key of settings: dataset, network, method, policy and number of subgraphs."""
    choice, dataset = settings.selection, settings.data.dataset.rstrip("/").rsplit("/", 1)[-1]
    if not choice.policy:
        return f"{dataset}/{downstream}/baseline"
    policy = Policy.parse(choice.policy)
    method: str = "all" if policy.count == "all" else choice.estimator
    if policy.count != "all" and choice.weigher != "learned":
        hard = choice.method in ("random", "fixed") and choice.weigher in (*CENTRAL_WEIGHERS, "random")
        method = choice.weigher if hard else f"{choice.weigher}-{choice.estimator}"
    paper = downstream not in MODERN
    learned = choice.weigher not in CENTRAL_WEIGHERS and choice.method not in ("random", "fixed")
    if policy.count != "all" and learned and choice.auxiliary == "none" and paper:
        method += "-no-auxiliary"
    count = "" if policy.count == "all" else f"/x{policy.count}"
    return f"{dataset}/{downstream}/{method}/{policy.slug}{count}"


def _protocol(dataset: str, downstream: str) -> Mapping[str, Mapping[str, Any]]:
    """The settings, by section, that come with a dataset and a downstream network."""
    known = [network for name, network in _PROTOCOLS if name == dataset]
    if downstream in known:
        return _PROTOCOLS[dataset, downstream]
    if downstream in MODERN:
        few = downstream == "few-vertices"
        here, more = _FEW_MARKS_ON.get(dataset, {}), _FEW_VERTICES if few else {}
        sections = {
            name: {**values, **more.get(name, {}), **here.get(name, {})}
            for name, values in _FEW_MARKS.items()
        }
        architecture = "few-marks" if few else downstream
        return {**sections, "network": {**sections["network"], "architecture": architecture}}
    if _is_architecture(downstream):
        paper = _PROTOCOLS.get((dataset, "gin"), {})
        return {**paper, "network": {**paper.get("network", {}), "architecture": downstream}}
    expected = known or ["gin", "gcn", "pna"]
    if known or downstream not in expected:
        raise OsanError(
            f"network: expected {', '.join(expected)} or an architecture for {dataset}, got {downstream!r}"
        )
    # The default convolution is GIN with edge features if the dataset has any.
    return {"network": {"conv": None if downstream == "gin" else downstream}}


def _is_architecture(downstream: str) -> bool:
    if ":" in downstream or downstream in PARTS["osan.nn.architectures:ARCHITECTURES"]:
        return True
    if downstream in PARTS["osan.nn.layers:LAYERS"]:
        return False
    from osan.nn import ARCHITECTURES

    return downstream in ARCHITECTURES
