// SPDX-License-Identifier: Apache-2.0
// Numbers at the top, the map of the cluster, and the curves.

// The newest value of the first curve whose name says that it is one of these.
function newest(pattern) {
  for (const [name, lines] of store.curves) {
    if (!pattern.test(name)) continue;
    let best = null;
    for (const points of lines.values()) {
      const last = points[points.length - 1];
      if (last && (!best || last[0] > best[0])) best = last;
    }
    if (best) return {name, value: best[2]};
  }
  return null;
}

const kLoss = /(^|[/_])(loss|cost|cross_entropy|xent)/i;
const kAccuracy = /(^|[/_])(acc|accuracy)/i;

function renderTiles() {
  const tasks = store.status.tasks, up = tasks.filter(isUp);
  const owner = up.find((t) => t.owns_global_step) || up.find((t) => t.global_step !== null);
  const steps = up.reduce((sum, t) => sum + t.steps.per_second, 0);
  const sent = up.reduce((sum, t) => sum + t.sent_per_second, 0);
  const errors = up.reduce((sum, t) => sum + t.errors_total, 0);
  const loss = newest(kLoss), accuracy = newest(kAccuracy);
  const tiles = [
    [`${up.length} of ${tasks.length}`, "tasks up", up.length < tasks.length],
    owner ? [whole(owner.global_step), "global step"] : null,
    owner && owner.global_steps_per_second > 0 ? [number(owner.global_steps_per_second), "global steps per second"] : null,
    [number(steps), "steps per second, all tasks"],
    loss ? [number(loss.value), "loss", false, loss.name] : null,
    accuracy ? [number(accuracy.value), "accuracy", false, accuracy.name] : null,
    [rate(sent), "between tasks"],
    [whole(errors), errors === 1 ? "error" : "errors", errors > 0],
  ];
  $("tiles").replaceChildren(...tiles.filter(Boolean).map(([value, name, bad, title]) =>
    h("div", {class: bad ? "tile bad" : "tile", title: title || name}, h("b", null, value), h("span", null, name))));
  $("summary").textContent = `seen from ${shortName(store.status.task)}, ${seconds(store.status.time - Math.min(...up.map((t) => t.started)))} after the start`;
  document.title = (up.length < tasks.length ? "(!) " : "") + "Millstream" + (owner ? ` · step ${whole(owner.global_step)}` : "");
}

const kJobOrder = ["chief", "master", "ps", "worker", "evaluator"];
function jobsOf(tasks) {
  const jobs = new Map();
  for (const task of tasks) jobs.set(task.job, [...(jobs.get(task.job) || []), task]);
  const place = (job) => (kJobOrder.includes(job) ? kJobOrder.indexOf(job) : kJobOrder.length);
  return [...jobs].sort((a, b) => place(a[0]) - place(b[0]) || a[0].localeCompare(b[0]));
}

// Where each task is drawn: jobs below each other, as many tasks side by side as fit.
function placeTasks(width) {
  const many = store.status.tasks.length > 16;
  const node = many ? {w: 108, h: 40, gap: 14} : width < 420 ? {w: 150, h: 62, gap: 16} : {w: 158, h: 62, gap: 26};
  const columns = Math.max(1, Math.floor((width - 8 + node.gap) / (node.w + node.gap)));
  const places = new Map(), titles = [];
  let y = 6;
  for (const [job, tasks] of jobsOf(store.status.tasks)) {
    titles.push([job, y + 10]);
    y += 18;
    for (let i = 0; i < tasks.length; i += columns) {
      const row = tasks.slice(i, i + columns);
      const left = (width - row.length * node.w - (row.length - 1) * node.gap) / 2;
      row.forEach((task, j) => places.set(task.task, {x: left + j * (node.w + node.gap), y, task}));
      y += node.h + (i + columns < tasks.length ? node.gap : 0);
    }
    y += many ? 34 : 42;
  }
  return {node, places, titles, height: y - (many ? 8 : 14)};  // lines between tasks of the last row dip below it
}

function flows() {
  const pairs = new Map();
  for (const task of store.status.tasks.filter(isUp)) {
    for (const link of task.links) {
      const key = [task.task, link.peer].sort().join("|");
      const pair = pairs.get(key) || {ends: [task.task, link.peer], rate: 0, open: 0, lines: []};
      pair.rate += link.sent_per_second;
      pair.open += link.open;
      pair.lines.push(`${shortName(task.task)} → ${shortName(link.peer)}: ${rate(link.sent_per_second)} (${link.transport})`);
      pairs.set(key, pair);
    }
  }
  return [...pairs.values()];
}

