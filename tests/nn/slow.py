"""The obvious slow way to every policy and architecture.

Each subgraph is built as a PyG ``Data`` of its own by a Python loop; the same weights run through plain PyG
on ``Batch.from_data_list``; pooling and aggregation are Python loops.
"""

import itertools
from dataclasses import dataclass, field

import networkx as nx
import torch
from torch_geometric.data import Batch, Data
from torch_geometric.utils import to_networkx

from osan.nn.admission import LearnedAdmission
from osan.nn.dss import SharingStack
from osan.nn.layers import AcrossConv, AllConv, MarkedConv, PyGLayer

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


def ball(data, center, hops):
    graph = to_networkx(data, to_undirected=True)
    return sorted(nx.single_source_shortest_path_length(graph, center, cutoff=hops))


def slow_egos(hops, mark_center=False, deleted="masked"):
    def make(g, data, vertices):
        for v in vertices:
            ego = ball(data, v, hops)
            there = list(vertices) if deleted == "isolated" else ego
            yield Sub(g, there, columns_within(data, ego), marks={v} if mark_center else set(), tuple=(v,))

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


def slow_encoded(initial, data):
    """Encoded features of one graph's vertices."""
    if initial.vertex_encoder is None:
        return initial.constant.expand(data.num_nodes, -1)
    return initial.vertex_encoder(data.x)


def slow_initial(initial, subs, dtype):
    """Initial features, vertex by vertex."""
    rows = []
    for sub in subs:
        data = GRAPHS[sub.graph]
        encoded = slow_encoded(initial, data)
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


def plain(conv, *args, **features):
    """A layer of PyG as PyG has it, whatever class of ours it is in."""
    conv = conv.conv if isinstance(conv, PyGLayer) else conv
    kind = next(kind for kind in type(conv).__mro__ if kind.__module__.startswith("torch_geometric.nn.conv"))
    return kind.forward(conv, *args, **features)


def slow_across(gin, h, subs):
    """GIN on sums over the copies of a vertex in the subgraphs of the same graph with neighboring marks."""
    place = {copy: i for i, copy in enumerate((s, v) for s, sub in enumerate(subs) for v in sub.vertices)}
    rows = []
    for (t, v), i in place.items():
        total = (1 + gin.eps) * h[i]
        for s, sub in enumerate(subs):
            if sub.graph == subs[t].graph and (s, v) in place:
                for u, w in GRAPHS[sub.graph].edge_index.t().tolist():
                    if u in sub.marks and w in subs[t].marks:
                        total = total + h[place[s, v]]
        rows.append(total)
    return gin.nn(torch.stack(rows))


def slow_layer(layer, h, big, subs=None):
    conv = layer.conv
    features = {}
    if layer.edge_encoder is not None:
        rows = layer.edge_encoder(big.edge_attr)
        if bool(big.edge_mark.any()):
            rows = rows + big.edge_mark[:, None].to(rows.dtype) * layer.edge_mark
        features = {"edge_attr": rows}
    if isinstance(conv, AcrossConv):
        h = (
            plain(conv.within, h, big.edge_index, **features)
            + conv.own(h)
            + slow_across(conv.across, h, subs)
        )
    elif isinstance(conv, AllConv):
        parts = [h[big.batch == i] for i in range(big.num_graphs)]
        h = conv.mlp(h + torch.cat([p.sum(0, keepdim=True).expand_as(p) for p in parts]))
    elif isinstance(conv, MarkedConv):
        marked = big.mark[big.edge_index[0]] == 1
        h = sum(
            plain(part, h, big.edge_index[:, edges], **{k: v[edges] for k, v in features.items()})
            for part, edges in ((conv.marked, marked), (conv.unmarked, ~marked))
        )
    else:
        h = plain(conv, h, big.edge_index, **features)
    return h if layer.norm is None else torch.nn.BatchNorm1d.forward(layer.norm, h)


def slow_stack(stack, h, big, subs):
    if isinstance(stack, SharingStack):
        return slow_sharing(stack, h, big, subs)
    for layer in stack.layers:
        out = slow_layer(layer, h, big, subs)
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
        ordered, values = model.admission.ordered, []
        encoded = slow_encoded(model.initial, GRAPHS[sub.graph])
        types = slow_types(sub) if ordered else [[v in sub.marks] for v in sub.vertices]
        for v, row in zip(sub.vertices, types, strict=True):
            labels = [encoded[u] for u in (v, *(sub.tuple if ordered else ()))]
            values.append(model.admission.mlp(torch.cat([*labels, encoded.new_tensor(row)])[None]).item())
        return [value > 0 for value in values]
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
            rows += vertices if model.level == "vertex" else [slow_pool(outer, torch.stack(vertices))]
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
        if model.level == "graph":
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
    if model.alongside is not None:
        beside = model.alongside
        alone = [whole(g, data) for g, data in enumerate(GRAPHS)]
        big = Batch.from_data_list([as_data(sub) for sub in alone])
        h = slow_stack(beside.stack, slow_initial(beside.initial, alone, dtype), big, alone)
        if model.level == "graph":
            h = torch.stack([slow_pool(beside.readout, h[big.batch == g]) for g in range(len(GRAPHS))])
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
    if model.readout is not None:
        vertices = torch.stack(
            [slow_pool(model.readout, vertices[BATCH.batch == g]) for g in range(len(GRAPHS))]
        )
    return model.head(vertices)
