"use strict";
// Graphs: {n, edges: [[u, v, label], ...], labels: [label, ...] or null}; a label is a text, or null for none.
const Osan = {};

Osan.graph = (n, edges, labels = null) => ({
  n,
  edges: edges.map(([u, v, label = null]) => [Math.min(u, v), Math.max(u, v), label]),
  labels,
});

Osan.decodeGraph6 = (text) => {
  const bytes = [...text.trim().replace(/^>>graph6<</, "")].map((c) => c.charCodeAt(0) - 63);
  if (!bytes.length || bytes.some((b) => b < 0 || b > 63)) throw Error(`expected graph6, got "${text}"`);
  let at = 1;
  let n = bytes[0];
  if (n === 63) {
    if (bytes.length < 4 || bytes[1] === 63) throw Error("expected a graph6 text of at most 258047 vertices");
    n = (bytes[1] << 12) | (bytes[2] << 6) | bytes[3];
    at = 4;
  }
  const bits = (n * (n - 1)) / 2;
  if (bytes.length - at !== Math.ceil(bits / 6)) {
    throw Error(`expected ${Math.ceil(bits / 6)} characters of edges for ${n} vertices, got ${bytes.length - at}`);
  }
  const edges = [];
  let bit = 0;
  for (let v = 1; v < n; v++) {
    for (let u = 0; u < v; u++, bit++) {
      if ((bytes[at + Math.floor(bit / 6)] >> (5 - (bit % 6))) & 1) edges.push([u, v]);
    }
  }
  return Osan.graph(n, edges);
};

Osan.encodeGraph6 = ({ n, edges }) => {
  const head = n < 63 ? [n] : [63, n >> 12, (n >> 6) & 63, n & 63];
  const groups = Array(Math.ceil((n * (n - 1)) / 12)).fill(0);
  for (const [u, v] of edges) {
    const bit = (v * (v - 1)) / 2 + u;
    groups[Math.floor(bit / 6)] |= 1 << (5 - (bit % 6));
  }
  return String.fromCharCode(...head.concat(groups).map((b) => b + 63));
};

// A graph from text: graph6, an edge list ("0 1" per line, a single number is a vertex alone), or rows of 0 and 1.
Osan.parseGraph = (text) => {
  const lines = text.split(/[\n;]+/).map((line) => line.trim()).filter((line) => line && !line.startsWith("#"));
  if (!lines.length) throw Error("expected graph6, an edge list or an adjacency matrix, got nothing");
  const rows = lines.map((line) => line.split(/[\s,]+/).filter(Boolean));
  const numbers = rows.every((row) => row.every((word) => /^\d+$/.test(word)));
  if (lines.length === 1 && (!numbers || rows[0].length === 1) && !/^\d+$/.test(lines[0])) {
    try {
      return Osan.decodeGraph6(lines[0]);
    } catch (error) {
      throw Error(`neither graph6 nor a molecule of the list: ${error.message}`);
    }
  }
  if (!numbers) throw Error(`expected numbers of vertices, got "${lines.find((l) => /[^\d\s,]/.test(l))}"`);
  const bits = rows.map((row) => (row.length === 1 && row[0].length === rows.length ? [...row[0]] : row));
  const matrix = bits.every((row) => row.length === bits.length && row.every((x) => x === "0" || x === "1"));
  if (matrix && bits.length > 2) {
    const edges = [];
    bits.forEach((row, v) => row.forEach((x, u) => {
      if (x !== bits[u][v]) throw Error(`expected a symmetric matrix, got ${x} in row ${v}, column ${u} only`);
      if (u === v && x === "1") throw Error(`expected no loops, got one at vertex ${v}`);
      if (x === "1" && u < v) edges.push([u, v]);
    }));
    return Osan.graph(bits.length, edges);
  }
  const seen = new Map();
  let n = 0;
  for (const row of rows) {
    if (row.length > 2) throw Error(`expected two vertices per line, got "${row.join(" ")}"`);
    const [u, v] = row.map(Number);
    n = Math.max(n, u + 1, (v ?? 0) + 1);
    if (n > Osan.MOST) throw Error(`expected vertices from 0 to ${Osan.MOST - 1}, got ${n - 1}`);
    if (v === undefined) continue;
    if (u === v) throw Error(`expected no loops, got ${u} ${v}`);
    seen.set(`${Math.min(u, v)} ${Math.max(u, v)}`, [u, v]);
  }
  return Osan.graph(n, [...seen.values()]);
};
Osan.MOST = 200;

// A graph as the page is given it: graph6, labels of vertices, and labels of edges by their larger end.
Osan.asGraph = ({ g6, labels, bonds }) => {
  const graph = Osan.decodeGraph6(g6);
  if (labels) graph.labels = labels;
  if (bonds) graph.edges.forEach((edge, e) => { edge[2] = bonds[e]; });
  return graph;
};

// For every vertex its neighbors as [vertex, code of the label, edge], and a matrix of codes (0: no edge).
Osan.adjacency = (graph, codes) => {
  const around = Array.from({ length: graph.n }, () => []);
  const relation = Array.from({ length: graph.n }, () => new Int32Array(graph.n));
  graph.edges.forEach(([u, v, label], edge) => {
    if (!codes.has(label)) codes.set(label, codes.size + 1);
    const code = codes.get(label);
    around[u].push([v, code, edge]);
    around[v].push([u, code, edge]);
    relation[u][v] = relation[v][u] = code;
  });
  return { around, relation };
};

Osan.distancesFrom = (around, source) => {
  const distance = Array(around.length).fill(-1);
  const queue = [source];
  distance[source] = 0;
  for (const v of queue) {
    for (const [u] of around[v]) {
      if (distance[u] < 0) {
        distance[u] = distance[v] + 1;
        queue.push(u);
      }
    }
  }
  return distance;
};
