"""Weisfeiler-Leman tests: 1-WL, k-WL, k-OSWL, vertex-subgraph k-OSWL and the tests of subgraph GNNs.

No torch is needed. Colors are exact: a hash may propose a class, only comparison decides.
"""

from osan.wl.coloring import Coloring
from osan.wl.draw import draw
from osan.wl.ladder import CorpusRow, Rung, ladder, ladder_tests, survey_graphs, survey_pairs
from osan.wl.refine import distinguishes, refine
from osan.wl.settings import Test

__all__ = [
    "Coloring",
    "CorpusRow",
    "Rung",
    "Test",
    "distinguishes",
    "draw",
    "ladder",
    "ladder_tests",
    "refine",
    "survey_graphs",
    "survey_pairs",
]
