// Controls and what they change. Everything that is seen is drawn again by show().
const at = (id) => document.getElementById(id);
const panels = ["a", "b"];
let result = null; // the refinement on show; null if it does not fit
let ladder = new Map(); // verdicts by test and aggregation, for the table
let ladderRun = 0;
let ladderOf = ""; // the graphs and the radius that it is about
let explained = null; // the vertex that is pointed at or has the focus: [graph, vertex]

const testNow = () => Osan.testOf(state.id, state.aggregation, state.hops);
const limit = (x, low, high) => Math.min(high, Math.max(low, Number.isFinite(x) ? Math.floor(x) : high));

// Refine anew: the graphs or the test have changed.
Osan.update = () => {
  const test = testNow();
  result = Osan.cost(state.graphs, test).fits ? Osan.refine(state.graphs, test) : null;
  startLadder();
  show();
};

const chosen = (i) => (result ? result.plan.members[i][state.subgraph[i]] ?? [] : []);
const seesOne = () => result && Osan.hasSubgraphs(entryOf(state.id));
const showsAll = () => seesOne() && state.view === "all" && result.plan.perVertex;

const colorsOf = (i) => {
  if (!result) return Int32Array.from(state.graphs[i].labels ?? Array(state.graphs[i].n).fill(0), () => 0);
  if (showsAll()) return result.compared[state.round][i];
  const colors = result.history[state.round];
  return Int32Array.from({ length: state.graphs[i].n }, (_, v) => colors[result.plan.place(i, state.subgraph[i], v)]);
};

const pictureOf = (i) => {
  const { test = {} } = result ?? {};
  const one = seesOne() && !showsAll();
  return Osan.picture({
    graph: state.graphs[i], at: state.at[i], colors: colorsOf(i),
    marks: one && test.what !== "edge" ? chosen(i) : [],
    gone: one && test.what === "edge" ? chosen(i)[0] ?? -1 : -1,
    selected: state.editing === i ? state.selected : -1,
    center: test.what === "ego" && !test.mark_center,
    letters: showsAll(),
  });
};

const nameOfSubgraph = (i) => {
  const { test } = result;
  const members = chosen(i);
  if (!members.length) return "the whole graph";
  if (test.what === "edge") {
    const [u, v] = state.graphs[i].edges[members[0]];
    return `without the edge ${u} - ${v}`;
  }
  if (test.operation === "delete") return `without vertex ${members[0]}`;
  if (test.what === "ego") return `around vertex ${members[0]}`;
  return `mark${members.length > 1 ? "s" : ""} at ${members.join(", ")}`;
};

const sizeOf = ({ n, edges }) => `${n} ${n === 1 ? "vertex" : "vertices"}, ${edges.length} edge${edges.length === 1 ? "" : "s"}`;

