"""Compiled loops where nothing can be cached, and in forked processes."""

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import osan


def run(code, **environment):
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
        timeout=1800,  # compiling takes a minute of processor time
        env={**os.environ, **environment},
    )


def test_no_place_for_a_cache():
    """Numba raises at import where neither the package nor HOME can be written; we do without a cache."""
    result = run(
        """
        from numba.core import caching
        for locator in caching.CacheImpl._locator_classes:
            locator.from_function = classmethod(lambda cls, function, file: None)
        import networkx as nx
        from osan import wl
        assert wl.distinguishes(nx.path_graph(4), nx.star_graph(3))
        import osan.nn, osan.selection
        """,
        NUMBA_NUM_THREADS="1",
    )
    assert result.returncode == 0, result.stderr
    lines = [line for line in result.stderr.splitlines() if "cache" in line]
    assert lines == [
        "osan: compiled code cannot be cached (no writable folder), so each process compiles it again; "
        "set NUMBA_CACHE_DIR to a folder that can be written"
    ]


FORKED = """
    import multiprocessing, sys
    import networkx as nx
    from osan import wl

    def separates(seed):
        pair = [nx.random_regular_graph(3, 40, seed=seed + s) for s in (0, 50)]
        return wl.distinguishes(*pair, "oswl", k=1), wl.distinguishes(*pair, "wl", k=2)

    sys.modules["osan.wl.refine"].SMALL = 0
    here = [separates(seed) for seed in range(2)]
    with multiprocessing.get_context("fork").Pool(2) as pool:
        there = pool.map_async(separates, range(2)).get(timeout=900)
    assert here == there
    print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_forked_children_after_a_parallel_test():
    """GNU OpenMP does not survive a fork: children use one thread."""
    result = run(FORKED, OMP_NUM_THREADS="2", NUMBA_NUM_THREADS="2")
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == ["done"]


def test_every_compiled_function_goes_through_one_door():
    package = Path(osan.__file__).parent
    users = [
        path.relative_to(package).as_posix()
        for path in package.rglob("*.py")
        if "import numba" in (text := path.read_text(encoding="utf-8")) or "from numba" in text
    ]
    assert users == ["compiled.py"]
