// SPDX-License-Identifier: Apache-2.0
// Curves of what steps fetch, of summaries and of evaluations; and of the tasks' rates.

const kFewCurves = 6, kManyCurves = 32;
const view = {
  axis: saved("axis") === "time" ? "time" : "step",
  log: saved("log") === "yes",
  smoothing: Math.min(0.95, Math.max(0, Number(saved("smoothing")) || 0)),
  all: false,  // curves beyond the first few
};

function curveOrder(name) { return (kLoss.test(name) ? 0 : kAccuracy.test(name) ? 1 : 2) + ":" + name; }

// Evaluations make the single batches that they consist of uninteresting.
function linesOf(title) {
  const lines = [...store.curves.get(title).values()].filter((line) => line.points.length > 0);
  const evaluated = new Set(lines.filter((line) => line.source === "evaluation").map((line) => line.task));
  return lines.filter((line) => line.source !== "read" || !evaluated.has(line.task))
    .sort((a, b) => Object.keys(kSources).indexOf(a.source) - Object.keys(kSources).indexOf(b.source) || a.task.localeCompare(b.task, "en", {numeric: true}));
}

// A curve whose steps are not known can only be drawn over time.
function lineOf(line, several, axis, i) {
  const points = line.points.map(([time, step, y]) => (axis === "step" ? [step, y, time] : [time, y, step]));
  const marked = line.source === "evaluation" || line.source === "read";
  const of = line.source === "evaluation" ? `evaluation${line.run ? ` (${line.run})` : ""}` : sourceName(line);
  return {name: shortName(line.task) + (several ? ", " + of : ""), named: several, marked, colour: marked ? colour(i + 1) : colourOf(line.task),
    points: axis === "step" ? points.sort((a, b) => a[0] - b[0]) : points};
}

function renderCurve(card, title) {
  const lines = linesOf(title), sources = [...new Set(lines.map(sourceName))];
  const axis = view.axis === "step" && lines.every((line) => line.points.every((p) => known(p[1]))) ? "step" : "time";
  const drawn = lines.map((line, i) => lineOf(line, sources.length > 1, axis, i));
  const last = lines.map((line) => [sourceName(line), line.points[line.points.length - 1]]).reduce((a, b) => (b[1][0] > a[1][0] ? b : a));
  card.querySelector("b").textContent = value(last[1][2]);
  card.querySelector("b").className = known(last[1][2]) ? "" : "bad-text";
  card.querySelector("b").dataset.tip = `The newest value: ${last[0]}.`;
  const notes = ["of " + sources.join(" and "), axis !== view.axis ? "over time: its steps are not known" : "over " + (axis === "step" ? "steps" : "time")];
  const hidden = view.log ? lines.reduce((n, line) => n + line.points.filter((p) => known(p[2]) && p[2] <= 0).length, 0) : 0;
  if (hidden > 0) notes.push(`${plural(hidden, "value")} of 0 or less not shown on a log scale`);
  card.querySelector(".of").textContent = notes.join(", ");
  chart(card.lastChild, drawn, {axis, log: view.log, smoothing: view.smoothing, label: `${title}, ${notes[0]}`, height: innerWidth < 600 ? 140 : 170});
}

function renderCurves() {
  const box = $("curves"), all = [...store.curves.keys()].filter((title) => linesOf(title).length > 0)
    .sort((a, b) => curveOrder(a).localeCompare(curveOrder(b)));
  const few = innerWidth < 600 ? 2 : kFewCurves, titles = all.slice(0, view.all ? kManyCurves : few);
  $("curve-tools").hidden = all.length === 0;
  const more = $("curves-more");
  more.hidden = all.length <= few;
  more.textContent = view.all ? "Show fewer curves" : `Show all ${Math.min(all.length, kManyCurves)} curves`;
  more.setAttribute("aria-expanded", view.all);
  if (box.dataset.titles !== titles.join("\n")) {
    box.dataset.titles = titles.join("\n");
    box.replaceChildren(...titles.map((title) => h("div", {class: "card"},
      h("div", {class: "curve-head"}, h("h3", {"data-tip": title}, title), h("b")), h("p", {class: "of"}), h("div"))));
  }
  titles.forEach((title, i) => renderCurve(box.children[i], title));
}

function renderCharts() {
  if (!$("rates").open) return;
  const lines = (column, pick) => store.status.tasks.filter((t) => store.past.has(t.task)).map((t) =>
    ({name: shortName(t.task), colour: colourOf(t.task), points: pick(store.past.get(t.task).rows, column)}));
  const largest = (points) => points.reduce((most, p) => Math.max(most, p[1]), 0);
  const busy = (all) => {
    const some = all.filter((l) => largest(l.points) > 0);
    return (some.length > 0 ? some : all).sort((a, b) => largest(b.points) - largest(a.points));
  };
  const height = innerWidth < 600 ? 120 : 160;
  chart($("steps-chart"), busy(lines(1, rates)), {fromZero: true, label: "Steps per second", height});
  chart($("bytes-chart"), busy(lines(3, rates)), {fromZero: true, format: bytes, label: "Bytes sent per second", height});
  chart($("memory-chart"), busy(lines(5, (rows, column) => rows.map((r) => [r[0], r[column]]))), {fromZero: true, format: bytes, label: "Memory", height});
}

function setView(name, chosen) {
  view[name] = chosen;
  if (name !== "all") save(name, name === "log" ? (chosen ? "yes" : null) : String(chosen));
  showView();
  if (store.status) renderCurves();
}
function showView() {
  $("axis-step").setAttribute("aria-pressed", view.axis === "step");
  $("axis-time").setAttribute("aria-pressed", view.axis === "time");
  $("log-scale").checked = view.log;
  $("smoothing").value = view.smoothing;
  $("smoothing-value").textContent = view.smoothing > 0 ? view.smoothing.toFixed(2) : "off";
}
for (const axis of ["step", "time"]) $("axis-" + axis).addEventListener("click", () => setView("axis", axis));
$("log-scale").addEventListener("change", (event) => setView("log", event.target.checked));
$("smoothing").addEventListener("input", (event) => setView("smoothing", Number(event.target.value)));
$("curves-more").addEventListener("click", () => setView("all", !view.all));
showView();
