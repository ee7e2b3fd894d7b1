"""1-WL and k-WL."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from osan.wl.changed import Changed
from osan.wl.copies import whole_graphs
from osan.wl.encode import Encoded
from osan.wl.plans.plan import BYTES_PER_COPY, Cost, Plan, PlanBuilder, copies_cost, graphs_differ
from osan.wl.reasons import copy_reasons, tuple_reasons
from osan.wl.steps import refinement_step
from osan.wl.tuples import Tuples

if TYPE_CHECKING:
    from osan.wl.settings import WLTest


def _refines_tuples(test: WLTest) -> bool:
    return test.k > 1 or test.oblivious


def _build(encoded: Encoded, test: WLTest) -> Plan:
    return _tuples_plan(encoded, test) if _refines_tuples(test) else _vertices_plan(encoded, test)


def _vertices_plan(encoded: Encoded, test: WLTest) -> Plan:
    copies, start = whole_graphs(encoded)
    return Plan(
        start=start,
        step=refinement_step(encoded),
        aggregate=lambda colors: (colors, None),
        per_graph=lambda colors: tuple(np.split(colors, encoded.vertex_ptr[1:-1])),
        members=None,
        subgraph_ptr=copies.subgraph_ptr,
        differ=graphs_differ(copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, per_vertex=True),
        changed=Changed(encoded, copies),
        reasons=lambda: copy_reasons(encoded, copies, test, start, ("neighbors",), per_vertex=True),
    )


def _tuples_plan(encoded: Encoded, test: WLTest) -> Plan:
    every = Tuples(encoded, test.k, test.oblivious)
    one_per_graph = np.arange(len(encoded.sizes) + 1)
    return Plan(
        start=every.start(),
        step=every.step,
        aggregate=lambda colors: (every.vertex_colors(colors), None),
        per_graph=every.per_graph,
        members=None,
        subgraph_ptr=one_per_graph,
        # Once stable, the colors of (v, ..., v) determine those of all tuples, so any difference counts.
        differ=graphs_differ(every.ptr, one_per_graph, np.diff(every.ptr), per_vertex=False),
        reasons=lambda: tuple_reasons(encoded, test.k, test.oblivious, every.ptr),
    )


def _cost(test: WLTest, n: int, m: int) -> Cost:
    if not _refines_tuples(test):
        return copies_cost(1, n, m, width=0)
    memory = int(n**test.k) * (BYTES_PER_COPY + 8 + 4 * test.k) + 4 * n * n
    return Cost(memory, int(n ** (test.k + 1)))


def _title(test: WLTest) -> str:
    return f"oblivious {test.k}-WL" if test.oblivious else f"{test.k}-WL"


WL = PlanBuilder(
    build=_build,
    cost=_cost,
    title=_title,
    fixed={
        "neighborhood": "edges",
        "ordered": True,
        "operation": "mark",
        "what": "vertex",
        "hops": None,
        "mark_center": False,
        "aggregations": None,
    },
    least_k=1,
)
