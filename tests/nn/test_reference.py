"""Every policy and architecture against the obvious slow way.

Each subgraph is built as a PyG ``Data`` of its own by a Python loop; the same weights run through plain PyG
on ``Batch.from_data_list``; pooling and aggregation are Python loops. Predictions and the gradients of all
parameters are compared.
"""

import itertools
from dataclasses import dataclass, field
from functools import partial

import networkx as nx
import pytest
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.nn import GATConv, SAGEConv
from torch_geometric.utils import to_networkx

from osan import bags, nn
from osan.nn.convolution import AllConv, MarkedConv, takes_edge_features
from osan.nn.dss import SharingStack
from osan.nn.network import LearnedAdmission

WIDTH = 6


def make_batch():
    """A cycle with a chord, a path with a self-loop, one vertex, two isolated ones, a star."""
    generator = torch.Generator().manual_seed(3)
    looped = nx.path_graph(4)
    looped.add_edge(2, 2)
    graphs = [nx.cycle_graph(5), looped, nx.empty_graph(1), nx.empty_graph(2), nx.star_graph(3)]
    graphs[0].add_edge(0, 2)
    out = []
    for graph in graphs:
        columns = [e for u, v in graph.edges() for e in ([(u, v)] if u == v else [(u, v), (v, u)])]
        edge_index = torch.tensor(columns, dtype=torch.long).reshape(-1, 2).t()
        edge_index = edge_index[:, torch.randperm(edge_index.size(1), generator=generator)]
        out.append(
            Data(
                x=torch.randint(0, 3, (graph.number_of_nodes(), 1), generator=generator),
                edge_index=edge_index,
                edge_attr=torch.randint(0, 3, (edge_index.size(1), 1), generator=generator),
            )
        )
    return out


GRAPHS = make_batch()
BATCH = Batch.from_data_list(GRAPHS)


@dataclass
class Sub:
    """One subgraph, named by the vertices and columns of its own graph."""

    graph: int
    vertices: list
    columns: list
    marks: set = field(default_factory=set)
    tuple: tuple = ()
    ranks: dict = field(default_factory=dict)
    edge_marks: set | None = None
    pooled: set | None = None  # None: all vertices


def columns_within(data, vertices):
    return [c for c, (u, v) in enumerate(data.edge_index.t().tolist()) if u in vertices and v in vertices]


def undirected(data):
    pairs = {}
    for c, (u, v) in enumerate(data.edge_index.t().tolist()):
        pairs.setdefault((min(u, v), max(u, v)), []).append(c)
    return [pairs[key] for key in sorted(pairs)]


def each_graph(make):
    return [sub for g, data in enumerate(GRAPHS) for sub in make(g, data, range(data.num_nodes))]


def whole(g, data):
    return Sub(g, list(range(data.num_nodes)), list(range(data.num_edges)))


def slow_subsets(k, operation, deleted="masked", whole_graph=False):
    def make(g, data, vertices):
        for chosen in itertools.combinations(vertices, min(k, len(vertices))):
            kept = [v for v in vertices if (v in chosen) == (operation == "select")]
            everything = list(range(data.num_edges))
            if operation == "mark":
                yield Sub(g, list(vertices), everything, marks=set(chosen), tuple=chosen)
            elif deleted == "isolated":
                yield Sub(g, list(vertices), columns_within(data, kept), tuple=chosen)
            elif deleted == "unpooled":
                yield Sub(g, list(vertices), everything, tuple=chosen, pooled=set(kept))
            else:
                yield Sub(g, kept, columns_within(data, kept), tuple=chosen)
        if whole_graph:
            yield whole(g, data)

    return each_graph(make)


def slow_tuples(k):
    def make(g, data, vertices):
        for t in itertools.product(vertices, repeat=k):
            yield Sub(g, list(vertices), list(range(data.num_edges)), marks=set(t), tuple=t)

    return each_graph(make)


