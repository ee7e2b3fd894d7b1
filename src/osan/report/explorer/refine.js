// Rounds until no class splits. All graphs are refined together, so one number is one color everywhere.

// Number texts by first appearance; null is -1.
const numbered = (texts) => {
  const known = new Map();
  return Int32Array.from(texts, (text) => {
    if (text === null) return -1;
    if (!known.has(text)) known.set(text, known.size);
    return known.get(text);
  });
};

// Numbers for finer classes such that the largest part of an old class keeps its number.
Osan.continued = (old, finer) => {
  const sizes = new Map();
  let next = 0;
  finer.forEach((color, i) => {
    if (color < 0) return;
    next = Math.max(next, old[i] + 1);
    const entry = sizes.get(color) ?? { parent: old[i], size: 0, color };
    entry.size++;
    sizes.set(color, entry);
  });
  const best = new Map();
  for (const entry of sizes.values()) {
    const rival = best.get(entry.parent);
    if (!rival || entry.size > rival.size) best.set(entry.parent, entry);
  }
  const name = new Map();
  for (const entry of sizes.values()) name.set(entry.color, best.get(entry.parent) === entry ? entry.parent : next++);
  return Int32Array.from(finer, (color) => (color < 0 ? -1 : name.get(color)));
};

const countOf = (colors) => new Set(colors.filter((color) => color >= 0)).size;

Osan.refine = (graphs, test) => {
  const plan = Osan.plan(graphs, test);
  const { base, signature } = plan;
  const history = [numbered(plan.start)];
  let count = countOf(history[0]);
  for (;;) {
    const colors = history[history.length - 1];
    const known = new Map();
    const finer = new Int32Array(colors.length);
    for (let graph = 0; graph + 1 < base.length; graph++) {
      for (let place = base[graph]; place < base[graph + 1]; place++) {
        if (colors[place] < 0) {
          finer[place] = -1;
          continue;
        }
        const key = `${colors[place]}:${signature(colors, graph, place)}`;
        let id = known.get(key);
        if (id === undefined) known.set(key, (id = known.size));
        finer[place] = id;
      }
    }
    if (known.size === count) break;
    count = known.size;
    history.push(Osan.continued(colors, finer));
  }
  return { plan, test, history, compared: comparedIn(plan, history), rounds: history.length - 1 };
};

// For every round the colors that the verdict compares, of vertices or of subgraphs, with numbers that go on.
const comparedIn = (plan, history) => {
  const read = plan.vertexColors ?? plan.subgraphColors;
  const out = [];
  let before = null;
  for (const colors of history) {
    const texts = read(colors);
    const flat = numbered(texts.flat());
    const named = before === null ? flat : Osan.continued(before, flat);
    before = named;
    let at = 0;
    out.push(texts.map((some) => named.slice(at, (at += some.length))));
  }
  return out;
};

// How often each color occurs: [[color, count], ...] by color.
Osan.histogram = (colors) => {
  const counts = new Map();
  for (const color of colors) if (color >= 0) counts.set(color, (counts.get(color) ?? 0) + 1);
  return [...counts].sort((a, b) => a[0] - b[0]);
};

const same = (a, b) => JSON.stringify(Osan.histogram(a)) === JSON.stringify(Osan.histogram(b));

// The first round after which the two graphs differ; -1 if they never do.
Osan.separatedAt = ({ compared }) => compared.findIndex(([a, b]) => !same(a, b));

// Only the stable colors decide: before, a round of k-WL may not yet have reached the tuples (v, ..., v).
Osan.separated = ({ compared }) => {
  const [a, b] = compared[compared.length - 1];
  return !same(a, b);
};

// Whether a test separates two graphs in graph6; what tests of this page compare with osan.wl.distinguishes.
Osan.distinguishes = (a, b, id, aggregation, hops) => Osan.separated(
  Osan.refine([a, b].map((each) => (typeof each === "string" ? Osan.decodeGraph6(each) : each)),
    Osan.testOf(id, aggregation, hops)));
