"""Losses and metrics against definitions written out, and against scikit-learn."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import spearmanr
from sklearn import metrics
from sklearn.utils.class_weight import compute_class_weight

from osan.data.metrics import metrics_for
from osan.errors import OsanError
from osan.training.scores import Score, class_weights, losses_per_graph, score

NAN = float("nan")


def masked(seed, graphs=30, targets=3, missing=0.3):
    rng = np.random.default_rng(seed)
    prediction = rng.normal(size=(graphs, targets)).round(1)  # rounded, so that there are ties
    y = (rng.random((graphs, targets)) < 0.5).astype(float)
    y[:2] = [[0.0] * targets, [1.0] * targets]
    there = rng.random((graphs, targets)) >= missing
    there[:2] = True
    return prediction, np.where(there, y, NAN), there


REFERENCE = {
    "mae": ("regression", metrics.mean_absolute_error),
    "rmse": ("regression", metrics.root_mean_squared_error),
    "r2": ("regression", metrics.r2_score),
    "spearman": ("regression", lambda y, p: spearmanr(y, p).statistic),
    "accuracy": ("binary", lambda y, p: metrics.accuracy_score(y, p > 0)),
    "rocauc": ("binary", metrics.roc_auc_score),
    "prauc": ("binary", metrics.average_precision_score),
    "mcc": ("binary", lambda y, p: metrics.matthews_corrcoef(y, p > 0)),
    "balanced": ("binary", lambda y, p: metrics.balanced_accuracy_score(y, p > 0)),
    "logloss": ("binary", lambda y, p: metrics.log_loss(y, 1 / (1 + np.exp(-p)))),
    "ece": ("binary", lambda y, p: calibration_error(y, 1 / (1 + np.exp(-p)))),
}


def calibration_error(hit, probability, bins=15):
    """By its definition: the mean over rows of the distance between the means of their bin."""
    place = np.clip(np.ceil(probability * bins).astype(int) - 1, 0, bins - 1)
    return sum(abs((hit - probability)[place == b].sum()) for b in set(place)) / len(hit)


def test_several_classes_like_scikit_learn():
    rng = np.random.default_rng(1)
    logits, y = rng.normal(size=(60, 4)), rng.integers(0, 4, 60)
    probability = np.exp(logits) / np.exp(logits).sum(1, keepdims=True)
    best = probability.argmax(1)
    wanted = {
        "accuracy": metrics.accuracy_score(y, best),
        "mcc": metrics.matthews_corrcoef(y, best),
        "balanced": metrics.balanced_accuracy_score(y, best),
        "logloss": metrics.log_loss(y, probability),
        "ece": calibration_error(best == y, probability.max(1)),
    }
    assert set(wanted) == set(metrics_for("multiclass"))
    given_y = np.where(np.arange(80) < 60, np.pad(y, (0, 20)), -1)  # the others have no class
    given = torch.tensor(np.pad(logits, ((0, 20), (0, 0)))), torch.tensor(given_y)
    for name, value in wanted.items():
        assert float(score(*given, "multiclass", name)) == pytest.approx(value, abs=1e-6), name


@pytest.mark.parametrize("classes", [2, 3])
def test_one_class_predicted_is_no_correlation(classes):
    """As scikit-learn says; torchmetrics has 0.6 for two classes."""
    y = np.array([1, 1] + 22 * [0])
    logits = torch.zeros(24, classes)
    logits[:, 0] = 1
    wanted = metrics.matthews_corrcoef(y, np.zeros(24))
    assert float(score(logits, torch.tensor(y), "multiclass", "mcc")) == wanted == 0
    if classes == 2:
        assert float(score(-torch.ones(24, 1), torch.tensor(y)[:, None].float(), "binary", "mcc")) == wanted


def test_what_cannot_be_computed():
    same = torch.ones(4, 1)
    for kind, name in (
        ("regression", "r2"),
        ("regression", "spearman"),
        ("binary", "mcc"),
        ("binary", "balanced"),
    ):
        with pytest.raises(OsanError, match=f"{name}: expected"):
            score(torch.randn(4, 1), same, kind, name)
    with pytest.raises(OsanError, match="prauc: expected"):
        score(torch.randn(4, 1), 0 * same, "binary", "prauc")
    assert float(score(same, torch.tensor([[1.0], [2.0], [3.0], [3.0]]), "regression", "spearman")) == 0


@given(seed=st.integers(0, 2**20), metric=st.sampled_from(sorted(REFERENCE)))
def test_metrics_are_means_over_targets_of_present_values(seed, metric):
    kind, reference = REFERENCE[metric]
    prediction, y, there = masked(seed)
    wanted = np.mean([reference(y[t, c], prediction[t, c]) for c, t in enumerate(there.T)])
    got = score(torch.tensor(prediction).float(), torch.tensor(y).float(), kind, metric)
    assert float(got) == pytest.approx(wanted, rel=1e-5, abs=1e-6)


def test_large_logits_keep_their_order():
    """As probabilities in single precision both would be 1."""
    y = torch.tensor([[0.0], [1.0]])
    assert float(score(torch.tensor([[30.0], [31.0]]), y, "binary", "rocauc")) == 1.0
    assert float(score(torch.tensor([[31.0], [30.0]]), y, "binary", "rocauc")) == 0.0


def test_targets_of_one_class_are_left_out():
    prediction = torch.tensor([[0.0, 1.0], [1.0, 2.0]])
    y = torch.tensor([[0.0, 1.0], [1.0, 1.0]])
    assert float(score(prediction, y, "binary", "rocauc")) == 1.0
    with pytest.raises(OsanError, match="rocauc: of both classes"):
        score(prediction[:, 1:], y[:, 1:], "binary", "rocauc")


def test_multiclass():
    logits = torch.tensor([[2.0, 1.0, 0.0], [0.0, 1.0, 2.0], [0.0, 5.0, 1.0], [1.0, 0.0, 0.0]])
    y = torch.tensor([0, 2, 0, -1])
    assert float(score(logits, y, "multiclass", "accuracy")) == pytest.approx(2 / 3)
    losses = losses_per_graph(logits, y, "multiclass")
    wanted = [-torch.log_softmax(logits[i], 0)[y[i]].item() for i in range(3)]
    assert losses.tolist() == pytest.approx([*wanted, 0.0], abs=1e-6)


@given(seed=st.integers(0, 2**20), loss=st.sampled_from(["mae", "mse", "binary"]))
def test_losses_by_their_definition(seed, loss):
    prediction, y, there = masked(seed, graphs=6)
    kind = "binary" if loss == "binary" else "regression"
    each = {
        "mae": lambda p, t: abs(p - t),
        "mse": lambda p, t: (p - t) ** 2,
        "binary": lambda p, t: np.log1p(np.exp(-p)) if t else np.log1p(np.exp(p)),
    }[loss]
    wanted = [
        sum(each(prediction[g, c], y[g, c]) for c in range(3) if there[g, c]) / max(1, there[g].sum())
        for g in range(6)
    ]
    got = losses_per_graph(torch.tensor(prediction), torch.tensor(y), kind, loss)
    assert got.tolist() == pytest.approx(wanted)


def test_missing_targets_get_no_gradient():
    prediction = torch.tensor([[1.0, float("inf")]], requires_grad=True)
    losses_per_graph(prediction, torch.tensor([[0.0, NAN]]), "regression").sum().backward()
    assert prediction.grad.tolist() == [[1.0, 0.0]]


def test_batches_add_up():
    prediction, y, _ = (torch.tensor(part) for part in masked(0))
    metric = Score("binary", "rocauc")
    for part in torch.arange(30).split(7):
        metric.update(prediction[part], y[part])
    assert float(metric.compute()) == float(score(prediction, y, "binary", "rocauc"))


def test_huber_is_quadratic_up_to_one_and_linear_above():
    prediction, y = torch.tensor([[0.5, 3.0], [-2.0, 7.0]]), torch.tensor([[0.0, 0.0], [2.0, NAN]])
    found = losses_per_graph(prediction, y, "regression", "huber")
    torch.testing.assert_close(found, torch.tensor([(0.125 + 2.5) / 2, 3.5]))


def test_class_weights_like_scikit_learn():
    rng = np.random.default_rng(0)
    y = (rng.random((50, 2)) < [0.1, 0.6]).astype(float)
    y[:5, 0] = NAN
    found = class_weights(torch.tensor(y), "binary", 2)
    for column in range(2):
        known = y[~np.isnan(y[:, column]), column]
        wanted = compute_class_weight("balanced", classes=np.array([0.0, 1.0]), y=known)
        np.testing.assert_allclose(found[column], wanted, rtol=1e-6)
    several = rng.integers(0, 3, 40)
    wanted = compute_class_weight("balanced", classes=np.arange(3), y=several)
    found = class_weights(torch.tensor([*several, -1]), "multiclass", 4)
    np.testing.assert_allclose(found, [*wanted, 0.0], rtol=1e-6)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_balanced_losses_are_weighted_means(kind):
    torch.manual_seed(0)
    logits = torch.randn(30, 1 if kind == "binary" else 3)
    y = (torch.rand(30, 1) < 0.2).float() if kind == "binary" else torch.randint(0, 3, (30,))
    weights = class_weights(y, kind, 3)
    plain = losses_per_graph(logits, y, kind)
    found = losses_per_graph(logits, y, kind, weights=weights)
    by_class = weights[0] if kind == "binary" else weights
    torch.testing.assert_close(found, plain * by_class[y.flatten().long()])
    counts = torch.bincount(y.flatten().long()).float()
    torch.testing.assert_close(counts * by_class, torch.full_like(counts, 30 / len(counts)))
