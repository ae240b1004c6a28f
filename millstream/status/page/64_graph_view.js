// SPDX-License-Identifier: Apache-2.0
// Draws the boxes of a graph, coloured by device; a click, Enter or Space opens a scope, or closes the scope of a node.

function labelOf(box) {
  const name = box.key.split("/").pop();
  const short = name.length > 22 ? name.slice(0, 20) + "…" : name;
  return box.count > 1 ? `${short} ×${box.count}` : short;
}

function toggleBox(box) {
  if (box.scope) graph.open.add(box.key);
  else graph.open.delete(box.key.split("/").slice(0, -1).join("/"));
  hideTip();
  renderGraph(box.key);
}

function drawBox(box) {
  const devices = [...box.devices].sort((a, b) => b[1] - a[1]);
  const where = devices.map(([d, n]) => `${shortName(graph.data.devices[d])}: ${n}`).join(", ");
  const inside = box.scope ? " (click to open)" : box.key.includes("/") ? " (click to close its scope)" : "";
  const tip = `${box.key}${inside}\n${plural(box.count, "node")}: `
    + [...box.ops].sort((a, b) => b[1] - a[1]).slice(0, 6).map(([op, n]) => graph.data.ops[op] + (n > 1 ? " ×" + n : "")).join(", ") + "\n" + where;
  const group = v("g", {class: "box", transform: `translate(${box.x} ${box.y})`, tabindex: 0, role: "button", "aria-expanded": box.scope ? "false" : null,
    "aria-label": `${box.key}, ${plural(box.count, "node")} on ${where}`, "data-tip": tip, "data-key": box.key, onclick: () => toggleBox(box),
    onkeydown: (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggleBox(box); } }});
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

// Buttons for the kinds of nodes that are folded away.
function drawFolded() {
  const counts = new Map();
  for (const kind of graph.kinds) if (kind >= 0) counts.set(kind, (counts.get(kind) || 0) + 1);
  $("graph-folded").replaceChildren(...[...counts].sort((a, b) => a[0] - b[0]).map(([kind, count]) => {
    const [name, tip] = kHelpers[kind], shown = graph.shown.has(kind);
    return h("button", {type: "button", "aria-expanded": shown, "data-tip": tip, "data-kind": kind, onclick: () => {
      if (shown) graph.shown.delete(kind);
      else graph.shown.add(kind);
      renderGraph();
      $("graph-folded").querySelector(`[data-kind="${kind}"]`).focus();
    }}, `${shown ? "Hide" : "Show"} ${name} (${whole(count)})`);
  }));
}

function layOut(boxes) {
  const together = rowsOf(boxes);
  arrange(together);
  const rows = breakRows(together);
  let width = 200;
  for (const row of rows) width = Math.max(width, row.reduce((sum, b) => sum + (b.w = 20 + 7.2 * labelOf(b).length) + 16, 16));
  rows.forEach((row, r) => {
    let x = (width - row.reduce((sum, b) => sum + b.w + 16, -16)) / 2;
    for (const box of row) { box.x = x; box.y = 8 + r * 58; x += box.w + 16; }
  });
  return {rows, width, height: Math.max(40, rows.length * 58 - 18)};
}

// `focus`: the box, or the scope of the box, that the keyboard was at.
function renderGraph(focus) {
  const {boxes, hidden} = makeBoxes(), {rows, width, height} = layOut(boxes);
  const scale = Math.max(0.45, Math.min(1, ($("graph").clientWidth - 4) / width));
  const svg = v("svg", {viewBox: `0 0 ${width} ${height}`, width: width * scale, height: height * scale, role: "group", "aria-label": "Graph by scope and device"});
  drawEdges(boxes, svg);
  for (const row of rows) for (const box of row) svg.append(drawBox(box));
  $("graph").replaceChildren(svg);
  if (focus) {
    const scope = focus.split("/").slice(0, -1).join("/");
    const next = [...svg.querySelectorAll(".box")].find(({dataset: {key}}) => key === focus || key.startsWith(focus + "/") || key === scope);
    if (next) next.focus({preventScroll: true});
  }
  const counts = new Map();
  for (const [, , device] of graph.data.nodes) counts.set(device, (counts.get(device) || 0) + 1);
  $("graph-legend").replaceChildren(...graph.data.devices.slice(0, 64).map((name, i) =>
    h("span", null, styled(h("i"), {background: colour(i)}), `${name ? shortName(name) : "any device"}: ${plural(counts.get(i) || 0, "node")}`)),
    h("span", null, "dashed: between devices"));
  drawFolded();
  const nodes = boxes.reduce((sum, b) => sum + b.count, 0);
  $("graph-note").textContent = `${plural(nodes, "node")} of ${whole(graph.data.total_nodes)} in ${plural(boxes.length, "box").replace("boxs", "boxes")}`
    + (hidden > 0 ? `, ${hidden} smaller boxes are left out` : "") + (graph.open.size > 0 ? "" : "; click a box to open it");
}

async function loadGraph() {
  $("graph-load").disabled = true;
  $("graph-note").textContent = "Loading…";
  try {
    graph.data = await call("graph.json?task=" + encodeURIComponent($("graph-task").value));
    graph.kinds = kindsOf(graph.data);
    graph.open.clear();
    graph.shown.clear();
    renderGraph();
    $("graph-load").textContent = "Load again";
  } catch (error) {
    $("graph-note").textContent = reason(error);
  }
  $("graph-load").disabled = false;
}