def slow_edges(k, operation):
    def make(g, data, vertices):
        edges = undirected(data)
        for chosen in itertools.combinations(edges, min(k, len(edges))):
            named = {c for pair in chosen for c in pair}
            everything = set(range(data.num_edges))
            if operation == "mark":
                yield Sub(g, list(vertices), sorted(everything), edge_marks=named)
            elif operation == "delete":
                yield Sub(g, list(vertices), sorted(everything - named))
            else:
                touched = sorted(set(data.edge_index[:, sorted(named)].flatten().tolist()))
                yield Sub(g, touched, sorted(named))

    return each_graph(make)


def ball(data, centre, hops):
    graph = to_networkx(data, to_undirected=True)
    return sorted(nx.single_source_shortest_path_length(graph, centre, cutoff=hops))


def slow_egos(hops, mark_centre=False, deleted="masked"):
    def make(g, data, vertices):
        for v in vertices:
            ego = ball(data, v, hops)
            there = list(vertices) if deleted == "isolated" else ego
            yield Sub(g, there, columns_within(data, ego), marks={v} if mark_centre else set(), tuple=(v,))

    return each_graph(make)


def slow_walks(k, hops):
    def make(g, data, vertices):
        arcs = set(map(tuple, data.edge_index.t().tolist()))
        for t in itertools.product(vertices, repeat=k):
            if all(step in arcs for step in itertools.pairwise(t)):
                ego = ball(data, t[0], hops)
                yield Sub(g, ego, columns_within(data, ego), marks=set(t), tuple=t)

    return each_graph(make)


def slow_random(bag_subsets, deleted):
    """The random sets that a bag drew, made into subgraphs the slow way."""
    subs = []
    for g, row in zip(bag_subsets.graph.tolist(), bag_subsets.tuples.tolist(), strict=True):
        data, first = GRAPHS[g], int(BATCH.ptr[g])
        gone = {v - first for v in row if v >= 0}
        kept = [v for v in range(data.num_nodes) if v not in gone]
        subs.append(Sub(g, kept, columns_within(data, kept)))
    return subs


# --- the slow network ---------------------------------------------------------------------------------------


def as_data(sub):
    data = GRAPHS[sub.graph]
    place = {v: i for i, v in enumerate(sub.vertices)}
    ends = [[place[u], place[v]] for u, v in data.edge_index[:, sub.columns].t().tolist()]
    return Data(
        num_nodes=len(sub.vertices),
        x=data.x[sub.vertices],
        edge_index=torch.tensor(ends, dtype=torch.long).reshape(-1, 2).t(),
        edge_attr=data.edge_attr[sub.columns],
        edge_mark=torch.tensor([c in (sub.edge_marks or ()) for c in sub.columns], dtype=torch.long),
        mark=torch.tensor([v in sub.marks for v in sub.vertices], dtype=torch.long),
    )


def slow_types(sub):
    """Atomic types relative to the tuple, one comparison at a time."""
    data = GRAPHS[sub.graph]
    arcs = data.edge_index.t().tolist()

    def relations(pairs):
        return (
            [int(u == v) for u, v in pairs]
            + [arcs.count([u, v]) for u, v in pairs]
            + [arcs.count([v, u]) for u, v in pairs]
        )

    t = sub.tuple
    within = relations([(a, b) for a in t for b in t])
    return [relations([(v, a) for a in t]) + within for v in sub.vertices]


def slow_initial(initial, subs, dtype):
    """Initial features, vertex by vertex."""
    rows = []
    for sub in subs:
        data = GRAPHS[sub.graph]
        if initial.vertex_encoder is None:
            encoded = initial.constant.expand(data.num_nodes, -1)
        else:
            encoded = initial.vertex_encoder(data.x)
        types = slow_types(sub) if initial.types is not None else None
        for i, v in enumerate(sub.vertices):
            row = encoded[v]
            if types is not None:
                row = row + initial.types.weight @ torch.tensor(types[i], dtype=dtype)
                row = row + initial.labels.weight @ torch.cat([encoded[a] for a in sub.tuple])
            if initial.mark is not None:
                row = row + int(v in sub.marks) * initial.mark
            if initial.rows is not None or initial.ranks is not None:
                rank = sub.ranks.get(v, 0)
                if initial.ranks is not None:
                    row = row + initial.ranks.weight[rank]
                else:
                    adjacency = torch.zeros(initial.num_ranks, dtype=dtype)
                    for c in sub.columns:
                        u, w = data.edge_index[:, c].tolist()
                        if w == v and rank and sub.ranks.get(u, 0):
                            adjacency[sub.ranks[u] - 1] += 1
                    row = row + initial.rows.weight @ adjacency
            rows.append(row)
    return torch.stack(rows) if rows else torch.empty(0, WIDTH, dtype=dtype)


