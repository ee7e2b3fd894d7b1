"""Solvers against brute-force enumeration, for every policy."""

import itertools

import networkx as nx
import numpy as np
import pytest
import torch
from enumeration import choices, data, per_graph, random_batch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch_geometric.data import Batch, Data, HeteroData

from osan.errors import OsanError
from osan.selection import Noise, Policy, Random, Selection, problem_for
from osan.selection.ground import GroundSet
from osan.selection.topk import _sorted_ranks, ranks

POLICIES = [
    "delete 1 vertex", "delete 3 vertices", "select 1 vertex", "select 4 vertices", "mark 2 vertices",
    "delete 1 edge", "delete 4 edges", "select 1 edge", "select 3 edges", "select 20 edges",
    "delete 1-ego", "delete 2-ego", "select 1-ego", "select 2-ego", "select 7-ego",
    "select 1-ego by sum", "delete 1-ego by sum", "select 2-ego by root", "delete 1-ego by root", "tree",
]  # fmt: skip


def value(policy: Policy, graph: nx.Graph, choice: np.ndarray, weights: np.ndarray) -> float:
    """What the best choice maximizes, from its definition."""
    if policy.what != "ego":
        return float(choice @ weights)
    net = 1 - choice if policy.operation == "delete" else choice
    if not net.any():
        return 0.0
    roots = [v for v in graph if set(nx.ego_graph(graph, v, policy.size)) == set(np.flatnonzero(net))]
    weight = {"mean": (net @ weights) / net.sum(), "sum": net @ weights, "root": None}[policy.by]
    sign = -1 if policy.operation == "delete" else 1
    if weight is None:
        return float(max(sign * weights[root] for root in roots))
    return sign * float(weight)


@pytest.mark.parametrize("text", POLICIES)
@pytest.mark.parametrize("seed", range(3))
def test_solvers_equal_enumeration(text, seed):
    policy = Policy.parse(text)
    graphs, batch = random_batch(seed, sizes=(8, 5, 1, 7, 2, 3))
    rows = batch.num_edges if policy.weighs_edges else batch.num_nodes
    weights = torch.randn(rows, 3, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    problem = problem_for(policy, batch)
    element_weights = problem.ground.gather(weights)
    choice = Selection(policy, noise=Noise("none"))(batch, weights).choice
    per_edge = policy.weighs_edges
    solved = per_graph(choice, batch, per_edge)
    weighed = per_graph(problem.ground.spread(element_weights), batch, per_edge)
    for graph, mine, theirs in zip(graphs, solved, weighed, strict=True):
        if per_edge and graph.number_of_edges() == 0:
            assert len(mine) == 0
            continue
        allowed = choices(policy, graph)
        for channel in range(3):
            best = max(value(policy, graph, z, theirs[:, channel]) for z in allowed)
            assert any((z == mine[:, channel]).all() for z in allowed)
            assert value(policy, graph, mine[:, channel], theirs[:, channel]) == pytest.approx(
                best, abs=1e-12
            )


@pytest.mark.parametrize(
    "text", ["select 3 vertices ordered", "delete 2 vertices ordered", "mark 4 vertices ordered"]
)
@pytest.mark.parametrize("seed", range(3))
def test_ordered_solvers_maximize_over_all_rank_vectors(text, seed):
    policy = Policy.parse(text)
    graphs, batch = random_batch(seed, sizes=(6, 4, 1, 3))
    weights = torch.randn(batch.num_nodes, 2, generator=torch.Generator().manual_seed(seed))
    choice = Selection(policy, noise=Noise("none"))(batch, weights).choice
    for graph, mine, theirs in zip(
        graphs, per_graph(choice, batch, False), per_graph(weights, batch, False), strict=True
    ):
        n = graph.number_of_nodes()
        size = max(n - policy.size, 1) if policy.operation == "delete" else min(policy.size, n)
        vectors = []
        for ranked in itertools.permutations(range(n), size):
            z = np.zeros(n)
            z[list(ranked)] = np.arange(size, 0, -1)  # rank r has value size + 1 - r
            vectors.append(z)
        for channel in range(2):
            # The state of the highest probability under the paper's p(z; theta) ~ exp <z, theta>.
            best = max(vectors, key=lambda z: z @ theirs[:, channel])
            assert (mine[:, channel] == best).all()


@pytest.mark.parametrize("seed", range(40))
def test_cover_equals_enumeration(seed):
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(1, 6)), int(rng.integers(1, 4))
    operation, size = ("delete", "select")[seed % 2], int(rng.integers(1, 5))
    policy = Policy(operation, "vertex", size, cover=True, count=m)
    keep = max(n - size, 1) if operation == "delete" else min(size, n)
    weights = rng.normal(size=(n, m)) if seed % 3 else rng.integers(-2, 3, size=(n, m)).astype(float)
    batch = Batch.from_data_list([data(nx.path_graph(n)), data(nx.path_graph(3))])
    both = torch.cat([torch.tensor(weights), torch.randn(3, m, dtype=torch.float64)])
    chosen = Selection(policy, noise=Noise("none"))(batch, both).choice[:n].numpy()
    assert (chosen.sum(0) == keep).all()
    best = (0, -np.inf)
    for sets in itertools.product(list(itertools.combinations(range(n), keep)), repeat=m):
        covered = len(set().union(*sets))
        total = sum(weights[list(s), channel].sum() for channel, s in enumerate(sets))
        best = max(best, (covered, total))
    assert (chosen.sum(1) > 0).sum() == best[0]
    assert (chosen * weights).sum() == pytest.approx(best[1], abs=1e-9)


