// What the page shows, and the address that says it.
const state = {
  graphs: [], at: [[], []], names: ["first graph", "second graph"], moved: [false, false],
  id: "wl1", aggregation: "vertex", hops: 1, round: 0, subgraph: [0, 0], view: "one", editing: -1, selected: -1,
  preset: -1,
};
Osan.state = state;
Osan.PRESETS = [];

const entryOf = (id) => Osan.TESTS.find((each) => each.id === id);

const hasBonds = (graph) => graph.edges.some((edge) => edge[2] !== null);

const asGiven = (graph) => {
  // graph6 lists edges by their larger end.
  const order = [...graph.edges].sort((a, b) => a[1] - b[1] || a[0] - b[0]);
  return {
    g6: Osan.encodeGraph6(graph),
    ...(graph.labels ? { labels: graph.labels } : {}),
    ...(hasBonds(graph) ? { bonds: order.map((edge) => edge[2]) } : {}),
  };
};

Osan.setGraph = (i, graph, name, at = null) => {
  state.preset = -1;
  state.graphs[i] = graph;
  state.names[i] = name;
  state.at[i] = at ?? Osan.layout(graph);
  state.moved[i] = at !== null;
  state.subgraph[i] = 0;
};

Osan.setPreset = (number) => {
  const preset = Osan.PRESETS[number];
  preset.pair.forEach((given, i) => Osan.setGraph(i, Osan.asGraph(given), preset.names[i]));
  state.preset = number;
  state.round = Infinity;
};

Osan.writeAddress = () => {
  const words = new URLSearchParams();
  state.graphs.forEach((graph, i) => {
    const side = "ab"[i];
    const { g6, labels, bonds } = asGiven(graph);
    words.set(side, g6);
    words.set(`n${side}`, state.names[i]);
    if (labels) words.set(`l${side}`, JSON.stringify(labels));
    if (bonds) words.set(`e${side}`, JSON.stringify(bonds));
    if (state.moved[i]) words.set(`p${side}`, state.at[i].flat().map(Math.round).join("."));
    if (state.subgraph[i]) words.set(`s${side}`, state.subgraph[i]);
  });
  words.set("t", state.id);
  if (state.aggregation !== "vertex") words.set("g", state.aggregation);
  if (state.hops !== 1) words.set("h", state.hops);
  if (state.view !== "one") words.set("v", state.view);
  words.set("r", state.round);
  const address = `#${words}`;
  if (address === location.hash) return;
  try {
    history.replaceState(null, "", address);
  } catch {
    location.hash = address; // some browsers keep the history of local files closed
  }
};

// Read the address; false if it says nothing. Wrong parts are an error that the page shows.
Osan.readAddress = () => {
  const words = new URLSearchParams(location.hash.slice(1));
  if (!words.has("a") || !words.has("b")) return false;
  const read = (name) => (words.has(name) ? JSON.parse(words.get(name)) : undefined);
  ["a", "b"].forEach((side, i) => {
    const graph = Osan.asGraph({ g6: words.get(side), labels: read(`l${side}`), bonds: read(`e${side}`) });
    const flat = words.get(`p${side}`)?.split(".").map(Number);
    const at = flat?.length === 2 * graph.n && flat.every(Number.isFinite)
      ? graph.n ? Array.from({ length: graph.n }, (_, v) => flat.slice(2 * v, 2 * v + 2)) : [] : null;
    Osan.setGraph(i, graph, words.get(`n${side}`) ?? state.names[i], at);
    state.subgraph[i] = Number(words.get(`s${side}`) ?? 0);
  });
  state.id = entryOf(words.get("t")) ? words.get("t") : "wl1";
  state.aggregation = words.get("g") === "subgraph" ? "subgraph" : "vertex";
  state.hops = Math.min(9, Math.max(1, Number(words.get("h") ?? 1) || 1));
  state.view = words.get("v") === "all" ? "all" : "one";
  state.round = words.has("r") ? Number(words.get("r")) : Infinity;
  return true;
};

// The lines of Python that give the same verdict.
Osan.python = (graphs, test, verdict) => {
  const quoted = (words) => `[${words.map((word) => (word === null ? "None" : JSON.stringify(word))).join(", ")}]`;
  const plain = graphs.every((graph) => !graph.labels && !hasBonds(graph));
  const lines = graphs.map((graph, i) => {
    const name = "ab"[i];
    if (plain) return `${name} = decode_graph6(${JSON.stringify(Osan.encodeGraph6(graph))})`;
    const edges = graph.edges.map(([u, v]) => `(${u}, ${v})`).join(", ");
    const labels = graph.labels ? `, vertex_labels=${quoted(graph.labels)}` : "";
    const bonds = hasBonds(graph) ? `, edge_labels=${quoted(graph.edges.map((edge) => edge[2]))}` : "";
    return `${name} = Graph(${graph.n}, [${edges}]${labels}${bonds})`;
  });
  const settings = Object.entries(test).filter(([key, value]) => !["name", "sees"].includes(key) && value !== undefined);
  const words = settings.map(([key, value]) => `${key}=${value === true ? "True" : JSON.stringify(value)}`).join(", ");
  return [
    "from osan import wl",
    `from osan.graphs import ${plain ? "decode_graph6" : "Graph"}`,
    "",
    ...lines,
    `print(wl.distinguishes(a, b, "${test.name}", ${words}))  # ${verdict ? "True" : "False"}`,
  ].join("\n");
};
