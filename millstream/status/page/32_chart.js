// SPDX-License-Identifier: Apache-2.0
// Lines over time or over steps.

const kMaxLines = 16, kMaxNamed = 8;

// lines: [{name, colour, marked, points: [[x, y, other], ...]}], ordered by x; y null: not finite. `other` is the step of a point on a
// time axis and the time of one on a step axis.
function chart(box, lines, options) {
  const o = Object.assign({format: number, fromZero: false, height: 170, axis: "time", log: false, smoothing: 0, label: ""}, options);
  lines = lines.filter((line) => line.points.length > 0);
  if (lines.length === 0) return box.replaceChildren(h("p", {class: "none"}, "Nothing yet."));
  const more = lines.length - kMaxLines;
  const width = Math.max(200, box.clientWidth || 320);
  lines = lines.slice(0, kMaxLines).map((line) => ({...line, points: thinForScreen(line.points, Math.ceil(width / 3))}));
  const pad = {left: 54, right: 8, top: 6, bottom: 20}, b = bounds(lines, o);
  const on = o.log ? Math.log : (n) => n;
  const c = {...o, b, pad, width, lines,
    x: (t) => pad.left + (t - b.x0) / (b.x1 - b.x0) * (width - pad.left - pad.right),
    y: (n) => o.height - pad.bottom - (on(n) - on(b.y0)) / (on(b.y1) - on(b.y0)) * (o.height - pad.top - pad.bottom)};
  // The same element stays in place, so that the keyboard's focus does too.
  let svg = box.querySelector("svg");
  if (!svg) {
    svg = hover(v("svg", {class: "plot", tabindex: 0, role: "img"}));
    box.replaceChildren(svg);
  }
  svg.plot = c;
  fill(svg, {viewBox: `0 0 ${width} ${o.height}`, width, height: o.height, "aria-label": summaryOf(c)}, []);
  const cross = v("line", {class: "cross", y1: pad.top, y2: o.height - pad.bottom, visibility: "hidden"});
  svg.replaceChildren(...axes(c), ...lines.flatMap((line) => drawLine(c, line)), cross);
  while (svg.nextSibling) svg.nextSibling.remove();
  if (lines.length > 1 || lines[0].named) box.append(legendOf(lines, more));
}

// "1.50" as "1.5", "2.00k" as "2k".
const short = (words) => words.replace(/(\.\d*?)0+(?=\D|$)/, "$1").replace(/\.(?=\D|$)/, "");
const axisText = (c, x) => (c.axis === "step" ? short(number(x)) : clock(x));

function axes(c) {
  const parts = [];
  for (const tick of c.log ? logTicks(c.b.y0, c.b.y1) : niceTicks(c.b.y0, c.b.y1, 4)) {
    parts.push(v("line", {class: "grid", x1: c.pad.left, x2: c.width - c.pad.right, y1: c.y(tick), y2: c.y(tick)}),
               v("text", {x: c.pad.left - 7, y: c.y(tick) + 4, "text-anchor": "end"}, short(c.format(tick))));
  }
  const places = c.width > 420 ? [0.08, 0.5, 0.92] : [0.12, 0.88], span = c.b.x1 - c.b.x0;
  const ticks = c.axis === "step" ? niceTicks(c.b.x0, c.b.x1, 4).filter((t) => Number.isInteger(t)) : places.map((part) => c.b.x0 + part * span);
  for (const t of ticks) {
    const anchor = t - c.b.x0 > 0.95 * span ? "end" : "middle";
    parts.push(v("text", {x: c.x(t), y: c.height - 4, "text-anchor": anchor}, axisText(c, t)));
  }
  return parts;
}

const drawable = (c, y) => known(y) && (!c.log || y > 0);

function pathOf(c, points) {
  let path = "", pen = false;
  for (const [x, y] of points) {
    const there = drawable(c, y);
    if (there) path += (pen ? "L" : "M") + c.x(x).toFixed(1) + " " + c.y(y).toFixed(1);
    pen = there;
  }
  return path;
}

