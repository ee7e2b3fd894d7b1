"""Everything that makes a run: the sections of the settings, and how settings differ."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Annotated, Any, Literal, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from osan.data.naming import in_order, parse_encoding
from osan.errors import OsanError
from osan.parts import resolve
from osan.selection.policy import Policy
from osan.training.validation import AS_TEXT, RunName, checked, flat, name_in, plain, shortened
from osan.words import CENTRAL_WEIGHERS, WEIGHERS, Agg, Deleted, Fragments, Kind, MetricName, Sharing

Noise = Annotated[str, name_in("osan.selection.noise:NOISES")]
# The architecture of a run with a custom model, and the prefix of the dataset with a custom task.
CUSTOM = "custom"
# Larger numbers are mistakes.
_MOST, _MOST_SEEDS = 10**6, 2**63 - 1


class Section(BaseModel):
    """A part of the settings: unknown keys are errors, and nothing changes once it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


def _as_names(given: Any) -> list[str]:
    """A list of names, or the names in a text with commas."""
    names = given.split(",") if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise ValueError(f"expected a list of names, got {given!r}")
    return list(names)


class DataSettings(Section):
    """Which graphs, and how they are split.

    ``dataset`` is a name that :func:`osan.data.load` knows, or the path of a table of molecules or a file of
    graphs. ``split`` is the name of a split, such as ``"scaffold"``, ``"kfold:5"`` or ``"time:COLUMN"``; for
    custom data also the file of a split, or a column of the table. ``fold = "seed"`` tests fold ``seed % 10``
    of the split with seed ``seed // 10``, so runs 0 to 49 are five times ten folds (with N folds, N for 10).
    ``limit`` keeps that many graphs of each split, for a first look.

    ``smiles`` is the column of SMILES, or a list of several, and ``fragments`` says what is kept of salts and
    mixtures. ``encodings`` are structural encodings, such as ``["cse:16", "rwse:16"]``: see
    :func:`osan.data.encode`. Both networks see them beside the vertex features. ``descriptors`` are numbers
    of whole molecules, such as ``["rdkit2d", "morgan"]`` or columns of the table: see
    :mod:`osan.data.descriptors`. The network sees them beside its pooled features.
    """

    dataset: str = "planted-motif"
    split: str | None = None
    fold: int | Literal["seed"] | None = None
    seed: int = Field(default=0, ge=-_MOST_SEEDS, le=_MOST_SEEDS)
    validate_on_test: bool = False
    options: dict[str, Any] = {}
    metric: Annotated[str | None, name_in(get_args(MetricName))] = None
    kind: Kind = "regression"
    smiles: str | list[str] = "smiles"
    fragments: Fragments = "keep"
    targets: list[str] = []
    labels: str | None = None
    limit: int | None = Field(default=None, ge=1)
    encodings: list[str] = []
    descriptors: list[str] = []

    @field_validator("descriptors", mode="before")
    @classmethod
    def _in_order(cls, names: Any) -> Any:
        try:
            return in_order(_as_names(names))
        except OsanError as error:
            raise ValueError(str(error).removeprefix("descriptors: ")) from error

    @field_validator("encodings", mode="before")
    @classmethod
    def _known(cls, names: Any) -> Any:
        try:
            return [":".join(map(str, parse_encoding(name))) for name in _as_names(names)]
        except OsanError as error:
            raise ValueError(str(error).removeprefix("encodings: ")) from error


