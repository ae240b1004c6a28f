// SPDX-License-Identifier: Apache-2.0
"use strict";
// Elements. Text from the cluster only ever becomes text nodes and attribute values.

const $ = (id) => document.getElementById(id);

function fill(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === null || value === undefined) continue;
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name.startsWith("aria-")) element.setAttribute(name, String(value));
    else if (value === false) continue;
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

// Sets a style that the style sheet cannot know, like a colour by number. (Style attributes are not allowed here.)
function styled(element, styles) {
  for (const [name, value] of Object.entries(styles)) element.style.setProperty(name, value);
  return element;
}
const colour = (i) => `var(--c${i % 8})`;

// What the reader chose, kept by the browser where it allows that.
function saved(name) { try { return localStorage.getItem(name); } catch (e) { return null; } }
function save(name, value) {
  try {
    if (value === null) localStorage.removeItem(name);
    else localStorage.setItem(name, value);
  } catch (e) { /* private windows may refuse */ }
}

// Every element with data-tip explains itself when it is pointed at or has the focus; Escape hides the text.
function showTip(x, y, text) {
  const tip = $("tip");
  tip.textContent = text;
  tip.hidden = false;
  const box = tip.getBoundingClientRect();
  const left = x + 14 + box.width > innerWidth ? x - box.width - 14 : x + 14;
  styled(tip, {left: Math.max(4, left) + "px", top: Math.max(4, Math.min(y + 14, innerHeight - box.height - 8)) + "px"});
}
function hideTip() {
  $("tip").hidden = true;
  const described = document.querySelector("[aria-describedby=tip]");
  if (described) described.removeAttribute("aria-describedby");
}
function tipOf(event) { return event.target instanceof Element ? event.target.closest("[data-tip]") : null; }
for (const kind of ["pointermove", "pointerdown"]) {
  addEventListener(kind, (event) => {
    const element = tipOf(event);
    if (element) showTip(event.clientX, event.clientY, element.dataset.tip);
    else if (!event.target.closest || !event.target.closest(".plot")) hideTip();
  });
}
addEventListener("focusin", (event) => {
  const element = tipOf(event);
  if (!element || !element.matches(":focus-visible")) return;
  const box = element.getBoundingClientRect();
  showTip(box.left, box.bottom - 8, element.dataset.tip);
  element.setAttribute("aria-describedby", "tip");
});
addEventListener("focusout", hideTip);
addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });
document.documentElement.addEventListener("pointerleave", hideTip);
