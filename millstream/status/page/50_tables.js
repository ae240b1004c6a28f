// SPDX-License-Identifier: Apache-2.0
// Tables of tasks, links, queues and gradients, and the list of errors.

const kMaxRows = 64;

// columns: [title, cell(row), tip, classes]; a cell is text, an element or a list of them. The head stays in place when rows change, so
// that its tips keep the keyboard's focus. Narrow screens leave out columns of the class "minor" until they are asked for.
function table(box, columns, rows, empty) {
  if (rows.length === 0) return box.replaceChildren(h("p", {class: "none"}, empty));
  let body = box.querySelector("tbody");
  if (!body) {
    const head = columns.map(([title, , tip, kind]) => h("th", {class: kind, scope: "col"}, tip ? h("span", {tabindex: 0, "data-tip": tip}, title) : title));
    body = h("tbody");
    box.replaceChildren(h("div", {class: "scroller"}, h("table", null, h("thead", null, h("tr", null, head)), body)));
    if (columns.some(([, , , kind]) => /minor/.test(kind))) {
      box.append(h("button", {type: "button", class: "all-columns", "aria-expanded": false, onclick: (event) => {
        const all = box.classList.toggle("all");
        event.target.textContent = all ? "Fewer columns" : "All columns";
        event.target.setAttribute("aria-expanded", all);
      }}, "All columns"));
    }
  }
  body.replaceChildren(...rows.slice(0, kMaxRows).map((row) => h("tr", null, columns.map(([, cell, , kind]) => h("td", {class: kind}, cell(row))))));
  const more = box.querySelector(".more") || h("p", {class: "none more"});
  more.textContent = rows.length > kMaxRows ? `${whole(rows.length - kMaxRows)} more rows are not shown.` : "";
  box.append(more);
}

function healthText(task) {
  const since = seconds(Math.max(0, store.status.time - task.health_since));
  const words = {up: "up", done: "ended", unknown: "no answer", down: "down for " + since, missing: "not seen for " + since}[healthOf(task)];
  return words + (task.restarts > 0 ? `, restarted ${task.restarts}×` : "");
}

const kTaskColumns = (() => {
  const of = (f) => (task) => (task.has ? f(task) : "–");
  return [
    ["task", (t) => [h("strong", null, h("span", {class: "dot " + healthOf(t)}), `${t.job} ${t.index}`), " ", h("span", {class: "sub"}, t.address),
      t.error ? h("div", {class: "why"}, t.error) : null], null, "text"],
    ["health", healthText, "Whether the task answers: up, ended, down (it answered before) or not seen yet.", "text whole"],
    ["steps/s", of((t) => number(t.steps.per_second)), "Session.run calls per second of the sessions at this task, over the last 5 seconds.", ""],
    ["step time", of((t) => seconds(t.steps.mean_seconds)), "Mean time of one such step, over the last 5 seconds.", ""],
    ["partitions/s", of((t) => number(t.parts.per_second)),
      "Graph partitions per second that this task computes, for its own sessions and for those of other tasks.", "minor"],
    ["running", of((t) => whole(t.parts.running)), "Graph partitions that it computes right now.", "minor"],
    ["staleness", of((t) => number(t.staleness)),
      "Estimate of how many updates other workers make while one step of this task runs. 0: nobody else trains.", "minor"],
    ["memory", of((t) => bytes(t.memory.resident_bytes)), "Resident memory of the process.", ""],
    ["tensors", of((t) => bytes(t.memory.tensor_bytes)), "The part of it that is held for tensors, in use or kept for the next step.", "minor"],
    ["sent", of((t) => rate(t.sent_per_second)), "Bytes per second to other tasks.", "minor"],
    ["received", of((t) => rate(t.received_per_second)), "Bytes per second from other tasks.", "minor"],
    ["sessions", of((t) => whole(t.sessions.master)), "Open sessions whose master is this task.", "minor"],
  ];
})();

const kLinkColumns = [
  ["link", (r) => `${shortName(r.from)} → ${shortName(r.peer)}`, null, "text"],
  ["transport", (r) => r.transport + (r.open === 0 ? ", closed" : ""),
    "How bytes travel: shm is shared memory on one host, tcp and grpc are the network.", "minor"],
  ["rate", (r) => rate(r.sent_per_second), "Bytes per second that the first task sends to the second, over the last 5 seconds.", ""],
  ["sent", (r) => bytes(r.bytes_sent), "Bytes sent since the start.", ""],
  ["frames", (r) => number(r.frames_sent), "Messages sent since the start.", "minor"],
  ["queued", (r) => whole(r.queued_frames), "Messages that wait to be sent. If there are always some, the link limits the speed.", ""],
  ["silent for", (r) => (typeof r.silent_seconds === "number" ? seconds(Math.max(0, r.silent_seconds)) : "–"),
    "Time since anything last arrived over this link.", "minor"],
];