class SelectionSettings(Section):
    """Which subgraphs the network sees, and how it learns to choose them. Without a policy: whole graphs.

    ``weigher`` gives the weights by which subgraphs are chosen: ``"learned"`` is the upstream network,
    ``"neutral"`` the same with equal weights before training, ``"prior"`` adds it to a centrality. With
    ``"centrality"``, ``"degree"``, ``"pagerank"``, ``"core"`` or ``"random"`` nothing is learned and there is
    no noise. Their choice is hard, or with a centrality and ``estimator = "sparsemap"`` soft; other
    estimators do not matter.

    ``weigher``, ``estimator``, ``noise`` and ``auxiliary`` are names, or ``module:name`` for custom ones; so
    is the noun of a policy. Modules are imported when the model is built, so runs can be listed without them.
    ``options`` holds further keyword arguments: each goes to those parts that take it.

    ``noise_schedule`` lowers the scale of the noise over the epochs, down to ``noise_floor`` times
    ``noise_scale``; evaluation then has the last scale. ``normalize`` gives the weights of every graph the
    same spread, with a learned scale. ``bar`` is the share of elements barred from choice in training.
    ``settle`` is the share of the epochs after which the choice is fixed: training goes on with the subgraphs
    that evaluation would choose. With ``settle_on = "best"`` both networks first go back to the epoch with
    the best validation metric so far, since a choice that is still learned can get worse; the optimizer and
    the learning rates go on. Patience then ends no run earlier than ``patience`` epochs after that. With
    several ``starts``, training begins that many times, with fresh weights, and goes on from the best epoch
    of all when the choice settles, with a new optimizer; each further start adds the epochs until then.

    ``samples`` is the number R of perturbed samples in validation and test. They use the noise of training,
    unless ``evaluation_noise`` is set. With ``combine = "auto"`` samples vote if the metric is the accuracy
    of one target; otherwise their mean is taken.
    """

    policy: str = ""
    weigher: Annotated[str, name_in(WEIGHERS)] = "learned"
    estimator: Annotated[str, name_in("osan.selection.estimators:ESTIMATORS")] = "imle"
    lam: float = Field(default=10.0, gt=0)
    draws: int = Field(default=1, ge=1, le=_MOST)
    noise: Noise = "gumbel"
    noise_scale: float = Field(default=1.0, ge=0)
    noise_schedule: Annotated[str, name_in("osan.training.schedules:NOISE_SCHEDULES")] = "constant"
    noise_floor: float = Field(default=0.0, ge=0, le=1)
    normalize: bool = False
    bar: float = Field(default=0.0, ge=0, lt=1)
    settle: float = Field(default=1.0, ge=0, le=1)
    settle_on: Literal["last", "best"] = "last"
    starts: int = Field(default=1, ge=1, le=_MOST)
    temperature: float = Field(default=1.0, gt=0)
    evaluation_noise: Noise | None = None
    evaluation_noise_scale: float = Field(default=1.0, ge=0)
    samples: int = Field(default=5, ge=1, le=_MOST)
    combine: Literal["auto", "mean", "vote"] = "auto"
    auxiliary: Annotated[str, name_in("osan.selection.auxiliary:AUXILIARY_LOSSES", further=["none"])] = "none"
    auxiliary_weight: float = Field(default=0.1, ge=0)
    deleted: Deleted = "masked"
    whole_graph: bool = False
    agg: Agg = "mean"
    options: dict[str, Any] = {}

    @model_validator(mode="after")
    def _settles(self) -> SelectionSettings:
        if self.settle_on == "best" and self.settle == 1:
            raise ValueError(
                "settle_on: expected 'last' for a choice that never settles (settle = 1), got 'best'"
            )
        if self.starts > 1 and self.settle_on != "best":
            raise ValueError(
                "starts: expected 1 for a choice that does not settle on the best epoch "
                f"(settle_on = 'last'), got {self.starts}"
            )
        return self

    @field_validator("policy")
    @classmethod
    def _canonical(cls, text: str) -> str:
        if ":" in text:
            # A custom kind: its module is not imported yet, so that stored runs can be listed without it.
            return " ".join(text.split()).removesuffix(" x 1")
        try:
            return str(Policy.parse(text)) if text.strip() else ""
        except OsanError as error:
            raise ValueError(str(error).removeprefix("policy: ")) from error

    @cached_property
    def parsed(self) -> Policy | None:
        """The policy; ``None`` without one."""
        return Policy.parse(self.policy) if self.policy else None

    @property
    def scored(self) -> str | None:
        """The centrality that the weigher looks at, if any."""
        if self.weigher == "prior":
            return "centrality"
        return self.weigher if self.weigher in CENTRAL_WEIGHERS else None

    @property
    def method(self) -> str:
        """The estimator that is used: random and central choices need none, but central ones may be soft."""
        if self.weigher in CENTRAL_WEIGHERS and self.estimator != "sparsemap":
            return "fixed"
        return "random" if self.weigher == "random" else self.estimator

    @property
    def learns(self) -> bool:
        """Whether the choice of subgraphs is learned: not random, not by a centrality, not all of them."""
        if self.parsed is None or self.parsed.count == "all":
            return False
        if self.weigher in (*CENTRAL_WEIGHERS, "random"):
            return False
        from osan.selection.estimators import ESTIMATORS

        return bool(getattr(resolve(self.estimator, ESTIMATORS, "selection.estimator"), "learns", True))


