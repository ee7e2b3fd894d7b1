"""Arcs and their reverses against counting."""

from collections import Counter

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from osan.graphs.arcs import arc_without_reverse

ARCS = st.lists(st.tuples(st.integers(0, 3), st.integers(0, 3), st.integers(0, 1)), max_size=8)


@given(ARCS, st.booleans(), st.sampled_from([1, 1 << 40]), st.booleans())
def test_against_counting(arcs, symmetric, scale, labeled):
    arcs = [(scale * u, scale * v, x * labeled) for u, v, x in arcs]
    if symmetric:
        arcs = arcs + [(v, u, x) for u, v, x in arcs]
    counts = Counter(arcs)
    expected = next((i for i, (u, v, x) in enumerate(arcs) if counts[u, v, x] > counts[v, u, x]), None)
    array = np.array(arcs, dtype=np.int64).reshape(-1, 3)
    assert arc_without_reverse(array[:, :2], array[:, 2] if labeled else None) == expected
    assert not symmetric or expected is None
