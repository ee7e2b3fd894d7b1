// Pointer, keyboard, and graphs that visitors draw.
const spot = (svg, event) => {
  const point = new DOMPoint(event.clientX, event.clientY).matrixTransform(svg.getScreenCTM().inverse());
  return [point.x, point.y];
};

const nearest = (i, [x, y], within) => {
  let best = -1, least = within;
  state.at[i].forEach(([vx, vy], v) => {
    const distance = Math.hypot(vx - x, vy - y);
    if (distance < least) [best, least] = [v, distance];
  });
  return best;
};

// Changes to a graph that is drawn.
const changeGraph = (i, graph, places) => {
  state.graphs[i] = graph;
  state.preset = -1;
  state.at[i] = places;
  state.moved[i] = true;
  state.names[i] = "your graph";
  state.round = Infinity;
  state.subgraph[i] = 0;
  Osan.update();
};

const addVertex = (i, place) => {
  const graph = state.graphs[i];
  if (graph.n >= Osan.MOST) return;
  const labels = graph.labels ? [...graph.labels, graph.labels[0] ?? null] : null;
  changeGraph(i, { ...graph, n: graph.n + 1, labels }, [...state.at[i], place.map(Math.round)]);
};

const toggleEdge = (i, u, v) => {
  const graph = state.graphs[i];
  const [low, high] = [Math.min(u, v), Math.max(u, v)];
  const rest = graph.edges.filter(([a, b]) => a !== low || b !== high);
  const edges = rest.length < graph.edges.length ? rest : [...rest, [low, high, graph.edges[0]?.[2] ?? null]];
  changeGraph(i, { ...graph, edges }, state.at[i]);
};

const removeVertex = (i, v) => {
  const graph = state.graphs[i];
  const name = (u) => (u > v ? u - 1 : u);
  const edges = graph.edges.filter(([a, b]) => a !== v && b !== v).map(([a, b, label]) => [name(a), name(b), label]);
  const labels = graph.labels ? graph.labels.filter((_, u) => u !== v) : null;
  state.selected = -1;
  changeGraph(i, { n: graph.n - 1, edges, labels }, state.at[i].filter((_, u) => u !== v));
};

const select = (i, v) => {
  const before = state.selected;
  state.selected = before === v ? -1 : before < 0 ? v : -1;
  if (before >= 0 && before !== v) toggleEdge(i, before, v);
  else Osan.show();
};

const watch = (panel, i) => {
  const svg = at(panel);
  let drag = null;
  svg.addEventListener("pointerdown", (event) => {
    const v = nearest(i, spot(svg, event), Osan.radius(state.graphs[i].n) + 8);
    if (state.editing === i) {
      drag = { v, from: [event.clientX, event.clientY], moved: false };
    } else if (v >= 0) {
      const which = chosen(i).length > 1 && (event.shiftKey || chosen(i)[1] === v) ? 1 : 0;
      drag = { mark: which };
      explain(null); // what is lit up would hide the colors that follow the mark
      Osan.moveMark(i, v, which);
    } else {
      explain(null);
      const edge = event.target.closest?.(".edge");
      if (edge && result?.test.what === "edge") {
        state.subgraph[i] = Number(edge.dataset.e);
        Osan.show();
      }
    }
    if (drag) svg.setPointerCapture(event.pointerId);
  });
  svg.addEventListener("pointermove", (event) => {
    if (!drag) return;
    if (drag.mark !== undefined) {
      const v = nearest(i, spot(svg, event), 40);
      if (v >= 0) Osan.moveMark(i, v, drag.mark);
    } else if (drag.v >= 0 && (drag.moved || Math.hypot(event.clientX - drag.from[0], event.clientY - drag.from[1]) > 5)) {
      drag.moved = true;
      state.at[i] = state.at[i].map((place, u) => (u === drag.v ? spot(svg, event).map(Math.round) : place));
      state.moved[i] = true;
      Osan.show();
    }
  });
  svg.addEventListener("pointerup", (event) => {
    const v = drag?.mark === undefined ? -1 : nearest(i, spot(svg, event), Osan.radius(state.graphs[i].n) + 8);
    if (drag && state.editing === i && !drag.moved) {
      if (drag.v >= 0) select(i, drag.v);
      else addVertex(i, spot(svg, event));
    }
    drag = null;
    if (v >= 0) explain([i, v]);
  });
  svg.addEventListener("pointercancel", () => { drag = null; });
  const over = (event) => {
    const vertex = event.target.closest?.(".vertex");
    if (vertex && !drag) explain([i, Number(vertex.dataset.v)]);
  };
  svg.addEventListener("pointerover", over);
  svg.addEventListener("focusin", over);
  // The text stays to be read; a vertex that the keyboard chose stays lit up.
  const leave = () => {
    const focused = document.activeElement?.closest?.(".vertex:focus-visible");
    if (focused) return explain([panels.indexOf(focused.closest("svg").id), Number(focused.dataset.v)]);
    explained = null;
    return lightUp(null);
  };
  svg.addEventListener("pointerleave", (event) => event.pointerType !== "touch" && leave());
  svg.addEventListener("focusout", leave);
  svg.addEventListener("keydown", (event) => {
    const v = Number(event.target.closest?.(".vertex")?.dataset.v ?? -1);
    const enter = event.key === "Enter" || event.key === " ";
    if (state.editing === i) {
      if (enter && v >= 0) select(i, v);
      else if ((event.key === "Delete" || event.key === "Backspace") && v >= 0) removeVertex(i, v);
      else return;
    } else if (v >= 0 && (enter || event.key === "1")) Osan.moveMark(i, v, 0);
    else if (v >= 0 && event.key === "2") Osan.moveMark(i, v, 1);
    else return;
    event.preventDefault();
  });
  at(`slide-${panel}`).addEventListener("input", (event) => {
    state.subgraph[i] = Number(event.target.value);
    Osan.show();
  });
  at(`edit-${panel}`).addEventListener("click", () => {
    state.editing = state.editing === i ? -1 : i;
    state.selected = -1;
    Osan.show();
    // On a phone the free area would begin at the end of the screen.
    if (state.editing === i && window.matchMedia("(max-width: 760px)").matches) at(`panel-${panel}`).scrollIntoView();
  });
  at(`add-${panel}`).addEventListener("click", () => {
    const angle = 2.4 * state.graphs[i].n;
    addVertex(i, [Osan.WIDTH / 2 + 120 * Math.cos(angle), Osan.HEIGHT / 2 + 110 * Math.sin(angle)]);
  });
  at(`erase-${panel}`).addEventListener("click", () => state.selected >= 0 && removeVertex(i, state.selected));
  at(`clear-${panel}`).addEventListener("click", () => {
    state.selected = -1;
    changeGraph(i, Osan.graph(0, []), []);
  });
  at(`arrange-${panel}`).addEventListener("click", () => {
    state.at[i] = Osan.layout(state.graphs[i]);
    state.moved[i] = false;
    Osan.show();
  });
  at(`read-${panel}`).addEventListener("click", () => {
    const text = at(`text-${panel}`).value.trim();
    try {
      const known = Osan.SMILES[text];
      Osan.setGraph(i, known ? Osan.asGraph(known) : Osan.parseGraph(text), known ? text : "your graph");
      at(`error-${panel}`).textContent = "";
      state.round = Infinity;
      Osan.update();
    } catch (error) {
      at(`error-${panel}`).textContent = error.message;
    }
  });
};

