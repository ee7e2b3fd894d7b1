"""Weisfeiler-Leman tests: 1-WL, k-WL, k-OSWL, vertex-subgraph k-OSWL and the tests of subgraph GNNs.

No torch is needed. Colors are exact: a hash may propose a class, only comparison decides. The tests are
listed in :data:`PLANS`; :mod:`osan.wl.theory` checks the paper's claims with them.
"""

from osan.wl.certificate_figure import draw_certificate
from osan.wl.coloring import Coloring
from osan.wl.draw import draw
from osan.wl.enough import Enough, enough
from osan.wl.enough_pairs import EnoughRow, draw_enough, enough_pairs
from osan.wl.explain import Certificate, Reason, explain
from osan.wl.hashes import color_hash, vertex_hashes
from osan.wl.identify import dimension, identifies, lookalikes
from osan.wl.ladder import CorpusRow, Rung, ladder, ladder_tests, survey_graphs, survey_pairs
from osan.wl.orbits import distinguishes_by_orbits
from osan.wl.plans import PLANS, Plan, PlanBuilder
from osan.wl.refine import distinguishes, refine
from osan.wl.settings import WLTest
from osan.wl.symmetry import automorphisms

__all__ = [
    "PLANS",
    "Certificate",
    "Coloring",
    "CorpusRow",
    "Enough",
    "EnoughRow",
    "Plan",
    "PlanBuilder",
    "Reason",
    "Rung",
    "WLTest",
    "automorphisms",
    "color_hash",
    "dimension",
    "distinguishes",
    "distinguishes_by_orbits",
    "draw",
    "draw_certificate",
    "draw_enough",
    "enough",
    "enough_pairs",
    "explain",
    "identifies",
    "ladder",
    "ladder_tests",
    "lookalikes",
    "refine",
    "survey_graphs",
    "survey_pairs",
    "vertex_hashes",
]
