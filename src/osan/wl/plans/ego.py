"""Tests over the ego-nets of all vertices: ID-GNN, nested GNN and GNN-as-kernel."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from osan.graphs import Graph
from osan.wl.changed import Changed
from osan.wl.copies import chosen_subgraphs, count_walks, walk_subgraphs
from osan.wl.encode import Colors, Encoded, pointers
from osan.wl.plans.oswl import ball
from osan.wl.plans.plan import Cost, Plan, PlanBuilder, copies_cost, copies_plan
from osan.wl.reasons import Reasons, copy_reasons
from osan.wl.relabel import multisets
from osan.wl.steps import kernel_step, neighbors_step

if TYPE_CHECKING:
    from osan.wl.settings import WLTest

_EGO_NETS = {
    "neighborhood": "edges",
    "oblivious": False,
    "ordered": False,
    "operation": "select",
    "what": "ego",
    "mark_center": False,
    "aggregations": None,
}


def _id(encoded: Encoded, test: WLTest) -> Plan:
    """A vertex has the multiset of its colors over the walks that begin with it."""
    copies, start = walk_subgraphs(encoded, test)
    first = copies.members[:, 0]
    starts = encoded.vertex_ptr[copies.graph] + first
    order = np.argsort(starts, kind="stable")
    ptr = pointers(np.bincount(starts, minlength=len(encoded.labels)))

    def aggregate(colors: Colors) -> tuple[Colors, None]:
        return multisets(colors[copies.copy_ptr[:-1] + first][order], ptr), None

    def reasons() -> Reasons:
        usual = copy_reasons(encoded, copies, test, start, ("neighbors",), per_vertex=True)
        walks = copies.copy_ptr[:-1] + first
        return usual._replace(places=lambda vertex: walks[order[ptr[vertex] : ptr[vertex + 1]]])

    return copies_plan(
        encoded,
        copies,
        start,
        neighbors_step(encoded, copies),
        aggregate,
        changed=Changed(encoded, copies),
        reasons=reasons,
    )


def _nested(encoded: Encoded, test: WLTest) -> Plan:
    """A vertex has the multiset of the colors in its ego-net."""
    copies, start = chosen_subgraphs(encoded, test)

    def aggregate(colors: Colors) -> tuple[Colors, Colors]:
        of_net = multisets(colors, copies.copy_ptr)
        return of_net, of_net

    return copies_plan(
        encoded,
        copies,
        start,
        neighbors_step(encoded, copies),
        aggregate,
        changed=Changed(encoded, copies),
        reasons=lambda: copy_reasons(encoded, copies, test, start, ("neighbors",), per_vertex=False),
    )


def _kernel(encoded: Encoded, test: WLTest) -> Plan:
    """Refines the colors of vertices; ego-nets start anew in every round."""
    copies, start = chosen_subgraphs(encoded, test)
    return Plan(
        start=encoded.labels,
        step=kernel_step(encoded, copies, start),
        aggregate=lambda colors: (colors, None),
        per_graph=lambda colors: tuple(np.split(colors, encoded.vertex_ptr[1:-1])),
        members=copies.members,
        subgraph_ptr=copies.subgraph_ptr,
    )


def _cost(test: WLTest, n: int, m: int) -> Cost:
    return copies_cost(int(n**test.k), n, m, width=test.k)


def _walks_cost(test: WLTest, graph: Graph) -> Cost:
    walks = count_walks(graph, test.k)
    return copies_cost(walks, graph.num_vertices, graph.num_edges, width=2 * test.k)


def _title(name: str, test: WLTest) -> str:
    text = f"{test.k}-{name}" if test.k > 1 else name
    return f"{text} test" if test.hops is None else f"{text} test, {ball(test)}"


ID = PlanBuilder(
    _id,
    _cost,
    partial(_title, "ID-GNN"),
    {**_EGO_NETS, "mark_center": True},
    least_k=1,
    exact_cost=_walks_cost,
)
NESTED = PlanBuilder(_nested, _cost, partial(_title, "nested GNN"), {"k": 1, **_EGO_NETS})
KERNEL = PlanBuilder(_kernel, _cost, partial(_title, "GNN-as-kernel"), {"k": 1, **_EGO_NETS})