class NetworkSettings(Section):
    """The downstream network, and the upstream one.

    ``architecture`` is a name in ``osan.nn.ARCHITECTURES``, or ``module:name`` for a function
    ``(width, layers, out, **options)`` that makes a network; ``options`` are its further arguments, such as
    ``k``. ``like`` takes the paper's network for a dataset, and ``as_in_code`` follows the authors' code
    where it differs from the text. What is not set is as in the paper. Without ``like`` the sizes are those
    of the architecture if it has defaults, otherwise width 64 and 4 layers; the rest is GINE (GIN if edges
    have no features) and mean pooling. ``"custom"`` stands for a model that was passed to
    :func:`~osan.training.run.train`. ``descriptor_dropout`` is the share of descriptors that a training step
    does not see; ``dropout`` by default. ``blend`` averages predictions with those of a Gaussian process on
    the descriptors, if there are some; see :class:`osan.nn.GaussianProcess`. ``atomic`` says what a policy
    that marks vertices shows of them: the marks, or with ``"distance"`` how far each vertex is from them, or
    what a relation of your own says, ``module:name`` (:class:`osan.nn.InitialFeatures`).
    """

    architecture: Annotated[str, name_in("osan.nn.architectures:ARCHITECTURES", further=[CUSTOM])] = "osan"
    like: Annotated[str | None, name_in("osan.nn.paper:PAPER_NETWORKS", custom=False)] = None
    as_in_code: bool = False
    width: int | None = Field(default=None, ge=1, le=_MOST)
    layers: int | None = Field(default=None, ge=1, le=1000)
    conv: Annotated[str | None, name_in("osan.nn.layers:LAYERS")] = None
    readout: Annotated[str | None, name_in("osan.nn.pooling:POOLS")] = None
    between: int | None = Field(default=None, ge=0, le=1000)
    head: int | None = Field(default=None, ge=1, le=1000)
    dropout: float | None = Field(default=None, ge=0, lt=1)
    descriptor_dropout: float | None = Field(default=None, ge=0, lt=1)
    blend: Literal["gaussian-process"] | None = None
    atomic: Annotated[str, name_in("osan.nn.relations:RELATIONS", further=["unordered"])] = "unordered"
    residual: bool | None = None
    norm: bool | None = None
    upstream: Literal["gcn", "gin"] = "gcn"
    upstream_layers: int = Field(default=3, ge=1, le=1000)
    options: dict[str, Any] = {}