function drawLine(c, line) {
  const parts = [], smooth = c.smoothing > 0 && !line.marked && line.points.length > 2;
  const path = (kind, points) => parts.push(styled(v("path", {class: kind, d: pathOf(c, points)}), {stroke: line.colour}));
  if (smooth) path("series raw", line.points);
  path(line.marked ? "series marked" : "series", smooth ? smoothed(line.points, c.smoothing) : line.points);
  const dots = line.marked ? line.points.slice(-60) : line.points.length === 1 ? line.points : [];
  for (const [x, y] of dots) {
    if (drawable(c, y)) parts.push(styled(v("circle", {cx: c.x(x).toFixed(1), cy: c.y(y).toFixed(1), r: 3}), {fill: line.colour}));
  }
  for (const [x] of line.points.filter((p) => !known(p[1])).slice(-60)) {
    parts.push(v("path", {class: "not-finite", d: `M${c.x(x).toFixed(1)} ${c.pad.top + 8}l-4 -8h8z`}));
  }
  return parts;
}

function legendOf(lines, more) {
  return h("div", {class: "legend"}, lines.slice(0, kMaxNamed).map((line) =>
    h("span", null, styled(h("i", {class: line.marked ? "marked" : null}), {background: line.colour, color: line.colour}), line.name)),
    lines.length > kMaxNamed ? h("span", null, `and ${lines.length - kMaxNamed} more`) : null,
    more > 0 ? h("span", null, `(${more} not drawn)`) : null);
}

// What those hear who do not see the lines.
function summaryOf(c) {
  const parts = c.lines.slice(0, 6).map(({name, points}) => {
    const last = points[points.length - 1];
    return `${name}: ${known(last[1]) ? c.format(last[1]) : "not finite"} at ${c.axis === "step" ? "step " + whole(last[0]) : clock(last[0])}`;
  });
  return `${c.label || "Chart"}. ${parts.join("; ")}. Arrow keys read the values.`;
}

function nearest(points, x) {
  let low = 0, high = points.length - 1;
  while (high - low > 1) { const mid = (low + high) >> 1; if (points[mid][0] < x) low = mid; else high = mid; }
  return Math.abs(points[low][0] - x) <= Math.abs(points[high][0] - x) ? points[low] : points[high];
}

// Reads the values near a place of the axis.
function readAt(svg, x, clientX, clientY) {
  const c = svg.plot, rows = c.lines.map((line) => ({line, point: nearest(line.points, x)}));
  const best = rows.reduce((a, r) => (Math.abs(r.point[0] - x) < Math.abs(a.point[0] - x) ? r : a)).point;
  const cross = svg.querySelector(".cross");
  fill(cross, {x1: c.x(best[0]), x2: c.x(best[0]), visibility: "visible"}, []);
  svg.at = best[0];
  const head = c.axis === "step" ? `step ${whole(best[0])}, ${clock(best[2])}` : clock(best[0]) + (known(best[2]) ? `, step ${whole(best[2])}` : "");
  const values = rows.map(({line, point}) => `${line.name}: ${known(point[1]) ? c.format(point[1]) : "not finite"}`);
  showTip(clientX, clientY, [head, ...values].join("\n"));
}

function hover(svg) {
  const leave = () => { const cross = svg.querySelector(".cross"); if (cross) cross.setAttribute("visibility", "hidden"); hideTip(); };
  svg.addEventListener("pointermove", (event) => {
    const c = svg.plot, at = svg.getBoundingClientRect();
    const part = ((event.clientX - at.left) * c.width / at.width - c.pad.left) / (c.width - c.pad.left - c.pad.right);
    readAt(svg, c.b.x0 + part * (c.b.x1 - c.b.x0), event.clientX, event.clientY);
  });
  svg.addEventListener("pointerleave", leave);
  svg.addEventListener("blur", leave);
  svg.addEventListener("keydown", (event) => {
    const move = {ArrowLeft: -1, ArrowRight: 1, Home: -1000, End: 1000}[event.key];
    if (!move) return;
    event.preventDefault();
    const c = svg.plot, from = svg.at === undefined ? c.b.x1 : svg.at;
    const to = Math.min(c.b.x1, Math.max(c.b.x0, from + move * (c.b.x1 - c.b.x0) / 40));
    const box = svg.getBoundingClientRect();
    readAt(svg, to, box.left + c.x(to) * box.width / c.width, box.top + box.height / 2);
    svg.at = to;
  });
  return svg;
}
