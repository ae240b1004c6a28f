// SPDX-License-Identifier: Apache-2.0
// Tasks, links, queues, gradients and errors.

function health(task) {
  const since = seconds(Math.max(0, store.status.time - task.health_since));
  const words = {up: "up", done: "job done", down: "down for " + since, missing: "not seen for " + since}[task.health];
  return words + (task.restarts > 0 ? `, restarted ${task.restarts}×` : "");
}

function renderTasks() {
  const up = (f) => (task) => (isUp(task) ? f(task) : "–");
  const columns = [
    ["task", (t) => [h("span", {class: "dot " + t.health}), h("strong", null, `${t.job} ${t.index} `), h("span", {class: "sub"}, t.address)], "text head"],
    ["health", health, "text"],
    ["steps/s", up((t) => number(t.steps.per_second))],
    ["step time", up((t) => seconds(t.steps.mean_seconds))],
    ["parts/s", up((t) => number(t.parts.per_second))],
    ["running", up((t) => whole(t.parts.running))],
    ["staleness", up((t) => (t.staleness === null ? "–" : number(t.staleness)))],
    ["memory", up((t) => bytes(t.memory.resident_bytes))],
    ["for tensors", up((t) => bytes(t.memory.tensor_bytes))],
    ["sent", up((t) => rate(t.sent_per_second))],
    ["received", up((t) => rate(t.received_per_second))],
    ["sessions", up((t) => whole(t.sessions.master))],
  ];
  const tasks = store.status.tasks;
  const shown = table(columns, tasks, "The cluster has no tasks.");
  const rows = shown.querySelectorAll("tbody tr");
  tasks.forEach((task, i) => {
    if (task.error) rows[i].after(h("tr", null, h("td", {class: "why", colspan: columns.length}, task.error)));
  });
  $("tasks").replaceChildren(shown);
}

function renderLinks() {
  const rows = [];
  for (const task of store.status.tasks.filter(isUp)) for (const link of task.links) rows.push({from: task.task, ...link});
  rows.sort((a, b) => b.sent_per_second - a.sent_per_second || b.bytes_sent - a.bytes_sent);
  $("links").replaceChildren(table([
    ["link", (r) => `${shortName(r.from)} → ${shortName(r.peer)}`, "text head"],
    ["by", (r) => r.transport + (r.open === 0 ? ", ended" : "")],
    ["per second", (r) => rate(r.sent_per_second)],
    ["sent", (r) => bytes(r.bytes_sent)],
    ["frames", (r) => number(r.frames_sent)],
    ["waiting", (r) => whole(r.queued_frames)],
    ["silent for", (r) => (r.silent_seconds === null ? "–" : seconds(Math.max(0, r.silent_seconds)))],
  ], rows.slice(0, 64), "No task has opened a link to another yet."));
}

// "_3_name": what a queue without a shared name is called.
const plain = (name) => name.replace(/^_\d+_/, "");

function renderQueues() {
  const rows = [];
  for (const task of store.status.tasks.filter(isUp)) for (const queue of task.queues) rows.push({task: task.task, ...queue});
  const bar = (q) => (q.capacity === null || q.capacity <= 0 ? null
    : h("span", {class: "fill"}, styled(h("i"), {width: Math.min(100, 100 * q.size / q.capacity) + "%"})));
  $("queues").replaceChildren(table([
    ["queue", (q) => [plain(q.name), " ", h("span", {class: "sub"}, shortName(q.task) + (q.closed ? ", closed" : ""))], "text head"],
    ["elements", (q) => [bar(q), whole(q.size), q.capacity === null || q.capacity > 1e9 ? "" : " of " + whole(q.capacity)]],
    ["waiting in/out", (q) => `${q.waiting_to_enqueue}/${q.waiting_to_dequeue}`],
  ], rows.slice(0, 64), "No queues."));
}

function renderGradients() {
  const rows = [];
  for (const task of store.status.tasks.filter(isUp)) for (const a of task.accumulators) rows.push({task: task.task, ...a});
  $("gradients").replaceChildren(table([
    ["accumulator", (a) => [plain(a.name), " ", h("span", {class: "sub"}, shortName(a.task))], "text head"],
    ["applied", (a) => whole(a.applied)],
    ["dropped", (a) => whole(a.dropped) + (a.dropped > 0 ? ` (${number(100 * a.dropped / (a.applied + a.dropped))} %)` : "")],
    ["steps late", (a) => (a.dropped > 0 ? number(a.mean_steps_late) : "–")],
    ["waiting", (a) => whole(a.pending)],
  ], rows.slice(0, 64), "No accumulators: gradients are applied as they come."));
}

function renderErrors() {
  const rows = [];
  for (const task of store.status.tasks.filter(isUp)) for (const error of task.errors) rows.push({task: task.task, ...error});
  rows.sort((a, b) => b.time - a.time);
  if (rows.length === 0) return $("errors").replaceChildren(h("p", {class: "none"}, "None."));
  $("errors").replaceChildren(h("ul", {class: "errors"}, rows.slice(0, 40).map((e) => h("li", null,
    h("span", {class: "sub"}, `${clock(e.time)} · ${shortName(e.task)} · ${shortErrorPlace(e.where)} · ${e.code}${e.count > 1 ? ` · ${whole(e.count)} times` : ""}`),
    h("p", null, e.message)))));
}
const shortErrorPlace = (where) => where.replace(/\/job:\S+/, shortName);
