"""Normalization, features and the facts of a task."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from osan.data import Features, Normalization, load
from osan.errors import OsanError


@given(arrays(np.float64, (7, 3), elements=st.floats(-1e3, 1e3)))
def test_normalization_equals_numpy_and_comes_back(y):
    scale = Normalization.of(torch.from_numpy(y))
    std = y.std(axis=0)
    std[std <= 1e-12 * (1 + abs(y.mean(axis=0)))] = 1.0
    np.testing.assert_allclose(scale.mean.numpy(), y.mean(axis=0), rtol=1e-6, atol=1e-6)
    np.testing.assert_allclose(scale.std.numpy(), std, rtol=1e-6)
    values = torch.from_numpy(y).float()
    np.testing.assert_allclose(scale.undo(scale.apply(values)).numpy(), y, rtol=1e-4, atol=1e-2)


def test_normalization_leaves_missing_values_out():
    y = torch.tensor([[1.0, 5.0], [float("nan"), 5.0], [3.0, 5.0]])
    scale = Normalization.of(y)
    assert scale.mean.tolist() == [2.0, 5.0]
    assert scale.std.tolist() == [1.0, 1.0]  # the second target is constant


def test_features_are_one_thing_or_the_other():
    with pytest.raises(OsanError, match="either sizes or width"):
        Features(sizes=(2,), width=3)
    with pytest.raises(OsanError, match="either sizes or width"):
        Features()


def test_direction_follows_the_metric():
    assert load("planted-motif", num_graphs=10).direction == "min"
    assert load("csl-generated", copies=3).direction == "max"