// "_3_name": what a resource without a shared name is called.
const plain = (name) => name.replace(/^_\d+_/, "");
const fillBar = (q) => (typeof q.capacity !== "number" || q.capacity <= 0 ? null
  : h("span", {class: "fill"}, styled(h("i"), {width: Math.min(100, 100 * q.size / q.capacity) + "%"})));

const kQueueColumns = [
  ["queue", (q) => [plain(q.name), " ", h("span", {class: "sub"}, shortName(q.task) + (q.closed === true ? ", closed" : ""))], null, "text"],
  ["elements", (q) => [fillBar(q), whole(q.size), typeof q.capacity !== "number" || q.capacity > 1e9 ? "" : " of " + whole(q.capacity)],
    "Elements in the queue, of those that fit.", ""],
  ["blocked in/out", (q) => `${q.waiting_to_enqueue}/${q.waiting_to_dequeue}`,
    "Steps that wait to enqueue (the queue is full) and to dequeue (it is empty).", ""],
];

const kGradientColumns = [
  ["accumulator", (a) => [plain(a.name), " ", h("span", {class: "sub"}, shortName(a.task))], null, "text"],
  ["applied", (a) => whole(a.applied), "Gradients that were recent enough and were added.", ""],
  ["dropped", (a) => whole(a.dropped) + (a.dropped > 0 ? ` (${number(100 * a.dropped / (a.applied + a.dropped))} %)` : ""),
    "Gradients that came too late: they were computed from variables of an earlier step.", ""],
  ["steps late", (a) => (a.dropped > 0 ? number(a.mean_steps_late) : "–"), "By how many steps the dropped ones were late, on average.", "minor"],
  ["pending", (a) => whole(a.pending), "Gradients that have been added since the mean was last taken.", "minor"],
];

// A bar for each number of steps that a worker was ahead, as high as the share of such steps.
function histogram(counts) {
  const total = counts.reduce((sum, n) => sum + n, 0);
  if (total === 0) return "–";
  const share = (n) => number(100 * n / total);
  const words = counts.map((n, i) => `${i} ahead: ${share(n)} %`).join(", ");
  return h("span", {class: "histogram", role: "img", "aria-label": words, title: words},
    ...counts.map((n) => styled(h("i"), {height: Math.max(n > 0 ? 8 : 0, 100 * n / Math.max(...counts)) + "%"})));
}

const kClockColumns = [
  ["clock", (c) => [plain(c.name), " ", h("span", {class: "sub"}, shortName(c.task))], null, "text"],
  ["staleness", (c) => histogram(c.staleness), "Steps by how many steps the worker was ahead of the slowest one when they began: 0 at the left, the bound at the right.", ""],
  ["bound", (c) => whole(c.bound), "By how many steps a worker may be ahead of the slowest one.", ""],
  ["held back", (c) => `${whole(c.waiting)} of ${whole(c.workers)}`, "Workers that wait for slower ones now.", ""],
  ["slowest", (c) => whole(c.slowest_step), "Steps that the slowest worker has made.", "minor"],
];

const rowsOfAll = (member) => store.status.tasks.flatMap((task) => task[member].map((row) => ({...row, task: task.task})));

function renderTables() {
  table($("tasks"), kTaskColumns, store.status.tasks, "The cluster has no tasks.");
  const links = rowsOfAll("links").map((row) => ({...row, from: row.task}));
  links.sort((a, b) => b.sent_per_second - a.sent_per_second || b.bytes_sent - a.bytes_sent);
  const queues = rowsOfAll("queues"), accumulators = rowsOfAll("accumulators"), clocks = rowsOfAll("clocks");
  table($("links"), kLinkColumns, links, "No task has opened a link to another yet.");
  table($("queues"), kQueueColumns, queues, "No queues.");
  table($("gradients"), kGradientColumns, accumulators, "No accumulators: gradients are applied as they arrive.");
  table($("clocks"), kClockColumns, clocks, "No clocks: nothing bounds the staleness of workers.");
  $("clocks-card").hidden = clocks.length === 0;
  $("links-card").hidden = links.length === 0;
  $("queues-card").hidden = queues.length === 0;
  $("gradients-card").hidden = accumulators.length === 0;
  $("links-count").textContent = links.length;
  $("queues-count").textContent = queues.length;
  $("gradients-count").textContent = accumulators.length;
}

const shortErrorPlace = (where) => where.replace(/\/job:\S+/, shortName);

function renderErrors() {
  const rows = rowsOfAll("errors").sort((a, b) => b.time - a.time);
  if (rows.length === 0) return $("errors").replaceChildren(h("p", {class: "none"}, "None."));
  const head = (e) => [clock(e.time), shortName(e.task), shortErrorPlace(e.where), e.code, e.count > 1 ? `${whole(e.count)} times` : ""];
  $("errors").replaceChildren(h("ul", {class: "errors"}, rows.slice(0, 40).map((e) =>
    h("li", null, h("span", {class: "sub"}, head(e).filter(Boolean).join(" · ")), h("p", null, e.message)))));
}