@pytest.mark.parametrize(("n", "m", "keep"), [(25, 10, 22), (40, 3, 17), (40, 3, 10), (30, 6, 5), (30, 6, 4)])
def test_cover_equals_the_integer_program_on_larger_graphs(n, m, keep):
    from scipy.optimize import LinearConstraint, milp

    rng = np.random.default_rng(n + m)
    # Weights that agree over channels make coverage a real constraint.
    weights = rng.normal(size=(n, 1)) + 0.1 * rng.normal(size=(n, m))
    policy = Policy("select", "vertex", keep, cover=True, count=m)
    chosen = Selection(policy, noise=Noise("none"))(
        data(nx.path_graph(n)), torch.tensor(weights)
    ).choice.numpy()
    by_channel = np.kron(np.ones((1, n)), np.eye(m))
    by_vertex = np.kron(np.eye(n), np.ones((1, m)))
    low, high = (1, m) if m * keep >= n else (0, 1)
    program = milp(
        -weights.ravel(),
        integrality=np.ones(n * m),
        bounds=(0, 1),
        constraints=[LinearConstraint(by_channel, keep, keep), LinearConstraint(by_vertex, low, high)],
    )
    assert (chosen.sum(0) == keep).all()
    assert ((chosen.sum(1) >= low) & (chosen.sum(1) <= high)).all()
    assert (chosen * weights).sum() == pytest.approx(-program.fun, abs=1e-7)


@pytest.mark.parametrize(
    "text", [*POLICIES, "delete 2 vertices ordered", "cover delete 2 vertices", "cover select 3 vertices"]
)
def test_sizes_are_exact_when_all_weights_are_equal(text):
    policy = Policy.parse(text)
    graph = nx.circulant_graph(8, [1, 2])
    batch = Batch.from_data_list([data(graph)] * 3)
    rows = batch.num_edges if policy.weighs_edges else batch.num_nodes
    allowed = {tuple(z) for z in choices(policy, graph)} if policy.what != "tree" else None
    choice = Selection(policy, noise=Noise("none"))(batch, torch.ones(rows, 4)).choice
    for mine in per_graph((choice != 0).float(), batch, policy.weighs_edges):
        for z in mine.T:
            if allowed is None:
                edges = sorted(tuple(sorted(edge)) for edge in graph.edges)
                assert nx.is_tree(nx.Graph([edges[e] for e in np.flatnonzero(z)]))
                assert z.sum() == 7
            else:
                assert tuple(z) in allowed


@pytest.mark.parametrize(
    "text", ["select 1 vertex", "delete 1 edge", "select 1-ego", "tree", "cover select 1 vertex"]
)
def test_ties_are_broken_evenly(text):
    """On a cycle with equal weights, no vertex or edge is preferred (chi-square test)."""
    from scipy.stats import chisquare

    torch.manual_seed(0)
    policy = Policy.parse(text)
    batch = Batch.from_data_list([data(nx.cycle_graph(5))] * 300)
    rows = batch.num_edges if policy.weighs_edges else batch.num_nodes
    choice = Selection(policy, noise=Noise("none"))(batch, torch.zeros(rows, 2)).choice
    counts = np.sum([mine[:, 0] for mine in per_graph(choice, batch, policy.weighs_edges)], axis=0)
    # Counts of the members of a subset; the complement of a large one is counted instead.
    counts = counts if counts.sum() <= 300 * 2.5 else 300 - counts
    if policy.what == "ego":
        counts = counts / 3
    assert chisquare(counts).pvalue > 0.001


@pytest.mark.parametrize("text", ["delete 9 vertices", "delete 3 vertices", "delete 9 vertices ordered"])
def test_a_vertex_is_always_left(text):
    choice = Selection(text)(data(nx.path_graph(3)), torch.rand(3, 5)).choice
    assert ((choice != 0).sum(0) == 1).all()


