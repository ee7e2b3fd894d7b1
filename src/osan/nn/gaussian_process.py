r"""A Gaussian process on the descriptors of graphs, blended with what a network predicts.

On a few hundred or thousand molecules, kernel regression on descriptors is hard to beat, and it errs in other
places than a network does, so that their mean is better than either (docs/molecules.md). It has a closed
form: nothing is trained, a system of linear equations is solved.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import torch
from torch import Tensor, nn
from torch_geometric.data import Data

from osan.nn.descriptors import check_statistics, descriptors_of
from osan.words import Kind

# Of more graphs than that a random part is taken, since the cost of the equations grows with the third power.
# A smaller part is enough to choose the kernel.
MOST_POINTS, MOST_TO_CHOOSE = 5000, 1000
# What a kernel is chosen from: share of the fingerprints, squared length per column, and noise.
SHARES, LENGTHS, NOISES = (0.0, 0.5, 1.0), (0.25, 0.5, 1.0, 2.0, 4.0, 8.0), (0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
# The share of the network is one half, as if this many graphs of the validation split had said so.
PRIOR_GRAPHS = 100


class GaussianProcess(nn.Module):
    r"""The mean of a Gaussian process on descriptors, and its blend with the predictions of a network.

    .. math:: f(x) = \sum_i \alpha_i \, k(x, x_i), \quad \alpha = (K + \sigma^2 I)^{-1} y

    over the training graphs i, with the kernel

    .. math:: k(x, x') = (1 - \beta) \, e^{-\|z - z'\|^2 / (2 d \ell)}
        + \beta \, \frac{c^\top c'}{\|c\|^2 + \|c'\|^2 - c^\top c'}

    of the d columns :math:`z = \mathrm{arsinh}((x - \mu) / \sigma)` that have a mean, and the others
    (fingerprints) c, by Tanimoto. :math:`\beta`, :math:`\ell` and :math:`\sigma^2` have the largest marginal
    likelihood on a grid. Classes are numbers 0 and 1, and f their probability.

    Parameters
    ----------
    points
        The number of training graphs that it holds.
    columns, targets
        The numbers of descriptors and of targets (classes, if ``kind`` is ``"multiclass"``).
    mean, std
        Statistics of the first columns in the training data.
    kind
        What the targets are.

    Attributes
    ----------
    share
        The share of the network in the blend, 1 before :meth:`fit` and :meth:`weigh`.

    References
    ----------
    Rasmussen and Williams, "Gaussian processes for machine learning", 2006, chapter 2; Ralaivola et al.,
    "Graph kernels for chemical informatics", 2005.

    Examples
    --------
    >>> x = torch.linspace(-2, 2, 40).unsqueeze(1)
    >>> process = GaussianProcess(40, 1, 1, mean=torch.zeros(1), std=torch.ones(1))
    >>> process.fit(x, x.sin())
    >>> batch = Data(num_nodes=1, descriptors=torch.tensor([[1.5]]))
    >>> round(process(batch).item(), 1)
    1.0
    """

    mean: Tensor
    std: Tensor
    points: Tensor
    alpha: Tensor
    center: Tensor
    kernel: Tensor
    share: Tensor

    def __init__(
        self, points: int, columns: int, targets: int, mean: Tensor, std: Tensor, kind: Kind = "regression"
    ) -> None:
        super().__init__()
        check_statistics(mean, std, columns)
        self.columns, self.kind = columns, kind
        for name, value in {
            "mean": mean,
            "std": std,
            "points": torch.zeros(points, columns),
            "alpha": torch.zeros(points, targets),
            "center": torch.zeros(targets),
            "kernel": torch.tensor([0.0, 1.0, 1.0]),  # share of fingerprints, squared length, noise
            "share": torch.tensor(1.0),
        }.items():
            self.register_buffer(name, value.float())

    def forward(self, batch: Data) -> Tensor:
        """The mean for ``batch.descriptors``, shape ``[graphs, targets]``; probabilities of classes."""
        given = descriptors_of(batch, self.columns)
        near = _kernel(self._scaled(given), self.points, len(self.mean), *self.kernel[:2].tolist())
        out = self.center + near @ self.alpha
        return out if self.kind == "regression" else out.clamp(1e-3, 1 - 1e-3)

    def fit(self, descriptors: Tensor, y: Tensor) -> None:
        """Solve for the training graphs.

        Parameters
        ----------
        descriptors
            Those of the graphs, shape ``[graphs, columns]``. If there are more than it has points, a random
            part of them is taken.
        y
            Their targets, shape ``[graphs, targets]``, or classes ``[graphs, 1]`` if there are several; NaN
            where they are not known.
        """
        if self.kind == "multiclass":
            y = torch.nn.functional.one_hot(y.long().view(-1), self.alpha.size(1))
        order = torch.randperm(len(y), generator=torch.Generator().manual_seed(0))
        taken = order[: len(self.points)]  # in random order, since the kernel is chosen on the first of them
        x, y = self._scaled(descriptors[taken]).double(), y[taken].double()
        known = ~y.isnan()
        center = torch.where(known, y, 0.0).sum(0) / known.sum(0).clamp(min=1)
        rest = torch.where(known, y - center, 0.0)
        chosen = _best_kernel(x, rest, len(self.mean))
        matrix = _kernel(x, x, len(self.mean), *chosen[:2])
        matrix.diagonal().add_(chosen[2])
        alpha = torch.zeros_like(rest)
        if bool(known.all()):
            alpha = torch.cholesky_solve(rest, torch.linalg.cholesky(matrix))
        else:  # each target has its own graphs
            for column, rows in enumerate(known.t()):
                if bool(rows.any()):
                    factor = torch.linalg.cholesky(matrix[rows][:, rows])
                    alpha[rows, column] = torch.cholesky_solve(rest[rows, column : column + 1], factor)[:, 0]
        for name, value in (("points", x), ("alpha", alpha), ("center", center), ("kernel", chosen)):
            getattr(self, name).copy_(torch.as_tensor(value))

    def weigh(self, network: Tensor, process: Tensor, y: Tensor) -> None:
        r"""Set the share of the network from predictions for graphs that neither has seen.

        It has the least squared error, of probabilities for classes, and is drawn toward one half:

        .. math:: s = \frac{n \hat s + 100 / 2}{n + 100}

        with the best share :math:`\hat s` for n graphs, between 0 and 1.

        Parameters
        ----------
        network, process
            What both predict, shape ``[graphs, targets]``; logits of the network for classes.
        y
            The targets; NaN where they are not known.
        """
        network = _probabilities(network, self.kind)
        if self.kind == "multiclass":
            y = torch.nn.functional.one_hot(y.long().view(-1), network.size(1))
        y, network, process = y.double(), network.double(), process.double()
        known = ~y.isnan()
        apart = torch.where(known, network - process, 0.0)
        along = (apart * torch.where(known, y - process, 0.0)).sum()
        power, count = apart.square().sum(), int(known.any(1).sum())
        best = float((along / power).clamp(0, 1)) if power > 0 else 0.5
        self.share.fill_((count * best + PRIOR_GRAPHS / 2) / (count + PRIOR_GRAPHS))

    def blend(self, batch: Data, prediction: Tensor) -> Tensor:
        """The blend with the predictions of a network; for classes of probabilities, as logits."""
        if float(self.share) == 1:
            return prediction
        own, share = self(batch).to(prediction.dtype), self.share.to(prediction.dtype)
        if self.kind == "regression":
            return share * prediction + (1 - share) * own
        if self.kind == "multiclass":
            own = own / own.sum(1, keepdim=True)
        mixed = share * _probabilities(prediction, self.kind) + (1 - share) * own
        return mixed.log() if self.kind == "multiclass" else torch.logit(mixed)

    def _scaled(self, given: Tensor) -> Tensor:
        count, given = len(self.mean), given.to(self.mean.dtype)
        given = torch.where(given.isfinite(), given, torch.nan)
        scaled = torch.asinh((given[:, :count] - self.mean) / self.std)
        return torch.cat((scaled, given[:, count:]), dim=1).nan_to_num(0.0)

    def extra_repr(self) -> str:
        return f"{len(self.points)}, {self.columns}, {self.alpha.size(1)}, kind={self.kind!r}"


def _probabilities(prediction: Tensor, kind: str) -> Tensor:
    if kind == "regression":
        return prediction
    return prediction.softmax(1) if kind == "multiclass" else prediction.sigmoid()


def _kernel(a: Tensor, b: Tensor, scaled: int, share: float, length: float) -> Tensor:
    """The kernel between rows, of which the first columns are scaled; shape ``[rows of a, rows of b]``."""
    out = a.new_zeros(len(a), len(b))
    if share < 1 and scaled:
        squared = torch.cdist(a[:, :scaled], b[:, :scaled]).square()
        out += (1 - share) * torch.exp(squared / (-2 * scaled * length))
    if share > 0:
        a, b = a[:, scaled:], b[:, scaled:]
        both = a @ b.t()
        either = a.square().sum(1, keepdim=True) + b.square().sum(1) - both
        out += share * torch.where(either > 0, both / either.clamp(min=1e-12), 1.0)
    return out


def _best_kernel(x: Tensor, y: Tensor, scaled: int) -> Any:
    """Share of the fingerprints, squared length and noise with the largest marginal likelihood.

    The variance has its best value for each of them; unknown targets count as their mean here.
    """
    x, y = x[:MOST_TO_CHOOSE], y[:MOST_TO_CHOOSE]
    shares = SHARES if 0 < scaled < x.size(1) else (0.0,) if scaled else (1.0,)
    noises = x.new_tensor(NOISES)
    best, found = -torch.inf, (shares[0], 1.0, 0.1)
    for share, length in product(shares, LENGTHS):
        if share == 1 and length != LENGTHS[0]:
            continue
        values, vectors = torch.linalg.eigh(_kernel(x, x, scaled, share, length))
        spectrum = values.clamp(min=0).unsqueeze(1) + noises  # [points, noises]
        power = (vectors.t() @ y).square()
        fitted = (power.t() @ (1 / spectrum)) / len(y)  # [targets, noises]
        evidence = -0.5 * (len(y) * fitted.clamp(min=1e-300).log() + spectrum.log().sum(0)).sum(0)
        top = int(evidence.argmax())
        if float(evidence[top]) > best:
            best, found = float(evidence[top]), (share, length, NOISES[top])
    return found
