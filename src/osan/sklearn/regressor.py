"""The regressor, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from torch import Tensor
from typing_extensions import Self

from osan.errors import OsanError
from osan.sklearn.base import Estimator
from osan.training.calibration import conformal, warn_of_few


class OSANRegressor(RegressorMixin, Estimator):
    """A network on molecules or graphs that predicts numbers, as a scikit-learn estimator.

    By default it is that of ``osan train your.csv``: the whole graph and two marks, chosen by centrality and
    what is learned beside it, and descriptors of SMILES. A share of the rows is held out; the best epoch on
    them is kept.

    Parameters
    ----------
    policy, weigher, estimator
        What is chosen, by which weights, and how that is learned; see :class:`osan.selection.Policy`,
        ``selection.weigher`` and ``selection.estimator``. ``policy=""`` looks at whole graphs only.
    width, layers, dropout
        Sizes of the network.
    encodings, descriptors
        Structural encodings, and descriptors of molecules: see :func:`osan.data.encode` and
        :mod:`osan.data.descriptors`.
    epochs, batch_size, learning_rate
        Of training. It stops when the rows held out no longer improve.
    validation
        The share of rows that is held out.
    ensemble
        The number of networks that are trained, one after the other, and predict together.
    settings
        Any other settings, such as ``{"training.weight_decay": 1e-4}``.
    seed
        Of weights, noise, the order of batches and the rows held out.
    progress
        Whether to show a bar.

    Attributes
    ----------
    learner_
        The trained network or ensemble, see :func:`osan.training.load_predictor`.

    Examples
    --------
    >>> smiles = ["C" * n + end for n in range(1, 9) for end in ("", "O", "N")]
    >>> y = [float(len(s)) for s in smiles]
    >>> model = OSANRegressor(epochs=2, width=8, layers=2).fit(smiles, y)
    >>> model.predict_interval(smiles[:3], level=0.5).shape
    (3, 2)
    """

    _kept = ("molecules_", "residuals_", "flat_")

    def fit(self, X: Any, y: ArrayLike) -> Self:
        """Train on SMILES strings or PyG graphs, and one number (or one row of numbers) for each.

        Rows of several numbers may have some missing, as NaN.
        """
        numbers = np.asarray(y, dtype=np.float64)
        if numbers.ndim not in (1, 2):
            raise OsanError(f"y: expected shape [rows] or [rows, targets], got {list(numbers.shape)}")
        if np.isinf(numbers).any() or (numbers.ndim == 1 and np.isnan(numbers).any()):
            raise OsanError("y: expected finite numbers, got NaN or infinity")
        self.flat_ = numbers.ndim == 1
        numbers = numbers[:, None] if self.flat_ else numbers
        self._fit(X, torch.tensor(numbers, dtype=torch.float32), "regression")
        return self

    def _after(self, prediction: Tensor, y: Tensor) -> None:
        self.residuals_ = (prediction - y).abs().double().numpy()

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Numbers of shape ``[rows]``, or ``[rows, targets]`` if ``fit`` had several targets."""
        values = self._outputs(X).double().numpy()
        return values[:, 0] if self.flat_ else values

    def predict_interval(self, X: Any, level: float = 0.9) -> NDArray[np.float64]:
        r"""Intervals that hold the truth of a share ``level`` of rows like those held out (split conformal).

        The prediction plus and minus the :math:`\lceil (n + 1) \, level \rceil`-th smallest error of the n
        rows held out (Vovk et al. 2005; Lei et al. 2018). The epoch was chosen on these rows, too, so that
        intervals may be slightly short. They are infinite, with a warning, if n is too small for
        the level.

        Returns
        -------
        ndarray
            Lower and upper ends, shape ``[rows, 2]``, or ``[rows, targets, 2]`` for several targets.
        """
        values = self._outputs(X).double().numpy()
        half = np.array([conformal(column[~np.isnan(column)], level) for column in self.residuals_.T])
        if np.isinf(half).any():
            warn_of_few(len(self.residuals_), level, "regression")
        ends = np.stack([values - half, values + half], axis=-1)
        return ends[:, 0] if self.flat_ else ends
