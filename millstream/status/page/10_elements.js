// SPDX-License-Identifier: Apache-2.0
"use strict";
// Elements, numbers and the tooltip. Text from the cluster only ever becomes text nodes.

const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else element.setAttribute(name, value === true ? "" : value);
  }
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    element.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return element;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const v = (tag, attributes, ...children) => fill(document.createElementNS("http://www.w3.org/2000/svg", tag), attributes, children);

// Sets a style that the page's rules cannot know, like a colour by number. (Style attributes are not allowed here.)
function styled(element, styles) {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
  return element;
}

const colour = (i) => `var(--c${i % 8})`;

function whole(n) { return n === null || n === undefined ? "–" : Math.round(n).toLocaleString("en-US"); }
function number(n) {
  if (n === null || n === undefined || !Number.isFinite(n)) return "–";
  const a = Math.abs(n);
  if (a >= 1e6) return (n / 1e6).toFixed(a >= 1e7 ? 0 : 1) + "M";
  if (a >= 1e4) return (n / 1e3).toFixed(a >= 1e5 ? 0 : 1) + "k";
  if (a >= 100) return n.toFixed(0);
  if (a >= 10) return n.toFixed(1);
  if (a >= 1) return n.toFixed(2);
  if (a === 0) return "0";
  return a >= 0.001 ? n.toPrecision(3) : n.toExponential(1);
}
function bytes(n) {
  if (n === null || n === undefined) return "–";
  const units = ["B", "KB", "MB", "GB", "TB"];
  let i = 0;
  while (n >= 1000 && i < units.length - 1) { n /= 1000; i++; }
  return (i === 0 || n >= 100 || Number.isInteger(n) ? n.toFixed(0) : n.toFixed(1)) + " " + units[i];
}
const rate = (n) => bytes(n) + "/s";
function seconds(s) {
  if (s === null || s === undefined) return "–";
  if (s < 1e-3) return (s * 1e6).toFixed(0) + " µs";
  if (s < 1) return (s * 1e3).toPrecision(3) + " ms";
  if (s < 90) return s.toFixed(s < 10 ? 1 : 0) + " s";
  if (s < 5400) return (s / 60).toFixed(0) + " min";
  return s < 172800 ? (s / 3600).toFixed(1) + " h" : (s / 86400).toFixed(0) + " days";
}
const clock = (t) => new Date(t * 1000).toLocaleTimeString("en-GB");

// "/job:worker/replica:0/task:1/device:CPU:0" as "worker 1 CPU:0".
function shortName(name) {
  const match = /^\/job:([^/]+)\/replica:\d+\/task:(\d+)(?:\/device:(.+))?$/.exec(name || "");
  return match ? match[1] + " " + match[2] + (match[3] ? " " + match[3] : "") : name || "–";
}

function showTip(event, text) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const x = event.clientX + 14 + box.width > innerWidth ? event.clientX - box.width - 14 : event.clientX + 14;
  const y = Math.min(event.clientY + 14, innerHeight - box.height - 8);
  styled(tip, {left: Math.max(4, x) + "px", top: Math.max(4, y) + "px"});
}
function hideTip() { $("tip").hidden = true; }
const tipFor = (text) => ({onpointermove: (e) => showTip(e, typeof text === "function" ? text() : text), onpointerleave: hideTip});

// columns: [title, cell(row), class]; a cell is text, an element or a list of them.
function table(columns, rows, empty) {
  if (rows.length === 0) return h("p", {class: "none"}, empty);
  const head = h("tr", null, columns.map(([title, , kind]) => h("th", {class: kind}, title)));
  const body = rows.map((row) => h("tr", null, columns.map(([title, cell, kind]) =>
    h("td", {class: kind, "data-label": title}, cell(row)))));
  return h("table", {class: "stack"}, h("thead", null, head), h("tbody", null, body));
}
