// SPDX-License-Identifier: Apache-2.0
// The map of the cluster: tasks by job, links as thick as what goes over them.

const kJobOrder = ["chief", "master", "ps", "worker", "evaluator"];
function jobsOf(tasks) {
  const jobs = new Map();
  for (const task of tasks) jobs.set(task.job, [...(jobs.get(task.job) || []), task]);
  const place = (job) => (kJobOrder.includes(job) ? kJobOrder.indexOf(job) : kJobOrder.length);
  return [...jobs].sort((a, b) => place(a[0]) - place(b[0]) || a[0].localeCompare(b[0]));
}

const largest = (tasks) => Math.max(1, ...jobsOf(tasks).map(([, of]) => of.length));

// A few tasks stand beside the numbers; many take the whole width.
function nodeSize(width) {
  const many = store.status.tasks.length > 12 || largest(store.status.tasks) > 6;
  return many ? {w: 98, h: 38, gap: 10, row: 26, many} : width < 420 ? {w: 140, h: 48, gap: 14, row: 26} : {w: 150, h: 52, gap: 20, row: 32};
}

// Where each task is drawn: jobs below each other, as many tasks side by side as fit; no wider than needed. Many share the whole width.
function placeTasks(available) {
  const node = nodeSize(available);
  const fit = Math.max(1, Math.floor((available - 2 + node.gap) / (node.w + node.gap)));
  const columns = Math.min(fit, largest(store.status.tasks));
  if (node.many) node.w = Math.min(150, (available - 2 + node.gap) / columns - node.gap);
  const width = columns * (node.w + node.gap) - node.gap + 2;
  const places = new Map(), titles = [];
  let y = 0;
  for (const [job, tasks] of jobsOf(store.status.tasks)) {
    titles.push([`${job}${tasks.length > 1 ? ` × ${tasks.length}` : ""}`, y + 11]);
    y += 17;
    for (let i = 0; i < tasks.length; i += columns) {
      const row = tasks.slice(i, i + columns);
      const left = tasks.length > columns ? 1 : (width - row.length * (node.w + node.gap) + node.gap) / 2;
      row.forEach((task, j) => places.set(task.task, {x: left + j * (node.w + node.gap), y, task}));
      y += node.h + (i + columns < tasks.length ? node.gap : 0);
    }
    y += node.row;
  }
  return {node, places, titles, width, height: y - node.row + 1};
}

function flows() {
  const pairs = new Map();
  for (const task of store.status.tasks) {
    for (const link of task.links) {
      const key = [task.task, link.peer].sort().join("|");
      const pair = pairs.get(key) || {ends: [task.task, link.peer], rate: 0, lines: []};
      pair.rate += link.sent_per_second;
      pair.lines.push(`${shortName(task.task)} → ${shortName(link.peer)}: ${rate(link.sent_per_second)} (${link.transport})`);
      pairs.set(key, pair);
    }
  }
  return [...pairs.values()].sort((a, b) => b.rate - a.rate).slice(0, 400);
}

// Tasks of one row are joined by an arc below them.
function flowPath(a, b, node) {
  const ax = a.x + node.w / 2, bx = b.x + node.w / 2;
  if (Math.abs(a.y - b.y) < 1) {
    const y = a.y + node.h, dip = Math.min(26, 10 + Math.abs(ax - bx) / 12);
    return {d: `M${ax} ${y} C${ax} ${y + dip} ${bx} ${y + dip} ${bx} ${y}`, bottom: y + 0.75 * dip + 4};
  }
  const [top, bottom] = a.y < b.y ? [a, b] : [b, a];
  const tx = top.x + node.w / 2, ty = top.y + node.h, ux = bottom.x + node.w / 2, uy = bottom.y, mid = (ty + uy) / 2;
  return {d: `M${tx} ${ty} C${tx} ${mid} ${ux} ${mid} ${ux} ${uy}`, bottom: 0};
}

const kHealthWords = {up: "up", done: "ended", down: "down", missing: "not seen yet", unknown: "no answer"};

function mapSummary() {
  const tasks = store.status.tasks;
  if (tasks.length <= 16) return "Cluster: " + tasks.map((t) => `${t.job} ${t.index} ${kHealthWords[healthOf(t)]}`).join(", ");
  return `Cluster of ${tasks.length} tasks, ${tasks.filter((t) => healthOf(t) === "up").length} of them up`;
}

function renderMap() {
  const box = $("map");
  if (store.status.tasks.length === 0) return box.replaceChildren(h("p", {class: "none"}, "The cluster has no tasks."));
  const available = Math.max(240, $("top").clientWidth - 2 * (innerWidth < 960 ? 13 : 17));
  const {node, places, titles, width, height} = placeTasks(available);
  $("top").classList.toggle("beside", !node.many && width <= 0.5 * available);
  const all = flows(), fastest = Math.max(1, ...all.map((f) => f.rate)), lines = [];
  let bottom = height;
  for (const flow of all) {
    const [a, b] = flow.ends.map((end) => places.get(end));
    if (!a || !b) continue;
    const moving = flow.rate > 1 && [a, b].some(({task}) => healthOf(task) === "up"), path = flowPath(a, b, node);
    bottom = Math.max(bottom, path.bottom);
    // Many lines would be a flicker: thin and still.
    const kind = !moving ? "idle" : all.length > 24 ? "still" : "moving";
    lines.push(styled(v("path", {class: "flow " + kind, d: path.d, "data-tip": flow.lines.join("\n")}),
      {"stroke-width": (kind === "moving" ? 2 + 4 * Math.sqrt(flow.rate / fastest) : 1.5) + "px"}));
  }
  const svg = v("svg", {viewBox: `0 0 ${width} ${bottom}`, width, height: bottom, role: "img", "aria-label": mapSummary()}, lines,
    titles.map(([job, y]) => v("text", {class: "job-name", x: 1, y}, job)),
    [...places.values()].map(({x, y, task}) => drawTask(x, y, task, node)));
  box.replaceChildren(svg);
}

function drawTask(x, y, task, node) {
  const small = node.h < 45, health = healthOf(task);
  const speed = task.steps.per_second > 0 ? number(task.steps.per_second) + " steps/s" : number(task.parts.per_second) + " partitions/s";
  const line = health === "up" ? (small ? speed.replace("partitions", "part.") : speed) : kHealthWords[health];
  const detail = health === "up" ? `\n${bytes(task.memory.resident_bytes)} memory, ${rate(task.sent_per_second)} sent` : "";
  return v("g", {transform: `translate(${x} ${y})`, "data-tip": `${task.task}\n${task.address}\n${task.error || line}${detail}`},
    v("rect", {class: "node", width: node.w, height: node.h, rx: 9}),
    v("circle", {class: health, cx: 14, cy: small ? 13 : 18, r: 5}),
    v("text", {class: "node-name", x: 25, y: small ? 17 : 22}, `${task.job} ${task.index}`.slice(0, small ? 11 : 17)),
    v("text", {x: small ? 9 : 14, y: small ? 31 : 40}, line));
}
