"""The tests by name. To add one, write its :class:`PlanBuilder` and add a line to :data:`PLANS`."""

from osan.wl.plans.ego import ID, KERNEL, NESTED
from osan.wl.plans.oswl import DSS, OSWL, VERTEX_SUBGRAPH_OSWL
from osan.wl.plans.plan import Cost, Plan, PlanBuilder, copies_cost, copies_plan, graphs_differ
from osan.wl.plans.swl import AGGREGATIONS, SWL_PLANS
from osan.wl.plans.wl import WL

PLANS: dict[str, PlanBuilder] = {
    "wl": WL,
    "oswl": OSWL,
    "vs-oswl": VERTEX_SUBGRAPH_OSWL,
    "id": ID,
    "nested": NESTED,
    "kernel": KERNEL,
    "dss": DSS,
    **SWL_PLANS,
}

__all__ = [
    "AGGREGATIONS",
    "PLANS",
    "SWL_PLANS",
    "Cost",
    "Plan",
    "PlanBuilder",
    "copies_cost",
    "copies_plan",
    "graphs_differ",
]
