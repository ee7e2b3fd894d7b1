"""What the estimators have in common: from rows to graphs, training, saving and loading."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted
from torch import Tensor
from torch_geometric.data import Data
from typing_extensions import Self

from osan.data import Features, FlatDataset, Task, flatten
from osan.data.custom.graphs import describe as described_columns
from osan.data.custom.molecules import described, read_smiles
from osan.data.formats.table import Table
from osan.data.task import make_task
from osan.errors import OsanError
from osan.experiments import default_settings
from osan.files import made_whole
from osan.nn.encoders import OGB_ATOM_FEATURES, OGB_BOND_FEATURES
from osan.training import load_predictor, train
from osan.training.blending import add_process
from osan.training.build import build
from osan.training.evaluation import predict_outputs
from osan.training.folder import SETTINGS, model_folders, read_json, write_json
from osan.training.members import Ensemble, members_of
from osan.training.module import Learner
from osan.training.prediction import check_descriptors, check_features
from osan.training.settings import Settings
from osan.training.settings_files import write_settings
from osan.training.stored import write_model
from osan.words import Kind

# What of a fitted estimator is not in the folder of its run.
_STATE = "estimator.json"


class Estimator(BaseEstimator):
    """What both estimators have in common."""

    def __init__(
        self,
        *,
        policy: str | None = None,
        weigher: str | None = None,
        estimator: str | None = None,
        width: int | None = None,
        layers: int | None = None,
        dropout: float | None = None,
        encodings: Sequence[str] | None = None,
        descriptors: Sequence[str] | None = None,
        epochs: int | None = None,
        batch_size: int | None = None,
        learning_rate: float | None = None,
        validation: float = 0.1,
        ensemble: int = 1,
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        progress: bool = False,
    ) -> None:
        self.policy = policy
        self.weigher = weigher
        self.estimator = estimator
        self.width = width
        self.layers = layers
        self.dropout = dropout
        self.encodings = encodings
        self.descriptors = descriptors
        self.epochs = epochs
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.validation = validation
        self.ensemble = ensemble
        self.settings = settings
        self.seed = seed
        self.progress = progress

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        # Rows are SMILES strings or graphs, not numbers.
        tags.input_tags.two_d_array = False
        tags.input_tags.string = True
        tags.target_tags.required = True
        tags.no_validation = True
        return tags

    def __getstate__(self) -> Any:
        # The network is built again from its settings: its schedules hold functions.
        state = dict(super().__getstate__())
        learner = state.pop("learner_", None)
        if learner is not None:
            stored = [(each.settings, each.info, each.model.state_dict()) for each in members_of(learner)]
            state["_stored"] = (learner.settings, stored)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        stored = state.pop("_stored", None)
        super().__setstate__(state)
        if stored is not None:
            settings, members = stored
            learners = []
            for own, info, weights in members:
                learner = Learner(build(own, info), own, info)
                add_process(learner.model, own, info)
                learner.model.load_state_dict(weights)
                learners.append(learner.eval())
            self.learner_ = learners[0] if settings.ensemble == 1 else Ensemble(tuple(learners), settings)

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "learner_")

    def _fit(self, X: Any, y: Tensor, kind: Kind, classes: int = 0) -> None:
        """Train on most of the rows, and keep the best epoch on the others."""
        self.__dict__.pop("learner_", None)
        graphs = self._graphs(X)
        if len(graphs) != len(y):
            raise OsanError(f"y: expected {len(graphs)} rows, one for each of X, got {len(y)}")
        task = self._task(graphs.with_tensors(y=y), kind, classes)
        with tempfile.TemporaryDirectory() as folder:
            train(self._settings(len(y)), Path(folder, "run"), task=task, progress=self.progress)
            self.learner_ = load_predictor(Path(folder, "run"))
        self._after(predict_outputs(self.learner_, task.val, batch_size=128), task.val.y)

    def _after(self, prediction: Tensor, y: Tensor) -> None:
        """What to keep of the rows that were held out."""

    def _settings(self, rows: int) -> Settings:
        """The settings of the default for so many rows, with what was given."""
        given = {
            "selection.policy": self.policy,
            "selection.weigher": self.weigher,
            "selection.estimator": self.estimator,
            "network.width": self.width,
            "network.layers": self.layers,
            "network.dropout": self.dropout,
            "data.encodings": None if self.encodings is None else list(self.encodings),
            "data.descriptors": None if self.descriptors is None else list(self.descriptors),
            "training.epochs": self.epochs,
            "training.batch_size": self.batch_size,
            "training.learning_rate": self.learning_rate,
        }
        changes = {name: value for name, value in given.items() if value is not None}
        changes |= {"seed": self.seed, "ensemble": self.ensemble, **(self.settings or {})}
        default = default_settings("estimator", rows, molecules=self.molecules_)
        return default.varied(changes, "estimator")

    def _task(self, graphs: FlatDataset, kind: Kind, classes: int) -> Task:
        if not 0 < self.validation < 1:
            raise OsanError(f"validation: expected a share between 0 and 1, got {self.validation!r}")
        count = len(graphs)
        held = max(1, round(self.validation * count))
        if count < 2 or held >= count:
            raise OsanError(f"X: expected rows for training and for validation, got {count}")
        order = torch.randperm(count, generator=torch.Generator().manual_seed(self.seed))
        parts = {"train": order[held:], "val": order[:held], "test": order[:held]}
        edge_attr = graphs.tensors.get("edge_attr")
        molecules = self.molecules_
        return make_task(
            "estimator",
            graphs,
            parts,
            kind=kind,
            metric="mae" if kind == "regression" else "accuracy",
            vertex_features=(
                Features(sizes=OGB_ATOM_FEATURES)
                if molecules
                else described_columns(graphs.tensors["x"], "x")
            ),
            edge_features=(
                Features(sizes=OGB_BOND_FEATURES)
                if molecules
                else None
                if edge_attr is None
                else described_columns(edge_attr, "edge_attr")
            ),
            num_targets=classes or None,
            normalize=kind == "regression",
            split="at random, without test rows",
            source="in memory",
            license="yours",
        )

    def _graphs(self, X: Any) -> FlatDataset:
        """Graphs from SMILES, or from PyG graphs; every row must be usable."""
        rows = _rows(X)
        if not rows:
            raise OsanError("X: expected at least one row, got none")
        words = isinstance(rows[0], str)
        odd = next((row for row in rows if not isinstance(row, str if words else Data)), None)
        if odd is not None:
            raise OsanError(f"X: expected SMILES strings or PyG Data in every row, got {type(odd).__name__}")
        if not hasattr(self, "learner_"):
            self.molecules_ = words
        elif words != self.molecules_:
            expected = "SMILES strings" if self.molecules_ else "PyG Data"
            raise OsanError(f"X: expected {expected}, as in fit, got the other kind")
        if not words:
            if self.descriptors:
                raise OsanError("descriptors: expected none for PyG Data, which are not molecules")
            return flatten([_without_target(row) for row in rows])
        rows = [str(row) for row in rows]
        graphs = flatten(read_smiles(rows))
        fitted = hasattr(self, "learner_")
        names = (self.learner_.settings if fitted else self._settings(len(rows))).data.descriptors
        if names:
            table = Table(Path("X"), {"smiles": rows}, list(range(len(rows))), header=["smiles"], rows=[])
            numbers = described(table, "smiles", range(len(rows)), names, keep=False)
            graphs = graphs.with_tensors(descriptors=numbers)
        return graphs

    def _outputs(self, X: Any) -> Tensor:
        """What the network says: numbers, or logits; shape ``[rows, targets]``."""
        check_is_fitted(self)
        graphs = self._graphs(X)
        if not self.molecules_:
            check_features(graphs, self.learner_.info, "X")
        elif self.learner_.settings.data.descriptors:
            check_descriptors(graphs.tensors["descriptors"], self.learner_.info)
        return predict_outputs(self.learner_, graphs, batch_size=128)

    def save(self, folder: str | Path) -> None:
        """Write the fitted estimator into a new folder, as safetensors and JSON; :meth:`load` reads it."""
        check_is_fitted(self)
        folder = Path(folder)
        if folder.exists():
            raise OsanError(f"folder: expected one that does not exist yet, got {folder}")
        parameters = self.get_params()
        try:
            json.dumps(parameters)
        except TypeError as error:
            raise OsanError(f"parameters: expected plain values in order to save them ({error})") from error
        learner = self.learner_
        state = {name: self._plain(name) for name in self._kept}
        kind = type(self).__name__
        with made_whole(folder) as new:
            write_settings(learner.settings, new / SETTINGS)
            for place, each in zip(model_folders(new), members_of(learner), strict=True):
                place.mkdir(exist_ok=True)
                write_settings(each.settings, place / SETTINGS)
                write_model(place, each.model.state_dict(), each.info, custom=False)
            write_json(new / _STATE, {"estimator": kind, "parameters": parameters, "state": state})

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """An estimator that was written by :meth:`save`. Nothing is unpickled."""
        folder = Path(folder)
        content = read_json(folder / _STATE)
        if content.get("estimator") != cls.__name__:
            raise OsanError(f"{folder}: expected an {cls.__name__}, got {content.get('estimator')!r}")
        parameters, state = content.get("parameters"), content.get("state")
        if not isinstance(parameters, dict) or not isinstance(state, dict) or set(cls._kept) - state.keys():
            raise OsanError(
                f"{folder / _STATE}: expected what {cls.__name__}.save writes, got something else"
            )
        try:
            model = cls(**parameters)
        except TypeError as error:
            raise OsanError(f"{folder / _STATE}: expected parameters of {cls.__name__} ({error})") from error
        model.learner_ = load_predictor(folder)
        try:
            for name in cls._kept:
                setattr(model, name, cls._restored(name, state[name]))
        except ValueError as error:
            raise OsanError(f"{folder / _STATE}: expected plain lists ({error})") from error
        return model

    _kept: tuple[str, ...] = ("molecules_",)

    def _plain(self, name: str) -> Any:
        value = getattr(self, name)
        return value.tolist() if isinstance(value, np.ndarray) else value

    @classmethod
    def _restored(cls, name: str, value: Any) -> Any:
        return np.array(value) if isinstance(value, list) else value


def _rows(X: Any) -> list[Any]:
    """The rows of what scikit-learn takes; a table (DataFrame or array) must have one column."""
    if getattr(X, "ndim", 1) == 1:
        return list(X)
    if X.ndim != 2 or X.shape[1] != 1:
        raise OsanError(f"X: expected one column of SMILES or PyG Data, got the shape {tuple(X.shape)}")
    return [row[0] for row in np.asarray(X, dtype=object)]


def _without_target(graph: Data) -> Data:
    kept = {name: graph[name] for name in ("x", "edge_index", "edge_attr") if name in graph}
    return Data(**kept, num_nodes=graph.num_nodes)
