// SPDX-License-Identifier: Apache-2.0
// What the cluster has answered: the newest status, and the history of each task for the charts. All of it is bounded.

const store = {status: null, past: new Map(), curves: new Map(), since: 0, token: "", ended: false};
const kMaxTasks = 256, kMaxCurves = 96, kMaxStoredPoints = 150000;

const list = (x) => (Array.isArray(x) ? x : []);
const numeric = (x) => (typeof x === "number" ? x : 0);
const text = (x) => (typeof x === "string" ? x : "");

// A task's answer comes from its own program, perhaps of another version: what is missing or of another type must not break the page.
function normalise(task) {
  const object = (x) => (x !== null && typeof x === "object" ? x : {});
  const numbers = (x, ...names) => { const from = object(x); return {...from, ...Object.fromEntries(names.map((n) => [n, numeric(from[n])]))}; };
  const rows = (x, names, numericNames) => list(x).slice(0, 256).map((row) =>
    ({...numbers(row, ...numericNames), ...Object.fromEntries(names.map((n) => [n, text(object(row)[n])]))}));
  const has = ["up", "done"].includes(task.health);
  return {...numbers(task, "index", "sent_per_second", "received_per_second", "global_steps_per_second", "errors_total", "restarts", "started", "health_since"),
    task: text(task.task), job: text(task.job), address: text(task.address), error: text(task.error), health: text(task.health), has,
    steps: numbers(task.steps, "ended", "per_second"), parts: numbers(task.parts, "per_second", "running"),
    sessions: numbers(task.sessions, "master"), memory: numbers(task.memory, "resident_bytes", "tensor_bytes"),
    links: has ? rows(task.links, ["peer", "transport"], ["open", "bytes_sent", "frames_sent", "sent_per_second", "queued_frames"]) : [],
    queues: has ? rows(task.queues, ["name"], ["size", "waiting_to_enqueue", "waiting_to_dequeue"]) : [],
    accumulators: has ? rows(task.accumulators, ["name"], ["applied", "dropped", "pending", "mean_steps_late"]) : [],
    clocks: has ? rows(task.staleness_clocks, ["name"], ["bound", "workers", "slowest_step", "waiting"]).map((clock) =>
      ({...clock, staleness: list(clock.staleness).slice(0, 64).map(numeric)})) : [],
    errors: has ? rows(task.errors, ["where", "code", "message"], ["time", "count"]) : []};
}

// Keeps the newest point and every second of the others, over and over, until the rest fits.
function thin(points, limit) {
  while (points.length > limit) points = points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
  return points;
}
function addPoints(points, more) {
  for (const point of list(more)) {
    if (Array.isArray(point) && typeof point[0] === "number" && (points.length === 0 || point[0] > points[points.length - 1][0])) points.push(point);
  }
}

// Steps that train, steps that only compute, summary ops, and evaluations are different curves even if they share a name.
function rememberScalar(task, scalar) {
  const title = text(scalar.name).replace(/:0$/, "");
  if (!store.curves.has(title)) {
    if (store.curves.size >= kMaxCurves) return;
    store.curves.set(title, new Map());
  }
  const lines = store.curves.get(title), source = text(scalar.source), run = text(scalar.run);
  const key = [task.task, source, run].join("\n");
  if (!lines.has(key)) lines.set(key, {task: task.task, source, run, points: []});
  const line = lines.get(key), from = line.points.length;
  addPoints(line.points, scalar.points);
  line.points = line.points.map((p, i) => (i < from || known(p[1]) ? p : [p[0], stepAt(p[0]), p[2]]));
}

// A task that was restarted counts from zero again: its history goes.
function rememberRates(task) {
  let past = store.past.get(task.task);
  if (!past || past.incarnation !== task.incarnation) {
    past = {incarnation: task.incarnation, rows: []};
    store.past.set(task.task, past);
  }
  addPoints(past.rows, task.history);
  past.rows = thin(past.rows, 1000);
}

function boundCurves() {
  let lines = 0;
  for (const curve of store.curves.values()) lines += curve.size;
  const limit = Math.max(40, Math.min(1500, Math.floor(kMaxStoredPoints / Math.max(1, lines))));
  for (const curve of store.curves.values()) for (const line of curve.values()) line.points = thin(line.points, limit);
}

// At the end, of tasks that do not answer any more the newest that is known stays. The last answer of a server that stops tells of its
// own task alone.
function lastKnown(tasks) {
  const final = new Map(tasks.map((t) => [t.task, t])), answer = (t) => final.get(t.task);
  return store.status ? store.status.tasks.map((t) => (answer(t) && (answer(t).has || !t.has) ? answer(t) : t)) : tasks;
}

function accept(status) {
  const tasks = list(status.tasks).slice(0, kMaxTasks).map(normalise);
  const ended = status.ended === true || tasks.some((t) => t.task === status.task && t.health === "done");
  if (store.ended && !ended) store.curves.clear();  // another job at the same address
  store.ended = ended;
  store.status = {...status, tasks: ended ? lastKnown(tasks) : tasks};
  if (status.action_token) store.token = status.action_token;
  for (const task of tasks) if (task.has) rememberRates(task);
  for (const task of tasks) if (task.has) for (const scalar of list(task.scalars)) if (scalar && scalar.name) rememberScalar(task, scalar);
  boundCurves();
  // Clocks of hosts differ: ask again for a few seconds that were answered already.
  const times = tasks.filter((t) => t.has).map((t) => numeric(t.time));
  if (times.length > 0) store.since = Math.max(0, Math.min(...times) - 5);
}

// The global step at a time, from the history of the task that has the variable; null if nobody knows. For curves of tasks that do not
// know it themselves.
function stepAt(time) {
  const owner = store.status.tasks.find((t) => t.owns_global_step), past = owner && store.past.get(owner.task);
  const rows = past ? past.rows : [];
  if (rows.length === 0 || !known(rows[rows.length - 1][6])) return null;
  let i = rows.length - 1;
  while (i > 0 && rows[i - 1][0] >= time) i--;
  const [before, after] = [rows[Math.max(0, i - 1)], rows[i]];
  if (!known(before[6]) || !known(after[6]) || after[0] <= before[0]) return known(after[6]) ? after[6] : 0;
  const part = Math.min(1, Math.max(0, (time - before[0]) / (after[0] - before[0])));
  return Math.round(before[6] + part * (after[6] - before[6]));
}

const colourOf = (name) => colour(Math.max(0, store.status.tasks.findIndex((t) => t.task === name)));

// How a task is shown: nobody is "up" once the job has ended or the server no longer answers.
function healthOf(task) {
  if (!task.has) return task.health !== "down" ? "missing" : store.ended ? "done" : "down";
  return store.ended || task.health === "done" ? "done" : connection.lost() ? "unknown" : "up";
}

// Changes per second between the rows of a task's history, by column; a mean over five rows.
function rates(rows, column) {
  const points = [];
  for (let i = 1; i < rows.length; i++) {
    const dt = rows[i][0] - rows[i - 1][0];
    if (dt > 0.2) points.push([rows[i][0], Math.max(0, rows[i][column] - rows[i - 1][column]) / dt]);
  }
  return points.map((p, i) => {
    const near = points.slice(Math.max(0, i - 2), i + 3);
    return [p[0], near.reduce((sum, q) => sum + q[1], 0) / near.length];
  });
}
