"""The definitions of the paper in plain Python: slow, obvious, independent of the package's kernels."""

from __future__ import annotations

from collections import deque
from itertools import combinations, product

from osan.graphs import Graph
from osan.wl import WLTest


def arcs(graph: Graph) -> list[list[tuple[int, object, int]]]:
    """For each vertex its arcs (other end, label and direction, edge)."""
    out: list[list[tuple[int, object, int]]] = [[] for _ in range(graph.num_vertices)]
    for e, (u, v) in enumerate(graph.edges.tolist()):
        label = None if graph.edge_labels is None else graph.edge_labels[e]
        if graph.directed:
            out[u].append((v, (repr(label), "out"), e))
            out[v].append((u, (repr(label), "in"), e))
        else:
            out[u].append((v, repr(label), e))
            if u != v:
                out[v].append((u, repr(label), e))
    return out


def label(graph: Graph, v: int) -> object:
    return None if graph.vertex_labels is None else graph.vertex_labels[v]


def atp(graph: Graph, t: tuple[int, ...]) -> object:
    """Labels, equalities and adjacencies of a tuple."""
    nb = arcs(graph)

    def joined(u: int, v: int) -> tuple[object, ...]:
        return tuple(sorted(str(code) for w, code, _ in nb[u] if w == v))

    return (
        tuple(label(graph, v) for v in t),
        tuple(t[i] == t[j] for i in range(len(t)) for j in range(len(t))),
        tuple(joined(u, v) for u in t for v in t),
    )


def ball(graph: Graph, center: int, hops: int | None) -> set[int]:
    nb = arcs(graph)
    distance, queue = {center: 0}, deque([center])
    while queue:
        v = queue.popleft()
        for u, *_ in nb[v]:
            if u not in distance and (hops is None or distance[v] < hops):
                distance[u] = distance[v] + 1
                queue.append(u)
    return set(distance)


def subsets(things: range, k: int):  # type: ignore[no-untyped-def]
    """All k-subsets; of fewer than k things the set of them all."""
    return combinations(things, min(k, len(things)))


def subgraphs(graph: Graph, test: WLTest):  # type: ignore[no-untyped-def]
    """Yields (members, initial colors of the vertices that are there, edges that are there)."""
    vertices, edges = range(graph.num_vertices), range(graph.num_edges)
    nb = arcs(graph)
    if test.name == "wl":
        yield (), {v: label(graph, v) for v in vertices}, set(edges)
    elif test.name == "id":
        for g in product(vertices, repeat=test.k):
            if all(any(u == g[i + 1] for u, *_ in nb[g[i]]) for i in range(test.k - 1)):
                inside = ball(graph, g[0], test.hops)
                yield g, {v: (label(graph, v), v in g) for v in inside}, set(edges)
    elif test.what == "ego":
        for c in vertices:
            inside = ball(graph, c, test.hops)
            if test.operation == "delete":
                inside = set(vertices) - inside
            yield (c,), {v: (label(graph, v), test.mark_center and v == c) for v in inside}, set(edges)
    elif test.what == "edge":
        for chosen in subsets(edges, test.k):
            select = test.operation == "select"
            ends = {int(v) for e in chosen for v in graph.edges[e]} if select else vertices
            yield (
                chosen,
                {v: label(graph, v) for v in ends},
                set(chosen) if select else set(edges) - set(chosen),
            )
    elif test.ordered:
        for g in product(vertices, repeat=test.k):
            # Without marks there is no tuple to compare with: 0-OSWL is 1-WL.
            yield g, {v: atp(graph, (v, *g)) if g else label(graph, v) for v in vertices}, set(edges)
    else:
        for chosen in subsets(vertices, test.k):
            if test.operation == "mark":
                start = {v: (label(graph, v), v in chosen) for v in vertices}
            else:
                keep = [v for v in vertices if (v in chosen) == (test.operation == "select")]
                start = {v: label(graph, v) for v in keep}
            yield chosen, start, set(edges)


def multiset(values):  # type: ignore[no-untyped-def]
    return tuple(sorted(values))


def renumber(signatures: dict) -> dict:  # type: ignore[type-arg]
    known: dict[object, int] = {}
    return {key: known.setdefault(value, len(known)) for key, value in signatures.items()}


def run(start: dict, signature, rounds: int | None = None):  # type: ignore[no-untyped-def, type-arg]
    """Refine until the number of colors no longer grows; returns colors and rounds."""
    colors, done = renumber(start), 0
    while rounds is None or done < rounds:
        finer = renumber({key: (colors[key], signature(colors, key)) for key in colors})
        if len(set(finer.values())) == len(set(colors.values())):
            break
        colors, done = finer, done + 1
    return colors, done