def slow_layer(layer, h, big):
    conv = layer.conv
    features = {}
    if layer.edge_encoder is not None:
        rows = layer.edge_encoder(big.edge_attr)
        if bool(big.edge_mark.any()):
            rows = rows + big.edge_mark[:, None].to(rows.dtype) * layer.edge_mark
        features = {"edge_attr": rows}
    if isinstance(conv, AllConv):
        parts = [h[big.batch == i] for i in range(big.num_graphs)]
        h = conv.mlp(h + torch.cat([p.sum(0, keepdim=True).expand_as(p) for p in parts]))
    elif isinstance(conv, MarkedConv):
        marked = big.mark[big.edge_index[0]] == 1
        h = sum(
            part(h, big.edge_index[:, edges], **{k: v[edges] for k, v in features.items()})
            for part, edges in ((conv.marked, marked), (conv.unmarked, ~marked))
        )
    else:
        h = conv(h, big.edge_index, **features)
    return h if layer.norm is None else torch.nn.BatchNorm1d.forward(layer.norm, h)


def slow_stack(stack, h, big, subs):
    if isinstance(stack, SharingStack):
        return slow_sharing(stack, h, big, subs)
    for layer in stack.layers:
        out = slow_layer(layer, h, big)
        out = out if layer.activation is None else layer.activation(out)
        h = out + h if layer.residual else out
    return h


def slow_sharing(stack, h, big, subs):
    """DSS: the second layer runs on the graph itself with the means over a vertex's copies."""
    owner = [(sub.graph, v) for sub in subs for v in sub.vertices]
    keys = [(g, v) for g, data in enumerate(GRAPHS) for v in range(data.num_nodes)]
    everything = Batch.from_data_list([as_data(whole(g, data)) for g, data in enumerate(GRAPHS)])
    for inside, between in zip(stack.inside, stack.between, strict=True):
        shared = torch.stack([h[[i for i, o in enumerate(owner) if o == key]].mean(0) for key in keys])
        second = slow_stack(between, shared, everything, None)
        h = slow_stack(inside, h, big, None) + second[[keys.index(o) for o in owner]]
        h = stack.activation(h)
    return h


def slow_pool(pool, rows):
    """Pool a list of rows into one."""
    width = pool.out_width // 2 if pool.name == "set2set" else pool.out_width
    if not len(rows) and pool.name != "set2set":
        return torch.zeros(width, dtype=rows.dtype)
    if pool.name == "attention":
        return (torch.softmax(pool.gate(rows), 0) * rows).sum(0)
    if pool.name == "set2set":
        return pool.set2set(rows, torch.zeros(len(rows), dtype=torch.long), dim_size=1)[0]
    return {"sum": rows.sum(0), "mean": rows.mean(0), "max": rows.amax(0)}[pool.name]


def admitted(model, sub):
    """Which vertices of a subgraph admit it."""
    if model.admission is None:
        return [True] * len(sub.vertices)
    if isinstance(model.admission, LearnedAdmission):
        dtype = model.phi.linears[0].weight.dtype
        if model.admission.atomic == "ordered":
            types = torch.tensor(slow_types(sub), dtype=dtype)
        else:
            types = torch.tensor([[v in sub.marks] for v in sub.vertices], dtype=dtype)
        return (model.admission.mlp(types).flatten() > 0).tolist()
    return [v == sub.tuple[0] for v in sub.vertices]


def stacked(rows, width, dtype):
    return torch.stack(rows) if rows else torch.empty(0, width, dtype=dtype)


