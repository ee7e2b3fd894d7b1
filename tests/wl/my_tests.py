"""A custom test, in one file: 1-WL that also sees the multiset of colors two steps away."""

import numpy as np

from osan.wl.plans import PLANS, Plan, PlanBuilder, copies_cost
from osan.wl.relabel import combine


def build(encoded, test) -> Plan:
    plain = PLANS["wl"].build(encoded, test)

    def step(colors, verify):
        once, _ = plain.step(colors, verify)
        twice, _ = plain.step(once, verify)
        finer = combine(once, twice)
        return finer, int(finer.max(initial=-1)) + 1

    return Plan(
        plain.start, step, plain.aggregate, plain.per_graph, plain.members, plain.subgraph_ptr, plain.differ
    )


two_steps = PlanBuilder(
    build=build,
    cost=lambda test, n, m: copies_cost(1, n, m, width=0),
    title=lambda test: "two-step 1-WL",
    fixed=PLANS["wl"].fixed | {"k": 1, "oblivious": False},
    least_k=1,
)
not_a_builder = np.zeros(1)
