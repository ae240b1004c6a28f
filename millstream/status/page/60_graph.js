// SPDX-License-Identifier: Apache-2.0
// The graph of a session: scopes as boxes, coloured by device; a click opens a scope. Names that differ by a number share a box.

const graph = {data: null, open: new Set(), zoom: 1};
const kMaxBoxes = 160;

function boxOf(name) {
  const parts = name.split("/");
  let path = parts[0];
  for (let i = 1; i < parts.length; i++) {
    if (!graph.open.has(path)) return {key: path, scope: true};
    path += "/" + parts[i];
  }
  return {key: path.replace(/_\d+$/, ""), scope: false};
}

function makeBoxes() {
  const boxes = new Map(), ofNode = [];
  graph.data.nodes.forEach(([name, op, device]) => {
    const {key, scope} = boxOf(name);
    const id = (scope ? "s:" : "n:") + key;
    if (!boxes.has(id)) boxes.set(id, {id, key, scope, count: 0, devices: new Map(), ops: new Map(), out: new Map(), into: new Set()});
    const box = boxes.get(id);
    box.count++;
    box.devices.set(device, (box.devices.get(device) || 0) + 1);
    box.ops.set(op, (box.ops.get(op) || 0) + 1);
    ofNode.push(box);
  });
  const shown = new Set([...boxes.values()].sort((a, b) => b.count - a.count).slice(0, kMaxBoxes));
  for (const [from, to, control] of graph.data.edges) {
    const a = ofNode[from], b = ofNode[to];
    if (a === b || !shown.has(a) || !shown.has(b)) continue;
    const edge = a.out.get(b) || {count: 0, cut: 0, control: 0};
    edge.count++;
    if (graph.data.nodes[from][2] !== graph.data.nodes[to][2]) edge.cut++;
    edge.control += control;
    a.out.set(b, edge);
    b.into.add(a);
  }
  return {boxes: [...shown], hidden: boxes.size - shown.size};
}

// Rows from top to bottom: a box below all that it needs; edges that would go back (loops) do not count.
function rowsOf(boxes) {
  const state = new Map(), order = [];
  const visit = (start) => {
    const stack = [[start, [...start.out.keys()]]];
    state.set(start, 1);
    while (stack.length > 0) {
      const [box, next] = stack[stack.length - 1];
      const to = next.pop();
      if (!to) { state.set(box, 2); order.push(box); stack.pop(); continue; }
      if (state.get(to) === 1) { box.back = box.back || new Set(); box.back.add(to); continue; }
      if (!state.has(to)) { state.set(to, 1); stack.push([to, [...to.out.keys()]]); }
    }
  };
  for (const box of [...boxes].sort((a, b) => a.into.size - b.into.size)) if (!state.has(box)) visit(box);
  for (const box of boxes) box.row = 0;
  for (const box of order.reverse()) {
    for (const to of box.out.keys()) if (!(box.back && box.back.has(to))) to.row = Math.max(to.row, box.row + 1);
  }
  // What needs nothing stands just above the first that needs it; what is joined to nothing, at the end.
  const last = Math.max(...boxes.map((b) => b.row)) + 1;
  for (const box of boxes) {
    if (box.into.size === 0) box.row = box.out.size === 0 ? last : Math.max(0, Math.min(...[...box.out.keys()].map((b) => b.row)) - 1);
  }
  const rows = [];
  for (const box of boxes) (rows[box.row] = rows[box.row] || []).push(box);
  return [...rows].filter((row) => row && row.length > 0);
}

// Rows that would be too wide to look at are broken.
function breakRows(rows) {
  const broken = [];
  for (const row of rows) {
    const pieces = Math.ceil(row.length / 12), size = Math.ceil(row.length / pieces);
    for (let i = 0; i < row.length; i += size) broken.push(row.slice(i, i + size));
  }
  return broken;
}

// Neighbours near each other: every box goes to the middle of what it is joined to, a few times over.
function arrange(rows) {
  rows.forEach((row) => row.forEach((box, i) => { box.place = i - row.length / 2; }));
  for (let turn = 0; turn < 6; turn++) {
    for (const row of turn % 2 ? [...rows].reverse() : rows) {
      for (const box of row) {
        const near = turn % 2 ? [...box.out.keys()] : [...box.into];
        if (near.length > 0) box.wish = near.reduce((sum, n) => sum + n.place, 0) / near.length;
        else box.wish = box.place;
      }
      row.sort((a, b) => a.wish - b.wish).forEach((box, i) => { box.place = i - row.length / 2; });
    }
  }
}

