"""The compiled random numbers are those of torch's operations, to the last bit."""

import hypothesis.strategies as st
import pytest
import torch
from hypothesis import given, settings

from osan import devices
from osan.selection import GroundSet, Randomness


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(-(2**62), 2**62),
    sizes=st.lists(st.integers(0, 4), max_size=4),
    ids=st.integers(-(2**62), 2**62),
    sample=st.integers(0, 9),
    channel=st.integers(0, 3),
    address=st.tuples(
        st.integers(0, 3), st.integers(0, 5), st.sampled_from([0, 3, 511, 512, 2000]), st.integers(0, 2)
    ),
)
def test_both_ways(seed, sizes, ids, sample, channel, address):
    purpose, channels, draw, part = address
    ground = GroundSet.of_sizes(torch.tensor(sizes, dtype=torch.long))
    source = Randomness(torch.tensor(seed), ids + torch.arange(len(sizes)), sample, channel)
    compiled = source.uniform(ground, channels, purpose, draw, part)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(devices, "on_cpu", lambda *tensors: False)
        assert compiled.equal(source.uniform(ground, channels, purpose, draw, part))
    assert bool(((compiled > 0) & (compiled < 1)).all())