def test_small_cases_are_defined():
    lonely = Data(edge_index=torch.zeros(2, 0, dtype=torch.long), num_nodes=1)
    triangle = data(nx.complete_graph(3))
    for text in (
        "delete 1 vertex",
        "select 5 vertices",
        "select 2-ego",
        "delete 1-ego",
        "cover delete 1 vertex",
    ):
        assert Selection(text)(lonely, torch.rand(1, 2)).choice.eq(1).all()
    # Every ego-net of a triangle is the triangle, so nothing is deleted.
    assert Selection("delete 1-ego")(triangle, torch.rand(3, 2)).choice.eq(1).all()
    # All edges may go, and a graph without edges among others has none to choose.
    batch = Batch.from_data_list([lonely, triangle])
    assert Selection("delete 5 edges")(batch, torch.rand(6, 2)).choice.eq(0).all()
    assert Selection("tree")(batch, torch.rand(6, 2)).choice.sum() == 2 * 2 * 2


def test_parallel_edges_self_loops_and_single_arcs():
    index = torch.tensor([[0, 1, 0, 1, 1, 2], [1, 0, 1, 0, 1, 0]])  # 0-1 twice, a loop at 1, the arc 2 -> 0
    graph = Data(edge_index=index, num_nodes=3)
    ground = problem_for(Policy.parse("select 1 edge"), graph).ground
    assert ground.num_elements == 4
    first, second = ground.element[[0, 2]]
    assert first != second
    assert (ground.element[:4] == torch.stack([first, first, second, second])).all()
    weights = torch.tensor([[3.0], [3.0], [4.0], [4.0], [9.0], [1.0]])
    tree = Selection("tree", noise=Noise("none"))(graph, weights).choice
    assert tree.T.tolist() == [[0, 0, 1, 1, 0, 1]]


@pytest.mark.parametrize("given", [HeteroData(), [data(nx.path_graph(2))], Data(num_nodes=2)])
def test_what_is_not_a_graph_is_named(given):
    with pytest.raises(OsanError, match=f"edge_index.*got a {type(given).__name__}"):
        Selection("delete 1 vertex")(given, torch.zeros(2, 1))


def test_wrong_weights_are_refused():
    with pytest.raises(OsanError, match=r"\[4, m\] for 4 vertices"):
        Selection("delete 1 vertex")(data(nx.path_graph(4)), torch.rand(5, 2))
    with pytest.raises(OsanError, match="at least 1"):
        Selection("delete 1 vertex")(data(nx.path_graph(4)), torch.rand(4, 0))
    with pytest.raises(OsanError, match=r"\[6, m\] for 6 edges"):
        Selection("delete 1 edge")(data(nx.path_graph(4)), torch.rand(4, 2))


@settings(deadline=None, max_examples=40)
@given(
    sizes=st.lists(st.integers(1, 9), min_size=1, max_size=5),
    text=st.sampled_from([p for p in POLICIES if "edge" not in p and p != "tree"]),
    seed=st.integers(0, 2**30),
)
def test_a_batch_is_solved_as_its_graphs_are(sizes, text, seed):
    _, batch = random_batch(seed % 1000, tuple(sizes))
    weights = torch.randn(batch.num_nodes, 2, generator=torch.Generator().manual_seed(seed))
    select = Selection(text, noise=Noise("none"))
    together = select(batch, weights).choice
    for number, single in enumerate(batch.to_data_list()):
        mine = batch.batch == number
        assert torch.equal(select(single, weights[mine]).choice, together[mine])


def test_random_choices_are_uniform_over_subsets_and_centers():
    from scipy.stats import chisquare

    torch.manual_seed(1)
    star = nx.star_graph(3)
    batch = Batch.from_data_list([data(star)] * 600)
    for text in ("select 2 vertices", "delete 1 edge", "select 1-ego"):
        policy = Policy.parse(text)
        rows = batch.num_edges if policy.weighs_edges else batch.num_nodes
        weights = torch.linspace(-9, 9, rows).unsqueeze(1)
        drawn = Selection(policy, Random())(batch, weights).choice
        kinds = [tuple(z) for z in choices(policy, star)]
        seen = [tuple(z[:, 0]) for z in per_graph(drawn, batch, policy.weighs_edges)]
        assert chisquare([seen.count(kind) for kind in kinds]).pvalue > 0.001


def test_ranks_are_those_of_a_sort_of_pairs():
    """By descending weight, then ascending tie: short and long graphs, equal and masked weights."""
    torch.manual_seed(0)
    sizes = torch.tensor([0, 1, 30, 0, 64, 65, 200])
    graph = torch.repeat_interleave(sizes)
    position = torch.cat([torch.arange(n) for n in sizes.tolist()])
    ground = GroundSet(graph, position, sizes)
    weights, tie = torch.randint(-3, 4, (len(graph), 2)).float(), torch.rand(len(graph), 2).double()
    weights[::7] = -torch.inf
    found = ranks(weights, tie, ground)
    assert torch.equal(found, _sorted_ranks(weights, tie, ground))
    for g in range(len(sizes)):
        for i in range(2):
            rows = torch.nonzero(graph == g).flatten().tolist()
            order = sorted(rows, key=lambda r, i=i: (-weights[r, i].item(), tie[r, i].item()))
            assert [int(found[r, i]) for r in order] == list(range(len(rows)))
