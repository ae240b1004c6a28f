// SPDX-License-Identifier: Apache-2.0
// What has been heard of the cluster: the newest status, and the past of each task for the charts.

const store = {status: null, past: new Map(), curves: new Map(), since: 0, token: ""};
const kMaxPoints = 1500;

function thin(points) { return points.length <= kMaxPoints ? points : points.filter((_, i) => i % 2 === 0 || i === points.length - 1); }

// A task that was restarted counts from zero again: its past goes.
function remember(task) {
  let past = store.past.get(task.task);
  if (!past || past.incarnation !== task.incarnation) {
    past = {incarnation: task.incarnation, rows: []};
    store.past.set(task.task, past);
  }
  for (const row of task.history || []) {
    if (past.rows.length === 0 || row[0] > past.rows[past.rows.length - 1][0]) past.rows.push(row);
  }
  past.rows = thin(past.rows);
  for (const scalar of task.scalars || []) {
    if (!store.curves.has(scalar.name)) store.curves.set(scalar.name, new Map());
    const lines = store.curves.get(scalar.name);
    if (!lines.has(task.task)) lines.set(task.task, []);
    const points = lines.get(task.task);
    for (const point of scalar.points) {
      if (point[2] !== null && (points.length === 0 || point[0] > points[points.length - 1][0])) points.push(point);
    }
    lines.set(task.task, thin(points));
  }
}

function accept(status) {
  store.status = status;
  store.token = status.action_token;
  for (const task of status.tasks) if (isUp(task)) remember(task);
  // Clocks of hosts differ: ask again for a while that was heard already.
  const times = status.tasks.filter(isUp).map((t) => t.time);
  if (times.length > 0) store.since = Math.max(0, Math.min(...times) - 5);
}

function isUp(task) { return task.health === "up" || task.health === "done"; }
const colourOf = (name) => colour(Math.max(0, store.status.tasks.findIndex((t) => t.task === name)));

// Changes per second between the rows of a task's past, by column.
function rates(rows, column) {
  const points = [];
  for (let i = 1; i < rows.length; i++) {
    const dt = rows[i][0] - rows[i - 1][0];
    if (dt > 0.2) points.push([rows[i][0], Math.max(0, rows[i][column] - rows[i - 1][column]) / dt]);
  }
  return smooth(points);
}
function smooth(points) {
  return points.map((p, i) => {
    const near = points.slice(Math.max(0, i - 2), i + 3);
    return [p[0], near.reduce((sum, q) => sum + q[1], 0) / near.length];
  });
}

const secret = (() => {
  const match = /[#&]token=([^&]+)/.exec(location.hash);
  return match ? decodeURIComponent(match[1]) : "";
})();

async function call(path, options) {
  const headers = Object.assign({}, options && options.headers);
  if (secret) headers.Authorization = "Bearer " + secret;
  const response = await fetch(path, Object.assign({}, options, {headers, cache: "no-store"}));
  const text = await response.text();
  if (response.ok) return JSON.parse(text);
  let why = text.trim();
  try { why = JSON.parse(text).error || why; } catch (e) { /* not JSON: a line of text */ }
  throw new Error(why || "HTTP " + response.status);
}