const show = () => {
  const rounds = result ? result.rounds : 0;
  state.round = limit(state.round, 0, rounds);
  state.graphs.forEach((_, i) => { state.subgraph[i] = limit(state.subgraph[i], 0, result ? Math.max(0, result.plan.members[i].length - 1) : 0); });
  const focused = document.activeElement?.closest?.(".vertex");
  const [side, vertex, pointed] = [focused?.closest("svg")?.id, focused?.dataset.v, explained];
  panels.forEach((panel, i) => {
    at(panel).innerHTML = pictureOf(i);
    at(panel).setAttribute("aria-label", `${state.names[i]}: ${sizeOf(state.graphs[i])}`);
    at(`name-${panel}`).textContent = `${state.names[i]} · ${sizeOf(state.graphs[i])}`;
    const one = seesOne() && !showsAll();
    at(`pick-${panel}`).hidden = !one;
    if (one) {
      at(`slide-${panel}`).max = result.plan.members[i].length - 1;
      at(`slide-${panel}`).value = state.subgraph[i];
      at(`which-${panel}`).textContent = nameOfSubgraph(i);
    }
    at(`panel-${panel}`).classList.toggle("editing", state.editing === i);
    at(`edit-${panel}`).setAttribute("aria-pressed", state.editing === i);
    at(`edit-${panel}`).textContent = state.editing === i ? "done" : "draw";
    at(`tools-${panel}`).hidden = state.editing !== i;
  });
  showBars();
  at("round").max = rounds;
  at("round").value = state.round;
  at("round-text").textContent = result
    ? `round ${state.round} of ${rounds}${state.round === rounds ? " (stable)" : ""}` : "";
  at("back").disabled = state.round === 0;
  at("forth").disabled = state.round === rounds;
  const subgraphs = Osan.hasSubgraphs(entryOf(state.id));
  at("preset").value = state.preset < 0 ? "" : state.preset;
  at("test").value = state.id;
  at("aggregation").value = state.aggregation;
  at("aggregation-label").hidden = !subgraphs;
  at("hops").value = state.hops;
  at("hops-label").hidden = !("hops" in entryOf(state.id).test);
  at("view").value = state.view;
  at("view-label").hidden = !(seesOne() && result.plan.perVertex);
  at("verdict").innerHTML = Osan.escape(verdictText());
  at("verdict").className = !result ? "" : Osan.separated(result) ? "yes" : "no";
  at("python").value = Osan.python(state.graphs, testNow(), result && Osan.separated(result));
  showLadder();
  if (side) at(side).querySelector(`[data-v="${vertex}"]`)?.focus({ preventScroll: true });
  explain(pointed); // drawing anew moved the focus away and back
  Osan.writeAddress();
};
Osan.show = show;

const showBars = () => {
  panels.forEach((panel, i) => {
    const bars = (colors, letters, title) => `<div class="under">${title}</div><div class="bars">`
      + `${Osan.bars(Osan.histogram(colors[i]), Osan.histogram(colors[1 - i]), letters)}</div>`;
    if (!result) at(`bars-${panel}`).innerHTML = "";
    else if (!seesOne()) at(`bars-${panel}`).innerHTML = bars([colorsOf(0), colorsOf(1)], false, "vertices by color");
    else {
      const all = result.plan.perVertex ? "compared: vertices by their color over all subgraphs" : "compared: subgraphs by color";
      at(`bars-${panel}`).innerHTML = (showsAll() ? "" : bars([colorsOf(0), colorsOf(1)], false, "this subgraph: vertices by color"))
        + bars(result.compared[state.round], true, all);
    }
  });
};

const verdictText = () => {
  const entry = entryOf(state.id);
  const name = entry.title.split(":")[0];
  const title = name[0].toUpperCase() + name.slice(1) + (Osan.hasSubgraphs(entry) ? ` (per ${state.aggregation})` : "");
  if (!result) {
    const { places } = Osan.cost(state.graphs, testNow());
    return `${title} ${entry.plural ? "need" : "needs"} ${Math.round(places).toLocaleString("en-US")} colors here, too many for a page; the Python lines below do it.`;
  }
  const differ = Osan.separatedAt(result);
  if (differ >= 0) {
    const weaker = ladder.get("wl1 vertex") === false && state.id !== "wl1" ? "; 1-WL cannot" : "";
    const tell = entry.plural ? "tell" : "tells";
    return `${title} ${tell} them apart${differ ? ` after round ${differ}` : " at the start"}${weaker}.`;
  }
  const stronger = ["oswl1", "wl2", "oswl2", "wl3"].find((id) => id !== state.id && ladder.get(`${id} vertex`));
  return `${title} cannot tell them apart${stronger ? `; ${entryOf(stronger).words} can` : ""}.`;
};
Osan.verdictText = verdictText;