def slow_osan(model, subs):
    dtype = model.head.linears[0].weight.dtype
    big = Batch.from_data_list([as_data(sub) for sub in subs])
    h = slow_stack(model.stack, slow_initial(model.initial, subs, dtype), big, subs)
    start = [int(p) for p in big.ptr]
    admits = [admitted(model, sub) for sub in subs]
    here = [[sub.pooled is None or v in sub.pooled for v in sub.vertices] for sub in subs]
    rows = []
    for g, data in enumerate(GRAPHS):
        mine = [s for s, sub in enumerate(subs) if sub.graph == g]
        inner, outer, phi = model.inner, model.outer, model.phi
        if model.aggregation == "per-vertex":
            vertices = []
            for v in range(data.num_nodes):
                copies = [
                    h[start[s] + i]
                    for s in mine
                    for i, u in enumerate(subs[s].vertices)
                    if u == v and here[s][i] and admits[s][i]
                ]
                vertices.append(phi(slow_pool(inner, stacked(copies, WIDTH, dtype))))
            rows += vertices if model.task == "vertex" else [slow_pool(outer, torch.stack(vertices))]
            continue
        pooled = {
            s: slow_pool(
                inner, stacked([h[start[s] + i] for i in range(len(here[s])) if here[s][i]], WIDTH, dtype)
            )
            for s in mine
        }
        seen = [
            s
            for s in mine
            if model.admission is None or any(a and b for a, b in zip(admits[s], here[s], strict=True))
        ]
        if model.task == "graph":
            rows.append(slow_pool(outer, stacked([phi(pooled[s]) for s in seen], WIDTH, dtype)))
            continue
        for v in range(data.num_nodes):
            copies = [
                phi(torch.cat((h[start[s] + i], pooled[s])))
                for s in seen
                for i, u in enumerate(subs[s].vertices)
                if u == v and here[s][i]
            ]
            rows.append(slow_pool(outer, stacked(copies, WIDTH, dtype)))
    out = torch.stack(rows)
    if model.plain_start is not None:
        alone = [whole(g, data) for g, data in enumerate(GRAPHS)]
        big = Batch.from_data_list([as_data(sub) for sub in alone])
        h = slow_stack(model.plain, slow_initial(model.plain_start, alone, dtype), big, alone)
        if model.task == "graph":
            h = torch.stack([slow_pool(model.plain_readout, h[big.batch == g]) for g in range(len(GRAPHS))])
        out = torch.cat((out, h), dim=1)
    return model.head(out)


def slow_ego_network(model, subs):
    dtype = model.head.linears[0].weight.dtype
    alone = [whole(g, data) for g, data in enumerate(GRAPHS)]
    vertices = slow_initial(model.initial, alone, dtype)
    big = Batch.from_data_list([as_data(sub) for sub in subs])
    for stack, pool, phi in zip(model.stacks, model.pools, model.phis, strict=True):
        h = torch.stack([vertices[int(BATCH.ptr[sub.graph]) + v] for sub in subs for v in sub.vertices])
        h = slow_stack(stack, h, big, subs)
        vertices = torch.stack([phi(slow_pool(pool, h[big.batch == s])) for s in range(len(subs))])
    if model.task == "graph":
        vertices = torch.stack(
            [slow_pool(model.readout, vertices[BATCH.batch == g]) for g in range(len(GRAPHS))]
        )
    return model.head(vertices)


# --- the comparison -----------------------------------------------------------------------------------------


def compare(make_model, bag, subs, dtype, train=True):
    """Predictions and parameter gradients of both ways."""
    torch.manual_seed(0)
    model = make_model().to(dtype)
    if not train:
        randomise_statistics(model)
    model.train(train)
    network = model.network if isinstance(model, nn.PolicyNetwork) else model
    state = {name: value.clone() for name, value in network.state_dict().items()}
    found = network(BATCH, bag)
    target = torch.randn(found.shape, generator=torch.Generator().manual_seed(1), dtype=dtype)
    ((found - target) ** 2).sum().backward()
    gradients = {name: p.grad for name, p in network.named_parameters()}
    network.load_state_dict(state)
    network.zero_grad(set_to_none=True)
    slow = slow_ego_network if isinstance(network, nn.EgoNetwork) else slow_osan
    expected = slow(network, subs)
    ((expected - target) ** 2).sum().backward()
    close(found, expected, dtype, "prediction")
    for name, parameter in network.named_parameters():
        mine, theirs = gradients[name], parameter.grad
        zero = torch.zeros_like(parameter)
        close(zero if mine is None else mine, zero if theirs is None else theirs, dtype, name)
    used = [g for g in gradients.values() if g is not None and bool((g != 0).any())]
    assert len(used) > 4, "the comparison would be empty"


