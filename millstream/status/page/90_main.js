// SPDX-License-Identifier: Apache-2.0
// Asks every two seconds while somebody looks.

const kPeriod = 2000;
let paused = false, lastAnswer = 0;

function setTheme(theme) {
  document.documentElement.dataset.theme = theme;
  $("theme").textContent = theme === "dark" ? "Light" : "Dark";
}

function fillTaskLists() {
  const tasks = store.status.tasks.filter((t) => isUp(t) && t.sessions.master > 0);
  for (const id of ["graph-task", "trace-task"]) {
    const select = $(id), names = (tasks.length > 0 ? tasks : store.status.tasks).map((t) => t.task);
    if (select.dataset.names === names.join()) continue;
    const before = select.value;
    select.dataset.names = names.join();
    select.replaceChildren(...names.map((name) => h("option", {value: name}, shortName(name))));
    if (names.includes(before)) select.value = before;
  }
}

function render() {
  renderTiles();
  renderMap();
  renderTasks();
  renderCurves();
  renderCharts();
  renderLinks();
  renderQueues();
  renderGradients();
  renderErrors();
  fillTaskLists();
  document.body.dataset.ready = "yes";
}

function showLife() {
  const age = (Date.now() - lastAnswer) / 1000;
  const live = $("live");
  live.textContent = paused ? "paused" : lastAnswer === 0 ? "connecting" : age < 4 ? "live" : `no answer for ${seconds(age)}`;
  live.className = "live" + (paused || lastAnswer === 0 ? "" : age < 4 ? " on" : " off");
}

async function refresh() {
  try {
    accept(await call("status.json?since=" + store.since));
    lastAnswer = Date.now();
    $("problem").hidden = true;
    render();
  } catch (error) {
    $("problem").textContent = error.message;
    $("problem").hidden = false;
  }
}

async function loop() {
  const selecting = () => String(getSelection()).length > 0;
  for (;;) {
    if (!paused && !document.hidden && !selecting()) await refresh();
    showLife();
    await new Promise((resolve) => setTimeout(resolve, kPeriod));
  }
}

$("pause").addEventListener("click", () => { paused = !paused; $("pause").textContent = paused ? "Resume" : "Pause"; showLife(); });
$("theme").addEventListener("click", () => {
  const theme = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  setTheme(theme);
  try { localStorage.setItem("theme", theme); } catch (e) { /* private windows may refuse */ }
});
$("graph-load").addEventListener("click", loadGraph);
$("trace-start").addEventListener("click", startTrace);
let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (store.status) render();
    if (graph.data) renderGraph();
    if (trace.events) renderTrace();
  }, 150);
});

let wanted = null;
try { wanted = localStorage.getItem("theme"); } catch (e) { /* as above */ }
setTheme(wanted || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light"));
loop();