// All verdicts, one after another, while the page stays alive.
const startLadder = () => {
  const about = JSON.stringify([state.graphs, state.hops]);
  if (about === ladderOf) return;
  ladderOf = about;
  ladder = new Map();
  const mine = ++ladderRun;
  const graphs = state.graphs;
  const todo = Osan.TESTS.flatMap((entry) => (Osan.hasSubgraphs(entry) ? ["vertex", "subgraph"] : ["vertex"])
    .map((aggregation) => [entry.id, aggregation]));
  const next = () => {
    if (mine !== ladderRun) return;
    const job = todo.shift();
    if (!job) return;
    const test = Osan.testOf(...job, state.hops);
    const { fits, looks } = Osan.cost(graphs, test);
    ladder.set(job.join(" "), fits && looks < 4e6 ? Osan.separated(Osan.refine(graphs, test)) : null);
    showLadder();
    at("verdict").textContent = verdictText();
    setTimeout(next, 0);
  };
  setTimeout(next, 30);
};

const showLadder = () => {
  const cell = (id, aggregation) => {
    const found = ladder.get(`${id} ${aggregation}`);
    const word = found === undefined ? "…" : found === null ? "too large" : found ? "yes" : "no";
    const now = id === state.id && (aggregation === state.aggregation || !Osan.hasSubgraphs(entryOf(id)));
    return `<td><button type="button" class="cell ${found ? "yes" : found === false ? "no" : ""}" data-id="${id}" data-aggregation="${aggregation}"`
      + `${now ? ' aria-current="true"' : ""}>${word}</button></td>`;
  };
  at("ladder").innerHTML = Osan.TESTS.map((entry) => `<tr><th scope="row">${entry.title}</th>${cell(entry.id, "vertex")}`
    + `${Osan.hasSubgraphs(entry) ? cell(entry.id, "subgraph") : "<td></td>"}</tr>`).join("");
};

// Light up a color everywhere and say why a vertex has it.
const lightUp = (color) => {
  for (const element of document.querySelectorAll("[data-color]")) {
    const mine = color !== null && element.dataset.color === String(color);
    element.classList.toggle("lit", mine);
    element.classList.toggle("dim", color !== null && !mine && element.classList.contains("vertex"));
  }
};

const explain = (vertex) => {
  explained = vertex;
  showWhy();
};

const showWhy = () => {
  const [i, v] = explained ?? [];
  const target = explained && at(panels[i]).querySelector(`[data-v="${v}"]`);
  if (!target || !result || state.editing >= 0) {
    lightUp(null);
    at("why").innerHTML = '<p class="hint">Point at a vertex, tap it, or move to it with Tab, to see why it has its color.</p>';
    return;
  }
  lightUp(target.dataset.color.endsWith("-1") ? null : target.dataset.color);
  at("why").innerHTML = `<p class="of">Vertex ${v} of ${Osan.escape(state.names[i])}${showsAll() || !seesOne() ? "" : `, ${nameOfSubgraph(i)}`}</p>`
    + (showsAll() ? Osan.whyVertex(result, i, v, state.round)
      : Osan.whyCopy(result, i, result.plan.place(i, state.subgraph[i], v), state.round));
};

// Move mark number `which` of graph i to a vertex.
Osan.moveMark = (i, v, which = 0) => {
  if (!seesOne() || showsAll() || result.test.what === "edge") return false;
  const members = [...chosen(i)];
  if (members[which] === undefined || members[which] === v) return false;
  members[which] = v;
  state.subgraph[i] = members.reduce((number, u) => number * state.graphs[i].n + u, 0);
  show();
  return true;
};

const download = (name, text, type) => {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
};

Osan.exportSvg = () => Osan.svgFile(`${entryOf(state.id).title}, round ${state.round}`, verdictText(),
  [pictureOf(0), pictureOf(1)], state.names);

// Another test: its subgraphs are others, so the choice starts anew, with marks at different vertices.
const chooseTest = (id) => {
  state.id = id;
  state.round = Infinity;
  state.subgraph = state.graphs.map(({ n }) => (entryOf(id).test.k === 2 && n > 1 ? 1 : 0));
};

const step = (by) => {
  state.round += by;
  show();
};