const copy = async (button, text) => {
  try {
    await navigator.clipboard.writeText(text);
    button.textContent = "copied";
  } catch {
    button.textContent = "select and copy"; // local files may not use the clipboard
    at("python").select();
  }
  setTimeout(() => { button.textContent = button.dataset.name; }, 1500);
};

const begin = () => {
  const given = JSON.parse(at("presets").textContent);
  Osan.PRESETS = given.pairs;
  Osan.SMILES = given.smiles;
  panels.forEach((panel) => {
    at(`smiles-${panel}`).innerHTML = '<option value="">molecules …</option>'
      + Object.keys(Osan.SMILES).map((text) => `<option>${Osan.escape(text)}</option>`).join("");
    at(`smiles-${panel}`).addEventListener("change", (event) => {
      if (!event.target.value) return;
      at(`text-${panel}`).value = event.target.value;
      at(`read-${panel}`).click();
    });
  });
  at("preset").innerHTML = '<option value="">choose a pair …</option>'
    + Osan.PRESETS.map((each, i) => `<option value="${i}">${Osan.escape(each.title)}</option>`).join("");
  at("test").innerHTML = Osan.TESTS.map(({ id, title }) => `<option value="${id}">${title}</option>`).join("");
  at("preset").addEventListener("change", (event) => {
    if (event.target.value === "") return;
    Osan.setPreset(Number(event.target.value));
    Osan.update();
  });
  const setting = (id, change) => at(id).addEventListener("change", (event) => {
    change(event.target.value);
    state.round = Infinity;
    Osan.update();
  });
  setting("test", chooseTest);
  setting("aggregation", (value) => { state.aggregation = value; });
  setting("hops", (value) => { state.hops = limit(Number(value), 1, 9); });
  at("view").addEventListener("change", (event) => {
    state.view = event.target.value;
    Osan.show();
  });
  at("round").addEventListener("input", (event) => {
    state.round = Number(event.target.value);
    Osan.show();
  });
  at("back").addEventListener("click", () => step(-1));
  at("forth").addEventListener("click", () => step(1));
  at("ladder").addEventListener("click", (event) => {
    const { id, aggregation } = event.target.dataset;
    if (!id) return;
    if (id !== state.id) chooseTest(id);
    state.round = Infinity;
    if (Osan.hasSubgraphs(entryOf(id))) state.aggregation = aggregation;
    Osan.update();
  });
  at("svg").addEventListener("click", () => download("colors.svg", Osan.exportSvg(), "image/svg+xml"));
  at("copy").addEventListener("click", (event) => copy(event.target, at("python").value));
  at("link").addEventListener("click", (event) => copy(event.target, location.href));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || /^(INPUT|SELECT|TEXTAREA)$/.test(event.target.tagName)) return;
    const moves = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity };
    if (!(event.key in moves)) return;
    event.preventDefault();
    state.round = event.key === "Home" ? 0 : event.key === "End" ? Infinity : state.round + moves[event.key];
    Osan.show();
  });
  panels.forEach(watch);
  window.addEventListener("hashchange", openAddress);
  openAddress();
};

const openAddress = () => {
  try {
    if (!Osan.readAddress()) Osan.setPreset(0);
  } catch (error) {
    Osan.setPreset(0);
    at("error-a").textContent = `the address is damaged: ${error.message}`;
  }
  Osan.update();
};

if (typeof document !== "undefined") begin();
