"""The Gaussian process on descriptors: against scikit-learn, RDKit, brute force and definitions."""

from itertools import product

import numpy as np
import pytest
import torch
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from torch_geometric.data import Data

from osan.errors import OsanError
from osan.nn import GaussianProcess
from osan.nn.gaussian_process import LENGTHS, NOISES, PRIOR_GRAPHS, _best_kernel, _kernel


def made(x, y, scaled=None, kind="regression", targets=None, points=None):
    """A fitted process whose first columns have mean 0 and deviation 1."""
    scaled = x.size(1) if scaled is None else scaled
    count = (y.size(1) if targets is None else targets, torch.zeros(scaled), torch.ones(scaled), kind)
    process = GaussianProcess(len(x) if points is None else points, x.size(1), *count)
    process.fit(x, y)
    return process


def mean_of(process, x):
    return process(Data(num_nodes=1, descriptors=x))


@pytest.fixture
def data():
    torch.manual_seed(0)
    x = torch.randn(60, 3)
    return x, (2 * x[:, :1]).sin() + x[:, 1:2] + 0.1 * torch.randn(60, 1)


def test_mean_and_kernel_are_those_of_scikit_learn(data):
    x, y = data
    process = made(x[:40], y[:40])
    z, center = np.arcsinh(x.numpy()), y[:40].mean().item()
    rest = y[:40].numpy()[:, 0] - center

    def reference(length, noise):
        # Our variance is a factor of kernel and noise; the mean does not depend on it.
        kernel = ConstantKernel(1.0) * RBF(np.sqrt(3 * length)) + WhiteKernel(noise)
        fitted = GaussianProcessRegressor(kernel, optimizer=None, alpha=1e-12).fit(z[:40], rest)
        gram = kernel(z[:40])
        variance = rest @ np.linalg.solve(gram, rest) / 40
        scale = ConstantKernel(variance)
        scaled = scale * ConstantKernel(1.0) * RBF(np.sqrt(3 * length)) + WhiteKernel(noise * variance)
        evidence = GaussianProcessRegressor(scaled, optimizer=None, alpha=1e-12).fit(z[:40], rest)
        return evidence.log_marginal_likelihood_value_, fitted

    found = {key: reference(*key) for key in product(LENGTHS, NOISES)}
    best = max(found, key=lambda key: found[key][0])
    share, *kernel = process.kernel.tolist()
    assert share == 0
    assert kernel == pytest.approx(best)
    expected = found[best][1].predict(z[40:]) + center
    assert np.allclose(mean_of(process, x[40:])[:, 0].numpy(), expected, atol=1e-4)


def test_fingerprints_are_compared_by_tanimoto():
    from rdkit import Chem, DataStructs
    from rdkit.Chem import rdFingerprintGenerator

    texts = ["CCO", "CCN", "c1ccccc1O", "c1ccccc1", "CC(=O)O", "C"]
    bits = [
        rdFingerprintGenerator.GetMorganGenerator(2, fpSize=256).GetFingerprint(Chem.MolFromSmiles(t))
        for t in texts
    ]
    rows = torch.tensor(np.array([list(each) for each in bits]), dtype=torch.float64)
    expected = [[DataStructs.TanimotoSimilarity(a, b) for b in bits] for a in bits]
    assert torch.allclose(_kernel(rows, rows, 0, 1.0, 1.0), torch.tensor(expected, dtype=torch.float64))


def test_the_kernel_has_no_negative_eigenvalues():
    torch.manual_seed(0)
    rows = torch.cat((torch.randn(40, 3), torch.poisson(torch.rand(40, 8)).log1p()), 1).double()
    rows[:3, 3:] = 0  # no substructure at all
    for share in (0.0, 0.5, 1.0):
        matrix = _kernel(rows, rows, 3, share, 1.0)
        assert torch.allclose(matrix, matrix.t())
        assert torch.allclose(matrix.diagonal(), torch.ones(40).double())
        assert torch.linalg.eigvalsh(matrix).min() > -1e-9


def test_what_matters_decides_the_share_of_fingerprints():
    torch.manual_seed(0)
    numbers, counts = torch.randn(200, 4).double(), torch.poisson(torch.rand(200, 6)).double()
    x = torch.cat((numbers, counts), 1)
    for y, expected in ((numbers[:, :1].sin(), 0.0), (counts[:, :1].log1p(), 1.0)):
        assert _best_kernel(x, y - y.mean(), 4)[0] == expected
    assert _best_kernel(counts, counts[:, :1] - 1, 0)[0] == 1.0  # nothing else