class TrainingSettings(Section):
    """The optimizer, its schedule, and how long it runs.

    ``optimizer`` is a name in :data:`osan.training.optimizers.OPTIMIZERS` or ``module:name``; without
    ``weight_decay`` it has its default. An ``upstream_learning_rate`` of 0 leaves the upstream network as it
    was drawn. ``clip`` bounds the norm of all gradients.

    ``schedule`` is a name in :data:`osan.training.schedules.SCHEDULES` or ``module:name``, a function of a
    :class:`~osan.training.schedules.Moment`. ``"steps"`` multiplies the learning rate of the downstream
    network by ``decay`` at each of the ``milestones`` (epochs), or every ``decay_every`` epochs; the others
    apply to both networks. ``warmup`` is a number of epochs. ``options`` holds further keyword arguments:
    each goes to the optimizer or the schedule, whichever takes it.

    ``loss`` is that of regression; ``"auto"`` is ``"mse"`` if the metric is ``rmse``, else ``"mae"``. A
    custom one, ``module:name``, is used for classes as well. Targets are standardized where the task says so.
    With ``balance`` every class counts as much as the others; the metric may gain, but probabilities no
    longer follow how frequent classes are. ``average`` keeps an
    exponential moving average of the weights with this decay per step, and validates, keeps and tests it in
    place of the weights of the last step.

    The epoch with the best validation metric is kept, of equally good ones the ``"first"`` or the ``"last"``.
    On few graphs an accuracy may be perfect by luck after an epoch or two; the last such epoch has learned
    more. With ``patience`` training ends once the metric has not improved for that many epochs, but not
    before ``min_epochs``. It also ends when the metric is perfect and the first of equals is kept.
    ``watch_test`` also records the metric on the test split after every epoch, for protocols that select the
    epoch by it; nothing here does.
    """

    batch_size: int = Field(default=32, ge=1, le=10**9)
    epochs: int = Field(default=100, ge=1, le=10**9)
    min_epochs: int = Field(default=1, ge=1)
    patience: int | None = Field(default=None, ge=1)
    keep: Literal["first", "last"] = "first"
    optimizer: Annotated[str, name_in("osan.training.optimizers:OPTIMIZERS")] = "adam"
    learning_rate: float = Field(default=1e-3, gt=0)
    upstream_learning_rate: float = Field(default=1e-3, ge=0)
    weight_decay: float | None = Field(default=None, ge=0)
    clip: float | None = Field(default=None, gt=0)
    schedule: Annotated[str, name_in("osan.training.schedules:SCHEDULES")] = "steps"
    warmup: float = Field(default=0, ge=0)
    decay: float = Field(default=1.0, gt=0, le=1)
    milestones: list[int] = []
    decay_every: int | None = Field(default=None, ge=1)
    options: dict[str, Any] = {}
    precision: Annotated[Literal["32", "64", "bf16-mixed"], AS_TEXT] = "32"
    loss: Annotated[str, name_in("osan.training.scores:LOSSES", further=("auto",))] = "auto"
    balance: bool = False
    average: float | None = Field(default=None, gt=0, lt=1)
    watch_test: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> TrainingSettings:
        if self.min_epochs > self.epochs:
            raise ValueError(f"min_epochs: expected at most epochs ({self.epochs}), got {self.min_epochs}")
        if self.milestones and self.decay_every:
            raise ValueError("expected either milestones or decay_every, got both")
        if self.schedule != "steps" and (self.decay != 1 or self.milestones or self.decay_every):
            raise ValueError(
                f"decay, milestones and decay_every: expected schedule 'steps', got {self.schedule!r}"
            )
        if self.warmup >= self.epochs:
            raise ValueError(f"warmup: expected less than epochs ({self.epochs}), got {self.warmup:g}")
        return self


class MachineSettings(Section):
    """Where the run takes place. Nothing here is part of what a run *is*: it can resume with other values.

    ``loggers`` also send the numbers of every epoch to Lightning loggers; files go to the folder ``logs`` of
    the run. ``module:name`` is a function of the folder and the name of the run that makes one.
    ``sharing = "off"`` computes every copy of a vertex by itself; with ``"auto"``, copies that are equal
    whatever the weights are computed once where that pays. Results differ by rounding only.
    """

    accelerator: Literal["auto", "cpu", "gpu", "mps"] = "auto"
    devices: int = Field(default=1, ge=1, le=_MOST)
    nodes: int = Field(default=1, ge=1, le=_MOST)
    checkpoint_seconds: float = Field(default=30.0, ge=0)
    loggers: list[Annotated[str, name_in("osan.training.loggers:LOGGERS")]] = []
    sharing: Sharing = "auto"


