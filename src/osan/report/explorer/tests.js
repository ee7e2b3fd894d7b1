// What each test refines. A plan has one place per (subgraph, vertex) or per tuple of each graph:
// base[i] is where graph i begins, start the first colors as texts (null: the vertex is not there),
// signature what a place sees in a round, and reason the same for people.

Osan.TESTS = [
  { id: "wl1", title: "1-WL", words: "1-WL", test: { name: "wl", k: 1 } },
  { id: "wl2", title: "2-WL (folklore)", words: "2-WL", test: { name: "wl", k: 2 } },
  { id: "wl3", title: "3-WL (folklore)", words: "3-WL", test: { name: "wl", k: 3 } },
  { id: "oswl1", title: "1-OSWL: one mark", words: "one mark", test: { name: "oswl", k: 1 } },
  { id: "oswl2", title: "2-OSWL: two ordered marks", words: "two marks", test: { name: "oswl", k: 2 } },
  { id: "delete-vertex", title: "vertex-deleted subgraphs", words: "vertex-deleted subgraphs", plural: true,
    test: { name: "oswl", k: 1, what: "vertex", operation: "delete" } },
  { id: "delete-edge", title: "edge-deleted subgraphs", words: "edge-deleted subgraphs", plural: true,
    test: { name: "oswl", k: 1, what: "edge", operation: "delete" } },
  { id: "ego", title: "ego-nets", words: "ego-nets", plural: true,
    test: { name: "oswl", k: 1, what: "ego", operation: "select", hops: 1 } },
  { id: "ego-marked", title: "ego-nets, center marked", words: "ego-nets with a marked center", plural: true,
    test: { name: "oswl", k: 1, what: "ego", operation: "select", hops: 1, mark_center: true } },
  { id: "swl", title: "SWL", words: "SWL", test: { name: "swl", k: 1 }, sees: ["Lu"] },
  { id: "pswl", title: "PSWL", words: "PSWL", test: { name: "pswl", k: 1 }, sees: ["Lu", "Pvv"] },
  { id: "gswl", title: "GSWL", words: "GSWL", test: { name: "gswl", k: 1 }, sees: ["Lu", "Gv"] },
  { id: "sswl", title: "SSWL", words: "SSWL", test: { name: "sswl", k: 1 }, sees: ["Lu", "Lv"] },
];
Osan.hasSubgraphs = (entry) => entry.test.name !== "wl";

// The arguments of osan.wl.distinguishes for an entry, an aggregation ("vertex" or "subgraph") and a radius.
Osan.testOf = (id, aggregation = "vertex", hops = 1) => {
  const entry = Osan.TESTS.find((each) => each.id === id);
  if (!entry) throw Error(`unknown test "${id}"`);
  const test = { ...entry.test };
  if ("hops" in test) test.hops = hops;
  if (Osan.hasSubgraphs(entry) && aggregation === "subgraph") test.name = `vs-${test.name}`;
  return { ...test, sees: entry.sees };
};

Osan.plan = (graphs, test) => {
  const codes = new Map();
  const parts = graphs.map((graph) => ({ graph, n: graph.n, ...Osan.adjacency(graph, codes) }));
  return test.name === "wl" && test.k > 1 ? Osan.tuplePlan(parts, test) : Osan.copyPlan(parts, test, codes.size + 1);
};

const labelOf = (part, v) => part.graph.labels?.[v] ?? null;
const byNumber = (a, b) => a - b;
const sorted = (numbers) => Float64Array.from(numbers).sort();

// Labels, equalities and adjacencies of a tuple.
const atomicType = (part, tuple) => tuple.map((v, i) => JSON.stringify(labelOf(part, v))
  + tuple.slice(0, i).map((u) => (u === v ? "=" : part.relation[u][v])).join(".")).join("|");

Osan.tuplesOf = (n, k) => {
  let out = [[]];
  for (let i = 0; i < k; i++) out = out.flatMap((tuple) => Array.from({ length: n }, (_, v) => [...tuple, v]));
  return out;
};

Osan.tuplePlan = (parts, test) => {
  const { k } = test;
  const base = [0];
  const start = [];
  for (const part of parts) {
    for (const tuple of Osan.tuplesOf(part.n, k)) start.push(atomicType(part, tuple));
    base.push(start.length);
  }
  const power = (n, j) => n ** (k - 1 - j);
  const seen = (colors, graph, place) => {
    const { n } = parts[graph];
    const own = place - base[graph];
    const rows = [];
    for (let w = 0; w < n; w++) {
      const row = [];
      for (let j = 0; j < k; j++) {
        const step = power(n, j);
        row.push(colors[place + (w - (Math.floor(own / step) % n)) * step]);
      }
      rows.push(row.join("."));
    }
    return rows.sort();
  };
  const diagonal = (graph, v) => {
    const { n } = parts[graph];
    let place = base[graph];
    for (let j = 0; j < k; j++) place += v * power(n, j);
    return place;
  };
  return {
    base, start, parts,
    members: parts.map(() => [[]]),
    perVertex: true,
    signature: (colors, graph, place) => seen(colors, graph, place).join(" "),
    place: (graph, _, v) => diagonal(graph, v),
    vertexColors: (colors) => parts.map(({ n }, i) => Array.from({ length: n }, (_, v) => `${colors[diagonal(i, v)]}`)),
    reason: (colors, graph, place) => {
      const items = new Map();
      for (const row of seen(colors, graph, place)) items.set(row, (items.get(row) ?? 0) + 1);
      const name = `${k === 2 ? "pairs" : "triples"} with one entry replaced by each vertex`;
      return [{ name, items: [...items].map(([text, count]) => ({ text: `(${text.replaceAll(".", ", ")})`, count })) }];
    },
  };
};