function labelOf(box) {
  const name = box.key.split("/").pop();
  const text = name.length > 22 ? name.slice(0, 20) + "…" : name;
  return box.count > 1 ? `${text} ×${box.count}` : text;
}

function drawBox(box, redraw) {
  const devices = [...box.devices].sort((a, b) => b[1] - a[1]);
  const tip = `${box.key}${box.scope ? " (click to open)" : ""}\n${box.count} nodes: `
    + [...box.ops].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([op, n]) => graph.data.ops[op] + (n > 1 ? " ×" + n : "")).join(", ")
    + "\n" + devices.map(([d, n]) => `${shortName(graph.data.devices[d])}: ${n}`).join(", ");
  const group = v("g", Object.assign({class: "box", transform: `translate(${box.x} ${box.y})`,
    onclick: () => { if (box.scope) graph.open.add(box.key); else graph.open.delete(box.key.split("/").slice(0, -1).join("/")); hideTip(); redraw(); }}, tipFor(tip)));
  let x = 0;
  for (const [device, count] of devices) {
    const w = box.w * count / box.count;
    group.append(styled(v("rect", {x, width: w, height: 26, rx: devices.length > 1 ? 0 : box.scope ? 6 : 13}), {fill: colour(device)}));
    x += w;
  }
  group.append(v("text", {x: box.w / 2, y: 17, "text-anchor": "middle"}, labelOf(box)));
  return group;
}

function drawEdges(boxes, svg) {
  for (const a of boxes) {
    for (const [b, edge] of a.out) {
      const ax = a.x + a.w / 2, ay = a.y + 26, bx = b.x + b.w / 2, by = b.y, mid = (ay + by) / 2;
      const path = v("path", {class: edge.cut > 0 ? "edge cut" : "edge", d: `M${ax} ${ay} C${ax} ${mid} ${bx} ${mid} ${bx} ${by}`});
      svg.append(styled(path, {"stroke-width": Math.min(5, 0.8 + Math.log2(edge.count)) + "px"}));
    }
  }
}

function renderGraph() {
  const {boxes, hidden} = makeBoxes();
  const together = rowsOf(boxes);
  arrange(together);
  const rows = breakRows(together);
  let width = 200;
  for (const row of rows) width = Math.max(width, row.reduce((sum, b) => sum + (b.w = 20 + 7.2 * labelOf(b).length) + 16, 16));
  rows.forEach((row, r) => {
    let x = (width - row.reduce((sum, b) => sum + b.w + 16, -16)) / 2;
    for (const box of row) { box.x = x; box.y = 8 + r * 58; x += box.w + 16; }
  });
  const height = rows.length * 58;
  const fit = Math.min(1, ($("graph").clientWidth - 4) / width);
  const scale = Math.max(0.45, fit);
  const svg = v("svg", {viewBox: `0 0 ${width} ${height}`, width: width * scale, height: height * scale, role: "img", "aria-label": "Graph by device"});
  drawEdges(boxes, svg);
  for (const box of boxes) svg.append(drawBox(box, renderGraph));
  $("graph").replaceChildren(svg);
  const counts = new Map();
  for (const [, , device] of graph.data.nodes) counts.set(device, (counts.get(device) || 0) + 1);
  $("graph-legend").replaceChildren(...graph.data.devices.map((name, i) =>
    h("span", null, styled(h("i"), {background: colour(i)}), `${shortName(name) || "anywhere"}: ${whole(counts.get(i) || 0)} nodes`)),
    h("span", null, "dashed: between devices"));
  $("graph-note").textContent = `${whole(graph.data.total_nodes)} nodes in ${boxes.length} boxes` + (hidden > 0 ? `, ${hidden} smaller boxes are left out` : "")
    + (graph.open.size > 0 ? "" : "; click a box to open it");
}

async function loadGraph() {
  $("graph-load").disabled = true;
  $("graph-note").textContent = "";
  try {
    graph.data = await call("graph.json?task=" + encodeURIComponent($("graph-task").value));
    graph.open.clear();
    renderGraph();
    $("graph-load").textContent = "Load again";
  } catch (error) {
    $("graph-note").textContent = error.message;
  }
  $("graph-load").disabled = false;
}
