// SPDX-License-Identifier: Apache-2.0
// One step of the whole cluster over time.

const trace = {events: null, from: 0, to: 0};

async function startTrace() {
  const button = $("trace-start");
  button.disabled = true;
  $("trace-note").textContent = "Waiting for the next step…";
  try {
    const answer = await call("trace?task=" + encodeURIComponent($("trace-task").value),
      {method: "POST", headers: {"X-Millstream-Action": store.token}});
    trace.events = answer.traceEvents;
    const save = $("trace-save");
    if (save.href) URL.revokeObjectURL(save.href);
    save.href = URL.createObjectURL(new Blob([JSON.stringify(answer)], {type: "application/json"}));
    save.hidden = false;
    trace.end = trace.events.reduce((end, e) => (e.ph === "X" ? Math.max(end, e.ts + e.dur) : end), 1);
    trace.from = 0;
    trace.to = trace.end;
    renderTrace();
  } catch (error) {
    $("trace-note").textContent = reason(error);
  }
  button.disabled = false;
}

// A lane for each thread of each device that ran something.
function lanesOf(nodes) {
  const names = new Map(trace.events.filter((e) => e.ph === "M").map((e) => [e.pid, e.args.name]));
  const lanes = new Map();
  for (const node of nodes) {
    const key = node.pid + ":" + node.tid;
    if (!lanes.has(key)) lanes.set(key, {pid: node.pid, device: names.get(node.pid) || "", events: []});
    lanes.get(key).events.push(node);
  }
  return [...lanes.values()].sort((a, b) => a.pid - b.pid || a.events[0].ts - b.events[0].ts).slice(0, 40);
}

function renderTrace() {
  const box = $("trace"), width = Math.max(300, box.clientWidth);
  const nodes = trace.events.filter((e) => e.ph === "X");
  const lanes = lanesOf(nodes);
  const left = width < 560 ? 8 : 130, laneHeight = 26, top = 24;
  const height = top + lanes.length * laneHeight + 8;
  const x = (t) => left + (t - trace.from) / (trace.to - trace.from) * (width - left - 8);
  const svg = v("svg", {viewBox: `0 0 ${width} ${height}`, width, height, tabindex: 0, role: "img",
    "aria-label": "Step timeline. Plus and minus zoom, arrow keys move, Escape shows all. The table below has the longest nodes."});
  for (const tick of niceTicks(trace.from, trace.to, width < 560 ? 3 : 7)) {
    svg.append(v("line", {class: "grid", x1: x(tick), x2: x(tick), y1: top - 6, y2: height}),
               v("text", {x: x(tick), y: 12, "text-anchor": "middle"}, seconds(tick / 1e6)));
  }
  const inside = v("svg", {x: left, y: 0, width: width - left - 8, height, viewBox: `${left} 0 ${width - left - 8} ${height}`});
  const ops = [...new Set(nodes.map((e) => e.name))];
  let lastDevice = null;
  lanes.forEach((lane, i) => {
    const y = top + i * laneHeight;
    if (lane.device !== lastDevice && left > 20) svg.append(v("text", {x: 0, y: y + 15}, shortName(lane.device)));
    lastDevice = lane.device;
    for (const e of visibleEvents(lane.events)) inside.append(...drawEvent(e, x, y, laneHeight, ops, lane));
  });
  svg.append(inside);
  zoomable(svg, left, width);
  const focused = box.contains(document.activeElement), longest = h("div");
  slowest(longest, nodes);
  box.replaceChildren(svg, h("h3", null, "Longest ops"), longest);
  if (focused) svg.focus({preventScroll: true});
  $("trace-note").textContent = `${plural(nodes.length, "node")} in ${seconds(trace.end / 1e6)}; drag over a part to enlarge it, double-click for all`;
}

// The longest events of a lane that lie within the part that is shown: a step may have tens of thousands.
function visibleEvents(events) {
  const inside = events.filter((e) => e.ts + e.dur >= trace.from && e.ts <= trace.to);
  return inside.length <= 600 ? inside : inside.sort((a, b) => b.dur - a.dur).slice(0, 600);
}

function drawEvent(e, x, y, laneHeight, ops, lane) {
  const x1 = x(e.ts), x2 = Math.max(x1 + 1.5, x(e.ts + e.dur));
  const tip = `${e.args.name}\n${e.name} on ${shortName(lane.device)}\n${seconds(e.dur / 1e6)}, from ${seconds(e.ts / 1e6)}`;
  const rect = styled(v("rect", {class: "event", x: x1, y: y + 2, width: x2 - x1, height: laneHeight - 6, rx: 3, "data-tip": tip}),
    {fill: e.name === "_Recv" ? "var(--line)" : colour(ops.indexOf(e.name))});  // waiting is not work
  if (x2 - x1 < 12 + 6.5 * e.name.length) return [rect];
  return [v("g", {class: e.name === "_Recv" ? null : "box"}, rect, v("text", {x: x1 + 6, y: y + 17}, e.name))];
}

function zoomTo(from, to) {
  const span = Math.min(trace.end, Math.max(1, to - from));
  trace.from = Math.min(trace.end - span, Math.max(0, from));
  trace.to = trace.from + span;
  renderTrace();
}

const kZoomKeys = {"+": [0.25, -0.25], "=": [0.25, -0.25], "-": [-0.5, 0.5], ArrowLeft: [-0.2, -0.2], ArrowRight: [0.2, 0.2]};

function zoomable(svg, left, width) {
  const at = (event) => {
    const box = svg.getBoundingClientRect();
    const part = ((event.clientX - box.left) * width / box.width - left) / (width - left - 8);
    return trace.from + Math.min(1, Math.max(0, part)) * (trace.to - trace.from);
  };
  let begin = null;
  svg.addEventListener("pointerdown", (event) => { begin = at(event); });
  svg.addEventListener("pointerup", (event) => {
    if (begin === null) return;
    const [from, to] = [begin, at(event)].sort((a, b) => a - b);
    begin = null;
    if (to - from < (trace.to - trace.from) / 100) return;
    zoomTo(from, to);
  });
  svg.addEventListener("dblclick", () => zoomTo(0, trace.end));
  svg.addEventListener("keydown", (event) => {
    const span = trace.to - trace.from, move = kZoomKeys[event.key];
    if (event.key === "Escape") zoomTo(0, trace.end);
    if (!move) return;
    event.preventDefault();
    zoomTo(trace.from + move[0] * span, trace.to + move[1] * span);
  });
}

function slowest(box, nodes) {
  const sums = new Map();
  for (const e of nodes) {
    const sum = sums.get(e.name) || {op: e.name, count: 0, time: 0, longest: e};
    sum.count++;
    sum.time += e.dur;
    if (e.dur > sum.longest.dur) sum.longest = e;
    sums.set(e.name, sum);
  }
  table(box, [
    ["op", (r) => r.op, null, "text"],
    ["time", (r) => seconds(r.time / 1e6), "Time of all nodes with this op together.", ""],
    ["nodes", (r) => whole(r.count), "How many nodes with this op ran.", ""],
    ["longest node", (r) => `${r.longest.args.name} (${seconds(r.longest.dur / 1e6)})`, "The node with this op that took longest.", "text"],
  ], [...sums.values()].sort((a, b) => b.time - a.time).slice(0, 8), "Nothing ran.");
}
