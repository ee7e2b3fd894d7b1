"""Claims on all small graphs: which tests bound which, and what k-OSANs capture."""

from __future__ import annotations

from collections.abc import Iterator

from osan.graphs import cfi_pair, cycle_pair, fuerer_grid_pair, icosahedral_pair
from osan.wl.refine import distinguishes
from osan.wl.settings import WLTest
from osan.wl.theory.check import Check
from osan.wl.theory.compare import both, collection, inclusion, sometimes_more, sometimes_more_in_collection


def bound_checks() -> Iterator[Check]:
    yield Check(
        "Section 3.1",
        "0-OSWL is 1-WL",
        "all graphs with up to 7 vertices and hard pairs",
        True,
        lambda limit: (
            collection().more(WLTest("oswl", 0), WLTest("wl"), limit) == 0
            and collection().more(WLTest("wl"), WLTest("oswl", 0), limit) == 0
        ),
    )
    for k in (1, 2):
        for place, test in zip(("Proposition 2", "Lemma pwlinkplus1wl"), both(k), strict=True):
            yield inclusion(place, test, WLTest("wl", k + 1), slow=k == 2)
        for first, second in zip(both(k - 1), both(k), strict=True):
            yield inclusion("Theorems 3, strictly", first, second, slow=k == 2)
    # The paper says "and vice versa" of k-OSANs, that is of k-OSWL only.
    for place, test in zip(("Proposition 2", "(vertex-subgraph)"), both(1), strict=True):
        yield Check(
            place,
            f"1-WL separates a pair that {test} does not",
            "all graphs with up to 7 vertices and hard pairs",
            True,
            sometimes_more_in_collection(WLTest("wl"), test),
        )
    for place, test in zip(("Proposition 2", "(vertex-subgraph)"), both(2), strict=True):
        yield Check(
            place,
            f"2-WL separates a pair that {test} does not",
            "X, Y over the 2 x 6 grid",
            True,
            sometimes_more(WLTest("wl", 2), test, fuerer_grid_pair(2, 6)),
        )
    for k in (1, 2):
        pair = cfi_pair(k + 1)
        for one, other in zip(both(k), both(k - 1), strict=True):
            yield Check(
                "Theorems 3, strictly",
                f"{one} separates a pair that {other} does not",
                f"G_{k + 1}, H_{k + 1}",
                True,
                sometimes_more(one, other, pair),
            )


def order_checks() -> Iterator[Check]:
    for k in (1, 2):
        for name in ("oswl", "vs-oswl"):
            ordered, unordered = WLTest(name, k), WLTest(name, k, ordered=False)
            yield inclusion("Appendix, unordered vs. ordered", unordered, ordered, slow=k == 2)
    pair = cycle_pair(3)
    yield Check(
        "(beyond the paper)",
        "unordered: marking 5 vertices separates what marking 6 does not (no hierarchy in k)",
        "C_6 and 2 C_3",
        True,
        sometimes_more(WLTest("oswl", 5, ordered=False), WLTest("oswl", 6, ordered=False), pair),
    )


def captured_checks() -> Iterator[Check]:
    for k in (1, 2):
        marked = WLTest("oswl", k, ordered=False)
        yield inclusion("Proposition 4 (marked GNN)", marked, WLTest("oswl", k), slow=k == 2)
        yield inclusion(
            "Appendix (dropout GNN)", WLTest("oswl", k, operation="delete"), WLTest("oswl", k), slow=k == 2
        )
        yield inclusion(
            "Proposition 4 (reconstruction GNN)",
            WLTest("vs-oswl", k, operation="select"),
            WLTest("vs-oswl", k),
            slow=k == 2,
        )
        deleted = WLTest("vs-oswl", k, operation="delete")
        yield inclusion("Proposition 6 (DS-GNN, vertex-deleted)", deleted, WLTest("vs-oswl", k), slow=k == 2)
        yield inclusion("Proposition 6, proof", deleted, WLTest("vs-oswl", k, ordered=False), slow=k == 2)
    for k, largest in ((1, 7), (2, 6)):
        yield inclusion(
            "Appendix, DS-GNN edge-deleted",
            WLTest("vs-oswl", k, what="edge"),
            WLTest("vs-oswl", 2 * k),
            largest,
            slow=True,
        )
    for hops in (1, 2):
        for place, test, bound in (
            ("Proposition 5", WLTest("id", hops=hops), WLTest("oswl", 1)),
            ("Proposition 5", WLTest("nested", hops=hops), WLTest("oswl", 1)),
            ("Proposition 5", WLTest("kernel", hops=hops), WLTest("oswl", 1)),
            ("Appendix, DS-GNN ego-nets", WLTest("vs-oswl", what="ego", hops=hops), WLTest("vs-oswl", 1)),
            (
                "Appendix, DS-GNN ego-nets",
                WLTest("vs-oswl", what="ego", hops=hops, mark_center=True),
                WLTest("vs-oswl", 1),
            ),
        ):
            yield inclusion(place, test, WLTest("wl", 2))
            yield inclusion(place, test, bound)
    yield inclusion("Appendix, k-ID-GNN", WLTest("id", 2, hops=2), WLTest("oswl", 2), largest=6, slow=True)
    yield inclusion("(beyond the paper)", WLTest("dss", 1), WLTest("wl", 2))
    pair = icosahedral_pair()
    name = f"decorated icosahedra (n = {pair[0].num_vertices})"
    for test in (WLTest("kernel", hops=1), WLTest("nested", hops=1), WLTest("id", hops=1)):
        yield Check(
            "Proposition 5",
            f"{test} separates only what 1-OSWL separates",
            name,
            True,
            lambda limit, test=test: (  # type: ignore[misc]
                not distinguishes(*pair, test, max_memory=limit)
                or distinguishes(*pair, WLTest("oswl", 1), max_memory=limit)
            ),
        )
    for one in (WLTest("dss", 1, operation="delete"), WLTest("dss", what="ego", hops=1)):
        for other in both(1):
            yield Check(
                "footnote (open question)",
                f"{one} separates a pair that {other} does not",
                name,
                True,
                sometimes_more(one, other, pair),
            )
