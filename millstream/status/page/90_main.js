// SPDX-License-Identifier: Apache-2.0
// Draws everything after each answer; the buttons.

const kThemes = ["system", "light", "dark"];
const dark = matchMedia("(prefers-color-scheme: dark)");
let theme = kThemes.includes(saved("theme")) ? saved("theme") : "system";

function showTheme() {
  document.documentElement.dataset.theme = theme === "system" ? (dark.matches ? "dark" : "light") : theme;
  $("theme-name").textContent = theme;
}

function fillTaskLists() {
  const all = store.status.tasks, tasks = all.filter((t) => t.has && t.sessions.master > 0);
  for (const id of ["graph-task", "trace-task"]) {
    const select = $(id), names = (tasks.length > 0 ? tasks : all).map((t) => t.task);
    if (select.dataset.names === names.join()) continue;
    const before = select.value;
    select.dataset.names = names.join();
    select.replaceChildren(...names.map((name) => h("option", {value: name}, shortName(name))));
    if (names.includes(before)) select.value = before;
  }
  for (const id of ["graph-load", "trace-start"]) $(id).disabled = store.ended;
}

function render() {
  renderTiles();
  renderMap();
  renderTables();
  renderCurves();
  renderCharts();
  renderErrors();
  fillTaskLists();
  document.body.dataset.ready = "yes";
}

$("pause").addEventListener("click", () => {
  connection.paused = !connection.paused;
  $("pause").textContent = connection.paused ? "Resume" : "Pause";
  showState();
});
$("theme").addEventListener("click", () => {
  theme = kThemes[(kThemes.indexOf(theme) + 1) % 3];
  save("theme", theme === "system" ? null : theme);
  showTheme();
});
dark.addEventListener("change", showTheme);
$("graph-load").addEventListener("click", loadGraph);
$("trace-start").addEventListener("click", startTrace);

// On a phone the page is short: what is looked at less often is closed until it is asked for.
for (const part of document.querySelectorAll("details.card")) {
  if (innerWidth < 600) part.open = false;
  part.addEventListener("toggle", () => { if (part.open && store.status) render(); });
}

let resizing = 0;
addEventListener("resize", () => {
  clearTimeout(resizing);
  resizing = setTimeout(() => {
    if (store.status) render();
    if (graph.data) renderGraph();
    if (trace.events) renderTrace();
  }, 150);
});

showTheme();
loop();