def close(found, expected, dtype, what):
    tolerance = 1e-10 if dtype == torch.float64 else 1e-5
    scale = max(1.0, float(expected.detach().abs().max())) if expected.numel() else 1.0
    error = float((found - expected).detach().abs().max()) / scale if expected.numel() else 0.0
    assert error < tolerance, f"{what}: {error:.1e}"


def randomise_statistics(model):
    for module in model.modules():
        if isinstance(module, torch.nn.BatchNorm1d):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)


def vertex_encoder():
    return nn.Categorical([3], WIDTH)


def edge_encoder():
    return nn.EdgeMLP([3], WIDTH)


def osan(**options):
    base = {"vertex_encoder": vertex_encoder(), "conv": "gine", "edge_encoder": edge_encoder, "norm": False}
    return nn.OSAN(WIDTH, 2, 2, **{**base, **options})


DTYPES = [torch.float64, torch.float32]
MARKED = {"atomic": "unordered"}
POLICIES = {
    "none": (bags.whole_graphs, lambda: each_graph(lambda g, data, _: [whole(g, data)]), {}),
    "delete 1": (partial(bags.all_subsets, k=1), partial(slow_subsets, 1, "delete"), {}),
    "delete 2, whole graph": (
        partial(bags.all_subsets, k=2, whole_graph=True),
        partial(slow_subsets, 2, "delete", whole_graph=True),
        {},
    ),
    "delete 1, isolated": (
        partial(bags.all_subsets, k=1, deleted="isolated"),
        partial(slow_subsets, 1, "delete", "isolated"),
        {},
    ),
    "delete 1, unpooled": (
        partial(bags.all_subsets, k=1, deleted="unpooled"),
        partial(slow_subsets, 1, "delete", "unpooled"),
        {},
    ),
    "select 3": (partial(bags.all_subsets, k=3, operation="select"), partial(slow_subsets, 3, "select"), {}),
    "mark 2": (partial(bags.all_subsets, k=2, operation="mark"), partial(slow_subsets, 2, "mark"), MARKED),
    "tuples 1": (partial(bags.all_tuples, k=1), partial(slow_tuples, 1), {"atomic": "ordered", "k": 1}),
    "tuples 2": (partial(bags.all_tuples, k=2), partial(slow_tuples, 2), {"atomic": "ordered", "k": 2}),
    "delete 1 edge": (partial(bags.all_edges, k=1), partial(slow_edges, 1, "delete"), {}),
    "delete 2 edges": (partial(bags.all_edges, k=2), partial(slow_edges, 2, "delete"), {}),
    "select 2 edges": (
        partial(bags.all_edges, k=2, operation="select"),
        partial(slow_edges, 2, "select"),
        {},
    ),
    "mark 1 edge": (partial(bags.all_edges, k=1, operation="mark"), partial(slow_edges, 1, "mark"), {}),
    "ego": (partial(bags.all_egos, hops=1), partial(slow_egos, 1), {}),
    "ego+": (partial(bags.all_egos, hops=2, mark_centre=True), partial(slow_egos, 2, True), MARKED),
    "walks": (partial(bags.all_walks, k=2, hops=1), partial(slow_walks, 2, 1), MARKED),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("name", POLICIES)
def test_policies(name, aggregation, dtype):
    policy, slow, options = POLICIES[name]
    compare(lambda: osan(aggregation=aggregation, **options), policy(BATCH), slow(), dtype)


ARCHITECTURES = {
    "1-OSAN": (partial(nn.k_osan, k=1), partial(slow_tuples, 1)),
    "vertex-subgraph 2-OSAN": (partial(nn.k_osan, k=2, aggregation="per-subgraph"), partial(slow_tuples, 2)),
    "0-OSAN": (partial(nn.k_osan, k=0), partial(slow_tuples, 0)),
    "marked": (partial(nn.marked_gnn, k=2), partial(slow_subsets, 2, "mark")),
    "marked, plain alongside": (
        partial(nn.marked_gnn, k=1, alongside=True),
        partial(slow_subsets, 1, "mark"),
    ),
    "reconstruction": (partial(nn.reconstruction_gnn, k=3), partial(slow_subsets, 3, "select")),
    "identity": (nn.identity_gnn, partial(slow_walks, 1, 2)),
    "2-identity": (partial(nn.identity_gnn, k=2, hops=1), partial(slow_walks, 2, 1)),
    "nested": (partial(nn.nested_gnn, hops=1), partial(slow_egos, 1)),
    "kernel": (partial(nn.kernel_gnn, hops=1, starts=2), partial(slow_egos, 1)),
    "DS, vertex-deleted": (
        partial(nn.ds_gnn, policy="vertex-deleted"),
        partial(slow_subsets, 1, "delete", "isolated"),
    ),
    "DS, edge-deleted": (partial(nn.ds_gnn, policy="edge-deleted"), partial(slow_edges, 1, "delete")),
    "DS, ego": (partial(nn.ds_gnn, policy="ego"), partial(slow_egos, 2, False, "isolated")),
    "DS, ego+": (partial(nn.ds_gnn, policy="ego+", hops=1), partial(slow_egos, 1, True, "isolated")),
    "DSS, vertex-deleted": (
        partial(nn.dss_gnn, policy="vertex-deleted"),
        partial(slow_subsets, 1, "delete", "isolated"),
    ),
    "DSS, edge-deleted": (partial(nn.dss_gnn, policy="edge-deleted"), partial(slow_edges, 1, "delete")),
    "DSS, ego+": (partial(nn.dss_gnn, policy="ego+"), partial(slow_egos, 2, True, "isolated")),
}


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("task", ["graph", "vertex"])
@pytest.mark.parametrize("name", ARCHITECTURES)
def test_architectures(name, task, dtype):
    make, slow = ARCHITECTURES[name]

    def model():
        options = {"conv": "gine", "edge_encoder": edge_encoder, "norm": False, "task": task}
        return make(WIDTH, 2, 2, vertex_encoder=vertex_encoder(), **options)

    compare(model, model().policy(BATCH), slow(), dtype)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("task", ["graph", "vertex"])
@pytest.mark.parametrize("choice", [{"k": 1}, {"p": 0.3}])
def test_dropout_gnn(choice, task, dtype):
    generator = torch.Generator().manual_seed(0)

    def model():
        return nn.dropout_gnn(
            WIDTH,
            2,
            2,
            m=4,
            generator=generator,
            norm=False,
            vertex_encoder=vertex_encoder(),
            task=task,
            **choice,
        )

    bag = model().policy(BATCH)
    subs = []
    for s, g in enumerate(bag.graph.tolist()):
        kept = [v - int(BATCH.ptr[g]) for v in bag.vertex[bag.subgraph == s].tolist()]
        subs.append(Sub(g, kept, columns_within(GRAPHS[g], kept)))
    compare(model, bag, subs, dtype)


LAYERS = {
    "gin": {"conv": "gin"},
    "gin, learned epsilon": {"conv": "gin", "train_eps": True},
    "gine": {"conv": "gine", "hidden": 9},
    "gcn": {"conv": "gcn"},
    "pna": {"conv": "pna", "degrees": torch.tensor([3, 4, 5, 2])},
    "pna, towers, no edge features": {
        "conv": "pna",
        "degrees": torch.tensor([3, 4, 5, 2]),
        "towers": 2,
        "edge_encoder": None,
    },
    "sage": {"conv": lambda width: SAGEConv(width, width)},
    "gat": {"conv": lambda width: GATConv(width, width, edge_dim=width)},
    "residual": {"residual": True},
    "V(G)": {"neighbourhood": "all"},
    "N(v), then V(G)": {"neighbourhood": ["edges", "all"]},
    "marked": {"marked": True, "atomic": "unordered"},
}


@pytest.mark.parametrize("train", [True, False])
@pytest.mark.parametrize("norm", [True, False])
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, norm, train):
    options = {"norm": norm, **LAYERS[name]}
    operation = "mark" if "marked" in options else "delete"
    bag = bags.all_subsets(BATCH, 1, operation=operation)
    compare(lambda: osan(**options), bag, slow_subsets(1, operation), torch.float64, train)


