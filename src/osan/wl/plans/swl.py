"""Subgraph Weisfeiler-Leman tests: one marked vertex, and any set of aggregations (Zhang et al. 2023)."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from osan.wl.changed import Changed
from osan.wl.copies import Copies, chosen_subgraphs, vertex_of
from osan.wl.encode import Colors, Encoded, Ints
from osan.wl.plans.plan import Cost, Plan, PlanBuilder, copies_cost, copies_plan, graphs_differ
from osan.wl.reasons import copy_reasons
from osan.wl.relabel import combine, multisets
from osan.wl.steps import Step, neighbors_step, per_vertex

if TYPE_CHECKING:
    from osan.wl.settings import WLTest

# What C(u, v), the color of v in the graph with u marked, can see beside itself, as in Zhang et al. (2023):
# local, global and pointwise aggregations, with the words of certificates.
AGGREGATIONS = {
    "Lu": "neighbors",  # C(u, w) for w in N(v)
    "Lv": "same vertex, mark moved to its neighbors",  # C(w, v) for w in N(u)
    "Gu": "everyone",  # C(u, w) for w in V(G)
    "Gv": "copies",  # C(w, v) for w in V(G)
    "Puu": "mark itself",  # C(u, u)
    "Pvv": "own subgraph",  # C(v, v)
    "Pvu": "exchanged",  # C(v, u)
}
_FIXED = {
    "k": 1,
    "neighborhood": "edges",
    "ordered": False,
    "operation": "mark",
    "what": "vertex",
    "hops": None,
    "mark_center": False,
    "oblivious": False,
}
_NAMES = {
    ("Lu",): "SWL",
    ("Lu", "Pvv"): "PSWL",
    ("Lu", "Gv"): "GSWL",
    ("Lu", "Lv"): "SSWL",
}


def _build(encoded: Encoded, test: WLTest, by_vertex: bool) -> Plan:
    copies, start = chosen_subgraphs(encoded, test)
    seen = _seen(test)

    def aggregate(colors: Colors) -> tuple[Colors | None, Colors | None]:
        if by_vertex:
            return per_vertex(encoded, copies, colors), None
        return None, multisets(colors, copies.copy_ptr)

    return copies_plan(
        encoded,
        copies,
        start,
        _step(encoded, copies, seen),
        aggregate,
        graphs_differ(copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, per_vertex=by_vertex),
        Changed(encoded, copies) if seen == ("Lu",) else None,
        lambda: copy_reasons(
            encoded, copies, test, start, tuple(AGGREGATIONS[name] for name in seen), by_vertex
        ),
    )


def _seen(test: WLTest) -> tuple[str, ...]:
    assert isinstance(test.aggregations, tuple)  # a text becomes a tuple when the test is made
    return test.aggregations


def _step(encoded: Encoded, copies: Copies, seen: tuple[str, ...]) -> Step:
    within = neighbors_step(encoded, copies)
    if seen == ("Lu",):
        return within
    sizes = encoded.sizes[copies.graph]
    vertex = vertex_of(encoded, copies)
    swap, mark, own = _places(encoded, copies)
    views: dict[str, Callable[[Colors, bool], Colors]] = {
        "Lu": lambda colors, verify: within(colors, verify)[0],
        "Lv": lambda colors, verify: within(colors[swap], verify)[0][swap],
        "Gu": lambda colors, _: np.repeat(multisets(colors, copies.copy_ptr), sizes),
        "Gv": lambda colors, _: per_vertex(encoded, copies, colors)[vertex],
        "Puu": lambda colors, _: colors[mark],
        "Pvv": lambda colors, _: colors[own],
        "Pvu": lambda colors, _: colors[swap],
    }

    def step(colors: Colors, verify: bool) -> tuple[Colors, int]:
        finer = colors
        for name in seen:
            finer = combine(finer, views[name](colors, verify))
        return finer, int(finer.max(initial=-1)) + 1

    return step


def _places(encoded: Encoded, copies: Copies) -> tuple[Ints, Ints, Ints]:
    """Where C(v, u), C(u, u) and C(v, v) are, for every copy (u, v)."""
    found: tuple[list[Ints], list[Ints], list[Ints]] = ([], [], [])
    for graph, n in enumerate(encoded.sizes.tolist()):
        matrix = copies.copy_ptr[copies.subgraph_ptr[graph]] + np.arange(n * n).reshape(n, n)
        diagonal = np.broadcast_to(matrix.diagonal(), (n, n))
        for part, places in zip(found, (matrix.T, diagonal.T, diagonal), strict=True):
            part.append(places.ravel())
    swap, mark, own = (np.concatenate(part) for part in found)
    return swap, mark, own


def _cost(test: WLTest, n: int, m: int) -> Cost:
    cost = copies_cost(n, n, m, width=1)
    return Cost(cost.memory + 40 * n * n, cost.updates * max(1, len(_seen(test))))


def _title(test: WLTest, by_vertex: bool) -> str:
    seen = _seen(test)
    name = _NAMES.get(seen, f"SWL{{{', '.join(seen)}}}")
    return f"{name}({'SV' if by_vertex else 'VS'})"


def _builder(by_vertex: bool, seen: tuple[str, ...] | None = None) -> PlanBuilder:
    return PlanBuilder(
        partial(_build, by_vertex=by_vertex),
        _cost,
        partial(_title, by_vertex=by_vertex),
        _FIXED if seen is None else {**_FIXED, "aggregations": seen},
    )


# Without a prefix the color of a graph is a multiset over vertices of multisets over marks (SV).
SWL_PLANS = {
    f"{prefix}{name}": _builder(not prefix, seen)
    for name, seen in (("swl", None), ("pswl", ("Lu", "Pvv")), ("gswl", ("Lu", "Gv")), ("sswl", ("Lu", "Lv")))
    for prefix in ("", "vs-")
}
