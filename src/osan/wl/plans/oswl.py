"""Tests over a bag of subgraphs: k-OSWL, vertex-subgraph k-OSWL and DSS-WL."""

from __future__ import annotations

from typing import TYPE_CHECKING

from osan.wl.copies import chosen_subgraphs, count_chosen
from osan.wl.encode import Encoded
from osan.wl.plans.plan import Cost, Plan, PlanBuilder, copies_cost, copies_plan, graphs_differ
from osan.wl.reasons import copy_reasons
from osan.wl.relabel import multisets
from osan.wl.steps import dss_step, per_vertex, within_changed, within_step

if TYPE_CHECKING:
    from osan.wl.settings import WLTest


def _oswl(encoded: Encoded, test: WLTest) -> Plan:
    """First the multiset of each vertex over subgraphs, then one over vertices."""
    copies, start = chosen_subgraphs(encoded, test)
    return copies_plan(
        encoded,
        copies,
        start,
        within_step(encoded, test, copies),
        lambda colors: (per_vertex(encoded, copies, colors), None),
        graphs_differ(copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, per_vertex=True),
        within_changed(encoded, test, copies),
        lambda: copy_reasons(encoded, copies, test, start, _seen(test), per_vertex=True),
    )


def _vertex_subgraph_oswl(encoded: Encoded, test: WLTest) -> Plan:
    """First the multiset of each subgraph over vertices, then one over subgraphs."""
    copies, start = chosen_subgraphs(encoded, test)
    return copies_plan(
        encoded,
        copies,
        start,
        within_step(encoded, test, copies),
        lambda colors: (None, multisets(colors, copies.copy_ptr)),
        graphs_differ(copies.copy_ptr, copies.subgraph_ptr, encoded.sizes, per_vertex=False),
        within_changed(encoded, test, copies),
        lambda: copy_reasons(encoded, copies, test, start, _seen(test), per_vertex=False),
    )


def _dss(encoded: Encoded, test: WLTest) -> Plan:
    copies, start = chosen_subgraphs(encoded, test)
    return copies_plan(
        encoded,
        copies,
        start,
        dss_step(encoded, copies),
        lambda colors: (None, multisets(colors, copies.copy_ptr)),
        reasons=lambda: copy_reasons(
            encoded, copies, test, start, ("neighbors", "copies", "copies of neighbors"), per_vertex=False
        ),
    )


def _seen(test: WLTest) -> tuple[str, ...]:
    return ("everyone",) if test.neighborhood == "all" else ("neighbors",)


def _cost(test: WLTest, n: int, m: int) -> Cost:
    return copies_cost(count_chosen(test, n, m), n, m, width=test.k, pairs=bool(test.ordered) and test.k > 0)


def ball(test: WLTest) -> str:
    """The ego-nets of a test in words."""
    return "ego" if test.hops is None else f"{test.hops}-ego"


def _policy(test: WLTest) -> str:
    """What is done with what, in words."""
    if test.what == "ego":
        return f"{test.operation} {ball(test)}{'+' if test.mark_center else ''}"
    return f"{test.operation} {test.k} {test.what}"


def _everyone(test: WLTest) -> str:
    return ", V(G)" if test.neighborhood == "all" else ""


def _oswl_title(test: WLTest, prefix: str = "") -> str:
    if test.what == "vertex" and test.operation == "mark":
        text = f"{prefix}{test.k}-OSWL" + ("" if test.ordered else ", unordered")
    else:
        text = f"{prefix}OSWL, {_policy(test)}"
    return text + _everyone(test)


def _dss_title(test: WLTest) -> str:
    if test.what == "vertex" and test.operation == "mark":
        return f"DSS-WL{'' if test.ordered else ', unordered'}, mark {test.k}"
    return f"DSS-WL, {_policy(test)}"


OSWL = PlanBuilder(_oswl, _cost, _oswl_title, {"oblivious": False, "aggregations": None})
VERTEX_SUBGRAPH_OSWL = PlanBuilder(
    _vertex_subgraph_oswl,
    _cost,
    lambda test: _oswl_title(test, "vertex-subgraph "),
    {"oblivious": False, "aggregations": None},
)
DSS = PlanBuilder(
    _dss, _cost, _dss_title, {"neighborhood": "edges", "oblivious": False, "aggregations": None}
)
