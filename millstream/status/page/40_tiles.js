// SPDX-License-Identifier: Apache-2.0
// The numbers at the top.

const kLoss = /(^|[/_])(loss|cost|cross_entropy|xent)/i;
const kAccuracy = /(^|[/_])(acc|accuracy)/i;
// Of which steps a curve's values are: the label of lines and tiles, and what it means.
const kSources = {
  fetch: ["training batches", "Fetched by steps that train: each value is of one batch of training data."],
  read: ["steps without training", "Fetched by steps that change no variable: often an evaluation."],
  summary: ["summary ops", "Seen by summary ops: of whatever data the step was fed with."],
  evaluation: ["evaluation", "Written to an event folder for evaluations: of the evaluation data."],
};
const sourceName = (line) => (kSources[line.source] || ["other"])[0];

// The newest point of a curve that is of such a name and source.
function newest(pattern, source) {
  let best = null;
  for (const [name, lines] of store.curves) {
    if (!pattern.test(name)) continue;
    for (const line of lines.values()) {
      const last = line.source === source && line.points[line.points.length - 1];
      if (last && (!best || last[0] > best.time)) best = {name, run: line.run, time: last[0], step: last[1], value: last[2]};
    }
    if (best) return best;
  }
  return null;
}

function measureTile(word, pattern, source) {
  const found = newest(pattern, source);
  if (!found) return null;
  const tip = `${found.name}${found.run ? ` in ${found.run}` : ""}${known(found.step) ? `, at step ${whole(found.step)}` : ""}. ${kSources[source][1]}`;
  return {value: value(found.value), name: `${word}, ${kSources[source][0]}`, bad: !known(found.value), tip};
}

// The variable global_step where it lives; otherwise, or after the end, the newest step that anybody told of.
function globalStep(tasks) {
  const owner = tasks.find((t) => t.owns_global_step);
  if (owner && !store.ended) return owner.global_step;
  let newest = Math.max(-1, ...tasks.map((t) => t.global_step).filter((s) => typeof s === "number"));
  if (store.ended) {
    for (const curve of store.curves.values()) {
      for (const {points} of curve.values()) if (points.length > 0) newest = Math.max(newest, points[points.length - 1][1] || 0);
    }
  }
  return newest >= 0 ? newest : null;
}

function tilesNow(tasks) {
  const heard = tasks.filter((t) => t.has), up = tasks.filter((t) => healthOf(t) === "up"), live = up.length > 0;
  const sum = (f) => heard.reduce((total, t) => total + f(t), 0);
  const step = globalStep(heard), errors = sum((t) => t.errors_total), speed = Math.max(0, ...heard.map((t) => t.global_steps_per_second));
  return [
    store.ended ? {value: plural(tasks.length, "task"), name: "of the job that ended", tip: "The job has ended; the numbers are its last ones."}
      : {value: `${up.length} of ${tasks.length}`, name: "tasks up", bad: up.length < tasks.length,
        tip: "Tasks that answer, of those that the cluster should have."},
    step !== null && {value: whole(step), name: "global step", tip: "The variable global_step, or the newest value of it that was fetched."},
    live && speed > 0 && {value: number(speed), name: "global steps/s", tip: "How fast the global step advances, over the last 5 seconds."},
    live && {value: number(sum((t) => t.steps.per_second)), name: "session steps/s",
      tip: "Session.run calls per second of all tasks together, over the last 5 seconds."},
    measureTile("loss", kLoss, "fetch") || measureTile("loss", kLoss, "summary"),
    measureTile("accuracy", kAccuracy, "fetch") || measureTile("accuracy", kAccuracy, "summary"),
    measureTile("loss", kLoss, "evaluation"),
    measureTile("accuracy", kAccuracy, "evaluation") || measureTile("accuracy", kAccuracy, "read"),
    live && {value: rate(sum((t) => t.sent_per_second)), name: "sent between tasks", tip: "Bytes per second over the links between tasks."},
    {value: whole(errors), name: errors === 1 ? "error" : "errors", bad: errors > 0,
      tip: "Steps and links that failed since the start; see Recent errors."},
  ].filter(Boolean);
}

function renderTiles() {
  const tasks = store.status.tasks, heard = tasks.filter((t) => t.has);
  $("tiles").replaceChildren(...tilesNow(tasks).map((t) =>
    h("div", {class: t.bad ? "tile bad" : "tile", "data-tip": t.tip}, h("b", null, t.value), h("span", null, t.name))));
  const started = heard.map((t) => t.started).filter((s) => s > 0), step = globalStep(heard);
  const time = started.length > 0 ? `, ${store.ended ? "ran" : "running"} for ${seconds(store.status.time - Math.min(...started))}` : "";
  $("summary").textContent = `seen from ${shortName(store.status.task)}${time}`;
  const mark = store.ended ? "Ended: " : tasks.some((t) => healthOf(t) !== "up") ? "(!) " : "";
  document.title = mark + "Millstream" + (step !== null ? ` · step ${whole(step)}` : "");
}
