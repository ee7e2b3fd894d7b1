"""The paper's propositions, lemmas and theorems on instances that are small enough to compute.

Each :class:`Check` states what the paper claims of an instance. A check with another result is a
contradiction, to be reported and explained in ``docs/theory.md``; it is not an error.
"""

from osan.wl.theory.bounds import bound_checks, captured_checks, order_checks
from osan.wl.theory.check import Check, Verdict, run
from osan.wl.theory.compare import collection
from osan.wl.theory.constructions import backbone_checks, cfi_checks, fuerer_checks
from osan.wl.theory.diagram import draw_subgraph_tests
from osan.wl.theory.shielding import always_room, is_shielding, shielding_checks, without_shield
from osan.wl.theory.subgraph_tests import subgraph_test_checks, witness_pair

__all__ = [
    "Check",
    "Verdict",
    "always_room",
    "checks",
    "collection",
    "draw_subgraph_tests",
    "is_shielding",
    "run",
    "without_shield",
    "witness_pair",
]


def checks() -> list[Check]:
    """All checks, in the paper's order of argument.

    >>> len(checks()) > 60
    True
    """
    parts = (
        cfi_checks,
        fuerer_checks,
        shielding_checks,
        backbone_checks,
        bound_checks,
        order_checks,
        captured_checks,
        subgraph_test_checks,
    )
    return [check for part in parts for check in part()]