function flowPath(a, b, node) {
  const sameRow = Math.abs(a.y - b.y) < 1;
  const ax = a.x + node.w / 2, bx = b.x + node.w / 2;
  if (sameRow) {
    const y = a.y + node.h, dip = Math.min(34, 12 + Math.abs(ax - bx) / 12);
    return `M${ax} ${y} C${ax} ${y + dip} ${bx} ${y + dip} ${bx} ${y}`;
  }
  const [top, bottom] = a.y < b.y ? [a, b] : [b, a];
  const tx = top.x + node.w / 2, ty = top.y + node.h, ux = bottom.x + node.w / 2, uy = bottom.y, mid = (ty + uy) / 2;
  return `M${tx} ${ty} C${tx} ${mid} ${ux} ${mid} ${ux} ${uy}`;
}

function renderMap() {
  const box = $("map"), width = Math.max(280, box.clientWidth);
  const {node, places, titles, height} = placeTasks(width);
  const svg = v("svg", {viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": "Cluster map"});
  const all = flows(), fastest = Math.max(1, ...all.map((f) => f.rate));
  for (const flow of all) {
    const [a, b] = flow.ends.map((end) => places.get(end));
    if (!a || !b) continue;
    const moving = flow.rate > 1;
    const path = v("path", Object.assign({class: "flow " + (moving ? "moving" : "idle"), d: flowPath(a, b, node)}, tipFor(flow.lines.join("\n"))));
    svg.append(styled(path, {"stroke-width": (moving ? 2 + 5 * Math.sqrt(flow.rate / fastest) : 1.5) + "px"}));
  }
  for (const [job, y] of titles) svg.append(v("text", {class: "job-name", x: 2, y}, job));
  for (const {x, y, task} of places.values()) svg.append(drawTask(x, y, task, node));
  box.replaceChildren(svg);
}

function drawTask(x, y, task, node) {
  const small = node.h < 50;
  const line = !isUp(task) ? task.health : task.steps.per_second > 0 ? number(task.steps.per_second) + " steps/s" : number(task.parts.per_second) + " parts/s";
  const tip = `${task.task}\n${task.address}\n${task.error || line}`;
  return v("g", Object.assign({transform: `translate(${x} ${y})`}, tipFor(tip)),
    v("rect", {class: "node", width: node.w, height: node.h, rx: 10}),
    v("circle", {class: task.health, cx: 15, cy: small ? 14 : 20, r: 5}),
    v("text", {class: "node-name", x: 27, y: small ? 18 : 24}, `${task.job} ${task.index}`),
    v("text", {x: small ? 27 : 15, y: small ? 33 : 40}, line),
    small || !isUp(task) ? null : v("text", {x: 15, y: 54}, bytes(task.memory.resident_bytes) + " · " + rate(task.sent_per_second)));
}

function curveOrder(name) { return (kLoss.test(name) ? 0 : kAccuracy.test(name) ? 1 : 2) + ":" + name; }

function renderCurves() {
  const box = $("curves");
  const names = [...store.curves.keys()].sort((a, b) => curveOrder(a).localeCompare(curveOrder(b))).slice(0, 24);
  if (box.dataset.names !== names.join("\n")) {
    box.dataset.names = names.join("\n");
    box.replaceChildren(...names.map((name) => h("div", {class: "card"},
      h("div", {class: "curve-head"}, h("h2", {title: name}, name.replace(/:0$/, "")), h("b")), h("div"))));
  }
  names.forEach((name, i) => {
    const lines = [...store.curves.get(name)].map(([task, points]) =>
      ({name: shortName(task), colour: colourOf(task), points: points.map(([t, step, value]) => [t, value, step])}));
    const card = box.children[i];
    const last = newest(new RegExp("^" + name.replace(/[.*+?^${}()|[\]\\]/g, "\\$&") + "$"));
    card.querySelector("b").textContent = last ? number(last.value) : "";
    chart(card.lastChild, lines);
  });
}

function renderCharts() {
  const lines = (column, pick) => store.status.tasks.filter((t) => store.past.has(t.task)).map((t) =>
    ({name: shortName(t.task), colour: colourOf(t.task), points: pick(store.past.get(t.task).rows, column)}));
  const busy = (all) => { const some = all.filter((l) => l.points.some((p) => p[1] > 0)); return some.length > 0 ? some : all; };
  chart($("steps-chart"), busy(lines(1, rates)), {fromZero: true});
  chart($("bytes-chart"), busy(lines(3, rates)), {fromZero: true, format: bytes});
  chart($("memory-chart"), lines(5, (rows, column) => rows.map((r) => [r[0], r[column]])), {fromZero: true, format: bytes});
}