const subgraphsOf = (part, test) => {
  if (test.name === "wl") return [[]];
  if (test.what === "edge") {
    // A graph without edges has one subgraph: itself.
    return part.graph.edges.length ? part.graph.edges.map((_, e) => [e]) : [[]];
  }
  return Osan.tuplesOf(part.n, test.k);
};

const startOf = (part, test, members) => {
  const own = (v) => JSON.stringify(labelOf(part, v));
  const vertices = Array.from({ length: part.n }, (_, v) => v);
  if (test.name === "wl" || test.what === "edge") return vertices.map(own);
  const [center] = members;
  if (test.what === "ego") {
    const distance = Osan.distancesFrom(part.around, center);
    return vertices.map((v) => (distance[v] < 0 || distance[v] > test.hops ? null
      : own(v) + (test.mark_center && v === center ? " mark" : "")));
  }
  if (test.operation === "delete") return vertices.map((v) => (v === center ? null : own(v)));
  if (test.sees) return vertices.map((v) => own(v) + (v === center ? " mark" : ""));
  const type = atomicType(part, members);
  return vertices.map((v) => `${own(v)}/${type}/${members.map((u) => (u === v ? "=" : part.relation[u][v])).join(".")}`);
};

// Codes of edges are below `many`.
Osan.copyPlan = (parts, test, many) => {
  const members = parts.map((part) => subgraphsOf(part, test));
  const base = [0];
  const start = [];
  parts.forEach((part, i) => {
    for (const chosen of members[i]) for (const color of startOf(part, test, chosen)) start.push(color);
    base.push(start.length);
  });
  const place = (graph, s, v) => base[graph] + s * parts[graph].n + v;
  const sees = test.sees ?? ["Lu"];
  // What copy (s, v) sees under each name: take(place, code of the edge) is called for each.
  const views = {
    Lu: (colors, graph, s, v, take) => {
      const gone = test.what === "edge" ? members[graph][s][0] : -1;
      for (const [w, code, edge] of parts[graph].around[v]) {
        const at = place(graph, s, w);
        if (edge !== gone && colors[at] >= 0) take(at, code);
      }
    },
    Lv: (colors, graph, s, v, take) => {
      for (const [w, code] of parts[graph].around[s]) take(place(graph, w, v), code);
    },
    Gv: (colors, graph, s, v, take) => {
      for (let w = 0; w < members[graph].length; w++) take(place(graph, w, v), 0);
    },
    Pvv: (colors, graph, s, v, take) => take(place(graph, v, v), 0),
  };
  // A vertex has fewer than n neighbors, and tests that see all subgraphs have n of them.
  const seen = new Float64Array(Math.max(1, ...parts.map(({ n }) => n)));
  const names = {
    Lu: "neighbors",
    Lv: "this vertex, with the mark at the neighbors of the mark",
    Gv: "this vertex, over all marks",
    Pvv: "this vertex, when marked itself",
  };
  const split = (graph, at) => {
    const { n } = parts[graph];
    return [Math.floor((at - base[graph]) / n), (at - base[graph]) % n];
  };
  const perVertex = !test.name.startsWith("vs-");
  return {
    base, start, parts, members, place, perVertex,
    signature: (colors, graph, at) => {
      const [s, v] = split(graph, at);
      let text = "";
      for (const name of sees) {
        // One number holds a color and the code of an edge.
        let count = 0;
        views[name](colors, graph, s, v, (where, code) => { seen[count++] = colors[where] * many + code; });
        text += `${seen.subarray(0, count).sort().join(",")};`;
      }
      return text;
    },
    // C(v): the multiset over subgraphs; undefined where the test does not form it.
    vertexColors: perVertex ? (colors) => parts.map(({ n }, i) => Array.from({ length: n }, (_, v) =>
      sorted(members[i].map((_, s) => colors[place(i, s, v)]).filter((c) => c >= 0)).join(","))) : undefined,
    // C(g): the multiset over vertices.
    subgraphColors: perVertex ? undefined : (colors) => parts.map(({ n }, i) => members[i].map((_, s) =>
      sorted(Array.from({ length: n }, (_, v) => colors[place(i, s, v)]).filter((c) => c >= 0)).join(","))),
    reason: (colors, graph, at) => {
      const [s, v] = split(graph, at);
      return sees.map((name) => {
        const items = new Map();
        views[name](colors, graph, s, v, (where, code) => {
          const color = colors[where];
          const key = `${color} ${code}`;
          const item = items.get(key) ?? { color, count: 0, place: where };
          item.count++;
          items.set(key, item);
        });
        return { name: names[name], items: [...items.values()].sort((a, b) => byNumber(a.color, b.color)) };
      });
    },
  };
};

// How many colors a test keeps for two graphs; -1 if a page should not try.
Osan.cost = (graphs, test) => {
  let places = 0;
  let looks = 0;
  for (const { n, edges } of graphs) {
    const subgraphs = test.name === "wl" ? 1 : test.what === "edge" ? edges.length : n ** test.k;
    const here = test.name === "wl" && test.k > 1 ? n ** test.k : n * subgraphs;
    places += here;
    looks += test.name === "wl" && test.k > 1 ? here * n * test.k
      : here * (1 + (2 * edges.length) / Math.max(1, n)) * (test.sees?.includes("Gv") ? n : 1);
  }
  return { places, looks, fits: places <= 5e5 && looks <= 2e7 };
};