@pytest.mark.parametrize("task", ["graph", "vertex"])
@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("pool", ["sum", "mean", "max", "attention", "set2set"])
def test_pooling(pool, aggregation, task):
    options = {"aggregation": aggregation, "task": task, "sagg": pool, "readout": pool}
    bag = bags.all_subsets(BATCH, 1, deleted="unpooled")
    compare(lambda: osan(**options), bag, slow_subsets(1, "delete", "unpooled"), torch.float64)


@pytest.mark.parametrize("between", [0, 1, 3])
@pytest.mark.parametrize("head", [1, 4])
def test_heads(between, head):
    bag = bags.all_subsets(BATCH, 1)
    make = partial(osan, between=between, head=head, readout="set2set")
    compare(make, bag, slow_subsets(1, "delete"), torch.float64)


@pytest.mark.parametrize("aggregation", ["per-vertex", "per-subgraph"])
@pytest.mark.parametrize("atomic", ["ordered", "unordered"])
def test_learned_admission(atomic, aggregation):
    """Predictions only: the admission's own gradient has no counterpart in a hard choice."""
    bag = bags.all_tuples(BATCH, 2)
    for seed in range(100):
        torch.manual_seed(seed)
        model = osan(atomic=atomic, k=2, aggregation=aggregation, admission="learned", sagg="sum").double()
        if 0 < int(model.admission(BATCH, bag).sum()) < bag.num_copies:
            break
    else:
        pytest.fail("nothing or everything admitted shows nothing")
    close(model(BATCH, bag), slow_osan(model, slow_tuples(2)), torch.float64, "prediction")
    model(BATCH, bag).sum().backward()
    assert all(bool((p.grad != 0).any()) for p in model.admission.parameters())


