// Where vertices are drawn: [[x, y], ...] in a box of Osan.WIDTH by Osan.HEIGHT.
Osan.WIDTH = 420;
Osan.HEIGHT = 340;

const components = (around) => {
  const left = new Set(around.keys());
  const out = [];
  while (left.size) {
    const distance = Osan.distancesFrom(around, Math.min(...left));
    const part = [...left].filter((v) => distance[v] >= 0);
    part.forEach((v) => left.delete(v));
    out.push(part);
  }
  return out;
};

const onCircle = (vertices) => vertices.map((_, i) => {
  const angle = (2 * Math.PI * i) / vertices.length - Math.PI / 2;
  return [Math.cos(angle), Math.sin(angle)];
});

// Vertices in the order of a walk along unvisited neighbors: cycles become circles.
const walkOrder = (around, vertices) => {
  const seen = new Set();
  const visit = (first) => {
    const stack = [first];
    while (stack.length) {
      const v = stack.pop();
      if (seen.has(v)) continue;
      seen.add(v);
      for (const [u] of [...around[v]].reverse()) if (!seen.has(u)) stack.push(u);
    }
  };
  vertices.forEach(visit);
  return [...seen];
};

// Distances in the drawing near those in the graph: stress, one vertex at a time.
const relaxed = (around, vertices, positions) => {
  const distance = vertices.map((v) => Osan.distancesFrom(around, v));
  const scale = vertices.length / 6;
  const at = positions.map(([x, y]) => [x * scale, y * scale]);
  for (let sweep = 0; sweep < 200; sweep++) {
    for (let i = 0; i < at.length; i++) {
      let x = 0, y = 0, total = 0;
      for (let j = 0; j < at.length; j++) {
        if (i === j) continue;
        const d = distance[i][vertices[j]];
        const dx = at[i][0] - at[j][0], dy = at[i][1] - at[j][1];
        const length = Math.hypot(dx, dy) || 1e-6;
        const weight = 1 / (d * d);
        x += weight * (at[j][0] + (d * dx) / length);
        y += weight * (at[j][1] + (d * dy) / length);
        total += weight;
      }
      at[i] = [x / total, y / total];
    }
  }
  return at;
};

const boxOf = (points) => {
  const xs = points.map(([x]) => x), ys = points.map(([, y]) => y);
  return [Math.min(...xs), Math.min(...ys), Math.max(...xs), Math.max(...ys)];
};

Osan.layout = (graph) => {
  if (!graph.n) return [];
  const { around } = Osan.adjacency(graph, new Map());
  const placed = Array(graph.n);
  // Components beside each other, in rows, each in a cell of its own.
  const parts = components(around).sort((a, b) => b.length - a.length);
  const columns = Math.ceil(Math.sqrt(parts.length * 1.2));
  const largest = parts[0].length;
  parts.forEach((part, i) => {
    const dense = graph.edges.length > 0.28 * ((graph.n * (graph.n - 1)) / 2) && part.length > 8;
    const order = dense ? part : walkOrder(around, part);
    let points = part.length === 1 ? [[0, 0]] : onCircle(order);
    const cycle = part.every((v) => around[v].length === 2);
    if (part.length > 2 && !dense && !cycle) points = relaxed(around, order, points);
    const [x0, y0, x1, y1] = boxOf(points);
    const size = 0.3 + 0.7 * Math.sqrt(part.length / largest);
    const unit = Math.max(x1 - x0, y1 - y0, 1e-6) / size;
    const column = i % columns, row = Math.floor(i / columns);
    points.forEach(([x, y], j) => {
      placed[order[j]] = [
        (x - (x0 + x1) / 2) / unit + column * 1.4,
        (y - (y0 + y1) / 2) / unit + row * 1.4,
      ];
    });
  });
  const [x0, y0, x1, y1] = boxOf(placed);
  const margin = 34;
  const unit = Math.min((Osan.WIDTH - 2 * margin) / Math.max(x1 - x0, 1e-6),
    (Osan.HEIGHT - 2 * margin) / Math.max(y1 - y0, 1e-6), 260);
  return placed.map(([x, y]) => [
    Math.round(Osan.WIDTH / 2 + (x - (x0 + x1) / 2) * unit),
    Math.round(Osan.HEIGHT / 2 + (y - (y0 + y1) / 2) * unit),
  ]);
};
