// Pictures as text: the same for the page and for the exported file.

// Okabe and Ito's colors, which color-blind people can tell apart; then lighter and darker ones. Numbers decide.
const BASIC = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#f0e442", "#8c8c8c"];
const TINTS = [null, [255, 0.5], [0, 0.45], [255, 0.75], [0, 0.65]];

Osan.paint = (color) => {
  const rgb = BASIC[color % BASIC.length].match(/\w\w/g).map((x) => parseInt(x, 16));
  const tint = TINTS[Math.floor(color / BASIC.length) % TINTS.length];
  const mixed = tint ? rgb.map((x) => Math.round(x + (tint[0] - x) * tint[1])) : rgb;
  const linear = mixed.map((x) => (x / 255 <= 0.04045 ? x / 255 / 12.92 : ((x / 255 + 0.055) / 1.055) ** 2.4));
  const light = 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2];
  // The better of black and white.
  return { fill: `rgb(${mixed.join(",")})`, text: light > 0.179 ? "#000" : "#fff" };
};

Osan.escape = (text) => String(text).replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);

// Colors that a subgraph gives have numbers; what stands for many of them (C(v) or C(g)) has letters.
Osan.nameOf = (color, letters = false) => {
  if (!letters) return String(color + 1);
  const last = String.fromCharCode(65 + (color % 26));
  return color < 26 ? last : Osan.nameOf(Math.floor(color / 26) - 1, true) + last;
};

Osan.chip = (color, letters = false) => {
  const { fill, text } = Osan.paint(color);
  return `<span class="chip" style="background:${fill};color:${text}">${Osan.nameOf(color, letters)}</span>`;
};

Osan.radius = (n) => (n <= 12 ? 16 : n <= 20 ? 13 : n <= 32 ? 11 : 8);

// colors[v] is -1 for a vertex that is not there; marks are vertices; gone is an edge that is not there.
Osan.picture = ({ graph, at, colors, marks = [], gone = -1, selected = -1, center = false, letters = false }) => {
  const r = Osan.radius(graph.n);
  const faint = graph.edges.length > 60;
  const lines = graph.edges.map(([u, v, label], e) => {
    const away = e === gone || colors[u] < 0 || colors[v] < 0;
    const [x0, y0] = at[u], [x1, y1] = at[v];
    const ends = `x1="${x0}" y1="${y0}" x2="${x1}" y2="${y1}"`;
    const note = label ? `<title>${Osan.escape(label)}</title>` : "";
    return `<g class="edge" data-e="${e}">${note}<line ${ends} stroke="transparent" stroke-width="14"/>`
      + `<line ${ends} stroke="currentColor" stroke-opacity="${away ? 0.22 : faint ? 0.4 : 0.6}" stroke-width="${faint ? 1 : 1.6}"`
      + `${away ? ' stroke-dasharray="3 4"' : ""}/></g>`;
  });
  const dots = at.map(([x, y], v) => {
    const there = colors[v] >= 0;
    const { fill, text } = there ? Osan.paint(colors[v]) : { fill: "none", text: "currentColor" };
    const label = Osan.escape(graph.labels?.[v] ?? "");
    const which = marks.flatMap((m, i) => (m === v ? [i + 1] : []));
    const words = `vertex ${v}${label ? ` (${label})` : ""}, ${there ? `color ${Osan.nameOf(colors[v], letters)}` : "not in this subgraph"}`
      + (which.length ? `, ${center ? "center" : "marked"}` : "");
    const ring = which.length ? `<circle class="mark" cx="${x}" cy="${y}" r="${r + 5}" fill="none" stroke="currentColor"`
      + ` stroke-width="2.5"${center ? ' stroke-dasharray="2 3"' : ""}/>`
      + (marks.length > 1 ? `<text x="${x + r + 4}" y="${y - r - 1}" font-size="12" font-weight="700" fill="currentColor">`
        + `${which.join(",")}</text>` : "") : "";
    const shown = there ? `<text x="${x}" y="${y}" dy="0.35em" text-anchor="middle" font-size="${r < 10 ? 9 : 12}"`
      + ` fill="${text}">${Osan.nameOf(colors[v], letters)}</text>` : "";
    // Long names and names in a crowd are only told when asked for.
    const short = label && label.length < 5 && graph.n <= 20;
    const name = label && !short ? `<title>${label}</title>` : label ? `<text x="${x}" y="${y + r + 11}" text-anchor="middle" font-size="10" fill="currentColor">${label}</text>` : "";
    return `<g class="vertex${v === selected ? " selected" : ""}" data-v="${v}" data-color="${letters ? "C" : ""}${colors[v]}" tabindex="0"`
      + ` role="button" aria-label="${words}"><circle class="back" cx="${x}" cy="${y}" r="${r}" fill="#fff"/>${ring}<circle class="disc" cx="${x}" cy="${y}" r="${r}" fill="${fill}"`
      + ` stroke="currentColor" stroke-width="${v === selected ? 3.5 : 1.2}"${there ? "" : ' stroke-dasharray="3 3"'}/>`
      + `${shown}${name}</g>`;
  });
  return `<g font-family="system-ui, sans-serif">${lines.join("")}${dots.join("")}</g>`;
};

// Bars for the colors of either graph, at the same places in both.
Osan.bars = (mine, other, letters = false) => {
  const here = new Map(mine), there = new Map(other);
  const all = [...new Set([...here.keys(), ...there.keys()])].sort((a, b) => a - b);
  const most = Math.max(1, ...here.values(), ...there.values());
  // Where there is no room for all, those that differ come first.
  const first = [...all].sort((a, b) => (here.get(a) !== there.get(a) ? 0 : 1) - (here.get(b) !== there.get(b) ? 0 : 1) || a - b);
  const shown = first.slice(0, 18).sort((a, b) => a - b);
  const columns = shown.map((color) => {
    const count = here.get(color) ?? 0;
    const differs = count !== (there.get(color) ?? 0);
    const { fill } = Osan.paint(color);
    return `<div class="bar${differs ? " differs" : ""}" data-color="${letters ? "C" : ""}${color}" title="color ${Osan.nameOf(color, letters)}: ${count}`
      + `${differs ? `, ${there.get(color) ?? 0} in the other graph` : ""}"><span>${count}${differs ? "≠" : ""}</span>`
      + `<i style="height:${Math.round((44 * count) / most)}px;background:${fill}"></i>${Osan.chip(color, letters)}</div>`;
  });
  const rest = all.length - shown.length;
  return columns.join("") + (rest ? `<div class="bar rest">and ${rest} more colors</div>` : "");
};

// Both pictures in one file, on white.
Osan.svgFile = (title, verdict, pictures, names) => {
  const { WIDTH, HEIGHT } = Osan;
  const text = (x, y, size, words) => `<text x="${x}" y="${y}" font-family="system-ui, sans-serif" font-size="${size}">${Osan.escape(words)}</text>`;
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${2 * WIDTH} ${HEIGHT + 80}" width="${2 * WIDTH}" color="#222">`
    + `<rect width="100%" height="100%" fill="#fff"/>${text(16, 26, 16, title)}${text(16, HEIGHT + 68, 14, verdict)}`
    + pictures.map((picture, i) => `<g transform="translate(${i * WIDTH} 36)">${picture}</g>${text(i * WIDTH + 16, HEIGHT + 46, 12, names[i])}`).join("")
    + "</svg>";
};