def test_each_target_has_the_graphs_where_it_is_known(data):
    x, y = data
    missing = y.clone()
    missing[::3] = float("nan")
    both = made(x, torch.cat((y, missing), 1))
    known = ~missing[:, 0].isnan()
    z = torch.asinh(x).double()
    _, length, noise = both.kernel.tolist()
    gram = _kernel(z[known], z[known], 3, 0.0, length) + noise * torch.eye(int(known.sum())).double()
    center = missing[known].double().mean()
    alpha = torch.linalg.solve(gram, missing[known].double() - center)
    expected = center + _kernel(z, z[known], 3, 0.0, length) @ alpha
    assert torch.allclose(mean_of(both, x)[:, 1:].double(), expected, atol=1e-3)
    assert not mean_of(both, x).isnan().any()


def test_a_target_that_nobody_knows(data):
    x, y = data
    process = made(x, torch.cat((y, torch.full_like(y, float("nan"))), 1))
    assert (mean_of(process, x)[:, 1] == 0).all()


def test_a_random_part_of_many_graphs(data):
    x, y = data
    process = made(x, y, points=20)
    assert process.points.shape == (20, 3)
    rows = {tuple(row) for row in torch.asinh(x).tolist()}
    assert all(tuple(row) in rows for row in process.points.tolist())
    assert torch.equal(process.points, made(x, y, points=20).points)


def test_the_order_of_the_graphs_does_not_choose_the_kernel():
    """A table that is sorted: its first thousand graphs tell nothing."""
    torch.manual_seed(0)
    x = torch.randn(1300, 2)
    y = (3 * x[:, :1]).sin()
    y[:1000] = 0.0
    x[:1000] += 50.0
    shuffled = torch.randperm(1300)
    found = [made(x[rows], y[rows]) for rows in (torch.arange(1300), shuffled)]
    assert found[0].kernel[1] == found[1].kernel[1]
    assert (mean_of(found[0], x[1000:]) - y[1000:]).abs().mean() < 0.1


def test_numbers_that_are_missing_count_as_the_mean(data):
    x, y = data
    process = made(x, y)
    odd = torch.tensor([[float("nan"), 1.0, float("inf")], [0.0, 1.0, 3.0e38]])
    assert mean_of(process, odd).isfinite().all()
    zero = torch.tensor([[0.0, 1.0, 0.0]])
    assert torch.allclose(mean_of(process, torch.tensor([[float("nan"), 1.0, 0.0]])), mean_of(process, zero))


@pytest.mark.parametrize("count", [20, 2000])
def test_share_of_the_network(count):
    """The best share of a fine grid, drawn toward one half as by a hundred graphs."""
    torch.manual_seed(0)
    y = torch.randn(count, 2)
    network, own = y + 0.3 * torch.randn_like(y), y + 0.6 * torch.randn_like(y)
    y[::4, 1] = float("nan")
    process = GaussianProcess(1, 1, 2, torch.zeros(1), torch.ones(1))
    process.weigh(network, own, y)
    grid = torch.linspace(0, 1, 10001)
    errors = [((s * network + (1 - s) * own - y) ** 2).nansum() for s in grid]
    best = float(grid[int(torch.stack(errors).argmin())])
    assert process.share.item() == pytest.approx(
        (count * best + PRIOR_GRAPHS / 2) / (count + PRIOR_GRAPHS), abs=1e-3
    )


def test_share_where_both_agree():
    process = GaussianProcess(1, 1, 1, torch.zeros(1), torch.ones(1))
    process.weigh(torch.ones(5, 1), torch.ones(5, 1), torch.zeros(5, 1))
    assert process.share.item() == 0.5


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_probabilities_are_blended(kind):
    torch.manual_seed(0)
    x = torch.randn(30, 2)
    y = (x[:, :1] > 0).float() if kind == "binary" else (x[:, :1] > 0).float() + (x[:, :1] > 1).float()
    process = made(x, y, kind=kind, targets=1 if kind == "binary" else 3)
    batch = Data(num_nodes=1, descriptors=x)
    logits = torch.randn(30, 1 if kind == "binary" else 3)
    assert torch.equal(process.blend(batch, logits), logits)  # the share is 1 until it is weighed
    own = process(batch)
    assert ((own > 0) & (own < 1)).all()
    process.weigh(logits, own, y)
    blended, share = process.blend(batch, logits), float(process.share)
    if kind == "binary":
        expected = share * logits.sigmoid() + (1 - share) * own
        assert torch.allclose(blended.sigmoid(), expected, atol=1e-6)
    else:
        expected = share * logits.softmax(1) + (1 - share) * own / own.sum(1, keepdim=True)
        assert torch.allclose(blended.softmax(1), expected, atol=1e-6)


def test_wrong_shapes_are_named(data):
    process = made(*data)
    with pytest.raises(OsanError, match=r"expected batch\.descriptors of shape \[graphs, 3\], got none"):
        process(Data(num_nodes=1))
    with pytest.raises(OsanError, match="mean, std: expected equal lengths of at most 1"):
        GaussianProcess(1, 1, 1, torch.zeros(2), torch.ones(2))
