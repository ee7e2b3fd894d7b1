"""Everything that makes a run: one validated model, read from and written to TOML (or YAML)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal, TypeVar, get_args

import tomli_w
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from osan.errors import OsanError
from osan.files import written_whole
from osan.selection import Policy
from osan.words import Kind, MetricName

Checked = TypeVar("Checked", bound=BaseModel)
NoiseKind = Literal["gumbel", "sum-of-gamma", "gaussian", "none"]
EstimatorName = Literal["imle", "adaptive-imle", "simple", "straight-through", "score-function", "random"]
Paper = Literal[
    "zinc",
    "zinc-pna",
    "zinc-esan",
    "alchemy",
    "qm9",
    "ogbg-molesol",
    "ogbg-molbace",
    "exp",
    "proteins",
]


class Section(BaseModel):
    """A part of the settings: unknown keys are errors, and nothing changes once it is made."""

    model_config = ConfigDict(extra="forbid", frozen=True, validate_default=True)


class DataSettings(Section):
    """Which graphs, and how they are split.

    ``dataset`` is a name that :func:`osan.data.load` knows, or the path of a table of molecules or a file of
    graphs. ``split`` is a name that it has; for one's own also the file of a split, or a column of the table.
    ``fold = "seed"`` tests the fold ``seed % 10`` of the split with seed ``seed // 10``, so the runs 0 to 49
    are five times ten folds. ``limit`` keeps that many graphs of each split, for a first look.
    """

    dataset: str = "planted-motif"
    split: str | None = None
    fold: int | Literal["seed"] | None = None
    seed: int = 0
    validate_on_test: bool = False
    options: dict[str, Any] = {}
    metric: MetricName | None = None
    kind: Kind = "regression"
    smiles: str = "smiles"
    targets: list[str] = []
    labels: str | None = None
    limit: int | None = Field(default=None, ge=1)


class SelectionSettings(Section):
    """Which subgraphs are looked at, and how that is learned; without a policy only the graph itself is.

    ``samples`` is the number R of perturbed samples in validation and test; the training noise is used there
    unless ``evaluation_noise`` says otherwise. ``combine = "auto"`` lets samples vote where the accuracy of
    one target counts, and averages them elsewhere.
    """

    policy: str = ""
    estimator: EstimatorName = "imle"
    lam: float = Field(default=10.0, gt=0)
    draws: int = Field(default=1, ge=1)
    noise: NoiseKind = "gumbel"
    noise_scale: float = Field(default=1.0, ge=0)
    evaluation_noise: NoiseKind | None = None
    evaluation_noise_scale: float = Field(default=1.0, ge=0)
    samples: int = Field(default=5, ge=1)
    combine: Literal["auto", "mean", "vote"] = "auto"
    auxiliary: Literal["none", "cosine", "uniform"] = "none"
    auxiliary_weight: float = Field(default=0.1, ge=0)
    deleted: Literal["masked", "isolated", "unpooled"] = "masked"
    whole_graph: bool = False
    agg: Literal["mean", "sum"] = "mean"

    @field_validator("policy")
    @classmethod
    def _canonical(cls, text: str) -> str:
        return str(Policy.parse(text)) if text.strip() else ""


class NetworkSettings(Section):
    """The downstream network: that of the paper for a dataset (``like``), or one of one's own.

    Whatever is not given is as in the paper, and without ``like``: width 64, 4 layers, GINE (GIN where edges
    have no features), mean pooling. ``as_in_code`` follows the authors' code where it differs from the text.
    """

    like: Paper | None = None
    as_in_code: bool = False
    width: int | None = Field(default=None, ge=1)
    layers: int | None = Field(default=None, ge=1)
    conv: Literal["gin", "gine", "gcn", "pna"] | None = None
    readout: Literal["sum", "mean", "max", "attention", "set2set"] | None = None
    between: int | None = Field(default=None, ge=0)
    head: int | None = Field(default=None, ge=1)
    dropout: float | None = Field(default=None, ge=0, lt=1)
    residual: bool | None = None
    norm: bool | None = None
    upstream: Literal["gcn", "gin"] = "gcn"
    upstream_layers: int = Field(default=3, ge=1)


class TrainingSettings(Section):
    """The optimizer and how long it runs.

    The learning rate of the downstream network is multiplied by ``decay`` at each of the ``milestones``
    (epochs), or every ``decay_every`` epochs; an ``upstream_learning_rate`` of 0 leaves the weights of the
    upstream network as they were drawn. With ``patience`` training ends once the validation metric has
    not improved for that many epochs, but not before ``min_epochs``; it also ends when the metric is perfect,
    since no later epoch would be kept. ``watch_test`` also records the metric on the test split after every
    epoch, for protocols that select the epoch by it; here nothing else does.
    """

    batch_size: int = Field(default=32, ge=1)
    epochs: int = Field(default=100, ge=1)
    min_epochs: int = Field(default=1, ge=1)
    patience: int | None = Field(default=None, ge=1)
    learning_rate: float = Field(default=1e-3, gt=0)
    upstream_learning_rate: float = Field(default=1e-3, ge=0)
    decay: float = Field(default=1.0, gt=0, le=1)
    milestones: list[int] = []
    decay_every: int | None = Field(default=None, ge=1)
    loss: Literal["auto", "mae", "mse"] = "auto"
    watch_test: bool = False

    @model_validator(mode="after")
    def _consistent(self) -> TrainingSettings:
        if self.min_epochs > self.epochs:
            raise ValueError(f"min_epochs ({self.min_epochs}) must not exceed epochs ({self.epochs})")
        if self.milestones and self.decay_every:
            raise ValueError("give either milestones or decay_every, not both")
        return self


class MachineSettings(Section):
    """Where it runs. Nothing here is part of what a run *is*: a run may be continued with other values."""

    accelerator: Literal["auto", "cpu", "gpu"] = "auto"
    devices: int = Field(default=1, ge=1)
    nodes: int = Field(default=1, ge=1)
    checkpoint_seconds: float = Field(default=30.0, ge=0)


class Settings(Section):
    """All settings of a run.

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

    name: str = ""
    seed: int = Field(default=0, ge=0)
    data: DataSettings = DataSettings()
    selection: SelectionSettings = SelectionSettings()
    network: NetworkSettings = NetworkSettings()
    training: TrainingSettings = TrainingSettings()
    machine: MachineSettings = MachineSettings()

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

        The name is part of a path that is typed and pasted, so nothing in it means something to a shell.
        Fewer epochs than ``min_epochs`` lower that number, too.

        >>> Settings(name="a/b").varied({"training.epochs": 3}).name
        'a/b/training.epochs=3'
        >>> Settings(name="a").varied({"data.targets": ["logS", "log P"]}).name
        'a/data.targets=logS+log_P'
        """
        if name is None:
            parts = [
                f"{key}={_plain(value)}"
                for key, value in sorted(changes.items())
                if key != "seed" and not key.startswith(("machine.", "data.smiles", "data.labels"))
            ]
            name = "/".join([self.name or "run", *([",".join(parts)] if parts else [])])
        epochs = changes.get("training.epochs")
        if isinstance(epochs, int) and epochs < self.training.min_epochs:
            changes = {"training.min_epochs": epochs, **changes}
        return self.changed({**changes, "name": name})

    def differences(self, other: Settings) -> list[str]:
        """What differs in what the two runs are, as ``key: here, there``; the machine does not count."""
        here, there = _flat(self.model_dump()), _flat(other.model_dump())
        return [
            f"{key}: {here.get(key)!r} instead of {there.get(key)!r}"
            for key in sorted(here.keys() | there.keys())
            if not key.startswith("machine.") and here.get(key) != there.get(key)
        ]


def _plain(value: Any) -> str:
    """A value in characters that neither paths nor shells treat specially."""
    text = "+".join(map(str, value)) if isinstance(value, list) else str(value)
    return re.sub(r"[^\w.+-]", "_", text)


def validated(tree: Mapping[str, Any], where: str = "settings") -> Settings:
    """The settings in a nested mapping; the first thing wrong is an :class:`OsanError` that says where."""
    return checked(Settings, tree, where)


def checked(model: type[Checked], tree: Mapping[str, Any], where: str) -> Checked:
    """An instance of a pydantic model; the first thing wrong is an :class:`OsanError` that says where."""
    try:
        return model.model_validate(tree)
    except ValidationError as error:
        raise OsanError(f"{where}: {_explained(error, model)}") from None


def read_settings(path: str | Path) -> Settings:
    """The settings in a ``.toml``, ``.yaml`` or ``.yml`` file."""
    return validated(read_tree(path), str(path))


def read_tree(path: str | Path) -> dict[str, Any]:
    """The keys and values in a ``.toml``, ``.yaml`` or ``.yml`` file."""
    path = Path(path)
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OsanError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    try:
        if path.suffix.lower() in (".yaml", ".yml"):
            import yaml  # type: ignore[import-untyped]

            try:
                tree = yaml.safe_load(text)
            except yaml.YAMLError as error:
                raise ValueError(" ".join(str(error).split())) from error
        else:
            tree = tomllib.loads(text)
    except ValueError as error:
        raise OsanError(f"{path}: not valid {path.suffix.lstrip('.').upper() or 'TOML'}: {error}") from error
    if not isinstance(tree, dict):
        raise OsanError(f"{path}: expected keys and values, got {type(tree).__name__}")
    return tree


def write_settings(settings: Settings, path: Path) -> None:
    """Write ``settings`` as TOML, whole or not at all."""
    with written_whole(path) as temporary:
        temporary.write_text(settings.to_toml(), encoding="utf-8")


def parsed_changes(words: Sequence[str]) -> dict[str, Any]:
    """Changes as typed on the command line; a value is TOML if it can be, else text.

    >>> parsed_changes(["training.epochs=3", "selection.policy=delete 1 vertex x 3", "data.targets=['a']"])
    {'training.epochs': 3, 'selection.policy': 'delete 1 vertex x 3', 'data.targets': ['a']}
    """
    changes: dict[str, Any] = {}
    for word in words:
        key, sign, value = word.partition("=")
        if not sign or not key.strip():
            raise OsanError(f"--set {word}: expected key=value, such as training.epochs=50")
        try:
            changes[key.strip()] = tomllib.loads(f"value = {value}")["value"]
        except tomllib.TOMLDecodeError:
            changes[key.strip()] = None if value.strip().lower() == "none" else value.strip()
    return changes


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and key != "options":
            out |= _flat(value, f"{prefix}{key}.")
        else:
            out[prefix + key] = value
    return out


def _explained(error: ValidationError, model: Any) -> str:
    """The first error of pydantic's list in one line, with a suggestion for a misspelled key."""
    # A misspelled key is also a missing one; its spelling says more.
    first = min(error.errors(include_url=False), key=lambda each: each["type"] != "extra_forbidden")
    # The location may end in the names of a union's branches, which are no keys.
    path = [str(part) for part in first["loc"]]
    if first["type"] != "extra_forbidden":
        keys = ".".join(path[:2])
        message = first["msg"].removeprefix("Value error, ")
        got = "" if isinstance(first["input"], dict | Section) else f", got {first['input']!r}"
        return f"{keys}: {message}{got}" if keys else message
    *sections, key = path
    for section in sections:
        model = get_args(model)[0] if section.isdecimal() else model.model_fields[section].annotation
    known = list(model.model_fields)
    close = get_close_matches(key, known, n=1, cutoff=0.5)
    hint = f"did you mean {'.'.join([*sections, close[0]])!r}?" if close else f"known are {', '.join(known)}"
    return f"unknown key {'.'.join(path)!r}; {hint}"
