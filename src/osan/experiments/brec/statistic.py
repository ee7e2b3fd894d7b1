"""Do two sets of embeddings differ by more than their spread? Hotelling's test, with a floor for rounding."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.stats import f

from osan.errors import OsanError

Rows = npt.NDArray[np.float64]


def t_squared(x: npt.ArrayLike, y: npt.ArrayLike, floor: float = 0.0) -> float:
    r"""Hotelling's T-squared of paired rows, with a floor under their spread.

    With the differences :math:`d_i = x_i - y_i` of q pairs, their mean :math:`\bar d` and their covariance S,

    .. math:: T^2 = q \, \bar d^\top (S + \varepsilon^2 I)^{-1} \bar d, \qquad
              \varepsilon = \text{floor} \cdot \sqrt{\tfrac{1}{2q} \sum_i \|x_i\|^2 + \|y_i\|^2}.

    A permutation-invariant network gives equal rows to all copies of a graph, so S holds rounding errors
    only, or is zero. A pseudo-inverse then divides one rounding error by another. With the floor, differences
    count relative to the size of the embeddings; T-squared never grows by it.

    Parameters
    ----------
    x, y
        Embeddings of shape ``[q, dimension]``.
    floor
        The relative size of differences that count as rounding; 0 for the plain statistic.

    Returns
    -------
    float
        0 if the means are equal, infinity if they differ where there is neither spread nor floor, and nan if
        a number is not finite.

    References
    ----------
    Hotelling, "The generalization of Student's ratio", 1931.

    Examples
    --------
    >>> t_squared([[1.0], [2.0], [3.0]], [[0.0], [0.0], [0.0]])
    12.0
    >>> same = [[1.0, 1.0], [1.0, 1.0]], [[1.0, 1.0], [1.0, 1.0 + 1e-12]]
    >>> t_squared(*same, floor=1e-8) < 1e-6
    True
    """
    one, other = np.asarray(x, dtype=np.float64), np.asarray(y, dtype=np.float64)
    if one.ndim != 2 or one.shape != other.shape or not one.size:
        raise OsanError(
            f"x, y: expected embeddings of one shape [copies, dimension], got {one.shape}, {other.shape}"
        )
    if not (np.isfinite(one).all() and np.isfinite(other).all()):
        return float("nan")
    count, dimension = one.shape
    # Powers of two, so that huge or tiny embeddings neither overflow nor vanish when they are squared.
    largest = float(max(np.abs(one).max(), np.abs(other).max()))
    if largest == 0:
        return 0.0
    unit = 2.0 ** np.floor(np.log2(largest))
    one, other = one / unit, other / unit
    mean = (one - other).mean(axis=0)
    if not mean.any():
        return 0.0
    spread = np.atleast_2d(np.cov(one - other, rowvar=False)) if count > 1 else np.zeros((dimension,) * 2)
    size = float(((one**2).sum() + (other**2).sum()) / (2 * count))
    values, vectors = np.linalg.eigh(spread)
    values = np.maximum(values, 0) + floor**2 * size
    along = (vectors.T @ mean) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(along > 0, along / values, 0.0)
    return float(count * terms.sum())


def threshold(copies: int, dimension: int, confidence: float = 0.95) -> float:
    r"""What T-squared has to exceed: :math:`\frac{(q-1)d}{q-d} F^{-1}_{d, q-d}(\text{confidence})`.

    If the differences of q pairs are normal with mean 0, T-squared exceeds it with probability one minus the
    confidence.

    >>> round(threshold(32, 16), 2)  # that of the published benchmark
    72.34
    """
    if dimension < 1 or copies <= dimension:
        raise OsanError(
            f"copies: expected more than the dimension of the embeddings, {dimension}, got {copies}; "
            "use more copies, or a smaller dimension"
        )
    if not 0 < confidence < 1:
        raise OsanError(f"confidence: expected a number between 0 and 1, got {confidence}")
    factor = (copies - 1) * dimension / (copies - dimension)
    return float(factor * f.ppf(confidence, dimension, copies - dimension))
