"""The classifier."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from torch import Tensor
from typing_extensions import Self

from osan.errors import OsanError
from osan.sklearn.base import Estimator
from osan.training.calibration import conformal, warn_of_few
from osan.training.columns import meaning


class OSANClassifier(ClassifierMixin, Estimator):
    """A network on molecules or graphs that predicts classes; the parameters of :class:`OSANRegressor`.

    Attributes
    ----------
    classes_
        The labels, in ascending order.

    Examples
    --------
    >>> smiles = ["C" * n + end for n in range(1, 9) for end in ("", "O", "N")]
    >>> labels = ["alcohol" if "O" in s else "other" for s in smiles]
    >>> model = OSANClassifier(epochs=2, width=8, layers=2).fit(smiles, labels)
    >>> model.predict_proba(smiles[:3]).shape
    (3, 2)
    """

    _kept = ("molecules_", "classes_", "errors_")

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on SMILES strings or PyG graphs, and one label for each."""
        labels = np.asarray(y)
        if labels.ndim != 1:
            raise OsanError(f"y: expected one label per row, shape [rows], got {list(labels.shape)}")
        if labels.dtype.kind == "f" and not np.isfinite(labels).all():
            raise OsanError("y: expected labels, got NaN or infinity")
        _check_labels(labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise OsanError(f"y: expected at least two classes, got {self.classes_.tolist()}")
        if len(self.classes_) == 2:
            self._fit(X, torch.tensor(codes, dtype=torch.float32).reshape(-1, 1), "binary")
        else:
            self._fit(X, torch.tensor(codes, dtype=torch.long), "multiclass", len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Probabilities of the classes in the order of ``classes_``, shape ``[rows, classes]``."""
        return self._probabilities(self._outputs(X))

    def predict(self, X: Any) -> NDArray[Any]:
        """The most probable label of each row."""
        return self.classes_[self.predict_proba(X).argmax(1)]

    def predict_set(self, X: Any, level: float = 0.9) -> NDArray[np.bool_]:
        r"""Sets of classes that hold the truth of a share ``level`` of rows like those held out.

        A class is in the set of a row if 1 minus its probability is at most the
        :math:`\lceil (n + 1) \, level \rceil`-th smallest of 1 minus the probability of the true class, over
        the n rows held out (split conformal; Vovk et al. 2005). A set has all classes, with a warning, if n
        is too small for the level, and may be empty.

        Returns
        -------
        ndarray
            Whether each class is in the set, in the order of ``classes_``; shape ``[rows, classes]``.
        """
        margin = conformal(self.errors_, level)
        if np.isinf(margin):
            warn_of_few(len(self.errors_), level, "classes")
        return 1 - self.predict_proba(X) <= margin

    def _after(self, prediction: Tensor, y: Tensor) -> None:
        true = y.flatten().long().numpy()
        self.errors_ = 1 - self._probabilities(prediction)[np.arange(len(true)), true]

    def _probabilities(self, outputs: Tensor) -> NDArray[np.float64]:
        values = meaning(outputs, self.learner_.info).double().numpy()
        return np.hstack([1 - values, values]) if len(self.classes_) == 2 else values


def _check_labels(labels: NDArray[Any]) -> None:
    """Raise unless labels that numpy has no type of its own for are all there, and of one type."""
    if labels.dtype != object:
        return
    for row, label in enumerate(labels):
        if label is None or type(label).__name__ == "NAType" or label != label:
            raise OsanError(f"y: expected a label in every row, got {label} in row {row}; drop such rows")
    try:
        sorted(set(labels))
    except TypeError:
        types = sorted({type(label).__name__ for label in labels})
        raise OsanError(f"y: expected labels of one type, got {', '.join(types)}") from None