class Settings(Section):
    """All settings of a run.

    ``seed`` draws the initial weights, the noise and the order of batches. ``ensemble`` is the number of
    networks that are trained and predict together: see :mod:`osan.training.ensemble`.

    Examples
    --------
    >>> settings = validated({"data": {"dataset": "exp"}, "selection": {"policy": "delete 1 vertex x 3"}})
    >>> settings.data.dataset, settings.selection.estimator, settings.seed
    ('exp', 'imle', 0)
    >>> validated({"trainin": {}})
    Traceback (most recent call last):
    ...
    osan.errors.OsanError: settings: unknown key 'trainin'; did you mean 'training'?
    """

    name: RunName = ""
    seed: int = Field(default=0, ge=0, le=_MOST_SEEDS)
    ensemble: int = Field(default=1, ge=1, le=1000)
    data: DataSettings = DataSettings()
    selection: SelectionSettings = SelectionSettings()
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    machine: MachineSettings = MachineSettings()

    @model_validator(mode="after")
    def _precision_of_the_device(self) -> Settings:
        if self.machine.accelerator == "mps" and self.training.precision == "64":
            raise ValueError("precision: expected '32' with machine.accelerator = 'mps', got '64'")
        return self

    def to_toml(self) -> str:
        """All settings as TOML; what is ``None`` is left out."""
        return tomli_w.dumps(self.model_dump(exclude_none=True))

    def changed(self, changes: Mapping[str, Any]) -> Settings:
        """These settings with some of them replaced, named as in ``{"training.epochs": 3}``.

        >>> Settings().changed({"training.epochs": 3, "seed": 1}).training.epochs
        3
        """
        tree = self.model_dump()
        for key, value in changes.items():
            node: Any = tree
            *sections, last = key.split(".")
            for part in sections:
                if isinstance(node, dict) and isinstance(node.get(part, {}), dict):
                    node = node.setdefault(part, {})
                else:
                    raise OsanError(f"settings: {key!r}: {part!r} is not a section")
            node[last] = value
        return validated(tree)

    def varied(self, changes: Mapping[str, Any], name: str | None = None) -> Settings:
        """Like :meth:`changed`, with a name that tells it from the original; the changes, by default.

        The name is part of a path that is typed and pasted, so it holds nothing that means something to a
        shell. Fewer epochs than ``min_epochs`` also lower that number, no more than ``warmup`` shorten the
        warmup to a tenth of them, and another schedule than ``"steps"`` drops the decay.

        >>> Settings(name="a/b").varied({"training.epochs": 3}).name
        'a/b/training.epochs=3'
        >>> Settings(name="a").varied({"data.targets": ["logS", "log P"]}).name
        'a/data.targets=logS+log_P'
        """
        if name is None:
            parts = [
                f"{key}={plain(value)}"
                for key, value in sorted(changes.items())
                if key != "seed" and not key.startswith(("machine.", "data.smiles", "data.labels"))
            ]
            name = "/".join([self.name or "run", *([shortened(",".join(parts))] if parts else [])])
        epochs = changes.get("training.epochs")
        if isinstance(epochs, int) and epochs < self.training.min_epochs:
            changes = {"training.min_epochs": epochs, **changes}
        if isinstance(epochs, int) and epochs <= self.training.warmup:
            changes = {"training.warmup": epochs / 10, **changes}
        if changes.get("training.schedule", "steps") != "steps":
            none = {"training.decay": 1.0, "training.milestones": [], "training.decay_every": None}
            changes = {**none, **changes}
        return self.changed({**changes, "name": name})

    def differences(self, other: Settings) -> list[str]:
        """How two runs differ, as ``key: this instead of that``; the machine does not count."""
        mine, others = flat(self.model_dump()), flat(other.model_dump())
        return [
            f"{key}: {mine.get(key)!r} instead of {others.get(key)!r}"
            for key in sorted(mine.keys() | others.keys())
            if not key.startswith("machine.") and mine.get(key) != others.get(key)
        ]


def validated(tree: Mapping[str, Any], where: str = "settings") -> Settings:
    """The settings in a nested mapping; the first problem raises an :class:`OsanError`."""
    return checked(Settings, tree, where)