@pytest.mark.parametrize("rank", ["adjacency", "embedding"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_ranks(rank, dtype):
    generator = torch.Generator().manual_seed(2)
    bag = bags.random_subsets(BATCH, 1, 3, generator=generator, ordered=True)
    subs = slow_random(bag, "masked")
    for s, sub in enumerate(subs):
        ranks = bag.rank[bag.subgraph == s].tolist()
        assert sorted(ranks) == list(range(1, len(sub.vertices) + 1))
        sub.ranks = dict(zip(sub.vertices, ranks, strict=True))
    compare(lambda: osan(rank=rank, num_ranks=5), bag, subs, dtype)


@pytest.mark.parametrize(
    "dataset", ["zinc", "zinc-pna", "zinc-esan", "alchemy", "qm9", "ogbg-molesol", "exp", "proteins"]
)
@pytest.mark.parametrize("as_in_code", [False, True])
def test_networks_of_the_paper(dataset, as_in_code):
    """The named downstream networks, batch norms in training mode."""

    def model():
        smaller = {"width": WIDTH, "dropout": 0.0}
        if dataset.startswith("ogbg"):
            smaller["hidden"] = 2 * WIDTH
        if dataset == "zinc-pna":
            smaller |= {"towers": 2, "degrees": torch.tensor([3, 4, 5, 2])}
        return nn.paper_network(
            dataset, 2, vertex_features=[3], edge_features=[3], as_in_code=as_in_code, **smaller
        )

    compare(model, bags.all_subsets(BATCH, 1), slow_subsets(1, "delete"), torch.float64)


def test_custom_layers_are_asked_what_they_take():
    assert takes_edge_features(GATConv(4, 4))
    assert not takes_edge_features(SAGEConv(4, 4))
