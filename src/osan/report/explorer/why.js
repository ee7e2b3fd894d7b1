// Why a vertex has its color: what it was and what it saw, unfolded for a few rounds.
// Rounds to unfold: fewer where a vertex sees much.
const depthFor = (result, graph) => (result.test.sees?.length > 1 ? 1
  : 2 * result.plan.parts[graph].graph.edges.length > 5 * result.plan.parts[graph].n ? 2 : 3);
const MOST_ITEMS = 14;

const times = (count) => (count > 1 ? ` <small>×${count}</small>` : "");

const node = (result, graph, place, round, depth, count) => {
  const color = result.history[round][place];
  const head = `<div class="node">${Osan.chip(color)}${times(count)}`;
  if (round === 0 || depth === 0) return `${head}</div>`;
  const before = result.history[round - 1];
  const groups = result.plan.reason(before, graph, place).map(({ name, items }) => {
    const shown = items.slice(0, MOST_ITEMS).map((item) => (item.text
      ? `<div class="node"><code>${item.text.replace(/\d+/g, (x) => Number(x) + 1)}</code>${times(item.count)}</div>`
      : node(result, graph, item.place, round - 1, depth - 1, item.count)));
    const more = items.length > MOST_ITEMS ? `<div class="node">and ${items.length - MOST_ITEMS} more</div>` : "";
    const title = depth === depthFor(result, graph) ? `<small class="group">${name}</small>` : "";
    return `<div class="seen">${title}${shown.join("") || "<small>nothing</small>"}${more}</div>`;
  });
  return `${head}<div class="branches">${groups.join("")}</div></div>`;
};

// For a color that a subgraph gives to a vertex.
Osan.whyCopy = (result, graph, place, round) => {
  const color = result.history[round][place];
  if (color < 0) return "<p>This vertex is not in the subgraph.</p>";
  if (round === 0) {
    const { name, what, operation, mark_center: center } = result.test;
    const marked = name !== "wl" && operation !== "delete" && (what !== "ego" || center);
    return `<p>${Osan.chip(color)} is a color of the start: it stands for the label of the vertex, if it has one`
      + `${marked ? ", and for how the vertex lies to what is marked" : ""}.</p>`;
  }
  const was = result.history[round - 1][place];
  return `<p>${Osan.chip(color)} after round ${round}: it was ${Osan.chip(was)} and saw</p>`
    + node(result, graph, place, round, depthFor(result, graph), 1);
};

// For C(v), the multiset of the colors of a vertex over all subgraphs.
Osan.whyVertex = (result, graph, v, round) => {
  const { plan } = result;
  const colors = plan.members[graph].map((_, s) => result.history[round][plan.place(graph, s, v)]);
  const counts = Osan.histogram(colors);
  const chips = counts.slice(0, 30).map(([color, count]) => Osan.chip(color) + times(count)).join(" ");
  return `<p>${Osan.chip(result.compared[round][graph][v], true)} stands for the colors of this vertex over all`
    + ` ${colors.filter((c) => c >= 0).length} subgraphs with it: ${chips}${counts.length > 30 ? " …" : ""}</p>`;
};