def refine(graphs: list[Graph], test: WLTest, rounds: int | None = None):  # type: ignore[no-untyped-def]
    """(colors of copies (graph, subgraph, vertex) or tuples, colors of graphs, rounds)."""
    if test.name == "wl" and (test.k > 1 or test.oblivious):
        return refine_tuples(graphs, test, rounds)
    if test.name == "kernel":
        return refine_kernel(graphs, test, rounds)
    nbs = [arcs(graph) for graph in graphs]
    bags = [list(subgraphs(graph, test)) for graph in graphs]
    start = {
        (i, s, v): color
        for i, bag in enumerate(bags)
        for s, (_, colors, _) in enumerate(bag)
        for v, color in colors.items()
    }
    alive = [[set(colors) for _, colors, _ in bag] for bag in bags]

    def within(colors, key):  # type: ignore[no-untyped-def]
        i, s, v = key
        if test.neighborhood == "all":
            return multiset(colors[i, s, u] for u in alive[i][s])
        edges = bags[i][s][2]
        return multiset(
            (colors[i, s, u], str(code)) for u, code, e in nbs[i][v] if e in edges and u in alive[i][s]
        )

    def across(colors, i, v):  # type: ignore[no-untyped-def]
        return multiset(colors[i, s, v] for s in range(len(bags[i])) if v in alive[i][s])

    def marked(colors, key):  # type: ignore[no-untyped-def]
        """Zhang et al. (2023), with C(u, v) for v in the graph with u marked."""
        i, u, v = key
        vertices = range(graphs[i].num_vertices)
        views = {
            "Lu": lambda: multiset((colors[i, u, w], str(code)) for w, code, _ in nbs[i][v]),
            "Lv": lambda: multiset((colors[i, w, v], str(code)) for w, code, _ in nbs[i][u]),
            "Gu": lambda: multiset(colors[i, u, w] for w in vertices),
            "Gv": lambda: multiset(colors[i, w, v] for w in vertices),
            "Puu": lambda: colors[i, u, u],
            "Pvv": lambda: colors[i, v, v],
            "Pvu": lambda: colors[i, v, u],
        }
        return tuple(views[name]() for name in test.aggregations)

    def signature(colors, key):  # type: ignore[no-untyped-def]
        if test.aggregations is not None:
            return marked(colors, key)
        if test.name != "dss":
            return within(colors, key)
        i, _, v = key
        around = multiset((across(colors, i, u), str(code)) for u, code, _ in nbs[i][v])
        return within(colors, key), across(colors, i, v), around

    colors, done = run(start, signature, rounds)
    verdicts = []
    for i, graph in enumerate(graphs):
        if test.name in ("oswl", "wl", "swl", "pswl", "gswl", "sswl"):
            verdicts.append(multiset(across(colors, i, v) for v in range(graph.num_vertices)))
        elif test.name == "id":
            own = [
                multiset(colors[i, s, v] for s, bag in enumerate(bags[i]) if bag[0][0] == v)
                for v in range(graph.num_vertices)
            ]
            verdicts.append(multiset(own))
        else:
            verdicts.append(
                multiset(multiset(colors[i, s, v] for v in alive[i][s]) for s in range(len(bags[i])))
            )
    return colors, verdicts, done


def refine_kernel(graphs: list[Graph], test: WLTest, rounds: int | None):  # type: ignore[no-untyped-def]
    nested = WLTest("vs-oswl", what="ego", operation="select", hops=test.hops)
    colors = renumber({(i, v): label(g, v) for i, g in enumerate(graphs) for v in range(g.num_vertices)})
    done = 0
    while rounds is None or done < rounds:
        relabeled = [
            Graph(
                g.num_vertices, g.edges, directed=g.directed, edge_labels=g.edge_labels,
                vertex_labels=[colors[i, v] for v in range(g.num_vertices)],
            )
            for i, g in enumerate(graphs)
        ]  # fmt: skip
        inner, _, _ = refine(relabeled, nested)
        nets: dict[tuple[int, int], list[int]] = {}
        for (i, s, _), color in inner.items():
            nets.setdefault((i, s), []).append(color)
        finer = renumber({(i, v): (inner[i, v, v], multiset(nets[i, v])) for i, v in colors})
        if len(set(finer.values())) == len(set(colors.values())):
            break
        colors, done = finer, done + 1
    verdicts = [multiset(colors[i, v] for v in range(g.num_vertices)) for i, g in enumerate(graphs)]
    return colors, verdicts, done


def refine_tuples(graphs: list[Graph], test: WLTest, rounds: int | None):  # type: ignore[no-untyped-def]
    start = {
        (i, *t): atp(graph, t)
        for i, graph in enumerate(graphs)
        for t in product(range(graph.num_vertices), repeat=test.k)
    }

    def signature(colors, key):  # type: ignore[no-untyped-def]
        i, *t = key
        n = graphs[i].num_vertices
        replaced = [[colors[(i, *t[:j], w, *t[j + 1 :])] for j in range(test.k)] for w in range(n)]
        if test.oblivious:
            return tuple(multiset(row[j] for row in replaced) for j in range(test.k))
        return multiset(tuple(row) for row in replaced)

    colors, done = run(start, signature, rounds)
    verdicts = [
        multiset(colors[(i, *((v,) * test.k))] for v in range(graph.num_vertices))
        for i, graph in enumerate(graphs)
    ]
    return colors, verdicts, done
